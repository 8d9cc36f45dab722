#!/usr/bin/env bash
# Regenerates all reports, and then docs/evidence.md, which cites them.
set -euo pipefail
cd "$(dirname "$0")/.."

npm run bench
UPDATE_REPORT=1 KILLS=all npm run test:faults
npm run crowds
npm run soak
npm run soak -- --per-minute 180
npm run soak -- --queue --keys 3 --minutes 120
npm run simulate -- --report --worlds 100000
npm run simulate -- --report --planted
npm run test:mutation
UPDATE_REPORT=1 npx jest --selectProjects unit -- unit/pages
