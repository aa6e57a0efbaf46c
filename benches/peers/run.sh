#!/usr/bin/env bash
# lgoose beside other load generators, each doing the same work against the same nginx in the same run. The
# generator has one core, the target another. See README.md of this folder; install.sh gets the others.
#   benches/peers/run.sh [--only CASE]… [--seconds N] [--rounds N]
#   cases: tiny errors drupal tls http2 many steady
#   LOAD_CORE=0 TARGET_CORE=1 LGOOSE=path PEERS_HOME=folder PAGE_BYTES=8192 ASSET_BYTES=8192
set -euo pipefail

# shellcheck source=benches/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
peers="$here/peers"
# shellcheck source=benches/peers/tools.sh
source "$peers/tools.sh"
# shellcheck source=benches/peers/site.sh
source "$peers/site.sh"

seconds=5
rounds=3
page_bytes="${PAGE_BYTES:-8192}"
asset_bytes="${ASSET_BYTES:-8192}"
cases=()

# ---- one run of one generator

# tree PID: it and all its descendants.
tree() {
  local child
  echo "$1"
  for child in $(cat "/proc/$1/task/"*/children 2>/dev/null); do
    tree "$child"
  done
}

# cpu_of PID: user and system seconds of it, its descendants and those that they have waited for.
cpu_of() {
  local one
  for one in $(tree "$1"); do
    cat "/proc/$one/stat" 2>/dev/null || true
  done | awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); sum += $12 + $13 + $14 + $15 } END { printf "%.2f", sum / hz }'
}

# peak_of PID: the most resident memory so far, in KiB, of it and its descendants.
peak_of() {
  local one sum=0 kib
  for one in $(tree "$1"); do
    kib="$(memory "$one" VmHWM)"
    sum=$((sum + ${kib:-0}))
  done
  echo "$sum"
}

# served: sets 'requests' and 'connections' to nginx's own counts, without those that ask for them.
served() {
  local answer
  answer="$(fetch "$status_port" /)"
  asked=$((asked + 1))
  connections="$(awk '/^Active connections:/ { print $3 - 1 }' <<<"$answer")"
  requests="$(awk -v asked="$asked" '/handled requests/ { getline; print $3 - asked }' <<<"$answer")"
}

# sample: sets 'now_us', 'cpu_s', 'requests' and 'connections'.
sample() {
  served
  cpu_s="$(cpu_of "$pid")"
  now_us="${EPOCHREALTIME/[.,]/}"
}

# run ROW: one run. What counts are the CPU time and the requests, as nginx counts them, of 'seconds' in the
# middle: no start of an interpreter, no opening of connections, no report. Notes them in $work/figures.
run() {
  local row="$1" argv pid before code=0 from_us from_cpu from_requests
  run_s=$((seconds + settle + 4))
  command_of "$row"
  rm -f "$work/run.json"
  served
  before="$requests"
  taskset -c "$load_core" "${argv[@]}" >"$work/out" 2>&1 &
  pid=$!
  running+=("$pid")
  until_busy "$row" "$before" || return 0
  until_settled
  sample
  from_us="$now_us" from_cpu="$cpu_s" from_requests="$requests"
  sleep "$seconds"
  sample
  printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$round" "$row" "$((requests - from_requests))" \
    "$(awk -v us="$((now_us - from_us))" 'BEGIN { printf "%.6f", us / 1e6 }')" \
    "$(awk -v a="$cpu_s" -v b="$from_cpu" 'BEGIN { print a - b }')" "$(peak_of "$pid")" "$connections" >"$work/figure"
  [ "$connections" -ge "$users" ] || [ "$connections" = 0 ] || remark "$row: only $connections of $users users were connected"
  [ "$connections" -gt 0 ] && [ "$requests" -gt "$from_requests" ] || { give_up "$row" "ended before its time"; return 0; }
  until_ended || { give_up "$row" "does not end"; return 0; }
  wait "$pid" || code=$?
  unset 'running[-1]'
  served
  if check "$row" "$code" "$((requests - before))"; then
    cat "$work/figure" >>"$work/figures"
  fi
}

# until_busy ROW COUNT: until nginx has served some requests more than COUNT; half a minute at most.
until_busy() {
  for _ in {1..300}; do
    served
    [ "$requests" -le $(($2 + 10)) ] || return 0
    kill -0 "$pid" 2>/dev/null || { give_up "$1" "ended without load"; return 1; }
    sleep 0.1
  done
  give_up "$1" "sends no requests"
  return 1
}

# until_settled: until all users have a connection, 'settle' seconds at most, and a second more.
until_settled() {
  local deadline=$((SECONDS + settle))
  while [ "$connections" -lt "$users" ] && [ "$SECONDS" -lt "$deadline" ]; do
    sleep 0.1
    served
  done
  sleep 1
}

until_ended() {
  for _ in {1..300}; do
    kill -0 "$pid" 2>/dev/null || return 0
    sleep 0.1
  done
  return 1
}

# give_up ROW WHY: no figure of this run; said with the last it had to say.
give_up() {
  finish "$pid"
  unset 'running[-1]'
  remark "$1: no figure in round $round, it $2: $(tail -n 3 "$work/out" | tr '\n' ' ')"
}

remark() {
  echo "  $*" >>"$work/remarks"
}

# check ROW CODE SERVED: whether the run did its work without failures. Each plan tells its own by its exit
# code, lgoose by its report, wrk by its text.
check() {
  local row="$1" failures count
  if [ "$2" != 0 ]; then
    remark "$row: no figure in round $round, it ended with $2: $(tail -n 3 "$work/out" | tr '\n' ' ')"
    return 1
  fi
  if grep -Eq 'Socket errors' "$work/out"; then
    remark "$row: $(grep -E 'Socket errors' "$work/out" | head -n 1)"
  fi
  if [ -z "$failures_expected" ] && grep -Eq 'Non-2xx|unexpected responses: [1-9]' "$work/out"; then
    remark "$row: $(grep -E 'Non-2xx|unexpected' "$work/out" | head -n 1)"
  fi
  if [ "$row" = lgoose ]; then
    failures="$(figure failures "$work/run.json")"
    count=$(($(figure count "$work/run.json") + $(figure redirects "$work/run.json")))
    [ -n "$failures_expected" ] || [ "$failures" = 0 ] || remark "lgoose: $failures of $count requests failed"
    # What is under way when the time is up may be counted by one side alone.
    [ $(($3 - count)) -le $((6 * users)) ] && [ $((count - $3)) -le $((6 * users)) ] ||
      remark "lgoose: counted $count requests, nginx $3"
  fi
}

# ---- a case: rows in turns, a table, what must hold

# compare TITLE ROW…: all rows in turns, then the table, the goals that can be judged, and what was noticed.
compare() {
  local title="$1" row wanted=()
  shift
  : >"$work/figures"
  : >"$work/remarks"
  for row in "$@"; do
    if can_run "$row"; then wanted+=("$row"); fi
  done
  for ((round = 1; round <= rounds; round++)); do
    for row in "${wanted[@]}"; do
      start_mix
      run "$row"
      end_mix "$row"
    done
  done
  printf '\n%s, %s users, %s rounds of %s s\n\n' "$title" "$users" "$rounds" "$seconds"
  if [ -s "$work/figures" ]; then
    awk -v anchor=lgoose -v against=yes -v goals="$goals" -f "$here/table.awk" "$work/figures"
  else
    echo "no figures"
  fi
  if [ -s "$work/remarks" ]; then
    printf '\n'
    sort -u "$work/remarks"
  fi
}

# can_run ROW: whether its program is there and can do the case; says what to do when not.
can_run() {
  local program said
  program="$(program_of "$1")"
  if ! command -v "$program" >/dev/null; then
    remark "$1 is not installed, its row is left out: benches/peers/install.sh $(tr '[:upper:]' '[:lower:]' <<<"${1%% *}")"
    return 1
  fi
  if [ "$1" = lgoose ] && [ "${#lgoose_options[@]}" -gt 0 ]; then
    said="$("$lgoose" "$here/tiny.lua" -H "$url" -u 1 --iterations 1 -q -o "json=$work/run.json" "${lgoose_options[@]}" 2>&1)" && return 0
    remark "lgoose cannot do this, its row is left out: $(grep -m 1 . <<<"$said")"
    return 1
  fi
}

# ---- what was asked for, in the cases with several kinds of request

start_mix() {
  mix_from="$(wc -c <"$work/mix.log")"
}

# end_mix ROW: keeps how often each kind of request came and how large the answers were.
end_mix() {
  [ "$plan" = drupal ] || return 0
  # nginx writes its log once a second.
  sleep 1.5
  tail -c "+$((mix_from + 1))" "$work/mix.log" | awk -F'\t' -v row="$1" '
    { count[$1 "\t" $2]++; bytes[$1 "\t" $2] += $3 }
    END { for (kind in count) print row "\t" kind "\t" count[kind] "\t" bytes[kind] }' >>"$work/mix"
}

# mix_table: the share of each kind of request by generator, and what differs from lgoose's.
mix_table() {
  printf '\nwhat nginx was asked for, in %% of the requests\n\n'
  awk -f "$peers/mix.awk" "$work/mix"
}

# ---- the cases

tiny() {
  url="$tiny_url" users=12 goals="wrk with Lua:cpu:1.05;wrk:cpu:1.6"
  compare "A response of 2 bytes" lgoose "wrk with Lua" wrk oha hey k6 Locust
}

errors() {
  url="$errors_url" users=12 failures_expected=yes
  compare "A response of 2 bytes, one in ten with status 500" lgoose "wrk with Lua" wrk oha hey k6 Locust
}

drupal() {
  url="$drupal_url" users=10 plan=drupal goals="Goose:cpu:0.42;k6:cpu:0.35"
  : >"$work/mix"
  compare "plans/drupal.lua, pages of $page_bytes bytes, assets of $asset_bytes" lgoose Goose k6 Locust
  mix_table
}

tls() {
  url="$tls_url" users=12 goals="oha:cpu:1.2"
  lgoose_options=(--ca "$work/cert.pem")
  oha_options=(--insecure)
  compare "A response of 2 bytes over TLS, connections kept" lgoose oha wrk
}

http2() {
  url="$http2_url" users=12 goals="oha:cpu:1.05"
  lgoose_options=(--ca "$work/cert.pem" --http 2)
  oha_options=(--insecure --http2 -p 1)
  compare "A response of 2 bytes over HTTP/2 and TLS, one request at a time on a connection" lgoose oha h2load
}

many() {
  url="$tiny_url" users=10000 settle=15 goals="wrk:rate:0.5"
  if [ "$(ulimit -n)" -lt 10200 ]; then
    printf '\n10000 users: left out, they need 10200 open files (ulimit -n) instead of %s\n' "$(ulimit -n)"
    return
  fi
  compare "A response of 2 bytes" lgoose wrk
}

# on_terminal: changes 'argv', a quiet lgoose, into one with its live view on a terminal of 120 columns, which leaves with the run.
on_terminal() {
  local word command=""
  for word in "${argv[@]}"; do
    [ "$word" = -q ] || printf -v command '%s%q ' "$command" "$word"
  done
  argv=(script -qec "stty cols 120 rows 40; TERM=xterm-256color exec $command --exit" /dev/null)
}

# steady: how even the load is, by the moments at which nginx answered.
steady() {
  local row from
  url="$steady_url" users=12
  printf '\nRequests in each tenth of a second, a response of 2 bytes, %s users, %s rounds of %s s\n\n' \
    "$users" "$rounds" "$seconds"
  printf '%-24s %6s %8s %8s %8s %8s\n' "" round mean least most "CoV %"
  for ((round = 1; round <= rounds; round++)); do
    for row in lgoose "lgoose, live view" wrk; do
      from="$(wc -c <"$work/steady.log")"
      run_s=$((seconds + 2))
      command_of "${row%%,*}"
      if [ "$row" != "${row%%,*}" ]; then
        on_terminal
      fi
      taskset -c "$load_core" "${argv[@]}" >"$work/out" 2>&1 || fail "$row: $(tail -n 3 "$work/out")"
      # nginx writes its log once a second.
      sleep 1.5
      tail -c "+$((from + 1))" "$work/steady.log" |
        awk -v row="$row" -v round="$round" -v seconds="$seconds" -f "$peers/steady.awk"
    done
  done
}

# ---- the command line

usage() {
  sed -n '2,6s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
}

# number FLAG VALUE
number() {
  [[ "${2:-}" =~ ^[1-9][0-9]*$ ]] || fail "'$1' needs a number"
  echo "$2"
}

all=(tiny errors drupal tls http2 many steady)
while [ $# -gt 0 ]; do
  case "$1" in
    --only)
      [[ " ${all[*]} " == *" ${2:-} "* ]] || fail "'${2:-}' is not a case: ${all[*]}"
      cases+=("$2")
      ;;
    --seconds) seconds="$(number "$@")" ;;
    --rounds) rounds="$(number "$@")" ;;
    -h | --help)
      usage
      exit
      ;;
    *) fail "'$1' is not an option: --only CASE, --seconds N, --rounds N" ;;
  esac
  shift 2
done
[ "${#cases[@]}" -gt 0 ] || cases=("${all[@]}")

have_two_cores
for program in nginx openssl; do
  command -v "$program" >/dev/null || fail "'$program' is needed: benches/peers/install.sh $program"
done
find_lgoose
machine
# For the case 'many': nginx, too, has a file for each connection.
ulimit -n 20000 2>/dev/null || ulimit -Sn "$(ulimit -Hn)"
# Nothing of this script runs on the generator's core.
taskset -cp "$target_core" $$ >/dev/null
asked=0
start_site
for one in "${cases[@]}"; do
  # What a case may change.
  plan=tiny settle=1 goals="" failures_expected="" lgoose_options=() oha_options=()
  "$one"
done
