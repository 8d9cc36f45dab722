import type {
	IDataObject,
	IExecuteData,
	IExecuteFunctions,
	INode,
	IWorkflowSettings,
	WorkflowExecuteMode,
} from 'n8n-workflow';

/** What n8n tells a node; what is absent is as in a stored execution that a trigger has started. */
export interface Told {
	executionId?: string | undefined;
	runIndex?: number;
	mode?: WorkflowExecuteMode;
	node?: Partial<INode>;
	settings?: IWorkflowSettings;
	/** The node's context, which n8n keeps. */
	kept?: IDataObject;
	items?: Array<{ json: IDataObject }>;
	/** By the name that the node asks for; each item has the same. */
	parameters?: Record<string, unknown>;
	/** The entry that is executed. */
	entry?: Partial<IExecuteData>;
	/** Nodes before this one, with their parameters, and below it. */
	before?: Array<Partial<INode>>;
	below?: Array<Partial<INode>>;
	/** The stored execution; an error when n8n does not give it. */
	stored?: object | Error;
	establishedAt?: number | undefined;
	resumesOn?: Date[];
	/** What the host holds of the execution; absent where it does not show it. */
	held?: object;
	/** Whether the host still has the input items. */
	findsInput?: boolean;
}

/** What a node's code asks n8n for, where no request is sent. */
export function contextOf(told: Told): IExecuteFunctions {
	const { kept = {}, items = [{ json: {} }], before = [], below = [], stored = {} } = told;
	const flow = {};
	const node = { name: 'Run', type: 'agentInvocation', ...told.node } as INode;
	const source = { main: [{ previousNode: 'Source' }] };
	// The one that was given, which the code changes in place.
	const entry = Object.assign(told.entry ?? {}, {
		node,
		source,
		data: { main: [items] },
		...told.entry,
	});
	const $getPairedItem = (source: string) => {
		if (told.findsInput === false || source !== 'Source') throw new Error('No data');
	};
	const functions = {
		...(told.held && { runExecutionData: told.held }),
		getNode: () => node,
		getMode: () => told.mode ?? 'trigger',
		getContext: (of: 'node' | 'flow') => ({ node: kept, flow })[of],
		getExecutionId: () => ('executionId' in told ? told.executionId : '1'),
		getInputData: () => items,
		getNodeParameter: (name: string, _index: number, fallback: unknown) =>
			told.parameters?.[name] ?? fallback,
		getWorkflowDataProxy: () => ({ $runIndex: told.runIndex ?? 0, $getPairedItem }),
		getWorkflowSettings: () => ({ executionOrder: 'v1', ...told.settings }),
		getExecuteData: () => entry,
		// Without their parameters, unless they are asked for.
		getParentNodes: (_: string, { includeNodeParameters = false } = {}) =>
			before.map(({ parameters, ...rest }) =>
				includeNodeParameters && parameters ? { ...rest, parameters } : rest,
			),
		getChildNodes: () => below,
		// Older hosts have none.
		...('establishedAt' in told && {
			getExecutionContext: () =>
				told.establishedAt === undefined ? undefined : { establishedAt: told.establishedAt },
		}),
		getExecutionDataById: () =>
			stored instanceof Error ? Promise.reject(stored) : Promise.resolve(stored),
		putExecutionToWait: (date: Date) => Promise.resolve(told.resumesOn?.push(date)),
	};
	return functions as unknown as IExecuteFunctions;
}
