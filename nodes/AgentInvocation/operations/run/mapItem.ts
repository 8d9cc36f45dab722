import type { IDataObject } from 'n8n-workflow';

import { fail } from '../../failure';
import type { AgentParameter } from '../../service/types';
import { byName, nameKey } from '../../textKey';
import { few, shorten } from '../../wording';
import { addHint, isEmpty, type GivenParameter } from './bindings';

/**
 * Maps an input item automatically: each parameter gets the value of the item's field of its name.
 *
 * @param parameters those of the agent as the list has them: the editor has loaded its fields once, and the agent may
 *   have others by now, or be another one
 * @throws FailureError if a required parameter gets no value, or one of several fields may be meant
 */
export function mapItem(
	json: IDataObject,
	parameters: AgentParameter[],
	hints: Set<string>,
): GivenParameter[] {
	const fields = new Map<string, unknown>(Object.entries(json));
	const names = parameters.map(({ name }) => name);
	const fieldOf = fieldsByName(fields, names);
	const given = names.map((name) => ({ name, value: fields.get(fieldOf(name)) }));
	const missing = given.find(({ value }, index) => parameters[index]?.required && isEmpty(value));
	if (missing) {
		const name = shorten(missing.name);
		const lacks = fields.has(fieldOf(missing.name))
			? `The input item's field '${name}' is empty. Fill it`
			: `The input item has no field '${name}'. Add it`;
		return failAsMissing(
			missing.name,
			`${lacks} before this node, or choose 'Map Each Column Manually'.`,
		);
	}
	if (names.length > 0 && given.every(({ value }) => isEmpty(value))) {
		addHint(
			hints,
			`In some input items, no field with the name of one of the agent's parameters (${few(names.map(shorten))}) has a value, so their runs get no values.`,
		);
	}
	return given;
}

/** @throws FailureError about a required parameter */
export function failAsMissing(name: string, description: string): never {
	return fail({
		message: `Parameter '${shorten(name)}' is required and has no value`,
		description,
		advice: 'Call this tool again with a value for this parameter.',
	});
}

/**
 * Tells which field has a parameter's value: the field of that name, or else the only filled one whose name looks the same.
 * If several parameters look the same, only the exact name counts.
 */
function fieldsByName(fields: Map<string, unknown>, names: string[]): (name: string) => string {
	const filled = [...fields.keys()].filter((field) => !isEmpty(fields.get(field)));
	const alike = byName(filled, (field) => field);
	const namesAlike = byName(names, (name) => name);
	return (name) => {
		const key = nameKey(name);
		const isOnly = namesAlike.get(key)?.length === 1;
		const [field = name, ...others] = fields.has(name) || !isOnly ? [name] : (alike.get(key) ?? []);
		if (others.length === 0) return field;
		return fail({
			message: `Several fields of the input item may be parameter '${shorten(name)}': ${few([field, ...others].map((one) => `'${shorten(one)}'`))}`,
			description: "Keep one of them before this node, or choose 'Map Each Column Manually'.",
		});
	};
}
