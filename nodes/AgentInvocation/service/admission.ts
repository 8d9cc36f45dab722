/** A request that wants to be sent. */
export interface Admission {
	/** Whose request it is. Owners take turns. */
	owner: object;
	/**
	 * 'poll' is any request that is no create. An owner's creates go before its polls, so that runs start early. But each third turn, and the first one
	 * after a refusal, goes to a poll that has waited long.
	 */
	priority: 'create' | 'poll';
	/** From when its patience counts, by the clock. */
	since: number;
	/** How long it waits while the service carries nothing at all, in ms. */
	patienceMs: number;
	/** If requests are paused for longer than this, in ms, it is late; Infinity when absent. */
	longestPauseMs?: number;
	/** When it is late in any case, by the clock; never when absent. */
	deadline?: number;
	/** If it is aborted, the request is not sent any more. */
	signal?: AbortSignal | undefined;
}

/** `late`: its patience or its time has run out, or will have before requests may be sent again. */
export type Turn = 'send' | 'late' | 'aborted';
