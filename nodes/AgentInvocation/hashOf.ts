import { createHash } from 'node:crypto';

/** A short text that stands for a value: the same for values with the same JSON, another one for all others. */
export function hashOf(value: unknown): string {
	return createHash('sha256').update(JSON.stringify(value)).digest('base64').slice(0, 16);
}
