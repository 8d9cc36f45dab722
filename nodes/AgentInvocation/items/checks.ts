import { failureOf, sentences, UnansweredError, UnsafeError, type Failure } from '../failure';
import { done, failed, NOT_BEGUN, type Item, type NotBegun } from '../item';
import { few } from '../wording';
import { ofDryRuns } from './concurrency';
import { Loop } from './loop';
import type { Memory } from './memory';
import type { Check } from './operation';
import type { Work } from './work';

/**
 * An item that was not asked about, or did not pass. It counts as unsuccessful, so that the loop's trial goes on
 * and the next one is still checked alone.
 */
const PROVES_NOTHING = done(NOT_BEGUN, [], { isUnsuccessful: true });

/**
 * Checks all items that would start something, before the first one begins, and notes as failed those that
 * may not begin: the wrong ones, or all of them if the check of one got no answer. What several items have in
 * common is asked once, and what has passed in an earlier attempt is not asked again.
 *
 * @param work of the loop that is to begin the items
 * @param count how many items there are
 * @param checkOf gives what is to be asked about an item (see `CheckItem`)
 */
export async function checkItems(
	work: Work,
	memory: Memory,
	count: number,
	checkOf: (item: NotBegun, index: number, signal: AbortSignal) => Promise<Check | undefined>,
): Promise<void> {
	// The node is suspended only after its checks, and nothing begins after the last attempt.
	if (['resume', 'exhausted'].includes(memory.opening.beginning)) return;
	/** Items about which the same is asked. */
	const asked = new Map<string, number[]>();
	const failing = new Map<number[], Failure>();
	/** What is said of all items that would start something if the check of one got no answer. */
	const unanswered = new Map<number, Failure>();
	/** Those that begin without a check, since they start nothing. */
	const free = new Set<number>();
	/** Those that the loop has begun to check. */
	const reached = new Set<number>();

	const begin = async (item: NotBegun, index: number, signal: AbortSignal): Promise<Item> => {
		const indexes = [index];
		reached.add(index);
		try {
			const check = await checkOf(item, index, signal);
			if (signal.aborted) return item;
			const others = check && asked.get(check.key);
			if (!check) free.add(index);
			else if (others) others.push(index);
			else {
				asked.set(check.key, indexes);
				if (!memory.passed[check.key]) await check.ask();
				memory.passed[check.key] = true;
				return done(NOT_BEGUN, []);
			}
		} catch (thrown) {
			// A check that was aborted may still have started a run. Then its failure counts.
			if (signal.aborted && memory.item(index).is !== 'inDoubt') return item;
			const failure = failureOf(thrown);
			if (thrown instanceof UnansweredError) {
				const noneBegun = thrown instanceof UnsafeError ? '' : NONE_BEGUN;
				unanswered.set(index, reworded(failure, `Item ${index} could not be checked`, noneBegun));
				return failed(item, failure);
			}
			failing.set(indexes, failure);
		}
		return PROVES_NOTHING;
	};
	let mayAsk = true;
	const startsNothing = async (item: NotBegun, index: number): Promise<boolean> => {
		const { cancel: signal = new AbortController().signal } = work;
		try {
			return (await checkOf(item, index, signal)) === undefined && !signal.aborted;
		} catch (thrown) {
			// Nothing is known of it, so it does not begin. Of the others, the same would be asked in vain.
			mayAsk = !(thrown instanceof UnansweredError);
			return false;
		}
	};
	const items = {
		item: (index: number) => {
			const item = memory.item(index);
			return item.is === 'notBegun' ? item : PROVES_NOTHING;
		},
		note: () => {},
	};
	const concurrency = ofDryRuns(work.concurrency.most);
	const how = { concurrency, stopsAtFailure: true, checkpointAfterMs: Infinity };
	await new Loop({ ...work, ...how, begin }, items, count).run();
	const wrong = new Map(
		[...failing]
			.flatMap(([indexes, failure]) => indexes.map((index) => [index, failure] as const))
			.sort(([one], [other]) => one - other),
	);
	const [first] = wrong.keys();
	const [ofFirst] = unanswered.values();
	for (let index = 0; index < count; index++) {
		const item = memory.item(index);
		// The loop takes items with earlier records first, and ends at the first one without an answer. An item that it
		// has not reached may still go on from its records, and then starts nothing.
		const isLeft = ofFirst && item.is === 'notBegun' && item.earlier && !reached.has(index);
		if (isLeft && mayAsk && (await startsNothing(item, index))) free.add(index);
		const noAnswer = unanswered.get(index) ?? (ofFirst && { ...ofFirst, details: {} });
		const failure = wrong.get(index) ?? (free.has(index) ? undefined : noAnswer);
		if ((item.is !== 'notBegun' && item.is !== 'inDoubt') || !failure) continue;
		const isNamed = index === first && work.stopsAtFailure;
		memory.note(index, failed(item, isNamed ? sayWrong(wrong, index, failure) : failure));
	}
}

const NONE_BEGUN = "'Check All Items First' is on, so this attempt has started no run.";

/** What the node's error says if items did not pass. */
function sayWrong(wrong: Map<number, Failure>, index: number, failure: Failure): Failure {
	const others = [...wrong.keys()].filter((other) => other !== index);
	const count = others.length;
	const also = count === 0 ? '' : count === 1 ? ' and 1 other' : ` and ${count} others`;
	const either = count > 0 && `These items did not pass either: ${few(others)}.`;
	return reworded(failure, `Item ${index}${also} did not pass the check`, either, NONE_BEGUN);
}

function reworded(
	{ message, description, details }: Failure,
	what: string,
	...more: Array<string | false>
): Failure {
	return {
		message: `${what}: ${message}`,
		description: sentences(description, ...more),
		details,
	};
}
