const path = require('node:path');

const dist = path.dirname(require.resolve('../../node_modules/n8n-workflow'));

/** What the node needs of n8n-workflow: all of it takes Jest a second to load, for each file of tests. */
const needed = ['errors', 'interfaces', 'utils'].map((name) => require(path.join(dist, name)));

module.exports = new Proxy(Object.assign({}, ...needed), {
	get: (exports, name) => (name in exports ? exports[name] : require(dist)[name]),
});
