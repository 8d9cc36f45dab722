import { failureOf, sentences, UnansweredError, type Failure } from '../failure';
import { done, failed, NOT_BEGUN, type Item, type ItemThatIs } from '../item';
import { few } from '../wording';
import { OF_DRY_RUNS } from './concurrency';
import { Loop } from './loop';
import type { Memory } from './memory';
import type { Check } from './operation';
import type { Work } from './work';

type NotBegun = ItemThatIs<'notBegun'>;

/** An item with which the checks have nothing more to do. */
const CHECKED = done(NOT_BEGUN, []);

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
	// The node is suspended only after its checks.
	if (memory.opening.beginning === 'resume') return;
	/** Items about which the same is asked. */
	const asked = new Map<string, number[]>();
	const refused: Array<{ indexes: number[]; failure: Failure }> = [];
	/** Those that begin without a check, since they start nothing. */
	const free = new Set<number>();

	const begin = async (item: NotBegun, index: number, signal: AbortSignal): Promise<Item> => {
		const indexes = [index];
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
			}
		} catch (thrown) {
			if (signal.aborted) return item;
			const failure = failureOf(thrown);
			if (thrown instanceof UnansweredError) return failed(item, failure);
			refused.push({ indexes, failure });
		}
		return CHECKED;
	};
	const items = {
		item: (index: number) => {
			const item = memory.item(index);
			return item.is === 'notBegun' ? item : CHECKED;
		},
		note: () => {},
	};
	const concurrency = OF_DRY_RUNS;
	const checking = { ...work, begin, concurrency, stopsAtFailure: true, checkpoints: false };
	const end = await new Loop(checking, items, count).run();
	const wrong = new Map(
		refused.flatMap(({ indexes, failure }) => indexes.map((index) => [index, failure])),
	);
	const unanswered = end.is === 'failed' ? sayUnanswered(end.index, end.failure) : undefined;
	const [first] = [...wrong.keys()].sort((one, other) => one - other);
	for (let index = 0; index < count; index++) {
		const item = memory.item(index);
		const failure = wrong.get(index) ?? (free.has(index) ? undefined : unanswered);
		if ((item.is !== 'notBegun' && item.is !== 'inDoubt') || !failure) continue;
		const isNamed = index === first && work.stopsAtFailure;
		memory.note(index, failed(item, isNamed ? sayWrong(wrong, index, failure) : failure));
	}
}

const NOTHING_STARTED = "'Check All Items First' is on, so this attempt started no run.";

/** What the error of the node says, which ends since items are wrong. */
function sayWrong(wrong: Map<number, Failure>, index: number, failure: Failure): Failure {
	const others = [...wrong.keys()].filter((other) => other !== index).sort((a, b) => a - b);
	const count = others.length;
	const also = count === 0 ? '' : count === 1 ? ' and 1 other' : ` and ${count} others`;
	return {
		...failure,
		message: `Item ${index}${also} did not pass the check: ${failure.message}`,
		description: sentences(
			failure.description,
			count > 0 && `These items did not pass either: ${few(others)}.`,
			NOTHING_STARTED,
		),
	};
}

/** What is said of all items that would start something, since the check of one got no answer. */
function sayUnanswered(index: number, failure: Failure): Failure {
	return {
		...failure,
		message: `Item ${index} could not be checked: ${failure.message}`,
		description: sentences(failure.description, NOTHING_STARTED),
	};
}
