/**
 * The major versions of n8n in which parking was tried. Add a version once `npm run test:e2e`, `test:faults` and
 * `test:queue` pass with it in this list. If npm does not have that n8n, `parking` and `restart` of e2e must pass in
 * n8n's image, as .github/workflows/compat.yml runs them.
 */
export const TRIED_VERSIONS = [1, 2];
