import type { Worker } from '../../hosts/n8n.cts';
import { useKey, type UsedKey } from '../support/keyScenario.cts';
import { DECOY, placesOf, SECRET } from '../support/keySearch.cts';
import {
	missingServices,
	queueMode,
	readRedis,
	readTables,
	RedisWatch,
	removeSchema,
} from '../support/services.cts';

const missing = missingServices();
if (missing.length > 0) process.stderr.write(`Queue mode is not tested. ${missing.join(' ')}\n`);
const testQueue = missing.length > 0 ? test.skip : test;

let used: UsedKey;
let redis: RedisWatch;
let worker: Worker | undefined;
const places: Record<string, Buffer | string> = {};

beforeAll(async () => {
	if (missing.length > 0) return;
	used = await useKey({ environment: queueMode }, async ({ n8n }) => {
		redis = await RedisWatch.begin();
		worker = await n8n.startWorker(5);
	});
	const { host } = used.host.n8n;
	places['what was sent to Redis'] = redis.commands;
	places['what stands in Redis'] = readRedis(host);
	await worker?.kill('SIGTERM');
	await used.host.n8n.kill('SIGTERM');
	Object.assign(places, used.places, readTables(host), used.host.files());
});

afterAll(async () => {
	await worker?.kill('SIGKILL');
	redis?.end();
	await used?.chatModel.close();
	await used?.host.stop();
	if (used) removeSchema(used.host.n8n.host);
});

testQueue('what is no secret is found wherever the key is looked for', () => {
	const found = placesOf(DECOY, places).map((place) => place.split(':')[0]);
	const readable = [
		'execution_data',
		'workflow_entity',
		'.n8n/n8nEventLog.log',
		'.n8n/n8nEventLog-worker.log',
		'.n8n/logs/n8n.log',
		'n8n.log',
		'what was sent to Redis',
		'what stands in Redis',
		'metrics',
		'what the tools told the model',
	];
	expect(readable.filter((place) => !found.includes(place))).toEqual([]);
});

testQueue(
	'the key is nowhere: PostgreSQL, Redis, logs of main and worker, executions, metrics',
	() => {
		expect(places.credentials_entity).toMatch(/agentInvocationApi/);
		expect(placesOf(SECRET, places)).toEqual([]);
	},
);
