#!/usr/bin/env bash
# What a manager costs: simulated workers deliver figures to it (benches/gaggle.rs), and its CPU, memory and counts are
# compared with what they delivered. With GATHERS=2 two gathers stand between. Needs nats-server.
#   [GATHERS=2] benches/gaggle.sh [WORKERS] [SECONDS] [REQUESTS a second of each]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

workers=${1:-1000} seconds=${2:-120} requests=${3:-1000} gathers=${GATHERS:-0}
target=${CARGO_TARGET_DIR:-target}
if [ -z "${BUILT:-}" ]; then
  cargo build --release --quiet
  cargo build --release --quiet --bench gaggle
fi
simulation=$(find "$target/release/deps" -maxdepth 1 -name 'gaggle-*' -type f -perm -u+x -printf '%T@ %p\n' | sort -n | tail -1 | cut -d' ' -f2)
lgoose=${LGOOSE:-$target/release/lgoose}

folder=$(mktemp -d)
port=$((20000 + RANDOM % 20000))
nats-server -js -a 127.0.0.1 -p "$port" -sd "$folder/store" >"$folder/nats.log" 2>&1 &
started=($!)
trap 'kill "${started[@]}" 2>/dev/null || true; rm -rf "$folder"' EXIT
sleep 1
export LGOOSE_NATS="nats://127.0.0.1:$port"
"$simulation" "$LGOOSE_NATS" "$workers" "$requests" >"$folder/delivered" &
simulated=$!
labels=('--label region=eu --label region=ap' '--label region=us')
for ((number = 0; number < gathers; number++)); do
  # Words, not one.
  # shellcheck disable=SC2086
  /usr/bin/time -f '%U %S %M %e' -o "$folder/gather$number" "$lgoose" gather --name "g$number" ${labels[$number]} 2>"$folder/gather$number.log" &
  started+=($!)
done
sleep 1
# Within the run, which removes its stream at the end.
(sleep "$seconds" && du -sm "$folder/store" >"$folder/disk") &
echo 'task { function(user) user:get "/" end }' >"$folder/plan.lua"
/usr/bin/time -f '%U %S %M %e' -o "$folder/cost" timeout -s KILL $((seconds + 60)) "$lgoose" "$folder/plan.lua" -H http://127.0.0.1:9 \
  -u "$workers" -r 100000 -t "${seconds}s" --workers "$workers" --workers-timeout 60s -o "json=$folder/report.json" \
  -v --log-file "$folder/log" >/dev/null 2>&1 || true
wait "$simulated"
pkill -INT -P "$(IFS=,; echo "${started[*]}")" 2>/dev/null || true
sleep 1

read -r delivered late <"$folder/delivered"
counted=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["aggregated"]["count"])' "$folder/report.json")
read -r user system kib wall <"$folder/cost"
awk -v workers="$workers" -v delivered="$delivered" -v counted="$counted" -v user="$user" -v kernel="$system" \
  -v kib="$kib" -v wall="$wall" -v seconds="$seconds" -v gathers="$gathers" -v late="$late" 'BEGIN {
    printf "%d workers, %d gathers, %d s: delivered %d requests, counted %d\n", workers, gathers, seconds, delivered, counted
    printf "the workers themselves delivered up to %d ms late\n", late
    printf "manager: %.2f of a core over %.0f s, at most %.0f MiB\n", (user + kernel) / wall, wall, kib / 1024
  }'
for ((number = 0; number < gathers; number++)); do
  tail -1 "$folder/gather$number" | awk -v name="g$number" -v seconds="$seconds" \
    '{ printf "gather %s: %.2f of a core over %d s, at most %.0f MiB\n", name, ($1 + $2) / seconds, seconds, $3 / 1024 }'
done
# The age of the oldest figures that the view shows, at each of its ticks once all have delivered.
grep -o 'are [0-9]* ms behind' "$folder/log" | awk '{ print $2 }' | tail -n +13 | head -n $(((seconds - 5) * 4)) | sort -n |
  awk '{ all[NR] = $1 } END { if (NR) printf "view: %d ms behind at the median, %d ms at most\n", all[int((NR + 1) / 2)], all[NR] }'
python3 - "$folder/report.json" <<'END'
import json, sys
report = json.load(open(sys.argv[1]))
print("warnings:", [text for text in report["warnings"] if not text.startswith("lgoose itself")][:5])
END
awk '{ printf "broker: %d MB on its disk\n", $1 }' "$folder/disk"
