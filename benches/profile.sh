#!/usr/bin/env bash
# Where lgoose's CPU time goes, by function: perf's samples while it loads nginx with the smallest plan, or the
# demo site with plans/drupal.lua. Needs 'perf' (Debian: linux-perf) and the right to use it: root, or
# kernel.perf_event_paranoid at most 1. See README.md of this folder.
#   DURATION=10 CLIENTS=12 TOP=25 LOAD_CORE=0 TARGET_CORE=1 LGOOSE=path benches/profile.sh [tiny | drupal]
set -euo pipefail

# shellcheck source=benches/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

what="${1:-tiny}"
duration="${DURATION:-10}"

# build: sets LGOOSE to a release build in which functions have kept their names and places: without LTO,
# which merges those of different crates.
build() {
  (cd "$here/.." && cargo build --release --locked --config profile.release.lto=false --target-dir target/profile)
  LGOOSE="$here/../target/profile/release/lgoose"
}

case "$what" in
  tiny) plan="$here/tiny.lua" ;;
  drupal) plan="$here/../plans/drupal.lua" ;;
  *) fail "'$what' cannot be profiled: tiny, drupal" ;;
esac
command -v perf >/dev/null || fail "'perf' is needed (Debian: linux-perf)"
have_two_cores
[ -n "${LGOOSE:-}" ] || build
find_lgoose
if [ "$what" = tiny ]; then
  port="$(free_port)"
  start_nginx "$port" "$(two_bytes "$port")"
else
  start_demo
  port="$demo_port"
fi

# cpu-clock is there in virtual machines too; -D skips the first second, when users start.
perf record -q -e cpu-clock -F 1999 -D 1000 -o "$work/perf.data" -- taskset -c "$load_core" "$lgoose" "$plan" \
  -H "http://127.0.0.1:$port" -u "${CLIENTS:-12}" -r 1000 -t "${duration}s" -q -o "json=$work/run.json" >"$work/out" 2>&1 ||
  fail "$(tail -n 3 "$work/out")"
machine
printf '\n%s: %s requests in %s s\n\nby program and library, in %%\n\n' "$what" "$(figure count "$work/run.json")" "$duration"
# perf_report KEYS LINES
perf_report() {
  perf report -i "$work/perf.data" --no-children --sort "$1" --stdio -q 2>/dev/null | sed 's|[ -]*$||; /^$/d' | head -n "$2" || true
}
perf_report dso 6
printf '\nby function\n\n'
perf_report dso,symbol "${TOP:-25}"
