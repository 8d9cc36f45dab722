import type { History } from './history.cts';
import { doubtsFew, heldUpAlone, troublesHoldUpOnce, wastesFew } from './promises/batches.cts';
import { checksFirst, stopsAtDryRunsThatStart } from './promises/checks.cts';
import { Facts } from './promises/facts.cts';
import {
	endedInTime,
	endsBeforeWorkflow,
	lastPollsAreRepeated,
	startsNothingTooLate,
	waitsEnd,
} from './promises/limits.cts';
import { eachItemOnce, listsAreWhole, runDataIsWhole } from './promises/outputs.cts';
import {
	doesNotFlood,
	fewAreRefused,
	hangsFew,
	keepsToConcurrency,
	keepsUnderWay,
	leavesAlone,
	leavesBans,
	recovers,
	takesTurns,
	usesLeftKeys,
	usesRisenLimits,
} from './promises/pace.cts';
import { asksAtOnce, parksLongWaits, parksWhereItMay } from './promises/parks.cts';
import {
	pollsBesideRefusedCreates,
	pollsInMeasure,
	pollsOnlyWhatWaits,
	sendsRefusedCreatesAgain,
} from './promises/polls.cts';
import { failsForAReason, tellsOfDoubt, temporaryFailuresPass } from './promises/reasons.cts';
import { refusesLast, triesAgain } from './promises/retries.cts';
import { neverLost, progressIsSaved, startedOnce, stopsNameRuns } from './promises/runs.cts';
import { ends, speaksPlainly, storesLittle } from './promises/words.cts';

/** What the README and docs/waiting.md promise, and how it is seen to be broken in a history. */
export const invariants: Record<string, (facts: Facts) => string[]> = {
	'No run is started twice': startedOnce,
	'No run is lost': neverLost,
	'A stop names the runs that were started': stopsNameRuns,
	'What the first items have started is saved soon': progressIsSaved,
	'Every item is output once, in its order, with its own result': eachItemOnce,
	'A run that has ended within its time limit is not reported as unfinished': endedInTime,
	'The last poll is repeated where it gets no answer': lastPollsAreRepeated,
	'Waiting ends': waitsEnd,
	'A wait ends before the workflow does': endsBeforeWorkflow,
	'No run is started that cannot be waited for': startsNothingTooLate,
	'An item fails only for a reason that is true': failsForAReason,
	'What may have been started is said': tellsOfDoubt,
	'All items are checked before the first run is started, where the user wants that': checksFirst,
	'Dry runs end once one has started a run': stopsAtDryRunsThatStart,
	'A temporary failure does not end a wait': temporaryFailuresPass,
	'No more items are under way than Max Concurrency says': keepsToConcurrency,
	'Executions take turns': takesTurns,
	'A rate limit pauses all requests': leavesAlone,
	'Refusals of a while ago do not slow the node down': recovers,
	'A limit that has risen is used': usesRisenLimits,
	'A run is polled neither too often nor too seldom': pollsInMeasure,
	'Runs are polled while creates alone are refused': pollsBesideRefusedCreates,
	'Creates that are refused are sent again': sendsRefusedCreatesAgain,
	'A run that is not waited for is not polled': pollsOnlyWhatWaits,
	'Few requests are refused': fewAreRefused,
	'Requests are spread over time': doesNotFlood,
	'A slow service is not driven into time-outs': keepsUnderWay,
	'A service that answers nothing gets few creates': hangsFew,
	'A limit that counts what it refuses is left': leavesBans,
	'A key that others leave again is used again': usesLeftKeys,
	'A mistake wastes few runs': wastesFew,
	'Creates go one at a time while the service fails': doubtsFew,
	'An item that is held up holds up no others': heldUpAlone,
	'Two runs that are in trouble hold up others once': troublesHoldUpOnce,
	'A Retry tries again': triesAgain,
	'A Retry refuses last': refusesLast,
	'Long waits are stored': parksLongWaits,
	'What is resumed asks at once': asksAtOnce,
	'No agent is missing in a list': listsAreWhole,
	'The node ends': ends,
	'Little is stored': storesLittle,
	'Messages are plain': speaksPlainly,
	'n8n stores only waits that it can': parksWhereItMay,
	'There is one entry of run data for each turn': runDataIsWhole,
};

/** A promise that a history breaks. */
export interface Violation {
	promise: string;
	what: string;
}

/** All that are broken; of a history that does not end, which is long, that alone. */
export function violationsOf(history: History): Violation[] {
	const facts = new Facts(history);
	const looks = history.ended === 'stuck' ? { 'The node ends': ends } : invariants;
	return Object.entries(looks).flatMap(([promise, look]) =>
		look(facts).map((what) => ({ promise, what })),
	);
}
