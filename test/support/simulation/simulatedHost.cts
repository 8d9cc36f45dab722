import type {
	EngineRequest,
	ICredentialDataDecryptedObject,
	IDataObject,
	IExecuteFunctions,
	INode,
	INodeExecutionData,
	WorkflowExecuteMode,
} from 'n8n-workflow';

import { AgentInvocation } from '../../../nodes/AgentInvocation/AgentInvocation.node.ts';
import { settle } from '../virtualTime.cts';
import type { SimulatedService } from './simulatedService.cts';
import { contextOf } from './world/context.cts';

let hosts = 0;

/** What is executed. */
export interface Simulation {
	service: SimulatedService;
	/** How many items there are; each starts a run with its number as the parameter `item`. */
	count: number;
	options?: IDataObject;
	node?: Partial<INode>;
	parameters?: IDataObject;
	settings?: IDataObject;
	/** Whether the host lets nodes ask the engine; true when absent. */
	parks?: boolean;
	/** How late n8n resumes, in ms. */
	resumesLateMs?: number;
	/** The agent in whose process the node runs, as its tool. */
	toolOf?: string;
	/** Whether the host runs the node without execution data, as n8n's own agents do. */
	keepsNothing?: boolean;
}

/** A rest that the node asked for. */
export interface SeenRest {
	/** From the request to the date that it named, in ms; null for a checkpoint. */
	forMs: number | null;
	/** What n8n stores of the node's memory. */
	memory: IDataObject;
}

/**
 * n8n on virtual time, as far as the node sees it: it stores the node's context as JSON at every rest, and
 * runs the node again on the date that it named. What the engine really does is tested in real hosts.
 */
export class SimulatedHost {
	/** What n8n stores with the execution. */
	context: IDataObject = {};

	readonly rests: SeenRest[] = [];

	readonly hints: string[] = [];

	executionId = '1';

	/** A key of its own, so that executions of other tests share nothing with this one, unless told to. */
	apiKey = `key-${++hosts}`;

	credential: (index: number) => Promise<IDataObject> = () =>
		Promise.resolve({
			baseUrl: `https://agents-${this.apiKey}.example.com/api/v1`,
			apiKey: this.apiKey,
		});

	/** The values that an item gives to the agent's parameters. */
	parametersOf: (index: number) => IDataObject = (index) => ({ item: index });

	mode: WorkflowExecuteMode = 'trigger';

	/** How often Retry On Fail has run the node. */
	attempts = 0;

	cancelling = new AbortController();

	/** When the execution that n8n retries was stopped; undefined when it was not. */
	stoppedOn: number | undefined;

	constructor(readonly simulation: Simulation) {}

	/** Runs the node to its end, through all rests, while jest's fake clock turns. */
	async execute(): Promise<INodeExecutionData[]> {
		return await settle(this.run());
	}

	/** Runs the node until its end. */
	async run(): Promise<INodeExecutionData[]> {
		for (;;) {
			const output = await this.runOnce();
			if (!('actions' in output)) return output[0] ?? [];
			await this.rest(output);
		}
	}

	/**
	 * Runs the node with Retry On Fail as n8n does, which counts the attempts anew after each rest, and takes an
	 * output that begins with an error for a failed attempt.
	 */
	async runWithRetries(maxTries: number): Promise<INodeExecutionData[]> {
		let passesResponse = true;
		for (let attempt = 1; ; attempt++) {
			try {
				this.attempts++;
				const output = await this.runOnce(passesResponse);
				if ('actions' in output) {
					await this.rest(output);
					[attempt, passesResponse] = [0, true];
					continue;
				}
				const error = output[0]?.[0]?.json.error ?? false;
				if (error === false || attempt === maxTries) return output[0] ?? [];
				passesResponse = false;
				await new Promise((resolve) => setTimeout(resolve, 1_000));
			} catch (thrown) {
				if (attempt === maxTries) throw thrown;
				await new Promise((resolve) => setTimeout(resolve, 1_000));
			}
		}
	}

	/** Runs the node until its end or its next rest, whose date is then passed. */
	async runOnce(passesResponse = true): Promise<INodeExecutionData[][] | EngineRequest> {
		const passes = passesResponse && this.simulation.parks !== false;
		const response = passes ? { actionResponses: [], metadata: {} } : undefined;
		const output = await new AgentInvocation().execute.call(this.functions(), response);
		return output as INodeExecutionData[][] | EngineRequest;
	}

	/** Passes a rest as n8n does: all that outlives it is JSON. */
	async rest({ actions }: EngineRequest): Promise<void> {
		const input = actions[0]?.input.agentInvocationSuspension as { until?: number };
		const forMs = input.until === undefined ? null : input.until - Date.now();
		this.context = JSON.parse(JSON.stringify(this.context)) as IDataObject;
		this.rests.push({ forMs, memory: structuredClone(this.context) });
		if (forMs === null) return;
		const late = this.simulation.resumesLateMs ?? 0;
		await new Promise((resolve) => setTimeout(resolve, Math.max(0, forMs + late)));
	}

	functions(): IExecuteFunctions {
		const { count, options = {}, node, parameters = {}, settings, service } = this.simulation;
		const { toolOf, keepsNothing } = this.simulation;
		const fields: IDataObject = {
			resource: 'run',
			operation: 'create',
			agentId: 1,
			specifyParameters: 'json',
			options,
			...parameters,
		};
		const type = toolOf === undefined ? 'agentInvocation' : 'agentInvocationTool';
		const ourNode = { name: 'Run', type, parameters: fields, ...node } as INode;
		const items = Array.from({ length: count }, (_, item) => ({ json: { item } }));
		const { parametersOf } = this;
		return contextOf({
			node: ourNode,
			mode: this.mode,
			kept: keepsNothing ? null : this.context,
			executionId: keepsNothing ? undefined : this.executionId,
			items,
			settings: { saveExecutionProgress: false, ...settings },
			establishedAt: undefined,
			cancel: this.cancelling.signal,
			stored: {
				resultData: this.stoppedOn === undefined ? {} : { error: { timestamp: this.stoppedOn } },
			},
			entry: {
				node: toolOf === undefined ? ourNode : { ...ourNode, name: toolOf },
				source: keepsNothing ? null : { main: [{ previousNode: 'Source' }] },
			},
			findsInput: true,
			hint: ({ message }) => this.hints.push(message),
			credential: async (item) => (await this.credential(item)) as ICredentialDataDecryptedObject,
			parameters: (item) =>
				'parametersJson' in fields
					? fields
					: {
							...fields,
							// Not before the node asks for it.
							get parametersJson() {
								return JSON.stringify(parametersOf(item));
							},
						},
			request: async (request, { apiKey }) => await service.request(request, apiKey as string),
		});
	}
}
