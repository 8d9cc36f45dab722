import type { IExecuteFunctions, INode, IWorkflowSettings } from 'n8n-workflow';

/** Whether the node is the tool of an AI Agent: n8n gives its type then another name. */
export function isTool(context: { getNode(): INode }): boolean {
	return context.getNode().type.endsWith('Tool');
}

/** The version of the host's n8n-workflow, which goes with n8n's own; zeros when the host does not tell. */
export async function hostVersion(): Promise<{ major: number; minor: number }> {
	try {
		const { version } = await import('n8n-workflow/package.json');
		const [major, minor] = version.split('.').map(Number);
		return { major: major || 0, minor: minor || 0 };
	} catch {
		return { major: 0, minor: 0 };
	}
}

/** The workflow's settings. Older hosts do not tell them: it is empty then. */
export function workflowSettings(context: IExecuteFunctions): IWorkflowSettings {
	const host: Partial<Pick<IExecuteFunctions, 'getWorkflowSettings'>> = context;
	return host.getWorkflowSettings?.() ?? {};
}
