#!/usr/bin/env bash
# Memory of lgoose: KiB per user with many users who wait, how soon they have all started, and whether it
# stays flat at full speed. The generator has one core, the demo site another. See README.md of this folder.
#   USERS=2000 FLAT=60 LOAD_CORE=0 TARGET_CORE=1 LGOOSE=path benches/memory.sh [users] [flat]
set -euo pipefail

# shellcheck source=benches/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

users="${USERS:-2000}"
flat="${FLAT:-60}"
settle=15

# start_load PLAN OPTION...: lgoose on its core against the demo site; sets 'pid'.
start_load() {
  # Emptied here, not only by the child: its first reader must not meet the line of the run before.
  : >"$work/out"
  rm -f "$work/run.json"
  taskset -c "$load_core" "$lgoose" "$1" -H "http://127.0.0.1:$demo_port" "${@:2}" -o "json=$work/run.json" \
    >"$work/out" 2>&1 &
  pid=$!
  running+=("$pid")
}

# until_started: waits for the line that says so, as long as a minute.
until_started() {
  for _ in {1..600}; do
    started="$(awk '/^[0-9,]+ users? started in / { sub(/.* started in /, ""); print; exit }' "$work/out")"
    [ -z "$started" ] || return 0
    kill -0 "$pid" 2>/dev/null || fail "lgoose ended early: $(tail -n 3 "$work/out")"
    sleep 0.1
  done
  fail "the users have not started within a minute"
}

# end_load: waits for the end of the run and looks at its failures.
end_load() {
  local code=0
  kill -INT "$pid"
  for _ in {1..400}; do
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
  wait "$pid" || code=$?
  unset 'running[-1]'
  [ "$code" = 0 ] || fail "lgoose ended with $code: $(tail -n 5 "$work/out")"
  [ "$(figure failures "$work/run.json")" = 0 ] || fail "requests failed: the figures mean nothing"
}

# resident_with USERS ASSETS: sets 'resident' (KiB, after they have all run for a while), 'descriptors' (open
# then, nearly all of them connections) and 'started'.
resident_with() {
  start_load "$here/thinking.lua" -u "$1" -r 1000 -e "ASSETS=$2"
  until_started
  sleep "$settle"
  resident="$(memory "$pid" VmRSS)"
  descriptors=("/proc/$pid/fd/"*)
  end_load
}

per_user() {
  local assets one
  printf '\nMemory of a user who waits 1 to 3 s, %s users, started at 1,000/s\n\n' "$users"
  printf '%-24s %14s %12s %12s %12s %12s\n' "" "all started in" "descriptors" "KiB with all" "KiB with 1" "KiB a user"
  for assets in no yes; do
    resident_with 1 "$assets"
    one="$resident"
    resident_with "$users" "$assets"
    printf '%-24s %14s %12d %12d %12d %12s\n' "$([ "$assets" = yes ] && echo "pages and their assets" || echo "pages only")" \
      "$started" "${#descriptors[@]}" "$resident" "$one" "$(awk -v a="$resident" -v b="$one" -v n="$users" 'BEGIN { printf "%.1f", (a - b) / (n - 1) }')"
  done
}

flat_at_full_speed() {
  local samples=() end
  start_load "$here/../plans/drupal.lua" -u 12 -r 1000
  until_started
  end=$((SECONDS + flat))
  while [ "$SECONDS" -lt "$end" ]; do
    sleep 5
    samples+=("$(memory "$pid" VmRSS)")
  done
  end_load
  printf '\nMemory of 12 users at full speed, KiB each 5 s for %s s\n\n%s\n\nfirst %s, last %s, %s requests\n' \
    "$flat" "${samples[*]}" "${samples[0]}" "${samples[-1]}" "$(figure count "$work/run.json")"
}

have_two_cores
find_lgoose
start_demo
machine
[ $# -gt 0 ] || set -- users flat
for part in "$@"; do
  case "$part" in
    users) per_user ;;
    flat) flat_at_full_speed ;;
    *) fail "'$part' is not a benchmark: users, flat" ;;
  esac
done
