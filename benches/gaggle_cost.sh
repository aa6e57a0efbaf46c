#!/usr/bin/env bash
# What it costs a generator to be a worker: processor time per request of 'lgoose worker --threads 1' beside that of the
# same plan run by 'lgoose --threads 1', in turns. The generator has one core; site, broker and manager have another.
# Beside that, what threads other than those of users take: there, a worker does what one alone does not, and a busy
# machine disturbs it less than what is shared. Needs nats-server, taskset and GNU time.
#   benches/gaggle_cost.sh [PAIRS] [SECONDS of each run]        LGOOSE=path LOAD_CORE=0 TARGET_CORE=1 CLIENTS=12
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

pairs=${1:-3} seconds=${2:-8}
load_core=${LOAD_CORE:-0} target_core=${TARGET_CORE:-1} clients=${CLIENTS:-12}
lgoose=${LGOOSE:-${CARGO_TARGET_DIR:-target}/release/lgoose}
[[ -x $lgoose ]] || { echo "no '$lgoose': cargo build --release" >&2; exit 1; }

folder=$(mktemp -d)
port=$((15000 + RANDOM % 15000))
taskset -c "$target_core" nats-server -js -a 127.0.0.1 -p "$port" -sd "$folder/store" >"$folder/nats.log" 2>&1 &
broker=$!
taskset -c "$target_core" "$lgoose" demo api --port 0 >"$folder/site" 2>&1 &
site=$!
trap 'kill "$broker" "$site" 2>/dev/null || true; rm -rf "$folder"' EXIT
for _ in $(seq 100); do
  grep -q ' at http' "$folder/site" && break
  sleep 0.1
done
url=$(grep -o 'http://127.0.0.1:[0-9]*' "$folder/site" | head -1)
echo 'task { function(user) user:get "/api/products/1" end }' >"$folder/plan.lua"
echo 'task { function(user) user:get "/api/products/1" user:wait(1) end }' >"$folder/waiting.lua"
options=("$folder/plan.lua" -H "$url" -u "$clients" -r 1000 -t "${seconds}s" -q -o "json=$folder/report.json")

# threads PID: keeps what the threads of the lgoose below that process have taken, in clock ticks: those of users, and
# others. Until it ends.
threads() {
  local process=$1
  while [[ $(readlink "/proc/$process/exe") != "$(realpath "$lgoose")" ]]; do
    process=$(pgrep -P "$process")
  done
  while cat "/proc/$process/task/"*/stat 2>/dev/null >"$folder/now"; do
    # Of the last look, some may be missing.
    [[ $(grep -c '(shard' "$folder/now") -gt 0 ]] && cp "$folder/now" "$folder/stat"
    sleep 0.25
  done
  awk '{ shard = /\(shard/; sub(/.*\) /, ""); if (shard) users += $12 + $13; else others += $12 + $13 } END {
    print users, others }' "$folder/stat" >"$folder/threads"
}

# note KIND: prints a line of what was measured last, and keeps it.
note() {
  python3 - "$1" "$folder/report.json" "$folder/cost" "$folder/threads" <<'PYTHON' | tee -a "$folder/figures"
import json, sys
kind, report, cost, threads = sys.argv[1:]
report = json.load(open(report))["aggregated"]
assert report["failures"] == 0, "requests failed: the figures mean nothing"
user, system = map(float, open(cost).read().split()[-2:])
users, others = map(int, open(threads).read().split())
print(f"{kind:<7} {report['count']:>9} requests {user + system:7.2f} s {(user + system) / report['count'] * 1e6:8.3f} us each "
      f"{others:>5} ticks of {users + others} outside of users' threads")
PYTHON
}

# A run of one user who waits, on the core of the target: it has as much to do beside as when the worker is measured, and
# answers as slowly.
beside() {
  LGOOSE_NATS="nats://127.0.0.1:$port" taskset -c "$target_core" "$lgoose" worker --once --threads 1 >"$folder/beside" 2>&1 &
  LGOOSE_NATS="nats://127.0.0.1:$port" taskset -c "$target_core" "$lgoose" "$folder/waiting.lua" -H "$url" -u 1 -t "${seconds}s" -q --workers 1 \
    >"$folder/waiting" 2>&1 &
  sleep 1
}

alone() {
  beside
  command time -f '%U %S' -o "$folder/cost" taskset -c "$load_core" "$lgoose" "${options[@]}" --threads 1 >"$folder/out" 2>&1 &
  local timed=$!
  sleep 0.2
  threads "$timed"
  # All but the broker and the site.
  mapfile -t rest < <(jobs -p | grep -vx -e "$broker" -e "$site")
  wait "${rest[@]}"
  note alone
}

worker() {
  export LGOOSE_NATS="nats://127.0.0.1:$port"
  command time -f '%U %S' -o "$folder/cost" taskset -c "$load_core" "$lgoose" worker --once --threads 1 >"$folder/worker" 2>&1 &
  local timed=$!
  taskset -c "$target_core" "$lgoose" "${options[@]}" --workers 1 >"$folder/out" 2>&1 &
  local manager=$!
  sleep 0.2
  threads "$timed"
  wait "$manager" "$timed"
  note worker
}

for pair in $(seq "$pairs"); do
  if ((pair % 2)); then alone; worker; else worker; alone; fi
done
python3 - "$folder/figures" <<'PYTHON'
import statistics, sys
alone, worker = [], []
for line in open(sys.argv[1]):
    kind, *words = line.split()
    (alone if kind == "alone" else worker).append((float(words[4]), int(words[7]), int(words[10])))
ratios = sorted(there[0] / here[0] for here, there in zip(alone, worker))
print(f"worker / alone: median {statistics.median(ratios):.3f}, from {ratios[0]:.3f} to {ratios[-1]:.3f}")
share = lambda runs: 100 * sum(others for _, others, _ in runs) / sum(ticks for _, _, ticks in runs)
print(f"outside of users' threads: alone {share(alone):.2f} %, worker {share(worker):.2f} % of all")
PYTHON
