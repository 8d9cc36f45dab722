import type { Patch } from '../world/nodeCode.cts';

/** A defect that is put into the node, to see whether the simulation notices it. */
export interface PlantedDefect {
	name: string;
	patches: Patch[];
}

const in_ = (file: string) => `nodes/AgentInvocation/${file}`;

export function plant(name: string, file: string, find: string, replace: string): PlantedDefect {
	return { name, patches: [{ file: in_(file), find, replace }] };
}

/** The same in several places. */
export function plantAll(name: string, ...parts: PlantedDefect[]): PlantedDefect {
	return { name, patches: parts.flatMap(({ patches }) => patches) };
}
