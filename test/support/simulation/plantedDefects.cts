import type { Patch } from './world/nodeCode.cts';

/** A defect that is put into the node, to see whether the simulation notices it. */
export interface PlantedDefect extends Patch {
	name: string;
}

const in_ = (file: string) => `nodes/AgentInvocation/${file}`;

function plant(name: string, file: string, find: string, replace: string): PlantedDefect {
	return { name, file: in_(file), find, replace };
}

/** Small patches of the node's source. A text that is not found, or not once, is an error: mend the patch then. */
export const plantedDefects: PlantedDefect[] = [
	plant(
		'a create is sent again after a lost connection',
		'service/answerKinds.ts',
		'	connectionLost: {\n		mayHaveStarted: true,\n		retried: {',
		"	connectionLost: {\n		mayHaveStarted: true,\n		retried: { create: 'briefly', ",
	),
	plant(
		'a create is sent again after a time-out',
		'service/answerKinds.ts',
		'	timedOut: {\n		mayHaveStarted: true,\n		retried: {',
		"	timedOut: {\n		mayHaveStarted: true,\n		retried: { create: 'briefly', ",
	),
	plant(
		'a create is sent again after a 5xx',
		'service/answerKinds.ts',
		"createRetryingServerErrors: 'briefly',\n		},\n		says: {\n			message: 'The service, or a proxy",
		"createRetryingServerErrors: 'briefly', create: 'briefly',\n		},\n		says: {\n			message: 'The service, or a proxy",
	),
	plant(
		'after a lost connection a retry starts another run',
		'service/answerKinds.ts',
		'	connectionLost: {\n		mayHaveStarted: true',
		'	connectionLost: {\n		mayHaveStarted: false',
	),
	plant(
		'after a 5xx a retry starts another run',
		'service/answerKinds.ts',
		'	serverError: {\n		mayHaveStarted: true',
		'	serverError: {\n		mayHaveStarted: false',
	),
	plant(
		'a lost connection ends a wait',
		'service/answerKinds.ts',
		"	connectionLost: {\n		mayHaveStarted: true,\n		retried: { ...POLLED_FROM_THE_FIRST, read: 'briefly' }",
		"	connectionLost: {\n		mayHaveStarted: true,\n		retried: { read: 'briefly' }",
	),
	plant(
		'a 5xx ends a wait',
		'service/answerKinds.ts',
		"		retried: {\n			...POLLED_FROM_THE_FIRST,\n			read: 'briefly',\n			createRetryingServerErrors: 'briefly',",
		"		retried: {\n			read: 'briefly',\n			createRetryingServerErrors: 'briefly',",
	),
	plant(
		'a redirect ends a wait',
		'service/answerKinds.ts',
		'redirect: { mayHaveStarted: false, ...REDIRECTED }',
		'redirect: { mayHaveStarted: false, ...REDIRECTED, retried: {} }',
	),
	plant(
		'a 429 does not pause',
		'service/pace.ts',
		'this.pausedUntil = Math.max(this.pausedUntil, now + pause);',
		'this.pausedUntil = Math.max(this.pausedUntil, now);',
	),
	plant(
		'Retry-After of a 429 is dropped',
		'service/answer.ts',
		"const retryAfter = header(response, 'retry-after');",
		'const retryAfter = undefined;',
	),
	plant(
		"a run's ID is not remembered",
		'resources/run/startRun.ts',
		"memory.note(itemIndex, { is: 'started', fingerprint, run });",
		'',
	),
	plant(
		'what is in doubt is not remembered',
		'resources/run/startRun.ts',
		"memory.note(itemIndex, { is: 'inDoubt', fingerprint, agentId });",
		'',
	),
	plant(
		'what is in doubt is begun anew',
		'resources/run/startRun.ts',
		"if (known?.is === 'inDoubt') return refuse(known);",
		"if (known?.is === 'inDoubt') return undefined;",
	),
	plant(
		'an earlier run is not waited for',
		'resources/run/startRun.ts',
		"\tif (known?.is === 'started') {",
		"\tif (known?.is === 'inDoubt') {",
	),
	plant(
		'the time limit counts from each resume',
		'resources/run/itemWait.ts',
		'deadline: Math.min(startedAt + (',
		'deadline: Math.min(clock.now() + (',
	),
	plant(
		'a run that has failed is started again at once',
		'resources/run/itemWait.ts',
		"if (runs !== 'starts' || !wait.isEarlier || step.is !== 'failed') return step;",
		"if (runs !== 'starts' || step.is !== 'failed') return step;",
	),
	plant(
		'a retry starts a run anew whose poll failed for any reason',
		'resources/run/itemWait.ts',
		'if (!isGone && !step.runEnded) return step;',
		'',
	),
	plant(
		'waiting does not end at the time limit',
		'runs/waitForRun.ts',
		'if ((answer.sentAt ?? 0) >= deadline) return timeIsUp(seen);',
		'',
	),
	plant(
		"Retry-After of an answer that says 'running' is dropped",
		'runs/waitForRun.ts',
		'const asked = retryAfterMs(answer, clock.date());',
		'const asked = 0;',
	),
	plant(
		'a status that is not known never ends',
		'service/runStatus.ts',
		"\t\ttypeof completedAt === 'string' &&",
		"\t\ttypeof completedAt === 'number' &&",
	),
	plant(
		'a cancelled run is not over',
		'service/runStatus.ts',
		"'failed', 'cancelled']",
		"'failed']",
	),
	plant(
		'outputs are paired with the first item',
		'resources/processItems.ts',
		'pairedItem: { item: index } })));',
		'pairedItem: { item: 0 } })));',
	),
	plant(
		'outputs are in another order',
		'resources/processItems.ts',
		"for (const [index, state] of states.entries()) {\n\t\t\tif (state.is === 'done') {",
		"for (const [index, state] of [...states.entries()].reverse()) {\n\t\t\tif (state.is === 'done') {",
	),
	plant(
		'failed items are not output',
		'resources/processItems.ts',
		'outputs.push(await toErrorItem(context, state.failure, index));',
		'',
	),
	plant(
		'messages do not name the run',
		'wording.ts',
		'return ` (run ${runId} of agent ${agentId})`;',
		"return runId && agentId ? '' : '';",
	),
	plant(
		'the API key is left in what the service says',
		'service/service.ts',
		'return withoutKey(readResponse(response, request.hasShape), apiKey);',
		'return readResponse(response, request.hasShape);',
	),
	plant(
		'executions do not take turns',
		'service/rateLimiter.ts',
		'\t\tthis.queues.delete(owner);\n\t\tthis.queues.set(owner, queue);',
		'',
	),
	plant('requests are sent without a pace', 'service/pace.ts', 'from + 1_000 / this.rate;', 'now;'),
	plant(
		'a request to be left alone for days is heeded',
		'service/retryPolicy.ts',
		'const LONGEST_RETRY_AFTER_MS = 3_600_000;',
		'const LONGEST_RETRY_AFTER_MS = 3_600_000_000;',
	),
	plant(
		'the rate limiter serves once',
		'service/rateLimiter.ts',
		'\t\tthis.isServing = false;\n',
		'\n',
	),
	plant(
		'the memory of a pause is never over',
		'runs/runMemory.ts',
		'\t\tdelete stored.rest;\n',
		'\n',
	),
	plant(
		"n8n's Retry is taken for the same execution",
		'runs/runMemory.ts',
		'const isNewExecution = stored.executionId !== executionId;',
		'const isNewExecution = false;',
	),
	plant(
		'the turns of a loop share a memory',
		'runs/runMemory.ts',
		'const runIndex = Number(context.getWorkflowDataProxy(0).$runIndex);',
		'const runIndex = 0;',
	),
	plant(
		'after a crash items begin that may have begun',
		'runs/runMemory.ts',
		"this.stored.items[index] ??= { is: 'inDoubt', fingerprint: '' };",
		'void index;',
	),
	plant(
		'a wait that is to stay in memory is stored',
		'parking/barrier.ts',
		'if (stayInMemory ||',
		'if (',
	),
	plant(
		'waits are stored for less than 65 s',
		'parking/barrier.ts',
		'until: Math.max(dueAt, now + SHORTEST_STORED_DELAY_MS)',
		'until: dueAt - 10_000',
	),
	plant(
		'an execution is stored whose caller waits for it',
		'parking/awaited.ts',
		'if (!ANSWERED_MODES.includes(mode)) return waiting.starter;',
		'',
	),
	plant(
		'the action of a pause keeps its input',
		'parking/pause.ts',
		'entry.data = { ...entry.data, main: [null] };',
		'',
	),
	plant(
		'the output of the action is redirected',
		'parking/pause.ts',
		'delete entry.node.rewireOutputLogTo;',
		'',
	),
	plant(
		'the source of the input is not put back',
		'parking/pause.ts',
		'main.splice(0, main.length, ...(source as typeof main));',
		'void source;',
	),
	plant(
		'the entries of a pause share their node',
		'parking/pause.ts',
		'entry.node = { ...entry.node,',
		'Object.assign(entry.node, {}, {}); void {',
	),
	plant(
		'names are compared with their case',
		'resources/findAgent.ts',
		'\treturn textKey(name.trim());',
		"\treturn textKey('') + name.trim();",
	),
	plant(
		'short pages are taken for whole ones',
		'service/agents.ts',
		'this.next += agents.length;',
		'this.next += 100;',
	),
	plant(
		'a 429 is not known for what it is',
		'service/answer.ts',
		"if (status === 429) return 'rateLimited';",
		'',
	),
	plant(
		'an answer about another run is taken',
		'service/endpoints.ts',
		'isRun(body) && isAsked(body)',
		'isRun(body) || isAsked(body)',
	),
	plant(
		'a result of JSON is not looked for',
		'runs/runOutput.ts',
		'JSON.parse(run.output)',
		'JSON.parse(run.output.toUpperCase())',
	),
];
