import type {
	IDataObject,
	IExecuteData,
	IExecuteFunctions,
	INode,
	INodeExecutionData,
	IRunExecutionData,
	WorkflowExecuteMode,
} from 'n8n-workflow';

import { contextOf } from './context.cts';
import { NEW_KEY, tagOf, waitsOf, type Attempt } from './history.cts';
import type { Process } from './process.cts';
import { toldOfCaller, triggersOf } from './starters.cts';
import type { ExecutionSpec, ItemSpec } from './world.cts';

/** Another address. */
const MOVED_TO = 'https://elsewhere.example.com/api/v1';

/** What a call of the node is made with. */
export interface Call {
	process: Process;
	attempt: Attempt;
	spec: ExecutionSpec;
	/** Which turn of a loop, or which call of a tool. */
	turn: number;
	runIndex: number;
	mode: WorkflowExecuteMode;
	node: INode;
	entry: IExecuteData;
	items: INodeExecutionData[];
	data: IRunExecutionData | undefined;
	cancel: AbortSignal | undefined;
	endsOn: number | undefined;
	/** The runs that 'Get a run' is to get, by item. */
	runIds: string[];
}

/** What the n8n of a world hands to the node in a call. */
export function contextFor(call: Call): IExecuteFunctions {
	const { process, attempt, spec, node, entry, items, data, cancel, mode } = call;
	const { clock, network, hand } = process.host;
	const itemSpec = (index: number): ItemSpec => spec.items[index % spec.items.length]!;
	const keyOf = (index: number) => (itemSpec(index).ownKey ? spec.key + 1 : spec.key);
	const agentIdOf = (index: number) => 1 + itemSpec(index).agent + 1_000 * keyOf(index);
	const { edit = {}, isRewritten, saved } = attempt;
	const valuesOf = (index: number): Record<string, string> => ({
		tag: tagOf(attempt.index, call.turn, index),
		...(edit.values !== undefined && { values: String(edit.values) }),
		...(itemSpec(index).isVolatile && { now: String(clock.date) }),
	});
	const isMapped = spec.parametersMode === 'mapped';
	const modeOf = (index: number) => {
		if (spec.agentMode !== 'nameOfLast') return spec.agentMode;
		return index === spec.items.length - 1 ? 'name' : 'id';
	};
	const agentOf = (index: number) =>
		modeOf(index) === 'name'
			? {
					mode: 'name',
					value: process.host.agentName(itemSpec(index).agent).toUpperCase().normalize('NFD'),
				}
			: { mode: modeOf(index), value: String(agentIdOf(index)) };
	const bindingsOf = (index: number): IDataObject => {
		const values = valuesOf(index);
		const pairs = Object.entries(values).map(([name, value]) => ({ name, value }));
		if (spec.parametersMode === 'keypair') return { 'parameterPairs.values': pairs };
		if (spec.parametersMode === 'json') return { parametersJson: JSON.stringify(values) };
		if (!isMapped) return { parameters: { mappingMode: 'defineBelow', value: values, schema: [] } };
		// As they were when the editor loaded them.
		const schema = [{ id: 'gone', required: true }];
		return { parameters: { mappingMode: 'autoMapInputData', value: null, schema } };
	};
	const input = isMapped
		? items.map((item, index) => ({ ...item, json: { ...item.json, ...valuesOf(index) } }))
		: items;
	const optionsOf = () => ({
		...spec.options,
		...(clock.now >= (spec.wrongOptionAtMs ?? Infinity) && { maxConcurrency: 'many' }),
	});
	/** As they are entered. The editor keeps the fields that it has last seen, and reads them again. */
	const entered = {
		isRewritten,
		operation: edit.operation,
		values: edit.values,
		parameters: { mappingMode: 'defineBelow', value: {}, schema: [{ id: saved }] },
	};
	const parametersOf = (index: number): IDataObject => ({
		resource: spec.operation === 'list' ? 'agent' : 'run',
		operation: spec.operation === 'dryRun' ? 'create' : spec.operation,
		options: spec.operation === 'list' ? {} : optionsOf(),
		...(spec.operation === 'list'
			? { returnAll: true }
			: {
					agentId: agentOf(index),
					specifyParameters: isMapped ? 'fields' : spec.parametersMode,
					...bindingsOf(index),
					dryRun: spec.operation === 'dryRun',
					...(spec.operation !== 'dryRun' && { waitForCompletion: waitsOf(spec, index) }),
				}),
		...(spec.operation === 'get' && { runId: call.runIds[index] ?? '' }),
	});
	/** In the execution's own data, which n8n stores. */
	const keep = (name: string): IDataObject | null =>
		data?.executionData ? (data.executionData.contextData[name] ??= {}) : null;
	return contextOf({
		held: data,
		node: { ...node, parameters: { ...node.parameters, ...entered }, ...hand.node },
		mode,
		kept: keep(`node:${node.name}`),
		keptForAll: keep('flow') ?? {},
		executionId: spec.host === 'bare' ? undefined : attempt.id,
		items: hand.input?.(input) ?? input,
		parameters: (index) => {
			// Getters are read when the node asks, as n8n then evaluates an expression.
			const own = Object.getOwnPropertyDescriptors(hand.parameters?.(index) ?? {});
			return Object.defineProperties(parametersOf(index), own);
		},
		runIndex: call.runIndex,
		findsInput: (source) => !data || (data.resultData.runData[source] ?? []).length > 0,
		settings: {
			saveExecutionProgress: spec.savesProgress,
			...hand.settings,
			...(spec.workflowTimeoutS > 0 &&
				!spec.isTimeoutOfN8n && { executionTimeout: spec.workflowTimeoutS }),
		},
		endsOn: call.endsOn,
		establishedAt: data?.executionData?.runtimeData?.establishedAt,
		cancel,
		hasGhost: spec.hasGhost,
		before: triggersOf(spec, 'Trigger'),
		entry,
		stored: (id) => {
			if (hand.isSilent) throw new Error('Not told');
			const stored = process.host.stored(id);
			return stored && id === attempt.id ? { ...stored, ...toldOfCaller(spec) } : stored;
		},
		putToWait: (date) => {
			if (data) data.waitTill = date;
		},
		hint: ({ message }) => attempt.hints.push(message),
		credential: async (index) => {
			if (hand.credential) return await hand.credential(index);
			const { fromMs, forMs, hangs } = spec.credentialAway ?? { fromMs: Infinity, forMs: 0 };
			await Promise.resolve();
			if (clock.now >= fromMs && clock.now < fromMs + forMs) {
				if (hangs) await new Promise(() => {});
				throw new Error('The vault cannot be reached');
			}
			const isNew = clock.now >= (spec.newKeyAtMs ?? Infinity);
			const credential = process.host.credential(keyOf(index) + (isNew ? NEW_KEY : 0));
			return {
				...credential,
				...(edit.hasWrongKey && { apiKey: 'a-key-that-is-not-known' }),
				...(edit.hasMoved && { baseUrl: MOVED_TO }),
			};
		},
		request: async (options, credential) => {
			const request = await process.code.authenticate(credential, options);
			const { isAlive } = process;
			return await network.request(request, { execution: attempt, isAlive, cancel });
		},
	});
}
