const { default: Sequencer } = require('@jest/test-sequencer');

/** Tests that take seconds; most mutants have fallen before it is their turn. */
const slow = /\/(pace|parking|rateLimiter)\.test\.cts$/;

module.exports = class QuickFirst extends Sequencer {
	sort(tests) {
		const isSlow = ({ path }) => Number(slow.test(path));
		return [...tests].sort((a, b) => isSlow(a) - isSlow(b));
	}
};
