import type {
	ICredentialDataDecryptedObject,
	IDataObject,
	INode,
	INodeExecutionData,
} from 'n8n-workflow';

import type { Answered } from './answers.cts';
import type { SeenRequest } from './history.cts';
import type { Limiter } from './limiters.cts';
import type { LimiterSpec } from './world.cts';

/** What a test does with its own hand in a world, beyond what a world's JSON can say. */
export interface Hand {
	/**
	 * Answers a request that the limiter has let through; undefined for the service's own answer.
	 *
	 * @param own makes the service do its work, and gives its answer
	 */
	respond?(seen: SeenRequest, own: () => Answered): Partial<Answered> | Error | undefined;
	/** How the service limits requests, and how a refusal says when to come back, in place of the world's. */
	limits?: { limiter: Limiter; retryAfter: LimiterSpec['retryAfter'] };
	/** Parameters of the node by their names, in place of the world's. */
	parameters?(item: number): IDataObject;
	/** The input items, in place of all that there are: 'Execute Once' gives the first alone. */
	input?(items: INodeExecutionData[]): INodeExecutionData[];
	/** What n8n gives of the credential, in place of the world's. */
	credential?(item: number): Promise<ICredentialDataDecryptedObject>;
	/** What each request costs n8n before it is sent, in ms; n8n sends one after the other. */
	costMs?: number;
	/** Whether n8n does not tell what it has stored of an execution. */
	isSilent?: boolean;
	/** Settings of the workflow, beside the world's. */
	settings?: IDataObject;
	/** Properties of the node in the call. */
	node?: Partial<INode>;
}
