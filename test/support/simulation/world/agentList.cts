import type { ServiceSpec } from './world.cts';

/** The parameters of the agents that are run. */
export const parameters = ['tag', 'values', 'now'].map((name) => ({
	name,
	required: name === 'tag',
	description: '',
}));

type Others = NonNullable<ServiceSpec['others']>;

/** Of agents that nobody runs. */
const FIRST_OTHER = 500_000;

/** Entries that lack what the interface promises. Of a page without a single agent nobody knows what it is. */
const ODD: unknown[] = [
	{ id: null, name: 'Without an ID' },
	null,
	{ id: FIRST_OTHER - 1, name: 7, description: { text: 'no text' }, parameters: 'none' },
	'an agent',
	{ id: FIRST_OTHER - 2, name: 'Odd', parameters: [null, { name: null }, 'x', { name: 'x' }] },
];

/** The agents in front of the others, as they are at the nth request of the list. */
export function othersOf(
	{ count, areOdd, changesAfter, change }: Others,
	request: number,
): Array<Record<string, unknown>> {
	const changed = changesAfter.filter((after) => after < request).length;
	const gone = change === 'gone' ? changed : 0;
	const fresh = change === 'new' ? changed : 0;
	const made = Array.from({ length: count }, (_, index) => agentOf(index));
	const news = Array.from({ length: fresh }, (_, index) => agentOf(count + index));
	const all = [...(areOdd ? ODD : []), ...news, ...made.slice(gone)] as Array<
		Record<string, unknown>
	>;
	const isTurned = change === 'order' && changed % 2 === 1;
	return isTurned ? all.reverse() : all;
}

/** The IDs of those that are there all the time. */
export function lastingOf({ count, changesAfter, change }: Others): number[] {
	const gone = change === 'gone' ? changesAfter.length : 0;
	return Array.from({ length: count }, (_, index) => FIRST_OTHER + index).slice(gone);
}

function agentOf(index: number) {
	return {
		id: FIRST_OTHER + index,
		name: `Other ${index}`,
		description: '',
		parameters: [{ name: 'tag', required: true, description: '' }],
	};
}
