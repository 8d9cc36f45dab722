import { failureOf, type Failure } from '../../nodes/AgentInvocation/failure.ts';

/** What came of something that may fail: its value, or the failure that was thrown. */
export type Outcome<T> = { ok: true; value: T } | { ok: false; failure: Failure };

export function outcomeOf<T>(act: () => T): Outcome<T> {
	try {
		return { ok: true, value: act() };
	} catch (thrown) {
		return { ok: false, failure: failureOf(thrown) };
	}
}

/** The same of a promise. */
export async function settled<T>(promise: Promise<T>): Promise<Outcome<T>> {
	try {
		return { ok: true, value: await promise };
	} catch (thrown) {
		return { ok: false, failure: failureOf(thrown) };
	}
}
