import type {
	IAdditionalCredentialOptions,
	ICredentialDataDecryptedObject,
	IDataObject,
	IExecuteData,
	IExecuteFunctions,
	IHttpRequestOptions,
	INode,
	INodeExecutionData,
	IWorkflowSettings,
	NodeExecutionHint,
	WorkflowExecuteMode,
} from 'n8n-workflow';

import { isJsonObject } from '../../../../nodes/AgentInvocation/service/types.ts';

/** What n8n tells a node; what is absent is as in a stored execution that a trigger has started. */
export interface Told {
	executionId?: string | undefined;
	runIndex?: number;
	mode?: WorkflowExecuteMode;
	node?: Partial<INode>;
	settings?: IWorkflowSettings;
	/** The node's context, which n8n keeps; null where it keeps nothing. */
	kept?: IDataObject | null;
	/** The same for all nodes of the execution. */
	keptForAll?: IDataObject;
	items?: INodeExecutionData[];
	/** By the name that the node asks for: the same for each item, or by item. */
	parameters?: Record<string, unknown> | ((item: number) => Record<string, unknown>);
	/** The entry that is executed. */
	entry?: Partial<IExecuteData>;
	/** Whether n8n finds a connection from a node that was deleted. */
	hasGhost?: boolean | undefined;
	/** Nodes before this one, with their parameters, and below it. */
	before?: Array<Partial<INode>>;
	below?: Array<Partial<INode>>;
	/** The stored execution, or each by its ID; an error when n8n does not give it. */
	stored?: object | Error | ((id: string) => object | undefined);
	establishedAt?: number | undefined;
	/** When n8n is to end the execution, in ms since the epoch. */
	endsOn?: number | undefined;
	/** Notes when n8n is to resume the execution. */
	putToWait?(until: Date): void;
	/** What the host holds of the execution; absent where it does not show it. */
	held?: object | undefined;
	/** Whether the host still has the input items; which ones of which nodes, where it is asked. */
	findsInput?: boolean | ((source: string, item: number) => boolean);
	/** Absent on older hosts. */
	cancel?: AbortSignal | undefined;
	credential?(item: number): Promise<ICredentialDataDecryptedObject>;
	/** Sends a request with the credential that n8n takes for it. */
	request?(
		request: IHttpRequestOptions,
		credential: ICredentialDataDecryptedObject,
	): Promise<unknown>;
	/** Takes what the log is to say. */
	log?(text: string): void;
	/** Takes what the output panel is to say. */
	hint?(hint: NodeExecutionHint): void;
}

/** What n8n hands to a node, as far as this one asks for it. Nothing else here makes it up. */
export function contextOf(told: Told): IExecuteFunctions {
	const { items = [{ json: {} }], before = [], below = [], keptForAll = {} } = told;
	const kept = told.kept === undefined ? {} : told.kept;
	const node = { name: 'Run', type: 'agentInvocation', ...told.node } as INode;
	const source = { main: [{ previousNode: 'Source' }] };
	// The one that was given, which the code changes in place.
	const entry = Object.assign(told.entry ?? {}, {
		node,
		source,
		data: { main: [items] },
		...told.entry,
	});
	const { findsInput = (asked: string) => asked === 'Source' } = told;
	const $getPairedItem = (asked: string, _: unknown, { item }: { item: number }) => {
		const finds = typeof findsInput === 'function' ? findsInput(asked, item) : findsInput;
		if (!finds) throw new Error('No data');
	};
	const credentialOf = async (item: number) => {
		if (!told.credential) throw new Error('Node does not have any credentials set');
		return await told.credential(item);
	};
	const functions = {
		...(told.held && { runExecutionData: told.held }),
		additionalData: { executionTimeoutTimestamp: told.endsOn },
		getNode: () => node,
		getMode: () => told.mode ?? 'trigger',
		getContext: (of: 'node' | 'flow') => {
			if (!kept) throw new Error('`executionData` is not initialized');
			return { node: kept, flow: keptForAll }[of];
		},
		getExecutionId: () => ('executionId' in told ? told.executionId : '1'),
		getInputData: () => items,
		getNodeParameter: (name: string, index: number, fallback: unknown) => {
			const { parameters = {} } = told;
			const given = typeof parameters === 'function' ? parameters(index) : parameters;
			if (name in given) return given[name] ?? fallback;
			return memberOf(given, name.split('.'), fallback);
		},
		getWorkflowDataProxy: () => ({ $runIndex: told.runIndex ?? 0, $getPairedItem }),
		getWorkflowSettings: () => ({ executionOrder: 'v1', ...told.settings }),
		getExecuteData: () => entry,
		// Without their parameters, unless they are asked for.
		getParentNodes: (_: string, { includeNodeParameters = false } = {}) => {
			if (told.hasGhost)
				throw new TypeError("Cannot read properties of undefined (reading 'name')");
			return before.map(({ parameters, ...rest }) =>
				includeNodeParameters && parameters ? { ...rest, parameters } : rest,
			);
		},
		getChildNodes: () => below,
		// Older hosts have none.
		...('establishedAt' in told && {
			getExecutionContext: () =>
				told.establishedAt === undefined ? undefined : { establishedAt: told.establishedAt },
		}),
		...('cancel' in told && { getExecutionCancelSignal: () => told.cancel }),
		getExecutionDataById: async (id: string) => {
			await Promise.resolve();
			const { stored = {} } = told;
			if (stored instanceof Error) throw stored;
			return typeof stored === 'function' ? (stored as (id: string) => unknown)(id) : stored;
		},
		putExecutionToWait: (until: Date) => Promise.resolve(told.putToWait?.(until)),
		continueOnFail: () => node.onError?.startsWith('continue') ?? false,
		addExecutionHints: (hint: NodeExecutionHint) => told.hint?.(hint),
		logger: { warn: (text: string) => told.log?.(text) },
		getCredentials: async (_type: string, item = 0) => await credentialOf(item),
		helpers: {
			httpRequestWithAuthentication: async (
				_type: string,
				request: IHttpRequestOptions,
				given?: IAdditionalCredentialOptions,
			) => {
				// Where it is given none, n8n reads that of the first item.
				const credential = given?.credentialsDecrypted?.data ?? (await credentialOf(0));
				return await told.request?.(request, credential);
			},
		},
	};
	return functions as unknown as IExecuteFunctions;
}

/** What a path leads to, such as that of an option. */
function memberOf(value: unknown, path: string[], fallback: unknown): unknown {
	let member = value;
	for (const name of path) {
		if (!isJsonObject(member) || !(name in member)) return fallback;
		member = member[name];
	}
	return member;
}
