const { default: Sequencer } = require('@jest/test-sequencer');

/** Tests of whole loads, which take seconds; most mutants have fallen before it is their turn. */
const slow = /\/(fuzz|load|parking|sharedKey)\.test\.cts$/;

module.exports = class QuickFirst extends Sequencer {
	sort(tests) {
		const isSlow = ({ path }) => Number(slow.test(path));
		return [...tests].sort((a, b) => isSlow(a) - isSlow(b));
	}
};
