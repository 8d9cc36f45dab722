/** A mutant that may survive, or several that do for one reason. */
export interface Survivor {
	/** In nodes/AgentInvocation. */
	file: string | RegExp;
	/** The code that is changed, on one line. */
	original: string | RegExp;
	/** What it is changed to; any change when absent. */
	replacement?: string;
	reason: string;
}

export const survivors: Survivor[] = [
	{
		file: 'parking/obstacles.ts',
		original: /^stored\?\.|^\(first \?\? next\)/,
		reason:
			'What is missing throws, and the `catch` around it takes that for what the default means: fewer than two items.',
	},
	{
		file: 'parking/obstacles.ts',
		original: '[]',
		reason: 'A text in place of an entry has no data, as no entry has none.',
	},
	{
		file: 'parking/parking.ts',
		original: 'resumesOn !== undefined',
		reason: 'A difference to no date is NaN, which is not late either.',
	},
];
