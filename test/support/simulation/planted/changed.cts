import { plant, plantAll, type PlantedDefect } from './plant.cts';

/** Defects of what is known of an item after a user has changed the node. */
export const changed: PlantedDefect[] = [
	plant(
		'an item that begins again is not doubted after a crash',
		'items/opening.ts',
		'if (mayBegin && !isInDoubt(item)) {',
		'if (mayBegin && !item.earlier) {',
	),
	plant(
		'a result makes the node forget what the item had started before',
		'item.ts',
		"return { is: 'done', fingerprints, run, outputs, ...how, earlier };",
		"return { is: 'done', fingerprints, run, outputs, ...how, earlier: earlier && undefined };",
	),
	plant(
		'a wait makes the node forget what the item had started before',
		'waiting/wait.ts',
		"{ is: 'waiting', fingerprints, run, wait, earlier }",
		"{ is: 'waiting', fingerprints, run, wait, earlier: earlier && undefined }",
	),
	plant(
		'a refused create makes the node forget what the item had started before',
		'operations/run/startRun.ts',
		'failed(mayHaveStarted ? inDoubt : item, failure)',
		"failed(mayHaveStarted ? inDoubt : { is: 'notBegun' }, failure)",
	),
	plant(
		'values that are put back do not find their runs',
		'items/opening.ts',
		'const all = record.isOld ? fingerprints :',
		'const all = record.isOld ? [] :',
	),
	plant(
		'an item that is in doubt is no more so for another operation',
		'items/toThisPass.ts',
		'heldBack(item) : toBegin(records);',
		'heldBack(item) : toBegin(isOnlyDoubt ? [] : records);',
	),
	plantAll(
		'a Retry before the date of the next poll proves that nothing has begun',
		plant(
			'by the clock of now',
			'engine/crash.ts',
			'isJsonObject(error) ? error.timestamp : undefined',
			'isJsonObject(error) ? error.timestamp : clock.date()',
		),
		plant(
			'which it reads',
			'engine/crash.ts',
			"import { storedExecution } from './host';",
			"import { clock } from '../clock';\nimport { storedExecution } from './host';",
		),
	),
	plant(
		'a result keeps the format of an earlier attempt',
		'operations/run/startRun.ts',
		'const result = resultUnderOptions(own, plan.options);\n\t\t// A failed',
		'const result = own;\n\t\t// A failed',
	),
	plant("in a loop, n8n's own timeout counts from each turn", 'items/memory.ts', ' || isTimed', ''),
	plant(
		'a wrong option of the node fails what waits',
		'items/nodePass.ts',
		"if (item.is !== 'notBegun') return item;",
		"if (item.is !== 'notBegun' && item.is !== 'waiting') return item;",
	),
	plant(
		'after a crash it waits even where the user has turned that off',
		'items/toThisPass.ts',
		': toBegin(recordsOf(item));',
		': { ...item, wait: { ...item.wait, where } };',
	),
	plant(
		"the editor's own copy of the fields counts as entered",
		'engine/host.ts',
		'if (Array.isArray(schema))',
		'if (Array.isArray(mappingMode))',
	),
	plant(
		'a run that one attempt does not find is forgotten',
		'waiting/poll.ts',
		'return toBegin([{ ...own, isGone: true }, ...earlier]);',
		'void own; return toBegin(earlier);',
	),
	plant(
		'after a crash, what Retry On Fail may have begun again is begun once more',
		'items/opening.ts',
		'(retriesOnFail && !hasResult(item))',
		'(retriesOnFail && false)',
	),
	plant(
		"a 'Get a run' that is to wait gives what it had seen before",
		'operations/run/get.ts',
		'return resultOf({ ...item, run }, seen, plan.options);',
		'return { ...resultOf({ ...item, run }, seen, plan.options), run: undefined };',
	),
];
