import { readFileSync } from 'node:fs';
import path from 'node:path';

import type { IDataObject } from 'n8n-workflow';

import { createRun, getRun, jsonOf, listAgents, run, useSandbox } from '../support/sandboxed.cts';

const sandbox = useSandbox();

/** The fields that the editor shows for an operation before its first execution, with their types. */
function fieldsShown(operation: string): Record<string, string> {
	const file = path.join(
		__dirname,
		'../../nodes/AgentInvocation/__schema__/v1.0.0',
		`${operation}.json`,
	);
	const schema = JSON.parse(readFileSync(file, 'utf8')) as {
		properties: Record<string, { type: string }>;
	};
	return Object.fromEntries(
		Object.entries(schema.properties).map(([name, { type }]) => [name, type]),
	);
}

function fieldsOf(json: IDataObject): Record<string, string> {
	return Object.fromEntries(
		Object.entries(json).map(([name, value]) => [
			name,
			Array.isArray(value) ? 'array' : Number.isInteger(value) ? 'integer' : typeof value,
		]),
	);
}

test('the preview of each operation shows the fields of its output', async () => {
	const [agent] = jsonOf((await run(sandbox.current, listAgents())).output);
	expect(fieldsOf(agent!)).toEqual(fieldsShown('agent/list'));
	const [created] = jsonOf((await run(sandbox.current, createRun(3, { seconds: 0.1 }))).output);
	expect(fieldsOf(created!)).toEqual(fieldsShown('run/create'));
	const [got] = jsonOf((await run(sandbox.current, getRun(3, created!.run_id))).output);
	expect(fieldsOf(got!)).toEqual(fieldsShown('run/get'));
});
