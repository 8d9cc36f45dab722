const { default: Sequencer } = require('@jest/test-sequencer');

/** The tests that take longest; most mutants are killed before. */
const last = [
	'loop',
	'errorItem',
	'storedText',
	'schedule',
	'rateLimiter',
	'sideBySide',
	'parking',
	'pace',
];

/** The order of the files: quick ones first. */
module.exports = class extends Sequencer {
	sort(tests) {
		const rank = ({ path }) => last.findIndex((name) => path.includes(`/${name}.test`));
		return [...tests].sort((one, other) => rank(one) - rank(other));
	}
};
