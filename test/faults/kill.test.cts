import { writeFileSync } from 'node:fs';

import { endHost, type KilledHost, type Outcome } from './killedHost.cts';
import { committedReport, hostKey, hosts, makeReport, REPORT } from './kills.cts';
import { cases, isKept } from './moments.cts';

// By default those that need no PostgreSQL, and of n8n 1 the harder end. KILLS=all takes all of them, and
// KILLS='n8n 1, PostgreSQL' those of this name.
const inCi: KilledHost[] = [
	{ hostName: 'n8n-2', database: 'SQLite', signal: 'SIGKILL' },
	{ hostName: 'n8n-2', database: 'SQLite', signal: 'SIGTERM' },
	{ hostName: 'n8n-1', database: 'SQLite', signal: 'SIGKILL' },
];
const { KILLS } = process.env;
const named = hosts.filter((host) => KILLS === 'all' || hostKey(host).includes(KILLS ?? ''));
const tried = KILLS === undefined ? inCi : named;

jest.setTimeout(1_800_000);

const seen = new Map<string, Outcome[]>();

test.concurrent.each(tried)('$hostName, $database, $signal', async (host) => {
	const outcomes = await endHost(host);
	seen.set(hostKey(host), outcomes);
	const breaches = outcomes.flatMap((outcome) => breachesOf(host, outcome));
	expect(outcomes).toHaveLength(cases.length);
	expect(breaches).toEqual([]);
});

/** What must never be, whatever the moment. */
function breachesOf({ hostName }: KilledHost, { of, thenNothing, thenRetry }: Outcome): string[] {
	const end = thenRetry ?? thenNothing;
	// What n8n 1 does by itself, whatever node has waited.
	const isSkipped = hostName === 'n8n-1' && of.moment.isParked === true && of.savesProgress;
	const rules: Array<[holds: boolean, rule: string]> = [
		[thenNothing.runs <= 1, 'no run is started twice by itself'],
		[end.results <= 1, 'no result is given twice'],
		[end.status !== 'success' || end.results === 1, 'what succeeds gives the result'],
		[!isKept(of) || end.runs === 1, 'what n8n has kept is not started twice by Retry'],
		[!isKept(of) || end.results === 1, 'nor lost'],
		[end.runs <= thenNothing.runs + 1, 'a Retry starts one run at most'],
		[end.status !== 'success' || end.isPassedOn || isSkipped, 'what succeeds goes on with it'],
	];
	return rules
		.filter(([holds]) => !holds)
		.map(([, rule]) => `${of.moment.name}, progress ${of.savesProgress}: ${rule}`);
}

test('KILLS.md shows it as it is (UPDATE_REPORT=1 KILLS=all npm run test:faults writes it)', () => {
	const report = makeReport(seen);
	if (process.env.UPDATE_REPORT) writeFileSync(REPORT, report);
	expect(report.split('\n')).toEqual(committedReport().split('\n'));
});
