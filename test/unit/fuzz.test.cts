import fc from 'fast-check';
import { NodeApiError, NodeOperationError, type IDataObject } from 'n8n-workflow';

import { readResponse, readThrown } from '../../nodes/AgentInvocation/service/answer.ts';
import { checkCredential } from '../../nodes/AgentInvocation/service/credential.ts';
import type { Failure } from '../../nodes/AgentInvocation/failure.ts';
import { explainAnswer } from '../../nodes/AgentInvocation/service/explainAnswer.ts';
import { readAgentId, readRunId } from '../../nodes/AgentInvocation/operations/ids.ts';
import { toNodeError } from '../../nodes/AgentInvocation/engine/nodeError.ts';
import { readBindings } from '../../nodes/AgentInvocation/operations/run/parameters.ts';
import { resultOf } from '../../nodes/AgentInvocation/waiting/output.ts';
import { readWaitOptions } from '../../nodes/AgentInvocation/waiting/options.ts';
import { outcomeOf, settled } from '../support/outcome.cts';
import { contextOf } from '../support/simulation/world/context.cts';
import { isAgentPage, isCreatedRun, isRun } from '../../nodes/AgentInvocation/service/types.ts';

const EACH = 5_000;
const subject = { agentId: 1, runId: 'run', startsRun: true, baseUrl: 'https://service/api/v1' };

/** A node with these parameters. */
const having = (parameters: Record<string, unknown>, json: IDataObject = {}) =>
	contextOf({ parameters, items: [{ json }] });

/** A message as it is read: a character that shows nothing breaks some of its words. */
const visible = (message: string) => message.replaceAll('\u2060', '');

/** A failure has words for the user, and becomes one of n8n's errors that has them too. */
function expectN8nError(failure: Failure): void {
	const error = toNodeError(having({}), failure, 0);
	expect([NodeApiError, NodeOperationError]).toContain(error.constructor);
	expect(visible(error.message)).toBe(visible(failure.message));
	expect(error.message.length).toBeGreaterThan(0);
}

// Among what is made are names and shapes that the service's answers have.
const key = fc.oneof(
	fc.constantFrom('agents', 'error', 'code', 'message', 'run_id', 'status', 'output', '__proto__'),
	fc.string(),
);
const json: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
	value: fc.oneof(
		{ maxDepth: 4 },
		fc.oneof(fc.string({ unit: 'binary' }), fc.double(), fc.boolean(), fc.constant(null)),
		fc.constantFrom('succeeded', 'failed', 'running', 'constructor', 'ETIMEDOUT'),
		fc.array(tie('value'), { maxLength: 4 }),
		fc.array(fc.tuple(key, tie('value')), { maxLength: 5 }).map(Object.fromEntries),
	),
})).value;
const body = fc.oneof(
	json,
	json.map((value) => JSON.stringify(value)),
	fc.string({ unit: 'binary' }),
);

test('whatever the service answers, it becomes an answer, and an error in our words', () => {
	fc.assert(
		fc.property(
			fc.integer({ min: 100, max: 599 }),
			fc.dictionary(fc.constantFrom('retry-after', 'x-request-id'), json),
			body,
			fc.constantFrom<(body: unknown) => boolean>(isAgentPage, isRun, isCreatedRun),
			(statusCode, headers, given, hasShape) => {
				const answer = readResponse({ statusCode, headers, body: given }, hasShape as typeof isRun);
				if (answer.kind !== 'ok') {
					expectN8nError(explainAnswer(answer, subject));
				}
			},
		),
		{ numRuns: EACH },
	);
});

test('whatever is thrown, it becomes an answer, and an error in our words', () => {
	fc.assert(
		fc.property(
			fc.anything({ withNullPrototype: true, withBigInt: true, withDate: true }),
			fc.boolean(),
			(thrown, cancelled) => {
				const answer = readThrown(thrown, cancelled);
				expectN8nError(explainAnswer(answer, subject));
			},
		),
		{ numRuns: EACH },
	);
});

test('whatever a run is like, it becomes output or an error in our words', () => {
	const options = fc.record({
		timeoutMs: fc.constant(0),
		pollIntervalMs: fc.constant(0),
		onUnsuccessfulRun: fc.constantFrom('error' as const, 'output' as const),
		onTimeout: fc.constant('error' as const),
		outputFormat: fc.constantFrom('text' as const, 'json' as const),
		whereToWait: fc.constant('auto' as const),
	});
	const run = fc.tuple(json, fc.string()).map(([value, status]) => ({
		...(value as object),
		status,
		run_id: 'run',
	}));
	fc.assert(
		fc.property(run, options, (given, chosen) => {
			const own = { baseUrl: 'https://agents.example.com/api/v1', agentId: 1, runId: 'run' };
			const step = resultOf({ is: 'notBegun', run: own }, given, chosen);
			expect(['done', 'failed']).toContain(step.is);
			if (step.is === 'failed') expectN8nError(step.failure);
		}),
		{ numRuns: EACH },
	);
});

test('whatever is given for parameters, it becomes bindings of text with names once, or an error', async () => {
	const pair = fc.oneof(json, fc.record({ name: fc.oneof(key, json), value: json }));
	const given = fc.oneof(
		fc.record({ specifyParameters: fc.constant('json'), parametersJson: body }),
		fc.record({
			specifyParameters: fc.constant('keypair'),
			'parameterPairs.values': fc.oneof(json, fc.array(pair)),
		}),
		fc.record({
			specifyParameters: fc.constant('fields'),
			parameters: fc.record({
				mappingMode: fc.constantFrom('defineBelow', 'autoMapInputData'),
				value: fc.oneof(fc.constant(null), fc.dictionary(key, json)),
				schema: fc.array(fc.record({ id: key, required: fc.boolean() })),
			}),
		}),
	);
	const listed = fc.array(fc.record({ name: key, required: fc.boolean(), description: key }));
	await fc.assert(
		fc.asyncProperty(given, fc.dictionary(key, json), listed, async (parameters, item, all) => {
			const bindings = await settled(
				readBindings(
					having(parameters, item as IDataObject),
					0,
					() => Promise.resolve(all),
					new Set(),
				),
			);
			if (!bindings.ok) return expectN8nError(bindings.failure);
			const names = bindings.value.map(({ name }) => name);
			expect(new Set(names).size).toBe(names.length);
			for (const { name, value } of bindings.value) {
				expect([typeof name, typeof value]).toEqual(['string', 'string']);
			}
		}),
		{ numRuns: EACH },
	);
});

test('whatever is given for an ID, an option or a credential, it is read or refused in our words', () => {
	fc.assert(
		fc.property(
			fc.anything({ withNullPrototype: true, withBigInt: true, withDate: true }),
			json,
			(value, option) => {
				const options = { timeout: option, pollInterval: option, onTimeout: option };
				for (const read of [
					() => readAgentId(value),
					() => readRunId(value),
					() => checkCredential({ baseUrl: value, apiKey: option }),
					() => readWaitOptions(having({ options }), 0),
				]) {
					const outcome = outcomeOf<unknown>(read);
					if (!outcome.ok) expectN8nError(outcome.failure);
				}
			},
		),
		{ numRuns: EACH },
	);
});
