#!/usr/bin/env bash
# How lgoose grows with threads: the iterations a second of cores.lua, which needs no network and so no core for a
# target, by one thread and by two, in turns. Needs Linux and two cores that do nothing else. See README.md of this folder.
#   ROUNDS=5 DURATION=5 USERS=24 LGOOSE=path benches/cores.sh
set -euo pipefail

# shellcheck source=benches/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

rounds="${ROUNDS:-5}"
duration="${DURATION:-5}"

# run THREADS: sets 'rate' to the iterations a second.
run() {
  local code=0
  rm -f "$work/run.json"
  "$lgoose" "$here/cores.lua" -H http://127.0.0.1:9 -u "${USERS:-24}" -r 1000 --threads "$1" -t "${duration}s" -q \
    -o "json=$work/run.json" >"$work/out" 2>&1 || code=$?
  # It ends with 1, since it made no request.
  [ "$code" -le 1 ] && [ -s "$work/run.json" ] || fail "lgoose ended with $code: $(tail -n 3 "$work/out")"
  rate="$(awk '$1 == "\"elapsed_s\":" { elapsed = $2 + 0 }
    $1 == "\"runs\":" { printf "%.0f", $2 / elapsed; exit }' "$work/run.json")"
}

have_two_cores
find_lgoose
machine
printf '\nIterations of cores.lua a second, %s users, %s rounds of %s s\n\n' "${USERS:-24}" "$rounds" "$duration"
printf '%5s %12s %12s %8s\n' round "1 thread" "2 threads" ratio
for ((round = 1; round <= rounds; round++)); do
  run 1
  one="$rate"
  run 2
  awk -v round="$round" -v one="$one" -v two="$rate" 'BEGIN { printf "%5d %12d %12d %8.2f\n", round, one, two, two / one }' |
    tee -a "$work/rounds"
done
sort -n -k 4 "$work/rounds" | awk '{ ratios[NR] = $4 } END { printf "\nmedian ratio %.2f\n", ratios[int((NR + 1) / 2)] }'
