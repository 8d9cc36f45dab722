import { UnsafeError, type Failure } from '../failure';
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

/** The dry runs of a node's pass. Once one has started a run, nothing more may be sent that could. */
export class DryRuns {
	private failure: Failure | undefined;

	/** Notes that one has started a run, now or in an earlier attempt. Gives the failure of its item. */
	noteRun(run: KnownRun): Failure {
		const failure = startedByDryRun(run);
		this.failure ??= { ...failure, details: {} };
		return failure;
	}

	/** @throws UnsafeError if one has started a run */
	refuseIfUnsafe(): void {
		if (this.failure) throw new UnsafeError(this.failure);
	}
}
