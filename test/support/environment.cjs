const asyncHooks = require('node:async_hooks');

const { TestEnvironment } = require('jest-environment-node');

const { AsyncLocalStorage } = asyncHooks;

/** Those that the file of tests which runs now has made. */
const storages = [];

asyncHooks.AsyncLocalStorage = class extends AsyncLocalStorage {
	constructor(...options) {
		super(...options);
		storages.push(this);
	}
};

/**
 * jest-circus makes an AsyncLocalStorage for each file of tests and never disables it.
 * Before Node.js 24, each one that is left makes every promise of the process slower: a hundred, by a hundred times.
 */
module.exports = class extends TestEnvironment {
	async teardown() {
		await super.teardown();
		for (const storage of storages.splice(0)) storage.disable();
	}
};
