/** A moment in the life of an execution at which n8n is ended. */
export interface Moment {
	name: string;
	/** What is under way at that moment, and is held there: a request of the node, or of one beside it. */
	held?: 'before' | 'create' | 'answer' | 'poll' | 'after';
	/** Whether the execution has been parked by then. */
	isParked?: boolean;
	/** Whether its run has finished by then. */
	isFinished?: boolean;
	/** Seconds between polls; automatic when absent. */
	pollInterval?: number;
	/**
	 * Whether n8n then has the node's memory where the setting 'Save execution progress' is on. Of an
	 * execution that has been parked, n8n always has it.
	 */
	isSaved?: boolean;
}

/** n8n parks no shorter delay. */
const SHORTEST_PARKED_S = 65;

export const moments: Moment[] = [
	{ name: 'Before the create', held: 'before' },
	{ name: 'Create under way', held: 'create' },
	{ name: 'Create carried out, its answer under way', held: 'answer' },
	{ name: 'Just after the create, first poll under way', held: 'poll', isSaved: true },
	{ name: 'Waiting in memory', pollInterval: SHORTEST_PARKED_S - 5, isSaved: true },
	{ name: 'Output, next node at work', held: 'after', isFinished: true, isSaved: true },
	{ name: 'Parked', isParked: true, pollInterval: 100 },
	{ name: 'Parked, poll under way', held: 'poll', isParked: true, pollInterval: SHORTEST_PARKED_S },
	{
		name: 'Parked, last poll under way',
		held: 'poll',
		isParked: true,
		isFinished: true,
		pollInterval: SHORTEST_PARKED_S,
	},
	{
		name: 'Parked, then output, next node at work',
		held: 'after',
		isParked: true,
		isFinished: true,
		pollInterval: SHORTEST_PARKED_S,
	},
];

/** An execution that is at a moment when n8n is ended. */
export interface Case {
	/** Of its workflow; no two cases have the same. */
	id: string;
	/** Of its agent. */
	agentId: number;
	moment: Moment;
	/** Whether the workflow saves execution progress. */
	savesProgress: boolean;
}

export const cases: Case[] = moments
	.flatMap((moment) => [false, true].map((savesProgress) => ({ moment, savesProgress })))
	.map((one, index) => ({ ...one, id: `case${index}`, agentId: 2_001 + index }));

/** Whether n8n has kept the node's memory at the moment. */
export function isKept({ moment, savesProgress }: Case): boolean {
	return moment.isParked === true || (savesProgress && moment.isSaved === true);
}
