import type { Answer } from './answer';
import { isJsonObject } from './types';

/** A shorter key may well be part of another word, which is left as it is in what an agent says. */
const SHORTEST_SECRET = 8;

/** Takes the API key out of an answer: what a service or a proxy quotes is shown, and stored by n8n. */
export function withoutKey<T>(answer: Answer<T>, apiKey: string): Answer<T> {
	const { body, serviceError, requestId, reason } = answer;
	const clean = <V>(value: V) => replaceIn(value, apiKey);
	return {
		...answer,
		...(body !== undefined && apiKey.length >= SHORTEST_SECRET && { body: clean(body) }),
		...(serviceError && { serviceError: clean(serviceError) }),
		...(requestId !== undefined && { requestId: clean(requestId) }),
		...(reason !== undefined && { reason: clean(reason) }),
	};
}

/** The same JSON without the key. */
function replaceIn<V>(value: V, apiKey: string): V;
function replaceIn(value: unknown, apiKey: string): unknown {
	if (typeof value === 'string') return value.replaceAll(apiKey, '(API key)');
	if (Array.isArray(value)) return value.map((entry: unknown) => replaceIn(entry, apiKey));
	if (!isJsonObject(value)) return value;
	const entries = Object.entries(value).map((entry) => replaceIn(entry, apiKey));
	return Object.fromEntries(entries);
}
