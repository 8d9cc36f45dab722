const path = require('node:path');
const { default: Runner } = require('jest-runner');

const Environment = require('./environment.cjs');

/** The tests that take longest, in that order; most mutants are killed before. */
const LONGEST = [
	'loop',
	'schedule',
	'checkFirst',
	'rateLimiter',
	'readAgents',
	'pace',
	'sideBySide',
	'retriedExecution',
	'quotaOfRuns',
	'parking',
];

/** The file that has killed the mutant before this one, which is often one of the same lines. */
let killer;

/** Runs the files one after the other until one of them has killed the mutant. */
module.exports = class extends Runner {
	async runTests(tests, watcher, options) {
		const mutant = process.env.__STRYKER_ACTIVE_MUTANT__;
		const pattern = new RegExp(this._globalConfig.testNamePattern ?? '', 'i');
		for (const test of tests.toSorted((one, other) => this.rank(one) - this.rank(other))) {
			if (!Environment.mayMatch(test.path, pattern)) continue;
			await super.runTests([test], watcher, options);
			if (mutant === undefined || mutant !== Environment.killed) continue;
			killer = test.path;
			return;
		}
	}

	rank({ path: file }) {
		const name = nameOf(file);
		if (file === killer) return -3;
		if (this._globalConfig.nonFlagArgs.some((mutated) => nameOf(mutated) === name)) return -2;
		return LONGEST.indexOf(name);
	}
};

/** Of a file of tests as of the code. */
function nameOf(file) {
	return path.basename(file).split('.')[0];
}
