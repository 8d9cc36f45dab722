import type { Answer } from '../../nodes/AgentInvocation/service/answer.ts';
import {
	PacesByPriority,
	type Priority,
} from '../../nodes/AgentInvocation/service/pacesByPriority.ts';

const SECOND = 1_000;
const TRIP_MS = 50;
const refusal: Answer = { kind: 'rateLimited', status: 429, retryAfter: '20' };
const carried: Answer = { kind: 'ok', status: 200 };

/** Sends requests one after the other, each as soon as it may be sent, and has them answered. */
class Client {
	readonly paces = new PacesByPriority();
	now = 0;

	send(priority: Priority, answer: Answer): void {
		this.now = Math.max(this.now, this.paces.opensAt(priority));
		const sentAt = this.now;
		this.paces.take(priority, sentAt);
		this.now += TRIP_MS;
		this.paces.learn(priority, answer, sentAt, this.now);
	}
}

/** A client whose creates were refused soon after a pause in which nothing but a few were. */
function withCreatesRefused(): Client {
	const client = new Client();
	for (let n = 0; n < 40; n++) client.send('poll', carried);
	client.send('create', refusal);
	client.send('poll', carried);
	client.send('create', refusal);
	return client;
}

test('creates that are refused long before a limit can have been met are told apart', () => {
	const { paces, now } = withCreatesRefused();
	expect(paces.areCreatesRefused).toBe(true);
	expect(paces.pausedUntilFor('poll')).toBe(now + 20 * SECOND);
});

test('a request that was under way before that is no longer so once it is answered', () => {
	const client = new Client();
	for (let n = 0; n < 40; n++) client.send('poll', carried);
	const slow = Array.from({ length: 100 }, () => {
		client.now = Math.max(client.now, client.paces.opensAt('poll'));
		client.paces.take('poll', client.now);
		return client.now;
	});
	client.send('poll', carried);
	client.send('create', refusal);
	client.send('poll', carried);
	client.send('create', refusal);
	expect(client.paces.areCreatesRefused).toBe(true);
	client.now += 25 * SECOND;
	for (const sentAt of slow) client.paces.learn('poll', carried, sentAt, client.now);
	const sentAt = client.now;
	client.paces.take('create', sentAt);
	client.now += 12 * SECOND;
	client.paces.learn('create', carried, sentAt, client.now);
	expect(client.paces.opensAt('create')).toBeLessThanOrEqual(client.now);
});

test('a refusal when as much was carried as ever is that of a limit', () => {
	const client = new Client();
	for (let n = 0; n < 40; n++) client.send('poll', carried);
	client.send('create', refusal);
	expect(client.paces.areCreatesRefused).toBe(false);
});

test('so may be the one after a pause in which nothing was carried', () => {
	const client = new Client();
	for (let n = 0; n < 40; n++) client.send('poll', carried);
	client.send('create', refusal);
	client.send('create', refusal);
	expect(client.paces.areCreatesRefused).toBe(false);
});

describe('without Retry-After, pauses are too short to tell', () => {
	const bare: Answer = { kind: 'rateLimited', status: 429 };
	/** A client whose creates are refused so many times, with something before each. */
	function refused(times: number, before: (client: Client) => void): Client {
		const client = new Client();
		for (let n = 0; n < times; n++) {
			before(client);
			client.send('create', bare);
		}
		return client;
	}
	const afterPolls = (client: Client) => {
		for (let n = 0; n < 8; n++) client.send('poll', carried);
	};

	test('creates that are refused each time, with polls carried before, are told apart then', () => {
		expect(refused(4, afterPolls).paces.areCreatesRefused).toBe(false);
		expect(refused(5, afterPolls).paces.areCreatesRefused).toBe(true);
	});

	test('creates that are refused one after the other count as one', () => {
		const client = refused(4, afterPolls);
		client.send('create', bare);
		expect(client.paces.areCreatesRefused).toBe(false);
	});

	test.each<[string, Priority, Answer]>([
		['a create that is carried', 'create', carried],
		['a poll that is refused', 'poll', bare],
	])('%s among them shows that it is no limit of runs', (_, priority, answer) => {
		const client = refused(4, afterPolls);
		client.send(priority, answer);
		afterPolls(client);
		client.send('create', bare);
		expect(client.paces.areCreatesRefused).toBe(false);
	});

	test('polls without an answer show nothing', () => {
		const lost: Answer = { kind: 'connectionLost' };
		expect(refused(9, (client) => client.send('poll', lost)).paces.areCreatesRefused).toBe(false);
	});
});

test('polls go on as fast as before, and pause for as long as the service asks', () => {
	const client = withCreatesRefused();
	const from = client.paces.opensAt('poll');
	expect(from).toBe(client.paces.pausedUntilFor('poll'));
	for (let n = 0; n < 20; n++) client.send('poll', carried);
	expect(client.now - from).toBeLessThan(10 * SECOND);
	expect(client.paces.opensAt('create')).toBeGreaterThanOrEqual(from);
});

test('one create is sent at a time, and one more for each that is carried, or takes long while others are answered', () => {
	const client = withCreatesRefused();
	const { paces } = client;
	let now = paces.opensAt('create');
	for (const most of [1, 2, 4]) {
		for (let n = 1; n < most; n++) {
			paces.take('create', now);
			expect(paces.opensAt('create')).toBeLessThan(now + 5 * SECOND);
		}
		paces.take('create', now);
		expect(paces.opensAt('create')).toBe(now + 30 * SECOND);
		paces.take('poll', now);
		paces.learn('poll', carried, now, now);
		expect(paces.opensAt('create')).toBe(now + 5 * SECOND);
		expect(paces.opensFirstAt).toBe(paces.opensAt('poll'));
		for (let n = 0; n < most; n++) paces.learn('create', carried, now, now);
		now += SECOND;
	}
});

test('a refused poll shows that it is a limit of requests after all', () => {
	const client = withCreatesRefused();
	client.send('poll', refusal);
	const { paces, now } = client;
	expect(paces.areCreatesRefused).toBe(false);
	expect(paces.opensAt('create')).toBe(paces.opensAt('poll'));
	expect(paces.pausedUntilFor('poll')).toBe(now + 20 * SECOND);
});

test('creates that were under way when a poll was refused show nothing', () => {
	const client = withCreatesRefused();
	const { paces } = client;
	client.now = paces.opensAt('create');
	paces.take('create', client.now);
	const sentAt = client.now;
	client.send('poll', carried);
	client.send('poll', refusal);
	const pausedUntil = paces.pausedUntilFor('poll');
	paces.learn('create', { ...refusal, retryAfter: '1' }, sentAt, client.now + TRIP_MS);
	expect(paces.areCreatesRefused).toBe(false);
	expect(paces.pausedUntilFor('poll')).toBe(pausedUntil);
});

test('creates then go on at the pace of polls, and not at that to which they were held back', () => {
	const client = withCreatesRefused();
	for (let n = 0; n < 9; n++) {
		for (let m = 0; m < 50; m++) client.send('poll', carried);
		client.send('create', refusal);
	}
	for (let n = 0; n < 200; n++) client.send('poll', carried);
	client.send('poll', { ...refusal, retryAfter: '1' });
	const from = client.paces.opensAt('create');
	for (let n = 0; n < 20; n++) client.send('create', carried);
	expect(client.now - from).toBeLessThan(10 * SECOND);
});

test('requests whose answers are still to come do not count as carried', () => {
	const { paces } = new Client();
	for (let n = 0; n < 10; n++) paces.take('create', n * 10);
	for (let n = 0; n < 3; n++) paces.learn('create', carried, n * 10, 300);
	paces.learn('create', refusal, 90, 310);
	expect(paces.areCreatesRefused).toBe(false);
});

test('nor does the last of the seconds that the service asks for', () => {
	const client = new Client();
	for (let n = 0; n < 8; n++) client.send('poll', carried);
	client.send('create', { ...refusal, retryAfter: '1' });
	for (let n = 0; n < 4; n++) client.send('poll', carried);
	client.send('create', { ...refusal, retryAfter: '1' });
	expect(client.paces.areCreatesRefused).toBe(false);
});

describe('where creates alone are refused without Retry-After', () => {
	const bare: Answer = { kind: 'rateLimited', status: 429 };
	beforeEach(() => jest.spyOn(Math, 'random').mockReturnValue(0.5));
	afterEach(() => jest.restoreAllMocks());

	function refusedAlone(): Client {
		const client = new Client();
		for (let n = 0; n < 5; n++) {
			for (let m = 0; m < 8; m++) client.send('poll', carried);
			client.send('create', bare);
		}
		return client;
	}
	const pauseOf = ({ paces, now }: Client) => Math.round(paces.opensAt('create') - now);
	function pauseAfter(client: Client, ...answers: Answer[]): number {
		for (const answer of answers) client.send('create', answer);
		return pauseOf(client);
	}

	test('creates pause for twice as long after each refusal, up to a minute', () => {
		const client = refusedAlone();
		const pauses = Array.from({ length: 9 }, () => pauseAfter(client, bare));
		expect(pauses).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
	});

	test('and for a quarter as long once one is carried', () => {
		const client = refusedAlone();
		pauseAfter(client, bare, bare, bare, bare);
		// Of 4 s, 1 s is left, which doubles.
		expect(pauseAfter(client, carried, bare)).toBe(2_000);
		expect(pauseAfter(client, carried, carried, carried, bare)).toBe(500);
	});

	test('polls go on meanwhile', () => {
		const client = refusedAlone();
		pauseAfter(client, ...Array<Answer>(9).fill(bare));
		expect(client.paces.opensAt('poll')).toBeLessThan(client.now + 5 * SECOND);
	});
});
