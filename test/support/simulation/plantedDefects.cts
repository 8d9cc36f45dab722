import { changed } from './planted/changed.cts';
import { found } from './planted/found.cts';
import { ofOutputs } from './planted/outputs.cts';
import type { PlantedDefect } from './planted/plant.cts';
import { ofRequests } from './planted/requests.cts';

/**
 * Defects that are put into the node, to see whether the simulation notices them: small patches of its source.
 * A text that is not found, or not once, is an error: mend the patch then.
 */
export const plantedDefects: PlantedDefect[] = [...ofRequests, ...ofOutputs, ...found, ...changed];
