import type { Answer } from './answer';

/** A shorter key may be part of an ordinary word, so it is not taken out of an answer's body. */
const SHORTEST_SECRET = 8;

/** Takes the API key out of an answer, since what a service or a proxy quotes is shown to users and stored by n8n. */
export function withoutApiKey<T>(answer: Answer<T>, apiKey: string): Answer<T> {
	const { body, serviceError, requestId, reason } = answer;
	const inAddress = encodeURIComponent(apiKey);
	// As it is, as it stands in an address or in JSON, and as a proxy may log it.
	const forms = [
		apiKey,
		inAddress,
		inAddress.replace(/%../g, (code) => code.toLowerCase()),
		JSON.stringify(apiKey).slice(1, -1),
		Buffer.from(apiKey).toString('base64'),
	];
	const clean = <V>(value: V) => forms.reduce((left, form) => replaceIn(left, form), value);
	return {
		...answer,
		...(body !== undefined && apiKey.length >= SHORTEST_SECRET && { body: clean(body) }),
		...(serviceError && { serviceError: clean(serviceError) }),
		...(requestId !== undefined && { requestId: clean(requestId) }),
		...(reason !== undefined && { reason: clean(reason) }),
	};
}

/** How many levels of an answer are kept; an object counts as two. n8n could not store deeper ones. */
const DEEPEST = 500;

/** The same JSON without the key. */
function replaceIn<V>(value: V, apiKey: string, depth?: number): V;
function replaceIn(value: unknown, apiKey: string, depth = 0): unknown {
	if (typeof value === 'string') return value.replaceAll(apiKey, '(API key)');
	if (typeof value !== 'object' || value === null) return value;
	if (depth > DEEPEST) return null;
	if (Array.isArray(value)) {
		return value.map((entry: unknown) => replaceIn(entry, apiKey, depth + 1));
	}
	const entries = Object.entries(value).map((entry) => replaceIn(entry, apiKey, depth + 1));
	return Object.fromEntries(entries);
}
