#!/usr/bin/env bash
# What a manager costs: simulated workers deliver figures to it (benches/gaggle.rs), and its CPU, memory and counts are
# compared with what they delivered. Needs nats-server.
#   benches/gaggle.sh [WORKERS] [SECONDS] [REQUESTS a second of each]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

workers=${1:-1000} seconds=${2:-120} requests=${3:-1000}
target=${CARGO_TARGET_DIR:-target}
cargo build --release --quiet
cargo build --release --quiet --features internals --bench gaggle
simulation=$(find "$target/release/deps" -maxdepth 1 -name 'gaggle-*' -type f -perm -u+x -printf '%T@ %p\n' | sort -n | tail -1 | cut -d' ' -f2)
lgoose=${LGOOSE:-$target/release/lgoose}

folder=$(mktemp -d)
port=$((20000 + RANDOM % 20000))
nats-server -js -a 127.0.0.1 -p "$port" -sd "$folder/store" >"$folder/nats.log" 2>&1 &
broker=$!
trap 'kill "$broker" 2>/dev/null || true; rm -rf "$folder"' EXIT
sleep 1
export LGOOSE_NATS="nats://127.0.0.1:$port"
"$simulation" "$LGOOSE_NATS" "$workers" "$requests" >"$folder/delivered" &
simulated=$!
sleep 1
echo 'task { function(user) user:get "/" end }' >"$folder/plan.lua"
/usr/bin/time -f '%U %S %M %e' -o "$folder/cost" "$lgoose" "$folder/plan.lua" -H http://127.0.0.1:9 \
  -u "$workers" -r 100000 -t "${seconds}s" --workers "$workers" --workers-timeout 60s -o "json=$folder/report.json" -q || true
wait "$simulated"

delivered=$(cat "$folder/delivered")
counted=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["aggregated"]["count"])' "$folder/report.json")
read -r user system kib wall <"$folder/cost"
awk -v workers="$workers" -v delivered="$delivered" -v counted="$counted" -v user="$user" -v system="$system" \
  -v kib="$kib" -v wall="$wall" -v seconds="$seconds" 'BEGIN {
    printf "%d workers, %d s: delivered %d requests, counted %d\n", workers, seconds, delivered, counted
    printf "manager: %.2f of a core over %.0f s, at most %.0f MiB\n", (user + system) / wall, wall, kib / 1024
  }'
