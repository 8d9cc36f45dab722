// The numbers of the pace. Each comment ends with what happens to rows of bench/LIMITS.md if the number is changed.

export const SECOND = 1_000;

/**
 * Refusals over less time than this, in ms, do not prove a limit over several seconds: a few random ones look the same.
 * So until the service has refused for long, or asks for more, no pause is longer than this. With 1 s, 'up to three refused
 * each 10 s' carries 0.21; with 10 s, '600 in 60 s, fixed, begun long before' is silent for 28 s.
 */
export const SHORT_MS = 5 * SECOND;

/**
 * The windows that limits usually have if they are longer than a second, in ms. Without them, '600 in 60 s, fixed,
 * begun before' is silent for 17 s; without the short one, '200 in 10 s, fixed' carries 0.59.
 */
export const WINDOWS_MS = { short: 10 * SECOND, long: 60 * SECOND };

/**
 * Requests a second: at first, before anything is known of the service's limit, and at most. With 20 at first,
 * clients that send less are slowed down by stray refusals ('up to three refused each 10 s': 0.33 carried). Without
 * the highest, the rate of a simulated client that always has something to send would grow without end.
 */
export const RATE = { first: 80, highest: 1_000 };

/**
 * By which factor the rate grows in a second, and, once the limit is known, in one step of growth. With 1.08
 * for both, 1,000 items without a limit and with a round trip of 200 ms take 2.9 times the least, instead of 1.6
 * (bench/RESULTS.md); with 1.5 for both, '600 in 60 s, fixed' is silent for 27 s.
 */
export const GROWTH = { unlimited: 1.5, limited: 1.08 };

/**
 * A step takes this many times as long as the service refused, or as a short window where it is a guess.
 * With 3, '60 in 60 s, fixed' is silent for 7 s; with 1, '600 in 60 s, fixed' is for 24 s.
 */
export const STEP_PERIODS = 4;

/**
 * For how long a found rate is kept, in ms. After as long without requests, a refusal no longer counts. With 10 s, '600 in
 * 60 s, sliding' is silent for 59 s.
 */
export const RATE_KEPT_MS = WINDOWS_MS.long;

/**
 * The share that counts as nearly all: a rate is lowered to this share of what was carried. With 0.999, '5 in
 * 1 s, fixed, begun before' refuses 18%; with 0.85, 'up to three refused each 10 s' carries 0.62.
 */
export const ALMOST = 0.95;

/**
 * The least that one refusal leaves of the rate, before and after the limit is known. A bucket that was almost
 * empty carries next to nothing: with 0, 'up to three refused each 10 s' carries 0.03; with 0.5 at first, '60 in
 * 60 s, bucket' refuses 14%; with 0.25 later, stray refusals slow down a client that sends less than it may
 * (`test/unit/pace.test.cts`).
 */
export const LEAST_KEPT = { unknown: 0.25, known: 0.5 };

/**
 * If a smaller share than this is carried, the refusals are not random. And if less was carried before a refused create
 * than this share of the most in as long a time, no limit of requests has refused it. With 0.5, '600 in 60 s, bucket'
 * refuses 42%; with 0.95, '2% refused at random' carries 0.42.
 */
export const LEAST_BY_CHANCE = 0.75;

/**
 * What was carried is measured over a second, or over this many requests where they take longer. With 1, '10 in
 * 60 s, bucket' refuses 46%; with 60, '5 in 1 s, sliding' carries 0.82.
 */
export const MEASURED_REQUESTS = 20;

/**
 * Until the first refusal, this many requests may be under way, whatever the rate: one more for each that was
 * carried, up to this number. It bounds how many are refused at once. With 1, 1,000 items without a limit take
 * 1.5 times the least, instead of 1.0; with 20, a bucket of a second refuses 13% of 100 items' requests, instead
 * of 11%. With one more for each eight that were carried, the two cells without a limit that miss their target take
 * 1.4 times the least, and twelve more with a limit of 20 or 100 a second miss theirs (bench/RESULTS.md).
 */
export const FREE_AT_FIRST = 15;

/**
 * The longest pause that the service has not asked for is a few seconds, or this part of the time for which it
 * has refused everything. So a window of a minute is met soon after its end, and an hour of refusals takes few
 * requests. With 0, it takes 720 (no row: all limits there open again sooner).
 */
export const PART_OF_REFUSED = 1 / 6;

/** A create that has been under way for longer than this, in ms, keeps no others waiting if requests are answered meanwhile (no row). */
export const SLOW_CREATE_MS = 5 * SECOND;

/** The same if none is answered meanwhile: perhaps none was sent that could be (no row). */
export const SILENT_CREATE_MS = 30 * SECOND;

/**
 * A request that has been under way for longer than this, in ms, keeps no others waiting, even if all take long. It is longer
 * than a create waits for an answer to begin, since each that is sent to a service that answers nothing leaves an item in
 * doubt (no row).
 */
export const HANGING_MS = 160 * SECOND;

/**
 * After so many pauses in a row that were as long as the service asked, with nothing carried between them, it asks for too
 * short ones: further ones grow (no row: the services there ask for what they need).
 */
export const TRUSTED_PAUSES = 3;

/** By how much sending catches up if a timer was late, in ms (no row: the bench's timers are never late). */
export const CATCH_UP_MS = 50;

/**
 * If this many creates in a row are refused, and polls are carried before each of them, then creates alone are
 * refused: a limit of requests would refuse some of the polls (no row: `test/unit/quotaOfRuns.test.cts`).
 */
export const REFUSED_AMID_POLLS = 5;

/**
 * The most requests that may be under way at first, whatever the rate. With 100, 330 polls of 40 items time out at a
 * service that works on one request at a time, for 2 s, instead of 56 (no row: `test/unit/slowService.test.cts`).
 */
export const MOST_UNDER_WAY_AT_FIRST = 50;

/**
 * An answer that takes less, in ms, shows that the service keeps up. With 5 s, 120 items take 1,061 s where round trips
 * take six seconds and the polls of 40 runs hang, instead of 914; with 15 s, 71 polls time out where four executions
 * share a service that works for 0.2 s on each request, instead of one (no row: `test/unit/slowService.test.cts`).
 */
export const QUICK_MS = 10 * SECOND;

/**
 * If many of the requests are refused so many times in a row, at whatever rate, they are refused by chance. Without it, 40
 * items take an hour or more in place of some minutes where half of the requests are refused at random (no row:
 * `test/unit/refusedByChance.test.cts`).
 */
export const MANY_COUNTS = 3;
