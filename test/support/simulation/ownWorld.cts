import { AgentInvocationApi } from '../../../credentials/AgentInvocationApi.credentials.ts';
import { AgentInvocation } from '../../../nodes/AgentInvocation/AgentInvocation.node.ts';
import type { Hand } from './world/hand.cts';
import { itemNumberOf, type Attempt } from './world/history.cts';
import type { LoadedPackage } from './world/nodeCode.cts';
import { pass, settingOf, type Setting } from './world/simulate.cts';
import { standstill } from './world/virtualClock.cts';
import type { ExecutionSpec, RetrySpec, RunSpec, ServiceSpec, World } from './world/world.cts';

/** What a test says of its world. What it does not say is as in a world without trouble. */
export interface Said extends Partial<Omit<ExecutionSpec, 'items'>> {
	/** How many items there are; one when absent. */
	count?: number;
	/** What an item's run does; when absent, it succeeds after two seconds. Its output is the item's number. */
	runOf?: (item: number) => Partial<RunSpec>;
	service?: Partial<ServiceSpec>;
	hand?: Hand;
	kills?: World['kills'];
}

let worlds = 0;

// A test that fails must not end the process in which the others run.
standstill.tell = (at) => {
	throw new Error(`The node stands still at ${at} ms`);
};

/** A world that a test describes, with the node as the test has loaded it. n8n executes it once. */
export class OwnWorld {
	readonly world: World;

	private readonly setting: Setting;

	constructor({ count = 1, runOf, service, hand = {}, kills = [], ...execution }: Said = {}) {
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
		this.world = {
			seed: 1,
			service: {
				agents: ['Reporter'],
				pageSize: 100,
				tripMs: [0, 0],
				faults: [],
				unknownForMs: 0,
				...service,
			},
			executions: [{ ...USUAL, ...execution, items }],
			kills,
			version: '',
		};
		// A service of its own, of which the node knows nothing from other tests.
		const baseUrl = `https://agents-${++worlds}.example.com/api/v1`;
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

	/** Stops the execution, as a user does. */
	stop(): void {
		this.setting.n8n.stop(0);
	}

	/** Lets n8n execute the workflow to its end. */
	async execute() {
		this.setting.n8n.start();
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
		await pass(this.setting);
		if (history.ended !== 'ended') throw new Error('The world does not come to its end');
		return seenOf(history.attempts.at(-1)!);
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
	return {
		attempt,
		items: outputs.flat(),
		jsons: outputs.flat().map(({ json }) => json),
		/** What the node threw at its end. */
		error,
		parks,
		hints,
		ms: endedAt - beganAt,
	};
}

/** The node as the test's own modules have it. */
function load(): LoadedPackage {
	const { execute } = new AgentInvocation() as unknown as Pick<LoadedPackage, 'execute'>;
	const credential = new AgentInvocationApi();
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
