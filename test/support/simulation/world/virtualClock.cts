import { setTimeout as realPause } from 'node:timers/promises';

/** When something is to happen on a virtual clock. */
interface Timer {
	at: number;
	/** Decides between timers of the same instant. */
	order: number;
	/** What it ends with; those of a process end when the process is killed. */
	owner: object;
	run(): void;
}

/** What code on this clock sees in place of the real ones. */
const REPLACED = ['setTimeout', 'clearTimeout', 'Date', 'performance'] as const;

/** The date at which every virtual clock begins, in ms since the epoch. */
const FIRST_DATE = Date.UTC(2026, 0, 1);

/** More than any code does at one moment, unless it never lets go: timers that it sets, and readings of the clock. */
const MOST_WITHOUT_TIME = { timers: 20_000, readings: 500_000 };

/** How long n8n may take to load what it has not loaded yet, where nothing else is left to happen, in real ms. */
const LOADING_MS = 100;

/** What is done where no time passes any more. */
export const standstill = {
	tell(at: number): void {
		process.stdout.write(`BROKEN The node ends: it stands still at ${at} ms\n`);
		process.exit(1);
	},
};

/**
 * Time that passes only when nothing else is left to do. Timers of the same instant run in an order that the
 * seed decides, as no promise may depend on it.
 */
export class VirtualClock {
	/** In ms since the world's beginning. */
	now = 0;

	/** How many timers have run. */
	steps = 0;

	/** Whose the timers are that code sets now. */
	owner: object = {};

	private readonly heap: Timer[] = [];

	private countedAt = 0;

	/** How many timers were set in this step, and how often the clock was read. */
	private counted = { timers: 0, readings: 0 };

	/** @param random decides the order of timers of the same instant */
	constructor(private readonly random: () => number) {}

	/** By how much n8n's clock is wrong, in ms. */
	shift = 0;

	/** The present date as n8n has it, in ms since the epoch. */
	get date(): number {
		return this.trueDate + this.shift;
	}

	/** The same as the service has it. */
	get trueDate(): number {
		return FIRST_DATE + this.now;
	}

	/** Runs something later, on behalf of the world unless another owner is named. */
	after(ms: number, run: () => void, owner: object = this): Timer {
		const timer = { at: this.now + ms, order: this.random(), owner, run };
		this.heap.push(timer);
		this.rise(this.heap.length - 1);
		return timer;
	}

	/** Drops all timers of an owner. */
	drop(owner: object): void {
		for (const timer of this.heap) if (timer.owner === owner) timer.run = () => {};
	}

	/**
	 * Turns the clock until something is so, or nothing is left to happen.
	 *
	 * @returns whether it came to be so within these steps and this time, in ms
	 */
	async turnUntil(isSo: () => boolean, mostSteps: number, mostMs: number): Promise<boolean> {
		for (;;) {
			// All that follows from what has happened comes before what comes later.
			await new Promise<void>((resolve) => setImmediate(resolve));
			if (isSo()) return true;
			// A module that is being loaded is no timer either.
			if (this.heap.length === 0) await realPause(LOADING_MS);
			if (isSo()) return true;
			const next = this.take();
			if (!next || this.steps >= mostSteps || next.at > mostMs) return false;
			this.steps++;
			this.now = next.at;
			next.run();
		}
	}

	/** Does work that sees this clock's time and these random numbers alone. */
	async rule<T>(random: () => number, work: () => Promise<T>): Promise<T> {
		const before = new Map(
			REPLACED.map((name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)!]),
		);
		const realRandom = Math.random;
		for (const [name, value] of Object.entries(this.globals())) {
			Object.defineProperty(globalThis, name, { configurable: true, writable: true, value });
		}
		Math.random = random;
		try {
			return await work();
		} finally {
			Math.random = realRandom;
			for (const [name, descriptor] of before) {
				Object.defineProperty(globalThis, name, descriptor);
			}
		}
	}

	private globals(): Record<(typeof REPLACED)[number], unknown> {
		const date = () => this.date;
		const RealDate = Date;
		class VirtualDate extends RealDate {
			constructor(...given: Array<string | number | Date>) {
				super(...((given.length === 0 ? [date()] : given) as [number]));
			}

			static override now(): number {
				return date();
			}
		}
		return {
			setTimeout: (run: (...given: unknown[]) => void, ms = 0, ...given: unknown[]) => {
				this.lookAtTime('timers');
				// Node.js waits 1 ms where it is asked for less.
				return this.after(Math.max(ms, 1), () => run(...given), this.owner);
			},
			clearTimeout: (timer?: Timer) => {
				if (timer) timer.run = () => {};
			},
			Date: VirtualDate,
			performance: {
				now: () => {
					this.lookAtTime('readings');
					return this.now;
				},
			},
		};
	}

	/** Code that goes on without time passing freezes n8n. It ends with an error, if it does not catch all of them. */
	private lookAtTime(what: keyof typeof MOST_WITHOUT_TIME): void {
		if (this.countedAt !== this.steps) {
			this.countedAt = this.steps;
			this.counted = { timers: 0, readings: 0 };
		}
		this.counted[what]++;
		if (this.counted[what] < MOST_WITHOUT_TIME[what]) return;
		// From now on, whatever looks at the time fails.
		this.countedAt = this.steps = Infinity;
		standstill.tell(this.now);
		throw new Error(`Time stands still at ${this.now} ms`);
	}

	private take(): Timer | undefined {
		const { heap } = this;
		const first = heap[0];
		const last = heap.pop();
		if (!first || !last || first === last) return first;
		heap[0] = last;
		this.sink();
		return first;
	}

	private rise(from: number): void {
		const { heap } = this;
		for (let index = from; index > 0;) {
			const parent = (index - 1) >> 1;
			if (!isBefore(heap[index]!, heap[parent]!)) return;
			[heap[index], heap[parent]] = [heap[parent]!, heap[index]!];
			index = parent;
		}
	}

	private sink(): void {
		const { heap } = this;
		for (let index = 0; ;) {
			const [left, right] = [2 * index + 1, 2 * index + 2];
			let least = index;
			if (left < heap.length && isBefore(heap[left]!, heap[least]!)) least = left;
			if (right < heap.length && isBefore(heap[right]!, heap[least]!)) least = right;
			if (least === index) return;
			[heap[index], heap[least]] = [heap[least]!, heap[index]!];
			index = least;
		}
	}
}

function isBefore(one: Timer, other: Timer): boolean {
	return one.at < other.at || (one.at === other.at && one.order < other.order);
}
