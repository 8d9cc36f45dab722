// An older n8n-core in the form that the engine's tests expect.
const core = require('n8n-core');
const { WorkflowHooks } = require('n8n-workflow');

const takesOptions = core.WorkflowExecute.prototype.run.length === 1;

class WorkflowExecute extends core.WorkflowExecute {
	run({ workflow, startNode }) {
		return super.run(workflow, startNode);
	}
}

class ExecutionLifecycleHooks extends (WorkflowHooks ?? Object) {
	constructor(mode, executionId, workflow) {
		super({}, mode, executionId, workflow);
	}
}

module.exports = {
	LoadOptionsContext: core.LoadOptionsContext,
	WorkflowExecute: takesOptions ? core.WorkflowExecute : WorkflowExecute,
	ExecutionLifecycleHooks: core.ExecutionLifecycleHooks ?? ExecutionLifecycleHooks,
};
