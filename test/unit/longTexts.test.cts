import { bound, shorten } from '../../nodes/AgentInvocation/wording.ts';
import { execute } from '../support/simulation/ownWorld.cts';
import { json } from '../support/simulation/world/answers.cts';
import type { Hand } from '../support/simulation/world/hand.cts';

const LONG = 'long '.repeat(200_000);
const envelope = (code: string) => ({ error: { code, message: LONG, request_id: LONG } });

/** Where a megabyte of text may come from. */
const SOURCES: Array<[string, NonNullable<Hand['respond']>]> = [
	['a bad configuration', () => json(400, envelope(LONG))],
	['a code of the service', () => json(400, envelope('unknown_parameter'))],
	['its error', () => json(500, envelope('internal_error'))],
	['the reason of a lost connection', () => new Error(LONG)],
	[
		"a run's error",
		({ kind, runId }) =>
			kind === 'create'
				? undefined
				: json(200, { run_id: runId, status: 'failed', error: LONG, completed_at: '2026-01-01' }),
	],
	[
		"a run's status",
		({ kind, runId }) =>
			kind === 'create'
				? undefined
				: json(200, { run_id: runId, status: LONG, completed_at: '2026-01-01' }),
	],
	["a run's ID", () => json(202, { run_id: LONG, status: 'pending' })],
];

test.each(SOURCES)('a message stays short, whatever is in %s', async (_, respond) => {
	const { error } = await execute({ hand: { respond } });
	expect(error?.message.length).toBeLessThanOrEqual(2_000);
	expect(error?.description?.length).toBeLessThanOrEqual(2_000);

	const { jsons } = await execute({ hand: { respond }, onError: 'continueRegularOutput' });
	expect((jsons[0]?.error as string).length).toBeLessThanOrEqual(2_000);
	expect(JSON.stringify(jsons[0]).length).toBeLessThanOrEqual(10_000);
});

test('a character that is cut in two is left out', () => {
	const emojis = '\u{1F600}'.repeat(2_000);
	for (const cut of [bound(emojis), bound(`x${emojis}x`), shorten(emojis), shorten(`x${emojis}`)]) {
		expect(cut).not.toMatch(/\p{Cs}/u);
		expect(cut).toContain('…');
	}
	expect(bound(emojis.slice(0, 400))).toBe(emojis.slice(0, 400));
});
