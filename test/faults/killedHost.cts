import { setTimeout as sleep } from 'node:timers/promises';

import type { HostName } from '../../hosts/install.cts';
import { freePort, type WorkflowFile } from '../../hosts/n8n.cts';
import type { Signal } from '../../hosts/processes.cts';
import type { SandboxAgent } from '../../sandbox/agents.cts';
import type { Fault } from '../../sandbox/faults.cts';
import { postgresIn, removeSchema } from '../support/services.cts';
import { TestHost } from '../support/host.cts';
import { agentNode, n8nNode, savingProgress, webhookWorkflow } from '../support/workflows.cts';
import { until } from '../support/until.cts';
import { cases, type Case } from './moments.cts';

/** An n8n that is ended, and how. */
export interface KilledHost {
	hostName: HostName;
	database: 'SQLite' | 'PostgreSQL';
	signal: Signal;
}

/** How an execution stands. */
export interface Standing {
	/** Of the execution, or of its Retry. */
	status: string;
	/** How many runs the service has started for it. */
	runs: number;
	/** How many results have come out of the node, of the execution and its Retry together. */
	results: number;
	/** Whether the next node has done its work with one. */
	isPassedOn: boolean;
	/** What n8n shows of what went wrong. */
	message: string;
}

export interface Outcome {
	of: Case;
	/** Once n8n runs again, and nothing else is done. */
	thenNothing: Standing;
	/** After n8n's Retry with the original workflow, of those that have not succeeded. */
	thenRetry?: Standing;
}

/** How long n8n waits for its executions when it is asked to end, in s. */
const GRACE_S = 5;

/** How long before the parked executions are resumed the others are begun. */
const LEAD_MS = 20_000;

/** In which all executions come to their moments: a few rounds of polls. */
const ALIGNED_MS = 400_000;

/** By when all executions have ended that are to, once n8n runs again. */
const SETTLED_MS = 400_000;

const over = new Set<SandboxAgent>();

/** An agent whose runs go on until it is over. */
function agentOf({ id, agentId, moment }: Case): SandboxAgent {
	const agent: SandboxAgent = {
		id: agentId,
		name: id,
		description: moment.name,
		parameters: [],
		script: () => ({ durationMs: over.has(agent) ? 0 : Infinity, status: 'succeeded', output: id }),
	};
	return agent;
}

/** A request, then our node, then a request that tells the output. */
function workflowOf(
	{ id, agentId, moment, savesProgress }: Case,
	sandboxPort: number,
): WorkflowFile {
	const request = (name: string, query = '') =>
		n8nNode(name, 'httpRequest', 4.2, {
			parameters: {
				url: `=http://127.0.0.1:${sandboxPort}/${name}/${agentId}${query}`,
				options: {},
			},
		});
	const node = agentNode('Run', {
		resource: 'run',
		operation: 'create',
		agentId: { __rl: true, mode: 'id', value: String(agentId) },
		specifyParameters: 'json',
		parametersJson: '{}',
		options: moment.pollInterval === undefined ? {} : { pollInterval: moment.pollInterval },
	});
	const workflow = webhookWorkflow(
		id,
		[request('before'), node, request('after', '?output={{ $json.output }}')],
		{
			Rows: [['before']],
			before: [['Run']],
			Run: [['after']],
		},
	);
	return savingProgress(workflow, savesProgress);
}

/** What holds an execution at its moment. */
function holdOf({ agentId, moment: { held } }: Case): Fault | undefined {
	const stall = { kind: 'stall', times: Infinity, delayMs: 600_000 } as const;
	switch (held) {
		case 'before':
		case 'after':
			return { ...stall, path: `/${held}/${agentId}$` };
		case 'create':
			return { ...stall, method: 'POST', path: `/agents/${agentId}/runs$` };
		case 'answer':
			return { ...stall, method: 'POST', path: `/agents/${agentId}/runs$`, carriedOut: true };
		case 'poll':
			return { ...stall, method: 'GET', path: `/agents/${agentId}/runs/`, carriedOut: true };
		default:
			return undefined;
	}
}

/**
 * Brings an execution of each case to its moment, all in one n8n; ends that n8n, starts it again, and
 * retries what has not succeeded.
 */
export async function endHost({ hostName, database, signal }: KilledHost): Promise<Outcome[]> {
	const schema =
		`agent_invocation_${process.pid}_${hostName.replace('-', '')}_${signal}`.toLowerCase();
	const agents = new Map(cases.map((one) => [one, agentOf(one)]));
	const sandboxPort = await freePort(0);
	const workflows = cases.map((one) => workflowOf(one, sandboxPort));
	const host = await TestHost.start(hostName, workflows, {
		sandboxPort,
		settings: { moreAgents: [...agents.values()] },
		environment: {
			...(database === 'PostgreSQL' && postgresIn(schema)),
			N8N_GRACEFUL_SHUTDOWN_TIMEOUT: String(GRACE_S),
		},
	});
	try {
		return await new Ending(host, agents, signal).run();
	} finally {
		await host.stop();
		if (database === 'PostgreSQL') removeSchema(host.n8n.host, schema);
	}
}

/** One n8n that is ended. */
class Ending {
	private readonly ids = new Map<Case, string>();

	constructor(
		private readonly host: TestHost,
		private readonly agents: Map<Case, SandboxAgent>,
		private readonly signal: Signal,
	) {}

	async run(): Promise<Outcome[]> {
		const { n8n, sandbox } = this.host;
		await this.bringToMoments();
		await n8n.kill(this.signal);
		sandbox.faults.clear();
		this.letPass();
		for (const one of cases) this.finish(one);
		await n8n.start();

		await until(async () => (await this.unsettled()).length === 0, SETTLED_MS).catch(() => {});
		const nothing = await Promise.all(cases.map(async (one) => await this.standing(one)));
		return await Promise.all(
			nothing.map(async (thenNothing, index) => {
				const of = cases[index]!;
				if (thenNothing.status === 'success') return { of, thenNothing };
				return { of, thenNothing, thenRetry: await this.retry(of) };
			}),
		);
	}

	private async bringToMoments(): Promise<void> {
		const { n8n } = this.host;
		this.letPass();
		const parked = cases.filter(({ moment }) => moment.isParked);
		const inMemory = cases.filter(({ moment }) => !moment.isParked);
		await Promise.all(parked.map(async (one) => await this.begin(one)));
		await Promise.all(parked.map(async (one) => await this.host.untilParked(this.ids.get(one)!)));
		for (const one of parked) {
			if (one.moment.isFinished) this.finish(one);
			this.hold(one);
		}
		const [first] = (await Promise.all(parked.map(async ({ id }) => await n8n.executions(id))))
			.flat()
			.map(({ waitTill }) => Date.parse(waitTill ?? ''))
			.sort((a, b) => a - b);
		await sleep(Math.max(first! - Date.now() - LEAD_MS, 0));
		for (const one of inMemory) {
			if (one.moment.isFinished) this.finish(one);
			this.hold(one);
		}
		await Promise.all(inMemory.map(async (one) => await this.begin(one)));
		await until(async () => (await this.notThere()).length === 0, ALIGNED_MS).catch(async () => {
			const names = (await this.notThere()).map(({ moment }) => moment.name);
			throw new Error(`These do not come to their moments: ${names.join('; ')}`);
		});
	}

	/** Lets the requests of the nodes beside ours pass. */
	private letPass(): void {
		const path = '/(before|after)/\\d+$';
		this.host.sandbox.faults.add({ kind: 'answer', path, times: Infinity, body: {} });
	}

	private hold(one: Case): void {
		const hold = holdOf(one);
		if (hold) this.host.sandbox.faults.addFirst(hold);
	}

	private async begin(one: Case): Promise<void> {
		this.ids.set(one, await this.host.begin(one.id, [{}]));
	}

	/** Lets the case's runs end now, and those that are yet to come. */
	private finish(one: Case): void {
		over.add(this.agents.get(one)!);
		for (const run of this.runsOf(one)) run.script.durationMs = Date.now() - run.createdAt;
	}

	private runsOf({ agentId }: Case) {
		return this.host.sandbox.runs.all.filter((run) => run.agentId === agentId);
	}

	/** The cases whose executions are not at their moments. */
	private async notThere(): Promise<Case[]> {
		const there = await Promise.all(cases.map(async (one) => await this.isThere(one)));
		return cases.filter((_, index) => !there[index]);
	}

	private async isThere(one: Case): Promise<boolean> {
		const { held, isParked } = one.moment;
		const { requests } = this.host.sandbox;
		const own = requests
			.map((request) => ({ ...request, path: request.url.replace(/\?.*/, '') }))
			.filter(({ path }) => new RegExp(`/${one.agentId}(/|$)`).test(path));
		if (held) {
			const hold = holdOf(one)!;
			return own.some(
				({ isOpen, method, path }) =>
					isOpen && method === (hold.method ?? method) && new RegExp(hold.path!).test(path),
			);
		}
		if (own.some(({ isOpen }) => isOpen)) return false;
		if (!isParked)
			return own.some(({ method, path }) => method === 'GET' && path.includes('/runs/'));
		return (await this.host.n8n.execution(this.ids.get(one)!)).status === 'waiting';
	}

	/** The cases of which something goes on. */
	private async unsettled(): Promise<Case[]> {
		const all = await Promise.all(cases.map(async ({ id }) => await this.host.n8n.executions(id)));
		// For a moment after its start, n8n shows as crashed what its recovery has met while it ran.
		const isSettled = ({ moment }: Case, statuses: string[]) =>
			moment.isParked && !moment.held
				? statuses.includes('success')
				: !statuses.some((status) => ['new', 'running', 'waiting'].includes(status));
		return cases.filter(
			(one, index) =>
				!isSettled(
					one,
					all[index]!.map(({ status }) => status),
				),
		);
	}

	private async standing(one: Case): Promise<Standing> {
		const { n8n, sandbox } = this.host;
		const listed = await n8n.executions(one.id);
		const all = await Promise.all(listed.map(async ({ id }) => await n8n.execution(id)));
		const newest = all[0]!;
		const results = all.filter(({ status, data }) => {
			// The last run is what later nodes refer to.
			const outputs = data.resultData.runData.Run?.at(-1)?.data?.main?.[0] ?? [];
			return status === 'success' && outputs.some(({ json }) => json.output === one.id);
		});
		return {
			status: newest.status,
			runs: this.runsOf(one).length,
			results: results.length,
			isPassedOn: sandbox.requests.some(
				({ url, status }) =>
					url.endsWith(`/after/${one.agentId}?output=${one.id}`) && status === 200,
			),
			message: newest.data.resultData.error?.message ?? '',
		};
	}

	private async retry(one: Case): Promise<Standing> {
		const { n8n } = this.host;
		await n8n.endOf(await n8n.retry(this.ids.get(one)!));
		return await this.standing(one);
	}
}
