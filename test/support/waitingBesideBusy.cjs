const { default: Sequencer } = require('@jest/test-sequencer');

/** Files of tests that mostly wait, the longest first. */
const WAITING = [
	'e2e/restart',
	'queue/queue',
	'e2e/parking',
	'faults/matrix',
	'e2e/obstacles',
	'e2e/parkingTrouble',
	'faults/kill',
	'e2e/disturbed',
].map((file) => `${file}.test.cts`);

/** Files that wait alternate with others, which have the processors meanwhile. By itself, Jest begins with the largest. */
module.exports = class extends Sequencer {
	sort(tests) {
		const sorted = super.sort(tests);
		const waiting = WAITING.flatMap((file) => sorted.filter(({ path }) => path.endsWith(file)));
		const others = sorted.filter((test) => !waiting.includes(test));
		return sorted.map((_, index) => {
			const [first, second] = index % 2 === 0 ? [waiting, others] : [others, waiting];
			return first.shift() ?? second.shift();
		});
	}
};
