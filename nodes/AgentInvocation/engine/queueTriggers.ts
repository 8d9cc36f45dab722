import type { IDataObject, NodeTypeAndVersion } from 'n8n-workflow';

import { isJsonObject } from '../service/types';

/** What n8n tells of a node: `parameters` only in some versions. */
export type ToldNode = Pick<NodeTypeAndVersion, 'type' | 'typeVersion'> & {
	parameters?: IDataObject;
};

/**
 * Whether the trigger of a message queue waits for the end of the execution before it confirms its message or takes the
 * next one. To such a trigger, n8n reports a stored execution as ended: Kafka delivers the message again if only success
 * counts, RabbitMQ deletes it although the workflow may still fail, and the next message comes too early. (docs/n8n.md,
 * Obstacles)
 */
export function waitsForTheEnd({ type, typeVersion, parameters = {} }: ToldNode): boolean {
	const options = isJsonObject(parameters.options) ? parameters.options : {};
	const { resolveOffset } = parameters;
	const { parallelProcessing, acknowledge = 'immediately', parallelMessages = -1 } = options;
	if (/\.kafkaTrigger$/i.test(type)) {
		if (resolveOffset !== undefined) return resolveOffset !== 'immediately';
		// So in 1.1; 2.41.1 ignores the option in 1.2, older versions of n8n may not.
		return typeVersion > 1 && parallelProcessing !== true;
	}
	// With a number of parallel messages, it confirms each at the end, whatever else is chosen.
	if (/\.rabbitmqTrigger$/i.test(type)) {
		return acknowledge !== 'immediately' || parallelMessages !== -1;
	}
	return /\.amqpTrigger$/i.test(type) && (parallelProcessing ?? true) !== true;
}
