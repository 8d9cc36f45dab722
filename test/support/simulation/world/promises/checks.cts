import { turnOf, type Attempt, type SeenRequest } from '../history.cts';
import type { ExecutionSpec } from '../world.cts';
import { isTrue, type Facts } from './facts.cts';

/** Whether the service has found nothing wrong. */
const hasPassed = ({ status, fault }: SeenRequest) => status === 200 && fault !== 'html200';

/** Whether the service has found something wrong. */
function isRefused({ status = 0, fault, isOwn }: SeenRequest): boolean {
	const isVerdict = isOwn || fault === 'rejected' || status === 401;
	return isVerdict && status >= 400 && status < 500 && status !== 429;
}

/** For how long the node uses a credential that it has read, in ms. */
const CREDENTIAL_USED_MS = 1_000;

/** With 'Check All Items First', a run is started only once all items are checked, and none that has passed is checked again. */
export function checksFirst(facts: Facts): string[] {
	return facts.history.attempts.flatMap((attempt) => {
		const spec = facts.spec(attempt);
		if (spec.operation !== 'create' || !isTrue(spec.options.checkFirst)) return [];
		return Array.from({ length: spec.turns }, (_, turn) => wrongIn(facts, attempt, turn)).flat();
	});
}

function wrongIn(facts: Facts, attempt: Attempt, turn: number): string[] {
	const spec = facts.spec(attempt);
	const ofTurn = facts.history.requests.filter(
		({ execution, tag }) =>
			execution.index === attempt.index && tag !== undefined && turnOf(tag) === turn,
	);
	const own = ofTurn.filter(({ execution }) => execution === attempt);
	const checks = own.filter(({ kind }) => kind === 'dryRun');
	const creates = own.filter(({ kind }) => kind === 'create');
	const chain = facts.chain(attempt);
	const isEarlier = ({ kind, execution, answeredAt }: SeenRequest, at: number) =>
		kind === 'dryRun' && answeredAt <= at && chain.includes(execution);
	const where = `execution ${attempt.id}, turn ${turn}`;
	const wrong = creates.flatMap((create) => {
		const { number, tag, sentAt } = create;
		const name = `${where}: request ${number} starts a run of ${tag}`;
		const isPending = ({ tag: checked, sentAt: checkedAt, answeredAt }: SeenRequest) =>
			checkedAt <= sentAt &&
			answeredAt > sentAt &&
			// One that got no answer in time is made again.
			!checks.some(
				(again) => again.tag === checked && again.sentAt > checkedAt && again.sentAt < sentAt,
			);
		const pending = checks.find(isPending);
		if (pending) return [`${name} before the check ${pending.number} has come back`];
		const isChecked = ofTurn.some(
			(one) => one.tag === tag && isEarlier(one, sentAt) && hasPassed(one),
		);
		if (!isChecked) return [`${name}, which has passed no check`];
		// If the credential could not be read later, another attempt found the item wrong without a check.
		const { fromMs = Infinity } = spec.credentialAway ?? {};
		const isOver = ({ sentAt: checkedAt }: SeenRequest) =>
			!stops(spec) && checkedAt <= fromMs + CREDENTIAL_USED_MS && sentAt > fromMs;
		const last = new Map<unknown, SeenRequest>();
		for (const check of checks) {
			if (check.sentAt <= sentAt && !isOver(check)) last.set(check.tag, check);
		}
		// What an earlier attempt has started may be started again, though the check of another item got no answer.
		const hasBegun = ofTurn.some(
			(one) =>
				one.tag === tag && one.kind === 'create' && one.status === 202 && one.sentAt < sentAt,
		);
		const against = [...last.values()].find(
			(check) =>
				!hasPassed(check) && (stops(spec) || check.tag === tag || (!isRefused(check) && !hasBegun)),
		);
		return against ? [`${name} against the check ${against.number} of ${against.tag}`] : [];
	});
	return [...wrong, ...repeated(spec, checks, creates).map((what) => `${where}: ${what}`)].slice(
		0,
		3,
	);
}

/** Checks after the first create, of items that had passed before it. */
function repeated(spec: ExecutionSpec, checks: SeenRequest[], creates: SeenRequest[]): string[] {
	const [first] = creates;
	const isRemembered = spec.host === 'n8n' && spec.newKeyAtMs === undefined;
	if (!first || !isRemembered) return [];
	return checks
		.filter(({ sentAt }) => sentAt > first.sentAt)
		.filter(({ tag }) =>
			checks.some(
				(check) => check.tag === tag && check.answeredAt <= first.sentAt && hasPassed(check),
			),
		)
		.filter(({ tag }) => !spec.items[Number(tag?.split('i')[1])]?.isVolatile)
		.map(({ number, tag }) => `request ${number} checks ${tag} again`);
}

/** Whether one failed item ends the node. */
function stops({ onError, host }: ExecutionSpec): boolean {
	return onError === 'stopWorkflow' && host !== 'tool';
}

/** Once the node knows that a dry run has started a run, it sends no other one. */
export function stopsAtDryRunsThatStart({ history }: Facts): string[] {
	/** When the first answer came that shows it, by attempt and turn. */
	const shownAt = new Map<string, number>();
	return history.requests.flatMap(({ number, kind, tag, execution, sentAt, ...one }) => {
		if (kind !== 'dryRun' || tag === undefined) return [];
		const turn = `${execution.id} ${turnOf(tag)}`;
		const at = shownAt.get(turn) ?? Infinity;
		const isShown = one.started !== undefined && one.status === 202;
		if (isShown) shownAt.set(turn, Math.min(at, one.answeredAt));
		return sentAt > at ? [`dry run ${number} was sent after one had started a run`] : [];
	});
}
