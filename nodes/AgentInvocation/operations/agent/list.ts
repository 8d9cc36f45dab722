import type { IDataObject, INodeProperties } from 'n8n-workflow';

import { readNumber, readParameter, readSwitch, readText } from '../../readValue';
import { fixedAt } from '../../items/concurrency';
import { done, type Item, type NotBegun } from '../../item';
import { readAgents } from '../../service/agents';
import type { ItemWork, Operation } from '../../items/operation';

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
				displayName: 'Filter',
				name: 'filter',
				type: 'string',
				default: '',
				placeholder: 'e.g. report',
				description:
					"Output only the agents whose name or description contains this text (not case-sensitive). 'Limit' and 'Offset' then count only those agents.",
			},
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

/**
 * Lists the organization's agents once for each input item. Each agent becomes one output item, as the
 * service sent it.
 */
export const list: Operation = { concurrency: () => fixedAt(1), begin };

async function begin(
	item: NotBegun,
	{ context, itemIndex, service, signal }: ItemWork,
): Promise<Item> {
	const given = (name: string, byDefault: unknown) =>
		readParameter(context, itemIndex, name, byDefault);
	const limit = readSwitch(context, itemIndex, 'returnAll')
		? Infinity
		: readNumber(given('limit', 50), 'limit', { minValue: 1, whole: true });
	const offset = readNumber(given('options.offset', 0), 'offset', { minValue: 0, whole: true });
	const filter = readText(given('options.filter', ''), 'filter');
	const agents = await readAgents(service, { limit, offset, filter }, { signal });
	return done(
		item,
		agents.map(({ asItCame }) => asItCame as IDataObject),
	);
}
