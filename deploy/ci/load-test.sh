#!/usr/bin/env bash
# A load test as a step of a CI job: runs a plan with its thresholds, compares it with the latest run of the main branch where
# there is one, and leaves what a CI server shows.
#   load-test.sh PLAN.lua [options of lgoose]
# Reads and writes the folder LOAD_TEST (default: load-test):
#   baseline.json   the run to compare with, restored from a cache; without it there is no comparison
#   run.json run.xml run.html summary.md   this run, for scripts, as JUnit, for people, and for a job's summary
# MAX_REGRESSION (default: p95 10%) is how much worse a figure may be than the baseline's, beyond chance.
# Exit codes: 0 all well, 1 a threshold is broken or it became slower, 2 a mistake, 3 trouble.
set -euo pipefail

folder="${LOAD_TEST:-load-test}"
mkdir -p "$folder"
code=0
lgoose "$@" --headless -o "json=$folder/run.json" -o "junit=$folder/run.xml" -o "html=$folder/run.html" \
  -o "md=$folder/summary.md" || code=$?

if ((code <= 1)) && [[ -e $folder/baseline.json ]]; then
  compared=0
  lgoose compare "$folder/baseline.json" "$folder/run.json" --max-regression "${MAX_REGRESSION:-p95 10%}" \
    -o "md=$folder/compared.md" || compared=$?
  [[ -e $folder/compared.md ]] && cat "$folder/compared.md" >>"$folder/summary.md"
  # Runs that cannot be compared, as after a change of the plan, are told in the summary and fail nothing.
  ((compared == 2)) || ((compared <= code)) || code=$compared
fi
exit "$code"
