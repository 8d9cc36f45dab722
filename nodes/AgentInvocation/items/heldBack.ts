import { failed, recordsOf, type Item, type ItemThatIs } from '../item';

/** The item as held back: it may have a run already, so this attempt starts none. */
export function heldBack(item: Item): ItemThatIs<'failed'> {
	const [agentId] = recordsOf(item).flatMap((record) =>
		record.is === 'inDoubt' ? (record.agentId ?? []) : [],
	);
	const run = agentId === undefined ? 'a run' : `a run of agent ${agentId}`;
	return {
		...failed(item, {
			message: `An earlier attempt may have started ${run} for this item, so this attempt starts none`,
			description:
				"The service did not answer clearly when the run was to be started, or n8n stopped at that moment. Check at the service whether the run is there. If it is, get its result with 'Get a run'. If not, execute the workflow again instead of retrying it, with only the items that have no run.",
			details: agentId === undefined ? {} : { agent_id: agentId },
		}),
		isHeldBack: true,
	};
}
