import type { INodeExecutionData } from 'n8n-workflow';

import type { Attempt, History, SeenRequest, SeenRun } from '../history.cts';
import { itemNumberOf, latestAttempts, specOf, tagOf, waitsOf } from '../history.cts';
import type { ExecutionSpec } from '../world.cts';

/** What the node said of an item that failed. */
export interface SaidFailure {
	attempt: Attempt;
	at: number;
	tag: string;
	turn: number;
	item: number;
	message: string;
	/** All that the user can read of it. */
	text: string;
	details: Record<string, unknown>;
	/** Whether it is said of this item, and not of the node. */
	isItems: boolean;
}

/** What is asked of a history again and again. */
export class Facts {
	readonly requestsByRun = new Map<string, SeenRequest[]>();

	readonly createsByTag = new Map<string, SeenRequest[]>();

	readonly runsByTag = new Map<string, SeenRun[]>();

	readonly runById: Map<string, SeenRun>;

	readonly latest: Attempt[];

	readonly failures: SaidFailure[];

	constructor(readonly history: History) {
		for (const request of history.requests) {
			if (request.runId) push(this.requestsByRun, request.runId, request);
			if (request.kind === 'create' && request.tag) push(this.createsByTag, request.tag, request);
		}
		for (const run of history.runs) push(this.runsByTag, run.tag, run);
		this.runById = new Map(history.runs.map((run) => [run.id, run]));
		this.latest = latestAttempts(history);
		this.failures = history.attempts.flatMap((attempt) => this.failuresOf(attempt));
	}

	spec(attempt: Attempt): ExecutionSpec {
		return specOf(this.history.world, attempt);
	}

	/** An execution and all that came before it by Retry. */
	chain(attempt: Attempt): Attempt[] {
		return attempt.retryOf ? [...this.chain(attempt.retryOf), attempt] : [attempt];
	}

	/** In ms; Infinity for none. Undefined where it is no number. */
	timeLimitMs(spec: ExecutionSpec): number | undefined {
		const seconds = Number(spec.options.timeout ?? 3_600);
		if (!Number.isFinite(seconds)) return undefined;
		return seconds === 0 ? Infinity : seconds * 1_000;
	}

	/** When a run's wait in an execution is to have its end: its time limit, or shortly before the workflow's. */
	deadlineOf(run: SeenRun, attempt: Attempt): number {
		const spec = this.spec(attempt);
		const ends = attempt.beganAt + spec.workflowTimeoutS * 1_000 - 30_000;
		const limitAt = run.createdAt + (this.timeLimitMs(spec) ?? Infinity);
		return spec.workflowTimeoutS > 0 ? Math.min(limitAt, ends) : limitAt;
	}

	/** Whether n8n's clock was right all the time: time limits hold by the clock that n8n has. */
	get isClockRight(): boolean {
		return this.history.world.clockChanges === undefined;
	}

	/** Whether the service has done all that it was asked for, at once. */
	get isServiceWell(): boolean {
		const { limiter, quota, faults, odd } = this.history.world.service;
		return !limiter && !quota && faults.length === 0 && !odd;
	}

	/** Whether an item is waited for; without its tag, whether all are. */
	isWaiting(spec: ExecutionSpec, tag?: string): boolean {
		const { operation, items } = spec;
		const asked = tag === undefined ? [...items.keys()] : [itemNumberOf(tag)];
		const isOn = asked.every((item) => isTrue(waitsOf(spec, item)));
		return (operation === 'create' || operation === 'get') && isOn;
	}

	/** The failures that came out of the node's calls, one for each failed item or thrown error. */
	private failuresOf(attempt: Attempt): SaidFailure[] {
		return [...attempt.endings].flatMap(([turn, { at, outputs, error }]) => {
			if (error) {
				const { description = '', context = {} } = error;
				const said = ofCheck(error.message, Number(context.itemIndex ?? 0));
				const { item, message } = said;
				const details = (context.details ?? {}) as Record<string, unknown>;
				const text = `${error.message} ${description} ${JSON.stringify(context)}`;
				const tag = tagOf(attempt.index, turn, item);
				const isItems = error.context?.itemIndex !== undefined;
				return [{ attempt, at, tag, turn, item, message, text, details, isItems }];
			}
			return (outputs ?? []).flat().flatMap((output) => {
				const { error, details = {} } = output.json;
				if (typeof error !== 'string' || output.json.run_id !== undefined) return [];
				const { item, message } = ofCheck(error, pairOf(output) ?? 0);
				return [
					{
						...{ attempt, at, turn, item, message, isItems: true },
						tag: tagOf(attempt.index, turn, item),
						text: JSON.stringify(output.json),
						details: details as Record<string, unknown>,
					},
				];
			});
		});
	}
}

const OF_CHECK =
	/^Item (\d+)(?: and \d+ others?)? (?:did not pass the check|could not be checked): (.*)$/s;

/** What is said of an item's check, though other items may say it; else what the item says. */
function ofCheck(shown: string, item: number): { item: number; message: string } {
	// An invisible character breaks some words.
	const message = shown.replaceAll('\u2060', '');
	const [, checked, said] = OF_CHECK.exec(message) ?? [];
	return said === undefined ? { item, message } : { item: Number(checked), message: said };
}

export function isTrue(value: unknown): boolean {
	return String(value).trim().toLowerCase() === 'true';
}

/** A value as text, of any form. */
export function textOf(value: unknown): string {
	return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

/** The item that an output is paired with. */
export function pairOf({ pairedItem }: INodeExecutionData): number | undefined {
	if (typeof pairedItem === 'number') return pairedItem;
	return Array.isArray(pairedItem) ? pairedItem[0]?.item : pairedItem?.item;
}

function push<K, V>(map: Map<K, V[]>, key: K, value: V): void {
	const list = map.get(key);
	if (list) list.push(value);
	else map.set(key, [value]);
}
