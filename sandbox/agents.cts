/** What the sandbox knows of a parameter. The agents' list shows no `options`, as in the interface. */
export interface SandboxParameter {
	name: string;
	required: boolean;
	description: string;
	/** The values that are known; absent when any text is. */
	options?: string[];
}

/** How a run ends: after how many ms, and in what. */
export interface Script {
	durationMs: number;
	status: 'succeeded' | 'failed' | 'cancelled';
	output?: string;
	error?: string;
}

export interface SandboxAgent {
	id: number;
	name: string;
	description: string;
	parameters: SandboxParameter[];
	/** Set when the agent's configuration is bad, so that no run can be created. */
	misconfigured?: string;
	script(values: Record<string, string>): Script;
}

const REGIONS = ['north', 'south', 'east', 'west'];

const named: SandboxAgent[] = [
	{
		id: 1,
		name: 'Daily briefing',
		description: 'Sums up what happened today. Takes no parameters.',
		parameters: [],
		script: () => succeed(1_000, 'All systems normal. Three new customers, no incidents.'),
	},
	{
		id: 2,
		name: 'Regional report',
		description: 'Writes the sales report of a region',
		parameters: [
			{
				name: 'region',
				required: true,
				description: 'north, south, east or west',
				options: REGIONS,
			},
			{
				name: 'quarter',
				required: false,
				description: 'Q1 to Q4; the present one when left out',
				options: ['Q1', 'Q2', 'Q3', 'Q4'],
			},
		],
		script: ({ region, quarter = 'Q4' }) =>
			succeed(2_000, `Sales in the ${region} grew in ${quarter}.`),
	},
	{
		id: 3,
		name: 'Scripted run',
		description: 'Ends as asked, after as long as asked: for trying things out',
		parameters: [
			{ name: 'seconds', required: false, description: 'How long the run takes; 1 when left out' },
			{
				name: 'status',
				required: false,
				description: 'succeeded, failed or cancelled',
				options: ['succeeded', 'failed', 'cancelled'],
			},
			{ name: 'text', required: false, description: "The run's output, or its error" },
		],
		script({ seconds = '1', status = 'succeeded', text = 'Done.' }) {
			const durationMs = Number(seconds) * 1_000;
			if (status === 'failed') return { durationMs, status, error: text };
			if (status === 'cancelled') return { durationMs, status };
			return succeed(durationMs, text);
		},
	},
	{
		id: 4,
		name: 'Structured answer',
		description: 'Classifies a text and answers in JSON',
		parameters: [{ name: 'text', required: true, description: 'The text to classify' }],
		script: ({ text = '' }) =>
			succeed(
				1_000,
				JSON.stringify({ label: text.endsWith('?') ? 'question' : 'statement', text }),
			),
	},
	{
		id: 5,
		name: 'Unreliable agent',
		description: 'Always fails',
		parameters: [],
		script: () => ({
			durationMs: 500,
			status: 'failed',
			error: 'A tool of the agent gave no answer.',
		}),
	},
	{
		id: 6,
		name: 'Misconfigured agent',
		description: 'Cannot be run',
		parameters: [],
		misconfigured: 'The agent has no model.',
		script: () => succeed(0, ''),
	},
];

/** The organization's agents, `count` of them, ids ascending. */
export function makeAgents(count: number): SandboxAgent[] {
	const fillers = Array.from({ length: Math.max(0, count - named.length) }, (_, index) => {
		const id = named.length + 1 + index;
		return {
			id,
			name: `Archive agent ${id}`,
			description: `Looks things up in archive ${id}`,
			parameters: [],
			script: () => succeed(300, `Nothing new in archive ${id}.`),
		} satisfies SandboxAgent;
	});
	return [...named, ...fillers].slice(0, count);
}

function succeed(durationMs: number, output: string): Script {
	return { durationMs, status: 'succeeded', output };
}
