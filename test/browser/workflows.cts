import type { INode } from 'n8n-workflow';

import type { WorkflowFile } from '../../hosts/n8n.cts';
import { agentNode, CREDENTIAL_ID, manualWorkflow, n8nNode } from '../support/workflows.cts';

/** The name of our node in these workflows, and its ID. */
export const NODE = 'Run';

/** The name of the node after it, and its ID. */
export const NEXT = 'Next';

/** An agent as the editor stores it once it is chosen from the list. */
export const REPORT = {
	__rl: true,
	mode: 'list',
	value: 2,
	cachedResultName: 'Regional report',
};

/** A workflow that is started by hand, gives its rows to our node, and the results to one more. */
export function nodeWorkflow(
	id: string,
	parameters: INode['parameters'],
	{ credentialId = CREDENTIAL_ID, rows = [{}] as object[] } = {},
): WorkflowFile {
	const credential = { id: credentialId, name: credentialId };
	return manualWorkflow(id, `return ${JSON.stringify(rows.map((json) => ({ json })))}`, [
		agentNode(NODE, parameters, { credentials: { agentInvocationApi: credential } }),
		n8nNode(NEXT, 'noOp'),
	]);
}
