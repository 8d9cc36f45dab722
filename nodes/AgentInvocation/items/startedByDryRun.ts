import type { Failure } from '../failure';
import { recordsOf, type Item, type KnownRun } from '../item';
import { nameRun } from '../wording';

/** The run that a dry run of the item has started, unless the user has changed the node since. */
export function runOfDryRun(item: Item): KnownRun | undefined {
	const record = recordsOf(item).find(({ is, run, isOld }) => is === 'inDoubt' && run && !isOld);
	return record?.run;
}

/** The failure of an item whose dry run has started a run. */
export function startedByDryRun(run: KnownRun): Failure {
	return {
		message: `The service started a run instead of a dry run${nameRun(run)}`,
		description:
			"A proxy in front of it may have dropped 'dry_run' from the address. To get the result of this run, use 'Get a run'.",
		details: { agent_id: run.agentId, run_id: run.runId, status: 'pending' },
	};
}
