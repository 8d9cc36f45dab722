import type { RequestHandler, Response } from 'express';

/** Trouble that the next matching requests meet in place of their answer. */
export interface Fault {
	method?: 'GET' | 'POST';
	/** A regular expression on the path; absent for any. */
	path?: string;
	/** How many requests meet it; 1 when absent. */
	times?: number;
	/** Whether the service carries the request out first, so that only the answer is lost. */
	carriedOut?: boolean;
	/**
	 * - `answer`: `status`, `headers` and `body` as given;
	 * - `html`: a proxy's page with `status`;
	 * - `reset`: the connection is reset;
	 * - `stall`: nothing for `delayMs`, then a reset;
	 * - `truncated`: headers that promise more than the body holds, then a reset;
	 * - `stallBody`: the same, but nothing in place of the reset;
	 * - `delay`: the true answer, `delayMs` late.
	 */
	kind: 'answer' | 'html' | 'reset' | 'stall' | 'stallBody' | 'truncated' | 'delay';
	status?: number;
	headers?: Record<string, string>;
	/** What is sent, or a function that gives it for a path. */
	body?: unknown;
	delayMs?: number;
}

/** The faults that are waiting for a request to meet. */
export class Faults {
	private waiting: Fault[] = [];

	add(fault: Fault): void {
		this.waiting.push({ times: 1, ...fault });
	}

	/** Adds one that is met before those that wait already. */
	addFirst(fault: Fault): void {
		this.waiting.unshift({ times: 1, ...fault });
	}

	clear(): void {
		this.waiting = [];
	}

	readonly handler: RequestHandler = (request, response, next) => {
		const fault = this.take(request.method, request.path);
		if (!fault) {
			next();
		} else if (fault.kind === 'delay') {
			setTimeout(next, fault.delayMs ?? 0);
		} else if (fault.carriedOut) {
			// Whatever ends the response, the fault takes its place.
			const end = response.end.bind(response);
			response.end = () => {
				response.end = end;
				response.removeHeader('Content-Length');
				response.removeHeader('ETag');
				perform(fault, response);
				return response;
			};
			next();
		} else {
			perform(fault, response);
		}
	};

	private take(method: string, path: string): Fault | undefined {
		const fault = this.waiting.find(
			(candidate) =>
				(candidate.method ?? method) === method &&
				(candidate.path === undefined || new RegExp(candidate.path).test(path)),
		);
		if (!fault) return undefined;
		fault.times = (fault.times ?? 1) - 1;
		if (fault.times <= 0) this.waiting = this.waiting.filter((other) => other !== fault);
		return fault;
	}
}

function perform(fault: Fault, response: Response): void {
	switch (fault.kind) {
		case 'answer':
			response
				.status(fault.status ?? 200)
				.set(fault.headers ?? {})
				.send(bodyOf(fault, response.req.path) ?? '');
			break;
		case 'html':
			response
				.status(fault.status ?? 502)
				.type('html')
				.send('<html><body><h1>Bad gateway</h1></body></html>');
			break;
		case 'truncated':
		case 'stallBody':
			response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
			response.write('{"status":"succ');
			if (fault.kind === 'truncated') setTimeout(() => response.socket?.destroy(), 20);
			break;
		case 'stall':
			setTimeout(() => response.socket?.destroy(), fault.delayMs ?? 60_000).unref();
			break;
		default:
			response.socket?.resetAndDestroy();
	}
}

function bodyOf({ body }: Fault, path: string): unknown {
	return typeof body === 'function' ? (body as (path: string) => unknown)(path) : body;
}
