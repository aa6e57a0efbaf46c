#!/usr/bin/env bash
# CPU time per request of lgoose, with wrk beside it in the same run where wrk is installed.
# The generator has one core, the target another. See README.md of this folder.
#   ROUNDS=3 DURATION=5 CLIENTS=12 LOAD_CORE=0 TARGET_CORE=1 LGOOSE=path benches/cpu.sh [tiny] [drupal] [logs] [view]
set -euo pipefail

# shellcheck source=benches/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

rounds="${ROUNDS:-3}"
duration="${DURATION:-5}"
clients="${CLIENTS:-12}"
anchor="wrk with Lua"

# measure PROGRAM...: runs it on the generator's core. Sets 'cpu_s' (user and system) and 'peak_kib'; its
# output is in $work/out.
measure() {
  local deadline=$((SECONDS + duration + 30)) pid rest now
  rm -f "$work/pid" "$work/times" "$work/run.json"
  # A subshell with one child: what its children took is what the child took.
  (
    taskset -c "$load_core" "$@" >"$work/out" 2>&1 &
    echo $! >"$work/pid"
    wait $! && times >"$work/times"
  ) &
  rest=$!
  while [ ! -s "$work/pid" ]; do sleep 0.05; done
  pid="$(<"$work/pid")"
  running+=("$pid")
  peak_kib=0
  while kill -0 "$pid" 2>/dev/null; do
    now="$(memory "$pid" VmHWM)"
    peak_kib="${now:-$peak_kib}"
    [ "$SECONDS" -lt "$deadline" ] || fail "'$*' does not end: $(tail -n 3 "$work/out")"
    sleep 0.3
  done
  wait "$rest" || fail "'$*' failed: $(tail -n 5 "$work/out")"
  unset 'running[-1]'
  cpu_s="$(awk -F'[ms ]+' 'NR == 2 { print ($1 + $3) * 60 + $2 + $4 }' "$work/times")"
}

# note TOOL REQUESTS SECONDS: keeps the figures of what was measured last.
note() {
  printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$round" "$1" "$2" "$3" "$cpu_s" "$peak_kib" >>"$work/figures"
}

# run_lgoose TOOL PLAN PORT OPTION...
run_lgoose() {
  local count failures
  measure "$lgoose" "$2" -H "http://127.0.0.1:$3" -u "$clients" -r 1000 -t "${duration}s" -q -o "json=$work/run.json" "${@:4}"
  failures="$(figure failures "$work/run.json")"
  [ "$failures" = 0 ] || fail "$failures requests of '$2' failed: the figures mean nothing"
  count=$(($(figure count "$work/run.json") + $(figure redirects "$work/run.json")))
  note "$1" "$count" "$(figure elapsed_s "$work/run.json")"
}

# run_wrk TOOL URL OPTION... [-- ARGUMENT...]
run_wrk() {
  local tool="$1" url="$2" options=()
  shift 2
  while [ $# -gt 0 ] && [ "$1" != -- ]; do
    options+=("$1")
    shift
  done
  measure wrk -t 1 -c "$clients" -d "${duration}s" "${options[@]}" "$url" "$@"
  if grep -Eq 'Socket errors|Non-2xx|unexpected responses: [1-9]' "$work/out"; then
    fail "wrk met errors, the figures mean nothing: $(grep -E 'errors|Non-2xx|unexpected' "$work/out")"
  fi
  note "$tool" "$(awk '/requests in/ { print $1 }' "$work/out")" "$duration"
}

# table: what was noted, a row a tool.
table() {
  awk -v anchor="$anchor" -f "$here/table.awk" "$work/figures"
}

# drupal_mix: the pages of plans/drupal.lua that an anonymous visitor loads, with the assets of the front
# page as the demo site names them, for wrk_hook.lua.
drupal_mix() {
  local path
  fetch "$demo_port" / >"$work/front_page"
  mix=("15:/" "10:/node/{1-9999}" "3:/user/{2-5000}")
  while read -r path; do
    mix+=("15:$path")
  done < <(grep -oE "http://127.0.0.1:$demo_port/(misc|themes)/[^\")]*" "$work/front_page" | sed 's|http://[^/]*||' | sort -u)
  [ "${#mix[@]}" -gt 3 ] || fail "the front page of the demo site names no assets"
}

# tiny_target: sets 'what', 'port' and 'target_pid'.
tiny_target() {
  what="A response of 2 bytes (nginx)"
  if command -v nginx >/dev/null; then
    port="$(free_port)"
    start_nginx "$port" "$(two_bytes "$port")"
    target_pid="$nginx_pid"
  else
    echo "nginx is not installed: the target is the demo site, whose front page is not tiny" >&2
    what="The front page of the demo site, without its assets"
    start_demo
    port="$demo_port"
    target_pid="$demo_pid"
  fi
  : >"$work/figures"
}

tiny() {
  tiny_target
  for ((round = 1; round <= rounds; round++)); do
    run_lgoose "lgoose, tiny.lua" "$here/tiny.lua" "$port"
    if [ -n "$wrk" ]; then
      run_wrk "wrk" "http://127.0.0.1:$port/"
      run_wrk "$anchor" "http://127.0.0.1:$port/" -s "$here/wrk_hook.lua"
    fi
  done
  finish "$target_pid"
  printf '\n%s, %s users, %s rounds of %s s\n\n' "$what" "$clients" "$rounds" "$duration"
  table
}

# logs: the same with and without logs, whose writer shares the generator's core.
logs() {
  local anchor="no log" format
  tiny_target
  for ((round = 1; round <= rounds; round++)); do
    run_lgoose "$anchor" "$here/tiny.lua" "$port"
    for format in csv jsonl; do
      run_lgoose "request log, $format" "$here/tiny.lua" "$port" --request-log "$work/requests.$format"
      rm -f "$work/requests.$format"
    done
    run_lgoose "sorted" "$here/tiny.lua" "$port" --request-log "$work/requests.csv" --request-log-sorted
    rm -f "$work/requests.csv"
    run_lgoose "task log, csv" "$here/tiny.lua" "$port" --task-log "$work/tasks.csv"
    rm -f "$work/tasks.csv"
    run_lgoose "error and debug logs" "$here/tiny.lua" "$port" --error-log "$work/errors.csv" --debug-log "$work/debug.csv"
  done
  finish "$target_pid"
  printf '\n%s, %s users, %s rounds of %s s, with logs; nothing fails\n\n' "$what" "$clients" "$rounds" "$duration"
  table
}

drupal() {
  start_demo
  drupal_mix
  : >"$work/figures"
  for ((round = 1; round <= rounds; round++)); do
    run_lgoose "lgoose, plans/drupal.lua" "$here/../plans/drupal.lua" "$demo_port"
    if [ -n "$wrk" ]; then
      run_wrk "wrk, front page only" "http://127.0.0.1:$demo_port/"
      run_wrk "$anchor" "http://127.0.0.1:$demo_port/" -s "$here/wrk_hook.lua" -- "${mix[@]}"
    fi
  done
  finish "$demo_pid"
  printf '\nThe Drupal plan on the demo site, %s users, %s rounds of %s s\n\n' "$clients" "$rounds" "$duration"
  table
}

# run_on_terminal TOOL OPTION...: plans/drupal.lua on a terminal of 120 columns, whose program counts as its own.
run_on_terminal() {
  local command count
  printf -v command '%q ' "$lgoose" "$here/../plans/drupal.lua" -H "http://127.0.0.1:$demo_port" -u "$clients" -r 1000 \
    -t "${duration}s" -o "json=$work/run.json" "${@:2}"
  TERM=xterm-256color measure script -qec "stty cols 120 rows 40; exec $command" /dev/null
  count=$(($(figure count "$work/run.json") + $(figure redirects "$work/run.json")))
  note "$1" "$count" "$(figure elapsed_s "$work/run.json")"
}

# view: the live view, on the generator's core, and lines in its place.
view() {
  local anchor="lines"
  start_demo
  : >"$work/figures"
  for ((round = 1; round <= rounds; round++)); do
    run_on_terminal "$anchor" --headless
    run_on_terminal "live view" --exit
  done
  finish "$demo_pid"
  printf '\nThe Drupal plan on the demo site, on a terminal, %s users, %s rounds of %s s\n\n' "$clients" "$rounds" "$duration"
  table
}

have_two_cores
find_lgoose
wrk="$(command -v wrk || true)"
[ -n "$wrk" ] || echo "wrk is not installed: its rows and the ratios are skipped" >&2
machine
[ $# -gt 0 ] || set -- tiny drupal
for part in "$@"; do
  case "$part" in
    tiny | drupal | logs | view) "$part" ;;
    *) fail "'$part' is not a benchmark: tiny, drupal, logs, view" ;;
  esac
done
