import { mayPark } from '../starters.cts';
import type { ExecutionSpec } from '../world.cts';
import type { Facts } from './facts.cts';

/** n8n stores no wait of less than 65 seconds, and none that is to stay in memory. */
export function parksWhereItMay(facts: Facts): string[] {
	return facts.history.attempts.flatMap((attempt) => {
		const spec = facts.spec(attempt);
		const where = `execution ${attempt.id}`;
		const [first] = attempt.parks;
		if (!first) return [];
		const short = attempt.parks.find(({ at, until }) => until - at < 64_990);
		return [
			...(short ? [`${where} was parked for ${Math.round(short.until - short.at)} ms`] : []),
			...(spec.options.whereToWait === 'memory'
				? [`${where} was parked though it is to wait in memory`]
				: []),
			...(!mayPark(spec) && !attempt.retryOf
				? [`${where} (${startOf(spec)}) was parked while somebody waits for it`]
				: []),
			...(spec.host === 'oldHost' ? [`${where} was parked by a host that cannot`] : []),
		];
	});
}

function startOf({ starter, callers }: ExecutionSpec): string {
	return [...callers, starter].join(' by ');
}

/** A wait that goes on for longer than this, in ms, is stored where nothing speaks against it. */
const LONG_MS = { auto: 1_500_000, stored: 200_000 };

/** Long waits are stored. */
export function parksLongWaits(facts: Facts): string[] {
	if (!facts.isServiceWell || facts.history.world.version.startsWith('3')) return [];
	return facts.history.attempts.flatMap((attempt) => {
		const spec = facts.spec(attempt);
		const interval = Number(spec.options.pollInterval ?? 0);
		const isStored =
			spec.host === 'n8n' &&
			mayPark(spec) &&
			!spec.hasGhost &&
			spec.options.whereToWait !== 'memory' &&
			(interval === 0 || interval >= 65) &&
			spec.workflowTimeoutS === 0;
		if (!isStored || !facts.isWaiting(spec) || spec.items.length > 1) return [];
		const runs = facts.history.runs.filter(({ request }) => request?.execution === attempt);
		const longMs = spec.options.whereToWait === 'stored' ? LONG_MS.stored : LONG_MS.auto;
		const isLong = runs.some(
			(run) =>
				Math.min(run.endsAt, facts.deadlineOf(run, attempt), attempt.endedAt ?? Infinity) -
					run.createdAt >
				longMs,
		);
		return isLong && attempt.parks.length === 0
			? [`execution ${attempt.id} (${startOf(spec)}) was not stored`]
			: [];
	});
}

/** How long after its resume an execution asks at the latest, in ms. */
const ASKS_WITHIN_MS = 1_500;

/** An execution that n8n resumes asks at once, however late it is, unless n8n has just started. */
export function asksAtOnce(facts: Facts): string[] {
	const { history } = facts;
	if (!facts.isServiceWell || !facts.isClockRight || history.kills.length > 0) return [];
	return history.attempts.flatMap((attempt) => {
		if (facts.spec(attempt).credentialAway) return [];
		const late = attempt.parks.find(({ resumedAt = Infinity }) => {
			const next = history.requests.find(
				({ execution, sentAt }) => execution === attempt && sentAt >= resumedAt,
			);
			return next !== undefined && next.sentAt - resumedAt > ASKS_WITHIN_MS;
		});
		return late
			? [
					`execution ${attempt.id} was resumed at ${Math.round(late.resumedAt ?? 0)} and asked nothing`,
				]
			: [];
	});
}
