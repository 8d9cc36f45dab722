import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

import ts from 'typescript';

import { errors, hints, lists, notices } from '../browser/messages.cts';

// The texts of the node that a person reads stand in the table of `test/browser/messages.cts`, whose test reads
// each in the editor. A new text fails here until it has a row there, or a reason below.
const NOT_IN_THE_TABLE: Record<string, string> = {
	'The execution was canceled': 'n8n shows a stopped execution without the error of its node',
	'The execution was canceled during a request to the service': 'the same',
	'The node ended before this request was sent': 'the item that ended the node says why it ended',
	"'Parameters' does not hold the fields": 'the editor cannot be made to store such values',
	"'Parameters' is no list of name-value pairs": 'the same',
	'n8n could not send the request': 'needs a secret store that is away',
	"The service's list of agents does not end": 'takes a thousand pages: unit/readAgents.test.cts',
	'At the time limit of … s the service did not tell':
		'takes a minute more: unit/waitForRun.test.cts',
	'The service took no more requests for longer than the node may wait':
		'needs a queue that outlasts five minutes: unit/sendWithRetry.test.cts',
	"This node's credential cannot be used": 'n8n itself starts no node without its credential',
	'Another version of this package has begun this execution, so this one starts nothing':
		'needs a version that does not exist yet: unit/memory.test.cts',
	"Agent … is not in the organization's list":
		'the editor offers to try again in its own words: engine/editor.test.cts',
	"The wait stayed in memory, where a restart of n8n ends it: 'Poll Interval (Seconds)' is under 65":
		'takes more than five minutes: unit/parking.test.cts',
	"The agent named '…' has no ID that can be used":
		'needs a service that breaks its own interface: unit/findAgent.test.cts',
	'the node is the tool of an AI Agent, which waits for its answer': 'a tool has no output panel',
	'this version of n8n is too old to store it': 'needs a host of another time',
	'this package was not tried with this version of n8n': 'the same',
	'no node comes before this one': 'e2e/obstacles.test.cts',
	'n8n does not store this execution': 'e2e/obstacles.test.cts',
	'whoever started this workflow waits for its result': 'e2e/obstacles.test.cts',
	'another workflow may have called this one once for each item': 'e2e/obstacles.test.cts',
	'somebody may wait for the result of the workflow': 'e2e/obstacles.test.cts',
};

const nodes = path.join(__dirname, '../../nodes/AgentInvocation');
const files = readdirSync(nodes, { recursive: true, encoding: 'utf8' }).filter((file) =>
	file.endsWith('.ts'),
);

/** The texts of a file that stand for a message, its variable parts as '…'. */
function messagesIn(file: string): string[] {
	const code = readFileSync(path.join(nodes, file), 'utf8');
	const found: string[] = [];
	const visit = (node: ts.Node, isMessage: boolean): void => {
		if (isMessage && ts.isStringLiteralLike(node)) found.push(node.text);
		else if (isMessage && ts.isTemplateExpression(node)) {
			const spans = node.templateSpans.map(({ literal }) => literal.text);
			found.push([node.head.text, ...spans].join('…'));
		} else node.forEachChild((child) => visit(child, isMessage || says(node, child)));
	};
	visit(ts.createSourceFile(file, code, ts.ScriptTarget.Latest, true), false);
	return found;
}

/** Where messages stand in the code of the node. */
function says(parent: ts.Node, child: ts.Node): boolean {
	const isIn = (file: string) => parent.getSourceFile().fileName.includes(file);
	if (ts.isPropertyAssignment(parent)) {
		const isMessage = parent.name.getText() === 'message' || isIn('awaited');
		return isMessage && parent.initializer === child;
	}
	if (ts.isVariableDeclaration(parent)) {
		const isNotice = /^(message|NO_PARAMETERS|AGENT_NOT_KNOWN|TIMEOUT_IS_NEAR)$/.test(
			parent.name.getText(),
		);
		return isNotice && parent.initializer === child;
	}
	if (ts.isCallExpression(parent)) {
		return (
			/refuseJson|hints\.add$/.test(parent.expression.getText()) && parent.arguments[0] === child
		);
	}
	// [whether an obstacle stands, why]
	return (
		ts.isArrayLiteralExpression(parent) &&
		parent.elements.length === 2 &&
		isIn('obstacles') &&
		parent.elements[1] === child
	);
}

const pattern = (text: string) =>
	new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll('…', '.*'));
const table = [...errors, ...hints, ...lists, ...notices].map(([, , message]) => message);
const all = files.flatMap(messagesIn).filter((text) => /[a-z]{2,} [a-z]/i.test(text));

test('every message of the node has a row in the table, or a reason why not', () => {
	expect(all.length).toBeGreaterThan(60);
	const reasons = Object.keys(NOT_IN_THE_TABLE);
	const isRead = (text: string) => table.some((message) => pattern(text).test(message));
	const missing = all.filter(
		(text) => !isRead(text) && !reasons.some((reason) => text.startsWith(reason)),
	);
	expect(missing).toEqual([]);
});

test('every reason is for a message that there is', () => {
	const unused = Object.keys(NOT_IN_THE_TABLE).filter(
		(reason) => !all.some((text) => text.startsWith(reason)),
	);
	expect(unused).toEqual([]);
});
