const { projects, ...all } = require('../../jest.config.js');

const { rootDir, displayName, ...unit } = projects.find(({ displayName: name }) => name === 'unit');

module.exports = {
	...all,
	...unit,
	rootDir: `${__dirname}/../..`,
	// The others read files or measure memory, and no mutant of the code changes what they see.
	testPathIgnorePatterns: ['/(imports|keySearch|links|memory|messages)\\.test\\.cts$'],
	testSequencer: './test/mutation/quickFirst.cjs',
};
