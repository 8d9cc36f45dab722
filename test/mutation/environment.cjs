const TestEnvironment = require('../support/environment.cjs');

/** The names of the tests in each file that has run, as Jest's name pattern sees them. */
const namesIn = new Map();

/** How many times as often as without its change the code of a mutant is run before it counts as endless. */
const ENDLESS = 5;

/** The same for StrykerJS, whose limit takes minutes to reach. */
const ENDLESS_FOR_STRYKER = 100;

/** One failed test is enough to kill a mutant, so the tests after it are skipped. */
class Environment extends TestEnvironment {
	/** The mutant that a test has failed for. */
	static killed;

	/** How often the code of which mutant may be run. */
	static limitOf = {};

	mutant = process.env.__STRYKER_ACTIVE_MUTANT__;

	constructor(config, context) {
		super(config, context);
		this.names = namesIn.get(context.testPath) ?? new Set();
		namesIn.set(context.testPath, this.names);
	}

	async setup() {
		await super.setup();
		const { limitOf } = Environment;
		const counted = this.global[this.global.__strykerGlobalNamespace__];
		if (counted?.hitLimit === undefined) return;
		if (limitOf.mutant !== this.mutant) {
			limitOf.mutant = this.mutant;
			limitOf.hits = (counted.hitLimit / ENDLESS_FOR_STRYKER) * ENDLESS;
		}
		counted.hitLimit = limitOf.hits;
	}

	/** Whether a file may have tests whose names match. */
	static mayMatch(testPath, pattern) {
		const names = [...(namesIn.get(testPath) ?? [])];
		return names.length === 0 || names.some((name) => pattern.test(name));
	}

	handleTestEvent({ name, test }) {
		if (name === 'test_fn_failure' || name === 'hook_failure') Environment.killed = this.mutant;
		if (name !== 'test_start') return;
		this.names.add(nameOf(test));
		if (this.mutant !== undefined && this.mutant === Environment.killed) test.mode = 'skip';
	}
}

function nameOf({ name, parent }) {
	return parent?.parent ? `${nameOf(parent)} ${name}` : name;
}

module.exports = Environment;
