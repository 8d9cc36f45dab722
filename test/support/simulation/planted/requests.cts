import { plant, type PlantedDefect } from './plant.cts';

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
		"createRetryingServerErrors: 'briefly',\n		},\n		message: 'The service, or a proxy",
		"createRetryingServerErrors: 'briefly', create: 'briefly',\n		},\n		message: 'The service, or a proxy",
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
		'this.pausedUntil = Math.max(this.pausedUntil, now + pauseMs);',
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
		'items/loop.ts',
		'		this.items.note(index, item);\n',
		"		if (item.is !== 'waiting') this.items.note(index, item);\n",
	),
	plant(
		'after a create that may have started a run a retry starts another',
		'operations/run/startRun.ts',
		'failed(mayHaveStarted ? inDoubt : NOT_BEGUN, failure)',
		"failed(mayHaveStarted ? { is: 'notBegun' } : { is: 'notBegun' }, failure)",
	),
	plant(
		'what is in doubt is begun anew',
		'items/nodeRun.ts',
		"if (item.is === 'inDoubt') memory.note(index, refused(item));",
		"if (item.is === 'inDoubt') memory.note(index, { is: 'notBegun' }); void refused;",
	),
	plant(
		'an earlier run is not waited for',
		'operations/run/startRun.ts',
		'if (!earlier || isElsewhere ||',
		"if (!earlier || isElsewhere || earlier.is === 'waiting' ||",
	),
	plant(
		'the time limit counts from each poll',
		'waiting/wait.ts',
		'Math.min(beganOn + (options.timeoutMs || Infinity)',
		'Math.min(Math.max(beganOn, Date.now()) + (options.timeoutMs || Infinity)',
	),
	plant(
		'a run that has failed is started again at once',
		'waiting/poll.ts',
		'return wait.isEarlier && hasFailed ? NOT_BEGUN : result;',
		'return hasFailed ? NOT_BEGUN : result;',
	),
	plant(
		'a retry starts a run anew whose poll failed for any reason',
		'waiting/poll.ts',
		'return wait.isEarlier && isGone ? NOT_BEGUN',
		'return wait.isEarlier || isGone ? NOT_BEGUN',
	),
	plant(
		'waiting does not end at the time limit',
		'waiting/poll.ts',
		'if (pass.time.dateOf(answer.sentAt ?? 0) >= limitOn) return timeIsUp(item, seen, limitOn);',
		'',
	),
	plant(
		"Retry-After of an answer that says 'running' is dropped",
		'waiting/poll.ts',
		'scheduledDelay(next, pass), retryAfterMs(answer), pass)',
		'scheduledDelay(next, pass), 0, pass)',
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
