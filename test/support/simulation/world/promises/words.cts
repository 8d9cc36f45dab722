import { textFormsOf } from '../../../keySearch.cts';
import type { Facts } from './facts.cts';

const LONGEST_MESSAGE = 2_000;

/** The longest that the service says of a failed run, and what belongs to it. */
const LONGEST_REASON = 125_000;

/** What no user is to read. */
const NOT_FOR_USERS =
	/\bundefined\b|\bNaN\b|\[object |TypeError|RangeError|ReferenceError|is not a function|Cannot read|Cannot convert|Invalid time value|is not iterable|has no result|defect of the package/;

/** No message is longer than 2,000 characters, holds the API key, or is a program's. */
export function speaksPlainly(facts: Facts): string[] {
	const { history } = facts;
	const said = history.attempts.flatMap((attempt) => [
		...facts.failures
			.filter((failure) => failure.attempt === attempt)
			.flatMap(({ message, text, details }) => [message, text, JSON.stringify(details)]),
		...attempt.hints,
		attempt.error?.message ?? '',
	]);
	const wrong = said.flatMap((text) => {
		const found = NOT_FOR_USERS.exec(text);
		return found ? [`'${text.slice(0, 300)}' says ${found[0]}`] : [];
	});
	const long = facts.failures.filter(({ message }) => message.length > LONGEST_MESSAGE);
	const all = [
		...said,
		...history.attempts.flatMap(({ saves }) => saves.map(({ memory }) => memory)),
		JSON.stringify(
			history.attempts.map(({ endings }) => [...endings.values()].map(({ outputs }) => outputs)),
		),
	];
	const text = all.join('\n');
	const used = new Set(history.requests.map(({ key }) => history.apiKeys[key] ?? ''));
	const keys = [...used].filter(
		(apiKey) =>
			apiKey !== '' && [...textFormsOf(apiKey).values()].some((form) => text.includes(form)),
	);
	return [
		...new Set(wrong),
		...long.map(({ message }) => `a message has ${message.length} characters`),
		...keys.map(() => 'the API key is shown or stored'),
	];
}

/** What it stores stays within its bound. */
export function storesLittle(facts: Facts): string[] {
	return facts.history.attempts.flatMap((attempt) => {
		const { items, turns } = facts.spec(attempt);
		// What is output has to be stored, however long it is; an error is kept in so many words.
		const isOutput = facts
			.chain(attempt)
			.some((one) => facts.spec(one).options.onUnsuccessfulRun === 'output');
		const ofText = facts.history.world.service.isWordy ? LONGEST_MESSAGE : 0;
		// Runs that the service does not know for a while are kept beside those that were started in their place.
		const runs = facts.history.runs.filter(
			({ request }) => request?.execution.index === attempt.index,
		);
		const most =
			3_000 +
			400 * runs.length +
			turns * items.length * (1_500 + (ofText && isOutput ? LONGEST_REASON : ofText));
		const large = attempt.saves.find(({ memory }) => memory.length > most);
		return large
			? [
					`execution ${attempt.id} stored ${large.memory.length} characters for ${items.length} items`,
				]
			: [];
	});
}

/** The node ends, and asks n8n for nothing that it cannot do. */
export function ends({ history }: Facts): string[] {
	const open = history.attempts.filter(
		({ status }) => status === 'running' || status === 'waiting',
	);
	return [
		...(history.ended === 'stuck'
			? [
					`after ${history.steps} steps, at ${Math.round(history.endedAt / 1_000)} s, these go on: ${open.map(({ id, status }) => `${id} (${status})`).join(', ')}`,
				]
			: []),
		...history.faults,
	];
}
