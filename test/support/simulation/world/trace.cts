import type { History } from './history.cts';

/** What has happened in a world, one line for each event. */
export function traceOf(history: History, most = 80): string {
	const events: Array<[at: number, text: string]> = [];
	for (const request of history.requests) {
		const { number, kind, execution, runId, tag, sentAt, answeredAt, status, code, fault } =
			request;
		const about = tag ?? runId ?? '';
		events.push([sentAt, `${execution.id}: request ${number}: ${kind} ${about}`]);
		if (answeredAt === Infinity) continue;
		const answer = [
			status,
			code,
			fault && `(${fault})`,
			request.said,
			request.started && `starts ${request.started.id}`,
			request.retryAfter !== undefined && `Retry-After '${request.retryAfter}'`,
		];
		events.push([
			answeredAt,
			`${execution.id}:   answer ${number}: ${answer.filter(Boolean).join(' ')}`,
		]);
	}
	for (const attempt of history.attempts) {
		const { id, index, retryOf, beganAt, endedAt, status, parks, saves, endings, cancelledAt } =
			attempt;
		events.push([beganAt, `${id}: execution ${index}${retryOf ? `, Retry of ${retryOf.id}` : ''}`]);
		if (cancelledAt !== undefined) events.push([cancelledAt, `${id}: stopped`]);
		if (endedAt !== undefined)
			events.push([
				endedAt,
				`${id}: ${status}${attempt.error ? `: ${attempt.error.message}` : ''}`,
			]);
		for (const { at, until, resumedAt } of parks) {
			events.push([at, `${id}: parked until ${seconds(until)}`]);
			if (resumedAt !== undefined) events.push([resumedAt, `${id}: resumed`]);
		}
		for (const { at, why } of saves) if (why === 'progress') events.push([at, `${id}: saved`]);
		for (const [turn, { at, outputs, error }] of endings) {
			const said = error ? `error '${error.message}'` : JSON.stringify(outputs);
			events.push([at, `${id}: turn ${turn} ends: ${said.slice(0, 600)}`]);
		}
	}
	for (const { at, backAt } of history.kills) {
		events.push([at, 'n8n is killed'], [backAt, 'n8n runs again']);
	}
	const lines = events
		.sort(([one], [other]) => one - other)
		.map(([at, text]) => `${seconds(at).padStart(10)}  ${text}`);
	const shown =
		lines.length > most
			? [
					...lines.slice(0, most / 2),
					`  ... ${lines.length - most} more`,
					...lines.slice(-most / 2),
				]
			: lines;
	return shown.join('\n');
}

function seconds(at: number): string {
	return (at / 1_000).toFixed(3);
}
