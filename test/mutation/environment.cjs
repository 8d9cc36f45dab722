const { TestEnvironment } = require('jest-environment-node');

/** One failed test is enough to kill a mutant, so the tests after it are skipped. */
class Environment extends TestEnvironment {
	/** The mutant that a test has failed for. */
	static killed;

	mutant = process.env.__STRYKER_ACTIVE_MUTANT__;

	/** Of the tests, as Jest's name pattern sees them. */
	names = [];

	handleTestEvent({ name, test }) {
		if (name === 'test_fn_failure' || name === 'hook_failure') Environment.killed = this.mutant;
		if (name !== 'test_start') return;
		this.names.push(nameOf(test));
		if (this.mutant !== undefined && this.mutant === Environment.killed) test.mode = 'skip';
	}
}

function nameOf({ name, parent }) {
	return parent?.parent ? `${nameOf(parent)} ${name}` : name;
}

module.exports = Environment;
