import { execFileSync } from 'node:child_process';
import { connect, type Socket } from 'node:net';
import path from 'node:path';

import type { Host } from '../../hosts/install.cts';
import { until } from './until.cts';

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

/** The environment of an n8n that stores in PostgreSQL, in a schema of its own. */
export function postgresIn(schema: string): NodeJS.ProcessEnv {
	return {
		DB_TYPE: 'postgresdb',
		DB_POSTGRESDB_HOST,
		DB_POSTGRESDB_PORT,
		DB_POSTGRESDB_DATABASE,
		DB_POSTGRESDB_USER,
		DB_POSTGRESDB_PASSWORD,
		DB_POSTGRESDB_SCHEMA: schema,
	};
}

/** The environment of an n8n in queue mode. */
export const queueMode = {
	...postgresIn(PRIVATE_NAME),
	EXECUTIONS_MODE: 'queue',
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
export function removeSchema(host: Host, schema = PRIVATE_NAME): void {
	runScript(host, schema, `await client.query('DROP SCHEMA IF EXISTS ' + name + ' CASCADE');`);
}

/** Runs a statement on n8n's database in PostgreSQL, with `?` for its values, and gives the rows. */
export function queryPostgres(
	host: Host,
	schema: string,
	statement: string,
	values: Array<string | number>,
): Array<Record<string, unknown>> {
	let place = 0;
	const text = JSON.stringify(statement.replace(/\?/g, () => `$${++place}`));
	const printed = runScript(
		host,
		schema,
		`await client.query('SET search_path TO ' + name);
		const { rows } = await client.query(${text}, ${JSON.stringify(values)});
		process.stdout.write(JSON.stringify(rows));`,
	);
	return JSON.parse(printed) as Array<Record<string, unknown>>;
}

/** All that n8n has stored in PostgreSQL, each value as text, by its table. */
export function readTables(host: Host): Record<string, string> {
	const printed = runScript(
		host,
		PRIVATE_NAME,
		`const { rows } = await client.query(
			'SELECT table_name FROM information_schema.tables WHERE table_schema = $1', [name]);
		const tables = {};
		for (const { table_name: table } of rows) {
			const all = await client.query({ text: 'SELECT * FROM ' + name + '."' + table + '"', rowMode: 'array',
				types: { getTypeParser: () => (text) => text } });
			tables[table] = all.rows.flat().join('\\n');
		}
		process.stdout.write(JSON.stringify(tables));`,
	);
	return JSON.parse(printed) as Record<string, string>;
}

/** Runs a script with a `client` of PostgreSQL, with n8n's own driver, and gives what it prints. */
function runScript(host: Host, schema: string, script: string): string {
	const connection = {
		host: DB_POSTGRESDB_HOST,
		port: Number(DB_POSTGRESDB_PORT),
		database: DB_POSTGRESDB_DATABASE,
		user: DB_POSTGRESDB_USER,
		password: DB_POSTGRESDB_PASSWORD,
	};
	const program = `
		const [, driver, connection, name] = process.argv;
		const { Client } = require(driver);
		const client = new Client(JSON.parse(connection));
		(async () => {
			await client.connect();
			${script}
			await client.end();
		})();`;
	return execFileSync(
		host.node,
		['-e', program, moduleOf(host, 'pg'), JSON.stringify(connection), schema],
		{ encoding: 'utf8', maxBuffer: 2 ** 30 },
	);
}

/** A module that n8n itself uses. */
function moduleOf(host: Host, name: string): string {
	return path.join(path.dirname(host.command), '../..', name);
}

/** Keeps what is sent to Redis, by anybody. */
export class RedisWatch {
	private seen = '';

	private constructor(private readonly socket: Socket) {
		socket.setEncoding('latin1').on('data', (chunk: string) => (this.seen += chunk));
	}

	/** Resolves once every command is seen. */
	static async begin(): Promise<RedisWatch> {
		const watch = new RedisWatch(connect(Number(QUEUE_BULL_REDIS_PORT), QUEUE_BULL_REDIS_HOST));
		watch.socket.write('MONITOR\r\n');
		await until(() => watch.seen.startsWith('+OK'));
		return watch;
	}

	/** Every command so far, without the escapes that Redis shows it with. */
	get commands(): Buffer {
		const controls: Record<string, string> = { n: '\n', r: '\r', t: '\t', a: '\x07', b: '\b' };
		const text = this.seen.replace(/\\(?:x([0-9a-f]{2})|(.))/g, (_, hex?: string, other = '') =>
			hex === undefined
				? (controls[other as string] ?? String(other))
				: String.fromCharCode(parseInt(hex, 16)),
		);
		return Buffer.from(text, 'latin1');
	}

	end(): void {
		this.socket.destroy();
	}
}

/** All keys and values in Redis, as JSON. */
export function readRedis(host: Host): string {
	const program = `
		const [, driver, host, port] = process.argv;
		const Redis = require(driver);
		const redis = new Redis(Number(port), host);
		const read = {
			string: (key) => redis.get(key),
			list: (key) => redis.lrange(key, 0, -1),
			set: (key) => redis.smembers(key),
			zset: (key) => redis.zrange(key, 0, -1),
			hash: (key) => redis.hgetall(key),
			stream: (key) => redis.xrange(key, '-', '+'),
			none: () => null,
		};
		(async () => {
			const all = {};
			for (const key of await redis.keys('*')) all[key] = await read[await redis.type(key)](key);
			process.stdout.write(JSON.stringify(all));
			redis.disconnect();
		})();`;
	return execFileSync(
		host.node,
		['-e', program, moduleOf(host, 'ioredis'), QUEUE_BULL_REDIS_HOST, QUEUE_BULL_REDIS_PORT],
		{ encoding: 'utf8', maxBuffer: 2 ** 30 },
	);
}
