import { Pace } from '../nodes/AgentInvocation/service/pace.ts';
import { N8N_REQUEST_MS } from '../test/support/simulation/cells.cts';
import { randomFrom } from '../test/support/simulation/world/random.cts';
import { cases, FOR_MS, type Case } from './limitCases.cts';
import { octokit, awsAdaptive } from './otherPaces.cts';

const SECOND = 1_000;

/** What a client learns about one request. */
export interface Learned {
	kind: 'ok' | 'rateLimited';
	status: number;
	retryAfter?: string;
}

/** What decides when requests are sent. Moments are in ms. */
export interface PaceLike {
	/** When the next request may be sent. */
	readonly opensAt: number;
	/** A request is sent. */
	take(now: number): void;
	learn(answer: Learned, sentAt: number, now: number): void;
}

/** What came of a case. */
interface Result {
	/** The share of the limit, or of what was offered, that was carried. */
	carried: number;
	/** The share of the requests that were refused. */
	refused: number;
	/** The longest time after the first window in which nothing was carried, in s. */
	silenceS: number;
}

const paces: Array<[string, () => PaceLike]> = [
	['This node', () => new Pace()],
	['AWS adaptive', awsAdaptive],
	['octokit', octokit],
];

/** A case, and what came of it with each pace, in the order of `paces`. */
interface Measured {
	one: Case;
	results: Result[];
}

/** Sends in all cases, with all paces. */
export function measureLimits(): Measured[] {
	return cases.map((one) => ({
		one,
		results: paces.map(([, make]) => worst([1, 2, 3].map((seed) => send(one, make, seed)))),
	}));
}

export const limitHeads = [
	'Limit',
	'Retry-After',
	...paces.flatMap(([name]) => [`${name}: carried`, `${name}: refused`, `${name}: silence (s)`]),
];

/** A row for each case. */
export function limitRows(measured: Measured[]): string[][] {
	return measured.map(({ one, results }) => [
		...namesOf(one),
		...results.flatMap(({ carried, refused, silenceS }) => [
			carried.toFixed(2),
			`${(100 * refused).toFixed(1)}%`,
			silenceS.toFixed(1),
		]),
	]);
}

export const missHeads = ['Limit', 'Retry-After', 'Missed', 'Why'];

/** The targets that this node misses, by the cases. */
export function limitMisses(measured: Measured[]): string[][] {
	return measured.flatMap(({ one, results: [own] }) => {
		const { carried, refused, silenceS } = own!;
		const most = one.saysRetryAfter ? 5 : 15;
		const least = one.strays ? 0.75 : 0.85;
		const wrong = [
			...(carried < least ? [`carries ${carried.toFixed(2)}`] : []),
			...(refused > 0.05 && !one.strays ? [`${(100 * refused).toFixed(1)}% refused`] : []),
			...(silenceS > most && !one.offered ? [`a silence of ${silenceS.toFixed(1)} s`] : []),
		];
		return wrong.length > 0 ? [[...namesOf(one), wrong.join(', '), reasonOf(one)]] : [];
	});
}

function namesOf({ name, saysRetryAfter }: Case): string[] {
	return [name, saysRetryAfter ? 'yes' : 'no'];
}

function reasonOf({ name, roundTripMs }: Case): string {
	if (/ in (15|30) s/.test(name)) {
		return 'The first refusal period is taken for one of a window of 10 s or a minute; the rate then grows to the limit';
	}
	if (name.startsWith('10 in')) {
		return 'Its requests are 6 s apart, and one that is refused is a tenth of what a minute carries';
	}
	if (roundTripMs) return 'All that is under way when the first refusal comes is refused too';
	if (name.includes('bucket')) return 'Its burst is taken for its rate until it is empty';
	if (name.includes('then'))
		return 'A limit that has risen is tried only a minute after the last refusal';
	return 'Without Retry-After, the length of the window is found by asking now and then';
}

function worst(results: Result[]): Result {
	return {
		carried: Math.min(...results.map(({ carried }) => carried)),
		refused: Math.max(...results.map(({ refused }) => refused)),
		silenceS: Math.max(...results.map(({ silenceS }) => silenceS)),
	};
}

interface UnderWay {
	client: Client;
	sentAt: number;
	answeredAt: number;
	answer: Learned;
}

interface Client {
	pace: PaceLike;
	/** How many requests it has to send. */
	has: number;
	/** When n8n is free to send its next one. */
	freeAt: number;
}

/** Sends for ten minutes, and counts; nothing waits for real. */
function send(one: Case, makePace: () => PaceLike, seed: number): Result {
	const { clients: count = 1, roundTripMs = 50, strays = 0, offered, windowMs } = one;
	const { random } = Math;
	// Backing off has a part of chance.
	Math.random = randomFrom(seed * 7_919);
	const limiter = one.limiter();
	const has = offered ? 0 : Infinity;
	const clients = Array.from({ length: count }, (): Client => ({
		pace: makePace(),
		has,
		freeAt: 0,
	}));
	const underWay: UnderWay[] = [];
	let [sent, carried, refused, silenceMs, carriedAt, offeredAt] = [0, 0, 0, 0, windowMs, 0];
	for (let now = 0; ;) {
		const opensAt = ({ pace, has, freeAt }: Client) =>
			has >= 1 ? Math.max(now, pace.opensAt, freeAt) : Infinity;
		const next = clients.reduce((a, b) => (opensAt(b) < opensAt(a) ? b : a));
		const answered = underWay[0];
		const offersAt = offered ? offeredAt : Infinity;
		const at = Math.min(opensAt(next), answered?.answeredAt ?? Infinity, offersAt);
		if (at > FOR_MS) break;
		now = at;
		if (at === offersAt) {
			for (const client of clients) client.has++;
			offeredAt += SECOND / (offered ?? 1);
		} else if (answered?.answeredAt === at) {
			underWay.shift();
			const { client, sentAt, answer } = answered;
			client.pace.learn(answer, sentAt, now);
			if (answer.kind === 'ok') {
				carried++;
				silenceMs = Math.max(silenceMs, now - carriedAt);
				carriedAt = Math.max(carriedAt, now);
			} else {
				refused++;
				client.has++;
			}
		} else {
			next.pace.take(now);
			next.has--;
			next.freeAt = now + N8N_REQUEST_MS;
			sent++;
			const waitMs = limiter(now + roundTripMs / 2);
			const isRefused = waitMs > 0 || Math.random() < strays;
			const retryAfter = String(Math.max(1, Math.ceil(waitMs / SECOND)));
			const answer: Learned = isRefused
				? { kind: 'rateLimited', status: 429, ...(one.saysRetryAfter && { retryAfter }) }
				: { kind: 'ok', status: 200 };
			underWay.push({ client: next, sentAt: now, answeredAt: now + roundTripMs, answer });
		}
	}
	Math.random = random;
	silenceMs = Math.max(silenceMs, FOR_MS - carriedAt);
	const possible = (one.rate * (offered ? count : 1) * FOR_MS) / SECOND;
	return { carried: carried / possible, refused: refused / sent, silenceS: silenceMs / SECOND };
}
