import { execFileSync } from 'node:child_process';
import path from 'node:path';

import type { Host } from '../../hosts/install.cts';

/** Where queue mode's two services are, in n8n's own words: set these where they are elsewhere. */
const {
	DB_POSTGRESDB_HOST = '127.0.0.1',
	DB_POSTGRESDB_PORT = '5432',
	DB_POSTGRESDB_DATABASE = 'test',
	DB_POSTGRESDB_USER = 'postgres',
	DB_POSTGRESDB_PASSWORD = '',
	QUEUE_BULL_REDIS_HOST = '127.0.0.1',
	QUEUE_BULL_REDIS_PORT = '6379',
} = process.env;

/** A part of both services that nothing else uses. */
const PRIVATE_NAME = `agent_invocation_${process.pid}`;

/** The environment of an n8n in queue mode. */
export const queueMode = {
	EXECUTIONS_MODE: 'queue',
	DB_TYPE: 'postgresdb',
	DB_POSTGRESDB_HOST,
	DB_POSTGRESDB_PORT,
	DB_POSTGRESDB_DATABASE,
	DB_POSTGRESDB_USER,
	DB_POSTGRESDB_PASSWORD,
	DB_POSTGRESDB_SCHEMA: PRIVATE_NAME,
	QUEUE_BULL_REDIS_HOST,
	QUEUE_BULL_REDIS_PORT,
	QUEUE_BULL_PREFIX: PRIVATE_NAME,
};

/** The services that cannot be reached, with what to set. */
export function missingServices(): string[] {
	const services = [
		['PostgreSQL', 'DB_POSTGRESDB', DB_POSTGRESDB_HOST, DB_POSTGRESDB_PORT],
		['Redis', 'QUEUE_BULL_REDIS', QUEUE_BULL_REDIS_HOST, QUEUE_BULL_REDIS_PORT],
	] as const;
	return services
		.filter(([, , host, port]) => !isReachable(host, port))
		.map(
			([name, prefix, host, port]) =>
				`No ${name} at ${host}:${port}; set ${prefix}_HOST and ${prefix}_PORT.`,
		);
}

// In a process of its own, since Jest has to know which tests it skips before any of them runs.
function isReachable(host: string, port: string): boolean {
	const script = `
		const [, host, port] = process.argv;
		require('node:net').connect(Number(port), host, () => process.exit(0)).on('error', () => process.exit(1));`;
	try {
		execFileSync(process.execPath, ['-e', script, host, port], { stdio: 'ignore', timeout: 5_000 });
		return true;
	} catch {
		return false;
	}
}

/** Removes what n8n has left in PostgreSQL. In Redis nothing is left once its jobs have ended. */
export function removeSchema(host: Host): void {
	const script = `
		const { Client } = require(process.argv[1]);
		const [, , connection] = process.argv;
		const client = new Client(JSON.parse(connection));
		client.connect()
			.then(() => client.query('DROP SCHEMA IF EXISTS ' + process.argv[3] + ' CASCADE'))
			.then(() => client.end());`;
	const connection = {
		host: DB_POSTGRESDB_HOST,
		port: Number(DB_POSTGRESDB_PORT),
		database: DB_POSTGRESDB_DATABASE,
		user: DB_POSTGRESDB_USER,
		password: DB_POSTGRESDB_PASSWORD,
	};
	const pg = path.join(path.dirname(host.command), '../../pg');
	execFileSync(host.node, ['-e', script, pg, JSON.stringify(connection), PRIVATE_NAME]);
}
