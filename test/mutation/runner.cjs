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
	'trial',
	'parking',
];

/** The files that have killed mutants, the latest one last: what has killed one often kills others of the same lines. */
const killers = [];

/** Runs the files one after the other until one of them has killed the mutant. */
module.exports = class extends Runner {
	async runTests(tests, watcher, options) {
		const mutant = process.env.__STRYKER_ACTIVE_MUTANT__;
		const pattern = new RegExp(this._globalConfig.testNamePattern ?? '', 'i');
		for (const test of tests.toSorted((one, other) => this.rank(one) - this.rank(other))) {
			if (!Environment.mayMatch(test.path, pattern)) continue;
			await super.runTests([test], watcher, options);
			if (mutant === undefined || mutant !== Environment.killed) continue;
			noteKiller(test.path);
			return;
		}
	}

	rank({ path: file }) {
		const killed = killers.indexOf(file);
		return killed < 0 ? LONGEST.indexOf(nameOf(file)) : -2 - killed;
	}
};

function noteKiller(file) {
	const before = killers.indexOf(file);
	if (before >= 0) killers.splice(before, 1);
	killers.push(file);
}

function nameOf(file) {
	return path.basename(file).split('.')[0];
}
