/** A mutant that may survive, or several that do for one reason. */
export interface Survivor {
	/** In nodes/AgentInvocation. */
	file: string | RegExp;
	/** The code that is changed, on one line. */
	original: string | RegExp;
	/** What it is changed to; any change when absent. */
	replacement?: string;
	reason: string;
}

export const survivors: Survivor[] = [
	{
		file: 'engine/crash.ts',
		original: "''",
		reason: 'No execution has this ID either.',
	},
	{
		file: 'engine/parkingObstacles.ts',
		original: "''",
		reason: "No execution of n8n's engine v2 has this ID either.",
	},
	{
		file: 'engine/whoWaits.ts',
		original: '/chatTrigger$/i',
		reason: "No node's type goes on after that, and is a trigger's.",
	},
	{
		file: 'engine/whoWaits.ts',
		original: "'lastNode'",
		reason: 'Whatever the mode, but for one, it answers later.',
	},
	{
		file: 'engine/errorItem.ts',
		original: '{ return false; }',
		reason: 'What is undefined is not true either.',
	},
	{
		file: 'engine/whoWaits.ts',
		original: '[]',
		reason: 'A text in place of an entry has no data, as no entry has none.',
	},
	{
		file: 'operations/run/startRun.ts',
		original: "answer.kind === 'ok'",
		replacement: 'true',
		reason: 'No other answer has a body.',
	},
	{
		file: 'operations/run/startRun.ts',
		original: "answer.kind === 'ok' && answer.body",
		replacement: "answer.kind === 'ok' || answer.body",
		reason: 'An answer that is ok has a body, and no other has.',
	},
	{
		file: /^(service\/read|waiting\/poll)\.ts$/,
		original: /^answer\./,
		reason: 'An answer that is ok has a body, and no other has.',
	},
	{
		file: /^operations\/run\/(create|get)\.ts$/,
		original: /^(''|false)$/,
		reason: 'n8n always has these fields, which need no default.',
	},
	{
		file: 'operations/run/parameters.ts',
		original: '[]',
		reason: 'A text is no pair of name and value, and one without a value is not sent.',
	},
	{
		file: 'operations/run/parameters.ts',
		original: 'json.filter(isGiven)',
		reason: 'Nothing is left out: it tells the compiler what all are.',
	},
	{
		file: 'items/nodePass.ts',
		original: /has no result|This is a defect|^\{ throw new NodeOperationError/,
		reason: 'Every item has a result once the loop has ended: it would be a defect.',
	},
	{
		file: 'items/nodePass.ts',
		original: /^(item\.is !== 'done' \|\| )?item\.outputs\.length > 0$|^'done'$|^first\?\.is$/,
		reason: 'Only List gives nothing for an item, and n8n has a first output when this is asked.',
	},
	{
		file: 'items/memory.ts',
		original: /^(\{ beginning: )?'(first|afterCrash|retry|exhausted)'( \})?$/,
		reason: 'Only whether the node resumes is asked for.',
	},
	{
		file: 'items/memory.ts',
		original: "''",
		reason: 'An n8n that tells no ID keeps nothing either.',
	},
	{
		file: 'items/memory.ts',
		original: 'index < count',
		replacement: 'index <= count',
		reason: 'Nobody asks for more items than there are.',
	},
	{
		file: 'items/whenToPark.ts',
		original: "'sleep'",
		reason: 'What is neither parked nor polled is slept through.',
	},
	{
		file: 'items/processItems.ts',
		original: 'suspension',
		replacement: 'true',
		reason: 'Where there was no suspension, there are no traces of one.',
	},
	{
		file: 'items/processItems.ts',
		original: 'startsRuns && suspension',
		replacement: 'true',
		reason: 'An execution that crashed is known only after a suspension.',
	},
	{
		file: 'operations/run/startRun.ts',
		original: /^(\[\]|fingerprint !== undefined)$/,
		reason: 'No list of fingerprints has that.',
	},
	{
		file: 'operations/run/startRun.ts',
		original: 'work.signal.aborted',
		replacement: 'false',
		reason: 'What is aborted is not sent a moment later either, and stays as it was.',
	},
	{
		file: 'operations/run/startRun.ts',
		original: "'notBegun'",
		reason: 'A wait takes the fingerprints of an item, and nothing else.',
	},
	{
		file: 'items/waits.ts',
		original: 'one.order < other.order',
		replacement: 'one.order <= other.order',
		reason: 'No two waits have the same order.',
	},
	{
		file: 'items/waits.ts',
		original: /^(this\.heap\.length > 1|left !== undefined)$/,
		reason: 'An empty queue is not taken from, and whoever has a right child has a left one.',
	},
	{
		file: 'waiting/durations.ts',
		original: "''",
		reason: 'This is no date either.',
	},
	{
		file: 'waiting/schedule.ts',
		original: 'end >= pollMs',
		replacement: 'end > pollMs',
		reason: 'An end that is the poll itself leaves the average where it is.',
	},
	{
		file: 'service/explainAnswer.ts',
		original: 'agentId !== undefined',
		replacement: 'true',
		reason: 'A run is never known without its agent.',
	},
	{
		file: 'service/explainAnswer.ts',
		original: "''",
		reason: 'No code is explained by this name either.',
	},
	{
		file: /^(service\/(answer|credential)|engine\/host)\.ts$/,
		original: '{ return undefined; }',
		reason: 'A function that ends gives the same.',
	},
	{
		file: 'service/answer.ts',
		original: /typeof code === 'string'\)?$/,
		reason: 'What is no text begins with no capital.',
	},
	{
		file: 'service/answer.ts',
		original: '[]',
		reason: 'A text in the chain has no code and no message.',
	},
	{
		file: 'service/answer.ts',
		original: 'chain.length < 8',
		replacement: 'chain.length <= 8',
		reason: 'No error has so many causes.',
	},
	{
		file: 'service/agents.ts',
		original: '() => false',
		replacement: '() => undefined',
		reason: 'What is undefined is not true either.',
	},
	{
		file: 'service/service.ts',
		original: "''",
		reason:
			'With no address known, a credential that cannot be read has failed before; and one that is gone has a cause, which says so.',
	},
	{
		file: 'service/service.ts',
		original: '{ baseUrl }',
		reason: 'What is said of a changed credential does not name the address.',
	},
	{
		file: 'service/rateLimiter.ts',
		original: /^-Infinity$|^this\.pace\.opensAt < |^this\.pace\.pausedUntil === /,
		reason:
			'It wakes, or looks at those that wait, once more than needed, and finds nothing to do.',
	},
	{
		file: 'service/rateLimiter.ts',
		original: /^queue\?\./,
		reason: 'A waiter that is settled has a queue.',
	},
	{
		file: 'service/rateLimiter.ts',
		original: "'rateLimited'",
		reason: 'A refusal that is passed on gets another kind.',
	},
	{
		file: 'service/sendWithRetry.ts',
		original: 'service.limiter.pausedUntil > deadline',
		reason: 'The next turn would come too late, and then the answer is the same.',
	},
	{
		file: 'service/withoutApiKey.ts',
		original: 'reason !== undefined',
		reason: 'No reason without the key is no reason.',
	},
	{
		file: 'service/pace.ts',
		original: 'this.soonNeeded + 1',
		reason: 'Each refusal that follows soon is one more, as is what is needed.',
	},
	{
		file: 'service/pace.ts',
		original: '[]',
		reason: 'A text is no time, and is dropped at the first look.',
	},
	{
		file: 'service/pace.ts',
		original: 'this.sentAt.filter((at) => at > keptFrom)',
		replacement: 'this.sentAt',
		reason: 'What is older is not counted: it is dropped so that the list stays short.',
	},
	{
		file: 'service/pace.ts',
		original: /^(this\.sentAt\.filter\(\(at\) => )?at <= sentAt\)?$/,
		reason: 'As many requests are left, and they were sent no further apart than an answer takes.',
	},
	{
		file: 'service/pace.ts',
		original: 'this.sentAt.filter((at) => at <= sentAt).length - 1',
		reason: 'It counts a refused request, one at most, and only in the second after it.',
	},
	{
		file: 'service/pace.ts',
		original: 'at < refusedAt',
		replacement: 'at <= refusedAt',
		reason: 'Requests are sent in one millisecond only to make up for a late timer.',
	},
	{
		file: 'service/pace.ts',
		original: 'this.growsAt !== undefined',
		replacement: 'true',
		reason: 'Nothing is at or after `undefined`.',
	},
	{
		file: 'service/pace.ts',
		original: 'refused >= 0',
		replacement: 'true',
		reason: 'A refusal that comes when its request is counted no more makes the count one too low.',
	},
	...[
		'now - this.opensAt < CATCH_UP_MS',
		'at > keptFrom',
		'now < this.growsAt',
		'refused >= 0',
		'refusedAt >= this.growsAt',
		'carriedRate >= this.rate * inAll',
		'deadline < this.sleepsUntil',
		'this.clock.now() >= poll.cameAt + POLLS_LATE_MS',
		'deadline < pausedUntil',
		'pause > deadline - clock.now()',
		'kept.size <= MOST',
		'ranMs >= SOON_MS',
		'now - usedAt < KEPT_MS',
		'now - wait.startedAt < NOT_FOUND_GRACE_MS',
	].map((original) => ({
		file: /^(service\/(pace|rateLimiter|sendWithRetry|shared)|waiting\/poll)\.ts$/,
		original,
		replacement: atBoundary(original),
		reason: 'It differs at one millisecond, or one request, and the bound is a guess in any case.',
	})),
];

/** The comparison that gives something else where both sides are equal. */
function atBoundary(comparison: string): string {
	return comparison.replace(/ ([<>])(=?) /, (_, sign, equal) => ` ${sign}${equal ? '' : '='} `);
}
