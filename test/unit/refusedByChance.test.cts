import { OwnWorld } from '../support/simulation/ownWorld.cts';

const SECOND = 1_000;

// A service that sheds load refuses requests at random, at whatever rate they come. At a rate as low as if a
// limit refused them, these items take between 24 minutes and an hour.
test.each([1, 2, 3, 4])(
	'40 items take some minutes where half of all requests are refused at random (seed %d)',
	async (seed) => {
		const world = new OwnWorld({
			count: 40,
			seed,
			runOf: () => ({ durationMs: 30 * SECOND }),
			service: {
				tripMs: [100, 300],
				faults: [{ kind: 'stray429', on: 'any', share: 0.5, isDone: false, status: 429 }],
			},
		});
		const { jsons, ms } = await world.execute();
		expect(jsons.map(({ status }) => status)).toEqual(Array(40).fill('succeeded'));
		expect(ms).toBeLessThan(1_000 * SECOND);
		// Each item needs two requests that are carried.
		expect(world.requests.length).toBeLessThan(300);
	},
);
