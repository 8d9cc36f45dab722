import type { HostName } from '../../hosts/install.cts';
import type { Signal } from '../../hosts/processes.cts';
import { jsonOf, TestHost } from '../support/host.cts';
import {
	agentNode,
	createForRow,
	n8nNode,
	rowsWorkflow,
	savingProgress,
} from '../support/workflows.cts';
import { until } from '../support/until.cts';

// What the package exists for: n8n is ended while executions wait, is away until all of them are overdue,
// and is started again. n8n's own Wait node waits beside ours.
jest.setTimeout(1_800_000);

const EACH = 24;
/** Away for so long that every poll is overdue. */
const AWAY_MS = 75_000;
/** Longer than from one poll to the next, of an execution that resumes late. */
const UNCHANGED_MS = 180_000;
/** Against executions that never end. */
const SETTLED_MS = 900_000;

const ours = rowsWorkflow(
	'ours',
	agentNode('Run', { ...createForRow, options: { pollInterval: 65 } }),
);
const theirs = rowsWorkflow(
	'theirs',
	n8nNode('Run', 'wait', 1.1, {
		parameters: { resume: 'timeInterval', amount: 66, unit: 'seconds' },
		webhookId: 'theirs-wait',
	}),
);

interface Case {
	hostName: HostName;
	signal: Signal;
	/** n8n's concurrency limit, if any. */
	limit?: number;
}

const cases: Case[] = [
	{ hostName: 'n8n-2', signal: 'SIGTERM' },
	{ hostName: 'n8n-2', signal: 'SIGKILL' },
	{ hostName: 'n8n-2', signal: 'SIGTERM', limit: 2 },
	{ hostName: 'n8n-1', signal: 'SIGTERM' },
];

test.concurrent.each(cases)(
	'$hostName, ended with $signal (limit: $limit)',
	async ({ hostName, signal, limit }) => {
		const environment =
			limit === undefined ? {} : { N8N_CONCURRENCY_PRODUCTION_LIMIT: String(limit) };
		const host = await TestHost.start(hostName, [ours, theirs], { environment });
		try {
			const { n8n, sandbox } = host;
			const texts = new Map<string, string>();
			const waits: string[] = [];
			for (let n = 0; n < EACH; n++) {
				// Half of the runs are still going when n8n comes back.
				const seconds = n % 2 === 0 ? 30 : 260;
				const row = { agent: 3, values: { seconds, text: `run ${n}` } };
				texts.set(await host.begin('ours', [row]), `run ${n}`);
				waits.push(await host.begin('theirs', [row]));
			}
			for (const id of [...texts.keys(), ...waits]) await host.untilParked(id);

			await n8n.kill(signal);
			await new Promise((resolve) => setTimeout(resolve, AWAY_MS));
			await n8n.start();

			const notRight = async (ids: string[]) => {
				const all = await Promise.all(ids.map(async (id) => await n8n.execution(id)));
				return all.filter(({ status }) => status !== 'success');
			};
			// For a minute after its start, n8n shows as crashed what its recovery has met while it ran. What is
			// still so when nothing changes any more is lost.
			let [seen, changedAt] = ['', Date.now()];
			const isSettled = async () => {
				const now = (await notRight([...texts.keys(), ...waits])).map(
					({ id, status }) => id + status,
				);
				if (now.join() !== seen) [seen, changedAt] = [now.join(), Date.now()];
				return now.length === 0 || Date.now() - changedAt > UNCHANGED_MS;
			};
			await until(isSettled, SETTLED_MS).catch(() => {});
			const lost = await notRight([...texts.keys()]);
			const theirLost = await notRight(waits);
			process.stderr.write(
				`${hostName}, ${signal}, limit ${limit ?? 'none'}: ${EACH - lost.length} of ${EACH} right, n8n's Wait node ${EACH - theirLost.length}\n`,
			);
			// With a limit, n8n's own recovery crashes executions that queue for their turn, whatever waits.
			if (limit === undefined) expect(lost.map(({ id, status }) => ({ id, status }))).toEqual([]);
			// Its draws are few, so that a difference of some is chance.
			else expect(lost.length).toBeLessThanOrEqual(theirLost.length + EACH / 4);

			for (const [id, text] of texts) {
				if (lost.some((one) => one.id === id)) continue;
				const end = await n8n.endOf(id);
				expect(jsonOf(end, 'Good').map(({ output }) => output)).toEqual([text]);
			}
			for (const { id } of lost) {
				const retried = await n8n.endOf(await n8n.retry(id));
				expect(retried.status).toBe('success');
				expect(jsonOf(retried, 'Good').map(({ output }) => output)).toEqual([texts.get(id)]);
			}
			// Each run was started once, and each execution is one row in n8n's list.
			const started = sandbox.runs.all.map(({ bindings }) => bindings.text);
			expect(started.sort()).toEqual([...texts.values()].sort());
			expect(await n8n.executions('ours')).toHaveLength(EACH + lost.length);
		} finally {
			await host.stop();
		}
	},
);

test.concurrent(
	'ten runs that are waited for in memory, with saved progress, outlive a kill',
	async () => {
		const waiting = rowsWorkflow('waiting', agentNode('Run', createForRow));
		const host = await TestHost.start('n8n-2', [savingProgress(waiting)]);
		try {
			const { n8n, sandbox } = host;
			const texts = Array.from({ length: 10 }, (_, n) => `run ${n}`);
			const rows = texts.map((text) => ({ agent: 3, values: { seconds: 40, text } }));
			const id = await host.begin('waiting', rows);
			// The first polls come after the checkpoint.
			await until(() => sandbox.requests.filter(({ method }) => method === 'GET').length > 20);
			await n8n.kill('SIGKILL');
			await n8n.start();
			expect((await n8n.endOf(id)).status).toBe('crashed');

			const retried = await n8n.endOf(await n8n.retry(id));
			expect(retried.status).toBe('success');
			expect(jsonOf(retried, 'Good').map(({ output }) => output)).toEqual(texts);
			expect(retried.data.resultData.runData.Run).toHaveLength(1);
			expect(sandbox.runs.all).toHaveLength(10);
		} finally {
			await host.stop();
		}
	},
);
