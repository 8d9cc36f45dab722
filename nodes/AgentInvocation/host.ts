import type { IExecuteFunctions } from 'n8n-workflow';

/** Whether the node runs as the tool of an AI Agent: n8n gives its type then another name. */
export function isTool(context: IExecuteFunctions): boolean {
	return context.getNode().type.endsWith('Tool');
}

/**
 * The major and minor version of the host's n8n-workflow, whose major version goes with n8n's own.
 * Zeros when the host does not tell.
 */
export async function hostVersion(): Promise<{ major: number; minor: number }> {
	try {
		const { version } = await import('n8n-workflow/package.json');
		const [major = 0, minor = 0] = version.split('.').map(Number);
		return { major, minor };
	} catch {
		return { major: 0, minor: 0 };
	}
}
