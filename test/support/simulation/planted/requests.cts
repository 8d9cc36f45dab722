import { plant, plantAll, type PlantedDefect } from './plant.cts';

/** What goes wrong with requests, their answers and their waits. */
export const ofRequests: PlantedDefect[] = [
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
		'operations/run/startRun.ts',
		"memory.note(itemIndex, { is: 'started', fingerprint, run });",
		'',
	),
	plant(
		'what is in doubt is not remembered',
		'operations/run/startRun.ts',
		"memory.note(itemIndex, { is: 'inDoubt', fingerprint, agentId });",
		'',
	),
	plantAll(
		'what is in doubt is begun anew',
		plant(
			'when it is to begin',
			'operations/run/startRun.ts',
			"if (known?.is === 'inDoubt') return refuse(known);",
			"if (known?.is === 'inDoubt') return undefined;",
		),
		plant(
			'when the node begins',
			'items/processItems.ts',
			"if (item?.is === 'inDoubt') return refuse(item);",
			"if (item?.is === 'inDoubt') return { is: 'notBegun' };",
		),
	),
	plant(
		'an earlier run is not waited for',
		'operations/run/startRun.ts',
		"\tif (known?.is === 'started') {",
		"\tif (known?.is === 'inDoubt') {",
	),
	plant(
		'the time limit counts from each resume',
		'items/itemWait.ts',
		'deadline: Math.min(startedAt + (',
		'deadline: Math.min(clock.now() + (',
	),
	plant(
		'a run that has failed is started again at once',
		'items/itemWait.ts',
		"if (runs !== 'starts' || !wait.isEarlier || step.is !== 'failed') return step;",
		"if (runs !== 'starts' || step.is !== 'failed') return step;",
	),
	plant(
		'a retry starts a run anew whose poll failed for any reason',
		'items/itemWait.ts',
		'if (!isGone && !step.runEnded) return step;',
		'',
	),
	plant(
		'waiting does not end at the time limit',
		'waiting/poll.ts',
		'if ((answer.sentAt ?? 0) >= deadline) return timeIsUp(seen);',
		'',
	),
	plant(
		"Retry-After of an answer that says 'running' is dropped",
		'waiting/poll.ts',
		'const asked = isLimited(answer) ? 0 : retryAfterMs(answer, clock.date());',
		'const asked = isLimited(answer) ? 0 : 0;',
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
		'an answer that drips is waited for',
		'service/sendWithRetry.ts',
		'Math.min(2 * usualMs, leftMs)',
		'Infinity',
	),
];
