import { parseArgs } from 'node:util';

import { startSandbox } from './server.cts';

const { values } = parseArgs({ options: { port: { type: 'string', default: '4010' } } });

startSandbox(Number(values.port)).then(
	(sandbox) => {
		console.log(`The agent invocation service, as a sandbox:
  Base URL  ${sandbox.baseUrl}
  API key   ${sandbox.settings.apiKeys.join(', ')}
Ctrl-C stops it.`);
		for (const signal of ['SIGINT', 'SIGTERM'] as const) {
			process.once(signal, () => void sandbox.close());
		}
	},
	(error: NodeJS.ErrnoException) => {
		const taken = error.code === 'EADDRINUSE';
		console.error(
			taken
				? `Port ${values.port} is taken. Choose another one: npm run sandbox -- --port 4011`
				: `The sandbox could not start: ${error.message}`,
		);
		process.exitCode = 1;
	},
);
