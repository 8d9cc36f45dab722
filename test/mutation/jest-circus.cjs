const { default: circus } = require('jest-circus/runner');

const Environment = require('./environment.cjs');

/** The names of the tests in each file that has run. */
const namesIn = new Map();

const nothing = require.resolve('./nothing.cjs');

/**
 * Jest's own runner, which does not load files that can tell nothing more of a mutant: loading them takes
 * longer than their tests. StrykerJS wants 'jest-circus' in its path.
 */
module.exports = async (globalConfig, config, environment, runtime, testPath, ...rest) => {
	const { mutant } = environment;
	const names = namesIn.get(testPath);
	const pattern = new RegExp(globalConfig.testNamePattern ?? '', 'i');
	const isWanted = !names?.length || names.some((name) => pattern.test(name));
	const isKilled = mutant !== undefined && mutant === Environment.killed;
	const file = isWanted && !isKilled ? testPath : nothing;
	const result = await circus(globalConfig, config, environment, runtime, file, ...rest);
	if (file === testPath) namesIn.set(testPath, environment.names);
	return result;
};
