import type { IExecuteFunctions } from 'n8n-workflow';

import { AgentInvocationApi } from '../../../credentials/AgentInvocationApi.credentials.ts';
import { AgentInvocation } from '../../../nodes/AgentInvocation/AgentInvocation.node.ts';
import type { Answered } from './world/answers.cts';
import type { Hand } from './world/hand.cts';
import {
	executionOf,
	itemNumberOf,
	type Attempt,
	type SeenRequest,
	type SeenRun,
} from './world/history.cts';
import type { LoadedPackage } from './world/nodeCode.cts';
import { pass, settingOf, type Setting } from './world/simulate.cts';
import { standstill } from './world/virtualClock.cts';
import type { ExecutionSpec, RetrySpec, RunSpec, ServiceSpec, World } from './world/world.cts';

/** What a test says of an execution. What it does not say is as where nothing goes wrong. */
export interface SaidExecution extends Partial<Omit<ExecutionSpec, 'items'>> {
	/** How many items there are; one when absent. */
	count?: number;
	/** What an item's run does; when absent, it succeeds after two seconds. Its output is the item's number. */
	runOf?: (item: number) => Partial<RunSpec>;
}

/** Sends a request to the service with n8n's request helper. */
export type Send = (method: 'GET' | 'POST', path: string, body?: object) => Promise<Answered>;

/** What a test says of its world: of its first execution, and of all else. */
export interface Said extends SaidExecution {
	/** Other executions, each with the same key unless it says another. */
	beside?: SaidExecution[];
	/** Of all that is left to chance. */
	seed?: number;
	service?: Partial<ServiceSpec>;
	hand?: Hand;
	/** What n8n executes in place of this node, given the tags of its items. */
	instead?: (send: Send, tags: string[]) => Promise<unknown>;
	/** Loads the package, as each process of n8n does; the test's own modules when absent. */
	load?: () => LoadedPackage;
	/** When n8n is killed. Each later process has just started; the first one has been up for long. */
	kills?: World['kills'];
}

const NODE = '../../../nodes/AgentInvocation/AgentInvocation.node.ts';
const CREDENTIAL = '../../../credentials/AgentInvocationApi.credentials.ts';

/** More than a bench with the longest runs takes; fewer where code is broken on purpose: test/mutation. */
const { MOST_STEPS = 4_000_000 } = globalThis as { MOST_STEPS?: number };

let worlds = 0;

// A test that fails must not end the process in which the others run.
standstill.tell = (at) => {
	throw new Error(`The node stands still at ${at} ms`);
};

/** A world that a test describes, with the node as the test has loaded it. n8n executes it once. */
export class OwnWorld {
	readonly world: World;

	private readonly setting: Setting;

	private code: LoadedPackage | undefined;

	constructor({
		beside = [],
		seed = 1,
		service,
		hand = {},
		kills = [],
		instead,
		load: loadPackage,
		...first
	}: Said = {}) {
		this.world = {
			seed,
			service: {
				agents: ['Reporter'],
				pageSize: 100,
				tripMs: [0, 0],
				faults: [],
				unknownForMs: 0,
				...service,
			},
			executions: [first, ...beside].map(specOf),
			kills,
			version: '',
		};
		// A service of its own, of which the node knows nothing from other tests.
		const baseUrl = `https://agents-${++worlds}.example.com/api/v1`;
		const load = () => {
			const code = loadPackage?.() ?? (this.code ? loadAnew() : ownCode());
			return (this.code = instead ? { ...code, execute: nodeOf(instead, baseUrl) } : code);
		};
		this.setting = settingOf(this.world, load, hand, baseUrl);
	}

	get requests() {
		return this.setting.history.requests;
	}

	get runs() {
		return this.setting.history.runs;
	}

	/** The number of each run's item, in the order in which the runs were started. */
	get started(): number[] {
		return this.runs.map(({ tag }) => itemNumberOf(tag));
	}

	/** The runs of one execution. */
	runsOf(execution: number): SeenRun[] {
		return this.runs.filter(({ tag }) => executionOf(tag) === execution);
	}

	/** The requests of one execution. */
	requestsOf(execution: number): SeenRequest[] {
		return this.requests.filter((request) => request.execution.index === execution);
	}

	/** What has come so far of an execution, by its number. */
	seen(execution: number) {
		const { attempts } = this.setting.history;
		return seenOf(attempts.filter(({ index }) => index === execution).at(-1)!);
	}

	/** What the items' runs do; a test may change it between attempts. */
	runOf(item: number): RunSpec {
		return this.world.executions[0]!.items[item]!.run;
	}

	/** When the polls were sent, in ms after the beginning of the first run. */
	get polledAt(): number[] {
		const from = this.runs[0]?.createdAt ?? 0;
		return this.requests.filter(({ kind }) => kind === 'poll').map(({ sentAt }) => sentAt - from);
	}

	/** Does something after so long. */
	later(ms: number, act: () => void): void {
		this.setting.clock.after(ms, act);
	}

	/** Kills n8n after so long, which is back a second later. */
	killAfter(ms: number, awayMs = 1_000): void {
		this.setting.n8n.killLater(ms, awayMs);
	}

	/** Sets n8n's clock. */
	setClock(byMs: number): void {
		this.setting.clock.shift += byMs;
	}

	/** Replaces the package in n8n's process. What it executes already goes on with the code of before. */
	updatePackage(): void {
		Object.assign(this.code ?? {}, loadAnew());
	}

	/** Begins an execution that was said to start at Infinity. */
	begin(execution: number): void {
		this.setting.n8n.begin(execution);
	}

	/** Stops the execution, as a user does. */
	stop(): void {
		this.setting.n8n.stop(0);
	}

	/** Lets n8n execute the workflow to its end. */
	async execute() {
		const { n8n, clock, random } = this.setting;
		await clock.rule(random, () => Promise.resolve(n8n.start()));
		return await this.toTheEnd();
	}

	/** Lets a user choose n8n's Retry. */
	async retry(retry: Partial<RetrySpec> = {}) {
		const { n8n, clock, random } = this.setting;
		const made = { afterMs: 0, workflow: 'original' as const, ...retry };
		await clock.rule(random, () => Promise.resolve(n8n.retry(0, made)));
		return await this.toTheEnd();
	}

	private async toTheEnd() {
		const { history } = this.setting;
		await pass(this.setting, undefined, MOST_STEPS);
		if (history.ended !== 'ended') throw new Error('The world does not come to its end');
		return this.seen(0);
	}
}

/** What became of an execution of which the test says this. */
export async function execute(said: Said = {}) {
	const world = new OwnWorld(said);
	return { world, ...(await world.execute()) };
}

function seenOf(attempt: Attempt) {
	const { endings, beganAt, endedAt = Infinity, parks, hints } = attempt;
	const { outputs = [], error } = endings.get(0) ?? {};
	const calls = [...endings.values()].map((ending) => ending.outputs?.flat()[0]?.json);
	return {
		attempt,
		items: outputs.flat(),
		jsons: outputs.flat().map(({ json }) => json),
		/** The first output of each call or turn. */
		calls,
		/** What the node threw at its end. */
		error,
		parks,
		hints,
		ms: endedAt - beganAt,
	};
}

function specOf({ count = 1, runOf, ...execution }: SaidExecution): ExecutionSpec {
	const items = Array.from({ length: count }, (_, item) => ({
		run: {
			durationMs: 2_000,
			end: 'succeeded' as const,
			isJson: false,
			hasBlanks: false,
			shown: { output: String(item) },
			...runOf?.(item),
		},
		isVolatile: false,
		agent: 0,
		ownKey: false,
	}));
	return { ...USUAL, ...execution, items };
}

/** A node that does this for all its items, and outputs them as they are. */
function nodeOf(act: NonNullable<Said['instead']>, baseUrl: string): LoadedPackage['execute'] {
	return async function (this: IExecuteFunctions) {
		const items = this.getInputData();
		const send: Send = async (method, path, body) => {
			const request = { method, url: `${baseUrl}${path}`, body };
			return (await this.helpers.httpRequestWithAuthentication.call(
				this,
				'agentInvocationApi',
				request,
			)) as Answered;
		};
		await act(
			send,
			items.map(({ json }) => json.tag as string),
		);
		return [items];
	};
}

/** The node as the test's own modules have it. */
function ownCode(): LoadedPackage {
	return codeOf(AgentInvocation, AgentInvocationApi);
}

/** The same modules once more: what another process has, or what follows an update. */
function loadAnew(): LoadedPackage {
	const host = jest.requireActual<object>('n8n-workflow');
	let loaded: LoadedPackage | undefined;
	jest.isolateModules(() => {
		// n8n itself is not loaded again, which would take long.
		jest.doMock('n8n-workflow', () => host);
		const node = jest.requireActual<{ AgentInvocation: typeof AgentInvocation }>(NODE);
		const api = jest.requireActual<{ AgentInvocationApi: typeof AgentInvocationApi }>(CREDENTIAL);
		loaded = codeOf(node.AgentInvocation, api.AgentInvocationApi);
	});
	return loaded!;
}

function codeOf(Node: typeof AgentInvocation, Api: typeof AgentInvocationApi): LoadedPackage {
	const { execute } = new Node() as unknown as Pick<LoadedPackage, 'execute'>;
	const credential = new Api();
	return { execute, authenticate: credential.authenticate.bind(credential) as never };
}

const USUAL: Omit<ExecutionSpec, 'items'> = {
	startsAtMs: 0,
	key: 0,
	operation: 'create',
	turns: 1,
	waits: true,
	agentMode: 'id',
	parametersMode: 'json',
	options: {},
	onError: 'stopWorkflow',
	maxTries: 0,
	waitBetweenMs: 1_000,
	starter: 'schedule',
	callers: [],
	host: 'n8n',
	savesProgress: false,
	workflowTimeoutS: 0,
	resumesLateMs: 0,
	retries: [],
};
