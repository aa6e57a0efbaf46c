#!/usr/bin/env bash
# What it costs a generator to be a worker: processor time per request of 'lgoose worker --threads 1' beside that of the
# same plan run by 'lgoose --threads 1', in turns. The generator has one core; site, broker and manager have another.
# Needs nats-server, taskset and GNU time.
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
options=("$folder/plan.lua" -H "$url" -u "$clients" -r 1000 -t "${seconds}s" -q -o "json=$folder/report.json")

# note KIND: prints a line of what was measured last, and keeps it.
note() {
  python3 - "$1" "$folder/report.json" "$folder/cost" <<'PYTHON' | tee -a "$folder/figures"
import json, sys
kind, report, cost = sys.argv[1:]
report = json.load(open(report))["aggregated"]
assert report["failures"] == 0, "requests failed: the figures mean nothing"
user, system = map(float, open(cost).read().split()[-2:])
print(f"{kind:<7} {report['count']:>9} requests {user + system:7.2f} s {(user + system) / report['count'] * 1e6:8.3f} us each")
PYTHON
}

alone() {
  command time -f '%U %S' -o "$folder/cost" taskset -c "$load_core" "$lgoose" "${options[@]}" --threads 1 >"$folder/out" 2>&1
  note alone
}

worker() {
  export LGOOSE_NATS="nats://127.0.0.1:$port"
  command time -f '%U %S' -o "$folder/cost" taskset -c "$load_core" "$lgoose" worker --once --threads 1 >"$folder/worker" 2>&1 &
  local worker=$!
  taskset -c "$target_core" "$lgoose" "${options[@]}" --workers 1 >"$folder/out" 2>&1
  wait "$worker"
  note worker
}

for pair in $(seq "$pairs"); do
  if ((pair % 2)); then alone; worker; else worker; alone; fi
done
awk '{ time[$1] += $4; requests[$1] += $2 } END {
  alone = time["alone"] / requests["alone"]; worker = time["worker"] / requests["worker"]
  printf "alone %.3f us, worker %.3f us a request: %+.1f %%\n", alone * 1e6, worker * 1e6, (worker / alone - 1) * 100
}' "$folder/figures"
