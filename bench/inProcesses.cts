import { fork } from 'node:child_process';
import { availableParallelism } from 'node:os';

import { simulateCell, type Cell, type CellResult } from '../test/support/simulation/cells.cts';

/** What each cell comes to, in their order. A process for each core takes one cell after the other. */
export async function simulateCells(cells: Cell[]): Promise<CellResult[]> {
	const results = new Array<CellResult>(cells.length);
	let next = 0;
	const work = () =>
		new Promise<void>((resolve, reject) => {
			// JSON has no Infinity.
			const worker = fork(__filename, { serialization: 'advanced' });
			let index = -1;
			const give = () => {
				index = next++;
				const cell = cells[index];
				if (cell) worker.send(cell);
				else worker.disconnect();
			};
			worker.on('message', (result) => {
				results[index] = result as CellResult;
				give();
			});
			worker.on('exit', (code, signal) => {
				if (code === 0) resolve();
				else reject(new Error(`A process ended with ${signal ?? code}, in cell ${index}`));
			});
			give();
		});
	await Promise.all(Array.from({ length: availableParallelism() }, work));
	return results;
}

if (require.main === module) {
	process.on('message', (cell) => {
		void simulateCell(cell as Cell).then((result) => process.send!(result));
	});
}
