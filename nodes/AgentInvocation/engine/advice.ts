import type { IDataObject, IExecuteFunctions } from 'n8n-workflow';

import { bound } from '../wording';
import { isTool } from './host';

/** The json of an output item. If the node is a tool, a model reads it, so it also says what to do. */
export function withAdvice(
	context: IExecuteFunctions,
	json: IDataObject,
	advice: string | undefined,
): IDataObject {
	return advice !== undefined && isTool(context) ? { ...json, advice: bound(advice) } : json;
}
