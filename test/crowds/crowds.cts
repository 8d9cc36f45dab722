import type { WorkflowFile } from '../../hosts/n8n.cts';
import {
	agentNode,
	createForRow,
	n8nNode,
	rowsWorkflow,
	webhookWorkflow,
	type NodeFile,
} from '../support/workflows.cts';

/** A row that starts a run of the scripted agent. Its text is the run's output, and no other row has it. */
export interface Row {
	agent: 3;
	values: { seconds: number; text: string };
}

/** Many executions, or many or large items, in one n8n. */
export interface Crowd {
	what: string;
	workflow: WorkflowFile;
	executions: number;
	/** Of one of the executions, by its index. */
	rowsOf: (execution: number) => Row[];
	/** Whether each row starts a run. */
	startsRuns: boolean;
	/** Whether n8n is ended while all executions are parked, until the last of them is overdue. */
	isEndedWhileParked: boolean;
	/** What the service carries for the key; no limit when absent. */
	requestsASecond?: number;
}

/** How long a parked wait is, in s: longer than it takes to begin all of a crowd. */
const WAIT_S = 180;

const stored = agentNode('Run', {
	...createForRow,
	options: { whereToWait: 'stored', pollInterval: WAIT_S },
});

/** n8n's own, for comparison. */
const waitNode = n8nNode('Run', 'wait', 1.1, {
	parameters: { resume: 'timeInterval', amount: WAIT_S, unit: 'seconds' },
});

function rows(count: number, seconds: (item: number) => number) {
	return (execution: number): Row[] =>
		Array.from({ length: count }, (_, item) => ({
			agent: 3,
			values: { seconds: seconds(item), text: `execution ${execution}, item ${item}` },
		}));
}

/** Rows, each with a text of 1 MB beside it, then the node. */
function largeWorkflow(id: string, node: NodeFile): WorkflowFile {
	const large = n8nNode('Large', 'code', 2, {
		parameters: {
			// Each text is another one: n8n stores what is the same once.
			jsCode: `return $input.all().map(({ json }, n) => ({ json: { ...json, text: String(n).padEnd(1_000_000, 'x') } }))`,
		},
	});
	return webhookWorkflow(id, [large, node, n8nNode('Good', 'noOp')], {
		Rows: [['Large']],
		Large: [[node.name]],
		[node.name]: [['Good']],
	});
}

const parked = { isEndedWhileParked: true, startsRuns: true };
const waited = { isEndedWhileParked: true, startsRuns: false };

export const crowds: Crowd[] = [
	{
		what: '500 executions parked, n8n ended, all overdue at once',
		workflow: rowsWorkflow('parked', stored),
		executions: 500,
		rowsOf: rows(1, () => 60),
		...parked,
	},
	{
		what: "The same in n8n's Wait node",
		workflow: rowsWorkflow('waited', waitNode),
		executions: 500,
		rowsOf: rows(1, () => 60),
		...waited,
	},
	{
		what: '50 executions of 20 items on one key, 20 requests a second',
		workflow: rowsWorkflow('key', agentNode('Run', createForRow)),
		executions: 50,
		rowsOf: rows(20, (item) => 1 + (item % 10)),
		requestsASecond: 20,
		startsRuns: true,
		isEndedWhileParked: false,
	},
	{
		what: '10,000 items in one execution, runs of 10 minutes, parked, n8n ended, overdue',
		workflow: rowsWorkflow('items', agentNode('Run', createForRow)),
		executions: 1,
		rowsOf: rows(10_000, () => 600),
		...parked,
	},
	{
		what: '50 items of 1 MB in one execution, parked, n8n ended, overdue',
		workflow: largeWorkflow('large', stored),
		executions: 1,
		rowsOf: rows(50, () => 60),
		...parked,
	},
	{
		what: "The same 50 MB in n8n's Wait node",
		workflow: largeWorkflow('largeWaited', waitNode),
		executions: 1,
		rowsOf: rows(50, () => 60),
		...waited,
	},
];
