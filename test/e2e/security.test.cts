import { useKey, type UsedKey } from '../support/keyScenario.cts';
import { DECOY, formsIn, placesOf, SECRET } from '../support/keySearch.cts';

let used: UsedKey;
let files: Record<string, Buffer>;

beforeAll(async () => {
	used = await useKey();
	// Killed, it leaves the write-ahead log as it is.
	await used.host.n8n.kill('SIGKILL');
	files = used.host.files();
});

afterAll(async () => {
	await used?.chatModel.close();
	await used?.host.stop();
});

test('the key has been used, and goes along in its header alone', () => {
	const { requests } = used.host.sandbox;
	expect(requests.length).toBeGreaterThan(20);
	expect(requests.filter(({ apiKey }) => apiKey !== SECRET)).toEqual([]);
});

test('what is no secret is found wherever the key is looked for', () => {
	const found = placesOf(DECOY, { ...files, ...used.places }).map((place) => place.split(':')[0]);
	const readable = [
		'.n8n/database.sqlite',
		'.n8n/database.sqlite-wal',
		'.n8n/n8nEventLog.log',
		'.n8n/logs/n8n.log',
		'n8n.log',
		'metrics',
		'the parked execution',
		'what the tools told the model',
	];
	expect(readable.filter((place) => !found.includes(place))).toEqual([]);
	expect(found.filter((place) => place?.startsWith('error workflow'))).not.toEqual([]);
});

test('a copy of the key that is left somewhere is found', () => {
	for (const [place, bytes] of Object.entries({ ...files, ...used.places })) {
		const leaked = Buffer.concat([Buffer.from(bytes), Buffer.from(JSON.stringify(SECRET))]);
		expect([place, ...formsIn(leaked, SECRET)]).toContain('in JSON');
	}
});

test('the key is in no file of n8n: database, write-ahead log, logs, event log', () => {
	expect(placesOf(SECRET, files)).toEqual([]);
});

test("nor in what n8n gives: executions, error workflows' data, tool answers, metrics, credentials", () => {
	expect(placesOf(SECRET, used.places)).toEqual([]);
});
