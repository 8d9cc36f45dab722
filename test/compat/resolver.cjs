const path = require('node:path');

// Where the engine's tests ask for n8n-core: `engine.cts`.
const support = path.join(path.dirname(__dirname), 'support');

/** Jest's resolver, which takes n8n-core from the folder in N8N_ENGINE, and what goes with it. */
module.exports = (request, options) => {
	const engine = process.env.N8N_ENGINE;
	if (request === 'n8n-core') {
		const found = options.basedir === support ? path.join(__dirname, 'n8nCore.cjs') : engine;
		return options.defaultResolver(found, options);
	}
	// There must be one of each, whoever asks for it: n8n's services register with @n8n/di.
	const isEngines = /^(n8n-workflow|@n8n\/di)(\/|$)/.test(request);
	return options.defaultResolver(request, isEngines ? { ...options, basedir: engine } : options);
};
