import { randomUUID } from 'node:crypto';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';

import express, { type ErrorRequestHandler, type Request, type Response } from 'express';
import * as OpenApiValidator from 'express-openapi-validator';
import { rateLimit } from 'express-rate-limit';

import { makeAgents, type SandboxAgent } from './agents.cts';
import { Faults } from './faults.cts';
import { Runs, showRun } from './runs.cts';
import { defaultSettings, type Settings } from './settings.cts';

/** A request as it came in. */
export interface SeenRequest {
	at: number;
	method: string;
	/** With the query. */
	url: string;
	apiKey?: string;
	body: unknown;
	/** The status of the answer; 0 when there was none. */
	status: number;
	/** Whether it still waits for its answer. */
	isOpen: boolean;
}

/** The service itself on loopback, as far as its interface document goes. */
export interface Sandbox {
	/** Ends in `/api/v1`. */
	baseUrl: string;
	/** May be changed while it runs, except for the rate limit's window. */
	settings: Settings;
	runs: Runs;
	faults: Faults;
	requests: SeenRequest[];
	/** Answers of the sandbox that its own OpenAPI description does not allow. Always empty. */
	contractBreaches: string[];
	close(): Promise<void>;
}

/**
 * Starts the service on 127.0.0.1.
 *
 * @param port 0 for any free one
 * @throws Error with code EADDRINUSE when the port is taken
 */
export async function startSandbox(port = 0, changes: Partial<Settings> = {}): Promise<Sandbox> {
	const settings: Settings = { ...defaultSettings, ...changes };
	const sandbox = {
		settings,
		runs: new Runs(),
		faults: new Faults(),
		requests: [] as SeenRequest[],
		contractBreaches: [] as string[],
	};

	const app = express();
	app.disable('x-powered-by').disable('etag');
	app.use(express.json({ limit: '50mb' }));
	app.use('/_sandbox', controls(sandbox));
	app.use((request, response, next) => {
		const seen: SeenRequest = {
			at: Date.now(),
			method: request.method,
			url: request.originalUrl,
			body: request.body as unknown,
			status: 0,
			isOpen: true,
		};
		const apiKey = request.get('x-api-key');
		if (apiKey !== undefined) seen.apiKey = apiKey;
		sandbox.requests.push(seen);
		response.on('finish', () => (seen.status = response.statusCode));
		response.on('close', () => (seen.isOpen = false));
		next();
	});
	app.use(sandbox.faults.handler);
	app.use(checkKey(settings), limitRate(settings));
	app.use(
		OpenApiValidator.middleware({
			apiSpec: path.join(__dirname, 'openapi.yaml'),
			validateApiSpec: true,
			validateSecurity: false,
			validateRequests: true,
			validateResponses: {
				onError: (error, body, request) =>
					void sandbox.contractBreaches.push(
						`${request.method} ${request.originalUrl}: ${error.message} in ${JSON.stringify(body)}`,
					),
			},
		}),
	);
	app.use('/api/v1', endpoints(sandbox));
	app.use(answerWithEnvelope);

	const server = await listen(app, port);
	return {
		...sandbox,
		baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1`,
		async close() {
			server.closeAllConnections();
			await new Promise((resolve) => server.close(resolve));
		},
	};
}

type State = Pick<Sandbox, 'settings' | 'runs' | 'faults' | 'requests' | 'contractBreaches'>;

function endpoints({ settings, runs }: State) {
	const router = express.Router();
	const agentsNow = () =>
		[...settings.moreAgents, ...makeAgents(settings.agentCount)].map((agent) => ({
			...agent,
			name: settings.agentNames[agent.id] ?? agent.name,
		}));
	const findAgent = (request: Request) =>
		agentsNow().find(({ id }) => id === Number(request.params.agentId));

	router.get('/agents', (request, response) => {
		const asked = request.query as { limit?: unknown; offset?: unknown };
		const limit = Math.min(Number(asked.limit ?? settings.defaultLimit), settings.largestPage);
		const offset = Number(asked.offset ?? 0);
		const agents = agentsNow();
		if (settings.agentOrder === 'descending') agents.reverse();
		response.json({
			agents: agents.slice(offset, offset + limit).map(showAgent),
			pagination: { total: agents.length + settings.totalOffBy, limit, offset },
		});
	});

	router.post('/agents/:agentId/runs', (request, response) => {
		const agent = findAgent(request);
		if (!agent) return refuse(response, 404, 'agent_not_found', 'Agent not found.');
		const body = request.body as {
			parameter_bindings?: Array<{ name: string; value: string }> | null;
		};
		const bindings = Object.fromEntries(
			(body.parameter_bindings ?? []).map(({ name, value }) => [name, value]),
		);
		const wrong = findWrong(agent, bindings, settings);
		if (wrong) return refuse(response, 400, wrong.code, wrong.message);

		// A boolean once the validator has read it.
		if ((request.query as { dry_run?: unknown }).dry_run === true) {
			const { status, shape } = settings.dryRun;
			const prompt = `You are ${agent.name}. ${agent.description}.`;
			return void response
				.status(status)
				.json(shape === 'text' ? prompt : { prompt, parameters: bindings });
		}
		const run = runs.create(agent, bindings);
		return void response.status(202).json({ run_id: run.runId, status: 'pending' });
	});

	router.get('/agents/:agentId/runs/:runId', (request, response) => {
		const agent = findAgent(request);
		if (!agent) return refuse(response, 404, 'agent_not_found', 'Agent not found.');
		const run = runs.find(agent.id, request.params.runId, settings);
		if (!run) return refuse(response, 404, 'run_not_found', 'Run not found.');
		return void response.json(showRun(run, settings));
	});

	return router;
}

function showAgent({ id, name, description, parameters }: SandboxAgent) {
	return {
		id,
		name,
		description,
		parameters: parameters.map(({ name, required, description }) => ({
			name,
			required,
			description,
		})),
	};
}

function findWrong(agent: SandboxAgent, bindings: Record<string, string>, settings: Settings) {
	if (agent.misconfigured !== undefined) {
		return { code: settings.badConfigurationCode, message: agent.misconfigured };
	}
	for (const [name, value] of Object.entries(bindings)) {
		const parameter = agent.parameters.find((candidate) => candidate.name === name);
		if (!parameter) {
			return { code: 'unknown_parameter', message: `Unknown parameter '${name}'.` };
		}
		if (parameter.options && !parameter.options.includes(value)) {
			return {
				code: 'invalid_parameter_value',
				message: `'${value}' is not an option of parameter '${name}'.`,
			};
		}
	}
	const missing = agent.parameters.find(
		({ name, required }) => required && !Object.hasOwn(bindings, name),
	);
	if (missing && settings.missingRequired === 'reject') {
		return {
			code: settings.missingParameterCode,
			message: `Parameter '${missing.name}' is required.`,
		};
	}
	return undefined;
}

function checkKey(settings: Settings): express.RequestHandler {
	return (request, response, next) => {
		const key = request.get('x-api-key');
		if (key === undefined) refuse(response, 401, 'missing_api_key', 'No x-api-key header.');
		else if (!settings.apiKeys.includes(key)) {
			refuse(response, 401, 'invalid_api_key', 'The API key is invalid or has been revoked.');
		} else next();
	};
}

function limitRate(settings: Settings): express.RequestHandler {
	return rateLimit({
		windowMs: settings.rateLimit.windowMs,
		limit: () => settings.rateLimit.requests,
		skip: () => settings.rateLimit.requests === 0,
		standardHeaders: false,
		legacyHeaders: false,
		keyGenerator: (request) => request.get('x-api-key') ?? '',
		handler(request, response) {
			const { retryAfter, body } = settings.rateLimit;
			const { resetTime } = (request as Request & { rateLimit: { resetTime: Date } }).rateLimit;
			const seconds = Math.max(1, Math.ceil((resetTime.getTime() - Date.now()) / 1_000));
			if (retryAfter === 'seconds') response.set('Retry-After', String(seconds));
			if (retryAfter === 'date') {
				response.set('Retry-After', new Date(Date.now() + seconds * 1_000).toUTCString());
			}
			if (body === 'empty') response.status(429).end();
			else refuse(response, 429, 'rate_limited', 'Too many requests.');
		},
	});
}

/** For tests and people in other processes: what came in, what was started, and faults on demand. */
function controls({ settings, runs, faults, requests, contractBreaches }: State) {
	const router = express.Router();
	router.get('/state', (_request, response) => {
		response.json({ requests, runs: runs.all, contractBreaches });
	});
	router.patch('/settings', (request, response) => {
		response.json(Object.assign(settings, request.body));
	});
	router.post('/faults', (request, response) => {
		faults.add(request.body as Parameters<Faults['add']>[0]);
		response.status(204).end();
	});
	router.delete('/runs/:runId', (request, response) => {
		response.status(runs.forget(request.params.runId) ? 204 : 404).end();
	});
	return router;
}

function refuse(response: Response, status: number, code: string, message: string): void {
	const requestId = `req_${randomUUID()}`;
	response
		.status(status)
		.set('X-Request-Id', requestId)
		.json({ error: { code, message, request_id: requestId } });
}

// What the validator refuses has no documented code either.
const answerWithEnvelope: ErrorRequestHandler = (
	error: Error & { status?: number },
	_request,
	response,
	next,
) => {
	if (response.headersSent) return next(error);
	const status = error.status ?? 500;
	const code = status >= 500 ? 'internal_error' : status === 404 ? 'not_found' : 'invalid_request';
	refuse(response, status, code, error.message);
};

async function listen(app: express.Express, port: number): Promise<Server> {
	return await new Promise((resolve, reject) => {
		const server = app.listen(port, '127.0.0.1', (error?: Error) =>
			error ? reject(error) : resolve(server),
		);
	});
}
