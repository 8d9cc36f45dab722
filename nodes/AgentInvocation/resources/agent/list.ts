import type {
	IDataObject,
	IExecuteFunctions,
	INodeExecutionData,
	INodeProperties,
} from 'n8n-workflow';

import { readAgents } from '../../api/agents';
import { succeed } from '../../api/failure';
import { READ_PATIENCE_MS } from '../../api/retryPolicy';
import { systemClock as clock } from '../../waiting/clock';
import { readNumber } from '../readNumber';
import { workThroughItems } from '../workThroughItems';

const displayOptions = { show: { resource: ['agent'], operation: ['list'] } };

export const listFields: INodeProperties[] = [
	{
		displayName: 'Return All',
		name: 'returnAll',
		type: 'boolean',
		default: false,
		description: 'Whether to return all results or only up to a given limit',
		displayOptions,
	},
	{
		displayName: 'Limit',
		name: 'limit',
		type: 'number',
		typeOptions: { minValue: 1 },
		default: 50,
		description: 'Max number of results to return',
		displayOptions: { show: { ...displayOptions.show, returnAll: [false] } },
	},
	{
		displayName: 'Options',
		name: 'options',
		type: 'collection',
		placeholder: 'Add option',
		default: {},
		options: [
			{
				displayName: 'Offset',
				name: 'offset',
				type: 'number',
				typeOptions: { minValue: 0 },
				default: 0,
				description: 'Number of agents to skip',
			},
		],
		displayOptions,
	},
];

/** Lists the organization's agents, once for each input item: one output item an agent, as it came. */
export async function list(this: IExecuteFunctions): Promise<INodeExecutionData[]> {
	const worked = await workThroughItems(this, succeed(1), async (itemIndex, { service, halt }) => {
		const returnAll = this.getNodeParameter('returnAll', itemIndex, false);
		const limit = returnAll
			? succeed(Infinity)
			: readNumber(this.getNodeParameter('limit', itemIndex, 50), 'Limit', {
					min: 1,
					whole: true,
				});
		if (!limit.ok) return limit;
		const options = this.getNodeParameter('options', itemIndex, {}) as IDataObject;
		const offset = readNumber(options.offset ?? 0, 'Offset', { min: 0, whole: true });
		if (!offset.ok) return offset;

		const agents = await readAgents(
			service,
			{ limit: limit.value, offset: offset.value },
			{ clock, patienceMs: READ_PATIENCE_MS, signal: halt },
		);
		if (halt.aborted) return undefined;
		return agents.ok ? succeed(agents.value.map((agent) => ({ ...agent }) as IDataObject)) : agents;
	});
	return worked.items;
}
