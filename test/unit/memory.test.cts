import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import type { IHttpRequestOptions } from 'n8n-workflow';

import { AgentInvocation } from '../../nodes/AgentInvocation/AgentInvocation.node.ts';
import { contextOf } from '../support/simulation/world/context.cts';
import { settle } from '../support/virtualTime.cts';

setFlagsFromString('--expose_gc');
const collectGarbage = runInNewContext('gc') as () => void;

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

function heapUsed(): number {
	collectGarbage();
	return process.memoryUsage().heapUsed;
}

// Not in a world, which keeps all requests to look at them.
test('a wait takes no more memory, however often it polls', async () => {
	const runId = '11111111-2222-4333-8444-555555555555';
	let polls = 0;
	const heaps: number[] = [];
	const request = ({ method }: IHttpRequestOptions) => {
		if (method === 'POST') return { statusCode: 202, headers: {}, body: { run_id: runId } };
		polls++;
		if (polls % 10_000 === 0) heaps.push(heapUsed());
		const status = polls === 70_000 ? 'succeeded' : 'running';
		return { statusCode: 200, headers: {}, body: { run_id: runId, status, output: '' } };
	};
	const context = contextOf({
		credential: () => Promise.resolve({ baseUrl: 'https://agents.example.com', apiKey: 'key' }),
		parameters: {
			resource: 'run',
			operation: 'create',
			agentId: 1,
			specifyParameters: 'json',
			parametersJson: '{}',
			options: { pollInterval: 1, timeout: 0 },
		},
		request: (options) => {
			const { body, ...answer } = request(options);
			return Promise.resolve({ ...answer, body: JSON.stringify(body) });
		},
	});
	const [items] = (await settle(new AgentInvocation().execute.call(context))) as unknown[][];
	expect(items).toMatchObject([{ json: { status: 'succeeded' } }]);
	expect(polls).toBe(70_000);
	const growths = heaps.slice(1).map((heap, index) => heap - heaps[index]!);
	const [median = Infinity] = growths.sort((a, b) => a - b).slice(growths.length / 2);
	// The median, since some things are let go once. A number kept of each poll makes 60 kB and more.
	expect(median).toBeLessThan(30_000);
});
