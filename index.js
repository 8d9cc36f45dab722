// n8n loads the files named under "n8n" in package.json; this is the package's main for everyone else.
module.exports = {
	...require('./dist/nodes/AgentInvocation/AgentInvocation.node.js'),
	...require('./dist/credentials/AgentInvocationApi.credentials.js'),
};
