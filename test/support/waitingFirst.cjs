const { default: Sequencer } = require('@jest/test-sequencer');

/** Files of tests that take long, and mostly wait. */
const WAITING = /(?:restart|queue\/queue|kill|matrix|parking\w*|obstacles|disturbed)\.test\.cts$/;

/** They come first, so that others have the processors meanwhile. By itself, Jest begins with the largest files. */
module.exports = class extends Sequencer {
	sort(tests) {
		const waits = ({ path }) => WAITING.test(path);
		return super.sort(tests).sort((a, b) => waits(b) - waits(a));
	}
};
