import type { IDataObject } from 'n8n-workflow';

import { SimulatedHost } from '../support/simulation/simulatedHost.cts';
import { json, SimulatedService, type Behaviour } from '../support/simulation/simulatedService.cts';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

const LONG = 'long '.repeat(200_000);
const envelope = (code: string) => ({ error: { code, message: LONG, request_id: 'r' } });

type Trouble = NonNullable<Behaviour['trouble']>;

/** Where a megabyte of text may come from. */
const SOURCES: Array<[string, Trouble]> = [
	['a bad configuration', () => json(400, envelope('odd'))],
	['a code of the service', () => json(400, envelope('unknown_parameter'))],
	['its error', () => json(500, envelope('internal_error'))],
	['the reason of a lost connection', () => new Error(LONG)],
	[
		"a run's error",
		({ isCreate }) =>
			isCreate ? undefined : json(200, { status: 'failed', error: LONG, completed_at: 'x' }),
	],
	[
		"a run's status",
		({ isCreate }) => (isCreate ? undefined : json(200, { status: LONG, completed_at: 'x' })),
	],
	["a run's ID", () => json(202, { run_id: LONG, status: 'pending' })],
];

test.each(SOURCES)('a message stays short, whatever is in %s', async (_, trouble) => {
	const service = new SimulatedService({ runOf: () => ({ durationMs: 1_000 }), trouble });
	const stopping = new SimulatedHost({ service, count: 1 });
	const thrown = await stopping.execute().catch((error: unknown) => error as Error);
	const { message, description } = thrown as Error & { description: string };
	expect(message.length).toBeLessThanOrEqual(2_000);
	expect(description.length).toBeLessThanOrEqual(2_000);

	const node = { onError: 'continueRegularOutput' } as const;
	const [item] = await new SimulatedHost({ service, count: 1, node }).execute();
	expect(((item?.json as IDataObject).error as string).length).toBeLessThanOrEqual(2_000);
});
