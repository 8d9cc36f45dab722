import { failed, recordsOf, type Item, type ItemThatIs } from '../item';

/** The item as held back: it may have a run already, so this attempt starts none. */
export function heldBack(item: Item): ItemThatIs<'failed'> {
	const [agentId] = recordsOf(item).flatMap((record) =>
		record.is === 'inDoubt' ? (record.agentId ?? []) : [],
	);
	const run = agentId === undefined ? 'a run' : `a run of agent ${agentId}`;
	return {
		...failed(item, {
			message: `An earlier attempt may have started ${run} for this item, so this one starts none`,
			description:
				"The service did not answer clearly when the run was to be started, or n8n stopped at that moment. Check at the service whether it is there, and get its result with 'Get a run'. To start one in any case, execute the workflow again instead of retrying it.",
			details: agentId === undefined ? {} : { agent_id: agentId },
		}),
		isHeldBack: true,
	};
}
