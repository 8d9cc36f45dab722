const { projects, ...all } = require('../../jest.config.js');

const { rootDir, displayName, ...unit } = projects.find(({ displayName: name }) => name === 'unit');

module.exports = {
	...all,
	...unit,
	rootDir: `${__dirname}/../..`,
	// They read files, measure memory, or try whole loads for long.
	testPathIgnorePatterns: [
		'/(fuzz|imports|keySearch|links|load|memory|messages|sharedKey)\\.test\\.cts$',
	],
	testSequencer: './test/mutation/quickFirst.cjs',
};
