import type { Learned, PaceLike } from './limits.cts';

const SECOND = 1_000;

/** The most requests that a client of another kind has under way. */
const MOST_UNDER_WAY = 50;

/**
 * The adaptive retry mode of the AWS SDKs, written down from its public description: no limit until the first
 * refusal, then a token bucket whose rate follows CUBIC. `Retry-After` is not heeded.
 */
export function awsAdaptive(): PaceLike {
	const beta = 0.7;
	const scale = 0.4;
	const smooth = 0.8;
	const leastRate = 0.5;
	let [fillRate, capacity, tokens, filledAt] = [0, 0, 0, 0];
	let [measured, counted, countedFrom] = [0, 0, 0];
	let [lastMostRate, refusedAt] = [0, 0];
	let isLimited = false;
	let underWay = 0;

	const fill = (now: number) => {
		tokens = Math.min(capacity, tokens + ((now - filledAt) / SECOND) * fillRate);
		filledAt = now;
	};
	const measure = (now: number) => {
		const bucket = Math.floor((now / SECOND) * 2) / 2;
		counted++;
		if (bucket <= countedFrom) return;
		measured = (counted / (bucket - countedFrom)) * smooth + measured * (1 - smooth);
		[counted, countedFrom] = [0, bucket];
	};
	let openAt = 0;
	return {
		get opensAt() {
			if (underWay >= MOST_UNDER_WAY) return Infinity;
			return isLimited ? Math.max(openAt, filledAt + ((1 - tokens) / fillRate) * SECOND) : 0;
		},
		take(now) {
			underWay++;
			if (!isLimited) return;
			fill(now);
			tokens -= 1;
			openAt = now;
		},
		learn({ kind }: Learned, _, now) {
			underWay--;
			measure(now);
			let rate: number;
			const windowS = () => ((lastMostRate * (1 - beta)) / scale) ** (1 / 3);
			if (kind === 'rateLimited') {
				const used = isLimited ? Math.min(measured, fillRate) : measured;
				lastMostRate = used;
				refusedAt = now;
				rate = used * beta;
				isLimited = true;
			} else {
				rate = scale * ((now - refusedAt) / SECOND - windowS()) ** 3 + lastMostRate;
			}
			if (!isLimited) return;
			fill(now);
			fillRate = Math.max(Math.min(rate, 2 * measured), leastRate);
			capacity = Math.max(fillRate, 1);
			tokens = Math.min(tokens, capacity);
		},
	};
}

/**
 * octokit's plugins for throttling and retries, written down from their public source: ten requests at a time.
 * One that was refused is sent again after `Retry-After`, or after 1, 4 and 9 s, and holds its place meanwhile;
 * the others go on.
 */
export function octokit(): PaceLike {
	/** When each of the ten places is free. */
	const places = new Array<number>(10).fill(0);
	const sent: Array<{ sentAt: number; place: number }> = [];
	const attempts = places.map(() => 0);
	return {
		get opensAt() {
			return Math.min(...places);
		},
		take(now) {
			const place = places.indexOf(Math.min(...places));
			places[place] = Infinity;
			sent.push({ sentAt: now, place });
		},
		learn({ kind, retryAfter }: Learned, sentAt, now) {
			const index = sent.findIndex((one) => one.sentAt === sentAt);
			const { place } = sent.splice(index, 1)[0]!;
			attempts[place] = kind === 'ok' ? 0 : Math.min(attempts[place]! + 1, 3);
			const waitS = kind === 'ok' ? 0 : Number(retryAfter ?? attempts[place] ** 2);
			places[place] = now + waitS * SECOND;
		},
	};
}
