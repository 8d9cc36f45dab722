import type { WaitOptions } from '../../nodes/AgentInvocation/item.ts';
import { readWaitOptions } from '../../nodes/AgentInvocation/waiting/options.ts';
import { contextOf } from '../support/simulation/world/context.cts';
import { outcomeOf } from '../support/outcome.cts';

const read = (options?: object) =>
	outcomeOf(() => readWaitOptions(contextOf({ parameters: { options } }), 0));

const byDefault: WaitOptions = {
	timeoutMs: 3_600_000,
	pollIntervalMs: 0,
	onUnsuccessfulRun: 'error',
	onTimeout: 'error',
	outputFormat: 'text',
	whereToWait: 'auto',
};

test.each<[object | undefined, Partial<WaitOptions>]>([
	[undefined, {}],
	[{}, {}],
	[{ timeout: 0 }, { timeoutMs: 0 }],
	[{ timeout: '1.5' }, { timeoutMs: 1_500 }],
	[{ timeout: 31_536_000 }, { timeoutMs: 31_536_000_000 }],
	[{ pollInterval: 86_400 }, { pollIntervalMs: 86_400_000 }],
	[{ onUnsuccessfulRun: 'output' }, { onUnsuccessfulRun: 'output' }],
	[{ onTimeout: 'output' }, { onTimeout: 'output' }],
	[{ outputFormat: 'json' }, { outputFormat: 'json' }],
	[{ whereToWait: 'stored' }, { whereToWait: 'stored' }],
	[{ whereToWait: 'memory' }, { whereToWait: 'memory' }],
	[{ pollInterval: 0 }, {}],
	[{ pollInterval: 1 }, { pollIntervalMs: 1_000 }],
])('%j is by default but for %j', (options, changed) => {
	expect(read(options)).toEqual({ ok: true, value: { ...byDefault, ...changed } });
});

test.each([
	[{ timeout: -1 }, 'Time Limit (Seconds)'],
	[{ timeout: 31_536_001 }, 'Time Limit (Seconds)'],
	[{ timeout: 'soon' }, 'Time Limit (Seconds)'],
	[{ pollInterval: -1 }, 'Poll Interval (Seconds)'],
	[{ pollInterval: 86_401 }, 'Poll Interval (Seconds)'],
	[{ pollInterval: 0.999 }, 'Poll Interval (Seconds)'],
	// From an expression, say.
	[{ timeout: undefined }, 'Time Limit (Seconds)'],
	[{ onUnsuccessfulRun: 'x' }, 'If Run Does Not Succeed'],
	[{ onTimeout: 'x' }, 'If Time Limit Is Reached'],
	[{ outputFormat: 'x' }, 'Output Format'],
	[{ whereToWait: 'x' }, 'Where to Wait'],
])('%j fails, and names %s', (options, name) => {
	expect(read(options)).toMatchObject({
		ok: false,
		failure: { message: expect.stringContaining(name) as string },
	});
});
