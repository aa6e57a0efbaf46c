#!/usr/bin/env bash
# What it costs a generator to be watched: CPU per request of a run with two pages open and metrics scraped each second,
# beside that of the same run without '--web', in turns; and its memory beside that of such a run. The generator has one core; the site
# and those who watch have another, where they always watch something: in the runs without '--web' another lgoose.
#   benches/web_cost.sh cpu [PAIRS] [SECONDS of each run]       CLIENTS=12 LOAD_CORE=0 TARGET_CORE=1 LGOOSE=path
#   benches/web_cost.sh memory [SECONDS]                        at some 2,500 requests a second each
# BROWSERS=yes opens the page in two headless Chromiums in place of web_readers.py, and nobody scrapes. They take so much of the
# core of the site that there are fewer requests: then compare what is outside of the threads of users, a second.
set -euo pipefail

# shellcheck source=benches/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

clients="${CLIENTS:-12}"
export LGOOSE_WEB_TOKEN=0123456789abcdef

# The names of twelve requests, asked for one after another.
plan() {
  echo "task { function(user) for product = 1, 12 do user:get('/api/products/' .. product) $1 end end }"
}

# start_site: sets 'url' and starts another lgoose to be watched, which does nearly nothing, at 'other_port'.
start_site() {
  demo_port="$(free_port)"
  taskset -c "$target_core" "$lgoose" demo api --port "$demo_port" >"$work/site.log" 2>&1 &
  running+=($!)
  wait_for "$demo_port"
  url="http://127.0.0.1:$demo_port"
  plan '' >"$work/plan.lua"
  plan 'user:wait(0.05)' >"$work/waiting.lua"
  plan 'user:wait(0.01)' >"$work/modest.lua"
  other_port="$(free_port)"
  taskset -c "$target_core" "$lgoose" "$work/waiting.lua" -H "$url" -u 1 -q --threads 1 --web "127.0.0.1:$other_port" \
    >"$work/other.log" 2>&1 &
  running+=($!)
  wait_for "$other_port"
}

# watch PORT: lets two pages and a Prometheus watch what is served there; sets 'watching'.
watch() {
  watching=()
  if [ "${BROWSERS:-}" = yes ]; then
    for one in 1 2; do
      taskset -c "$target_core" chromium --headless --no-sandbox --disable-gpu --user-data-dir="$work/chromium-$one" \
        --remote-debugging-port=0 "http://127.0.0.1:$1/?token=$LGOOSE_WEB_TOKEN" >"$work/chromium.log" 2>&1 &
      watching+=($!)
    done
  else
    taskset -c "$target_core" "$here/web_readers.py" "$1" >"$work/readers.log" 2>&1 &
    watching+=($!)
  fi
  running+=("${watching[@]}")
}

# ticks PID: prints clock ticks of that process, threads that have ended among them, and of the threads of its users. Until it ends.
ticks() {
  local users all rest
  while users="$(cat "/proc/$1/task/"*/stat 2>/dev/null | awk '/\(shard/ { sub(/.*\) /, ""); users += $12 + $13 } END { print users + 0 }')" &&
    rest="$(cat "/proc/$1/stat" 2>/dev/null)" && [ "$users" -gt 0 ]; do
    # shellcheck disable=SC2086
    set -- "$1" ${rest##*) }
    all=$((${13} + ${14}))
    echo "$all $users" >"$work/ticks"
    sleep 0.25
  done
}

# run KIND: one run, 'plain' or 'watched'; adds a line to $work/figures.
run() {
  local options=("$work/plan.lua" -H "$url" -u "$clients" -r 1000 -t "${seconds}s" -q --threads 1 -o "json=$work/run.json") port="$other_port"
  if [ "$1" = watched ]; then
    port="$(free_port)"
    options+=(--web "127.0.0.1:$port")
  fi
  taskset -c "$load_core" "$lgoose" "${options[@]}" >"$work/out" 2>&1 &
  local pid=$!
  running+=("$pid")
  wait_for "$port"
  watch "$port"
  sleep 0.5
  ticks "$pid"
  local code=0
  wait "$pid" || code=$?
  [ "$code" = 0 ] || fail "lgoose ended with $code: $(tail -n 5 "$work/out")"
  [ ! -s "$work/readers.log" ] || [ "$1" = plain ] || fail "readers: $(tail -n 3 "$work/readers.log")"
  for one in "${watching[@]}"; do finish "$one"; done
  [ "$(figure failures "$work/run.json")" = 0 ] || fail "requests failed: the figures mean nothing"
  awk -v kind="$1" -v count="$(figure count "$work/run.json")" -v hertz="$(getconf CLK_TCK)" -v seconds="$seconds" '
    { printf "%-8s %9d requests %7.3f us each, outside of the threads of users %5.2f %%, %5.2f ms a second\n",
        kind, count, $1 / hertz / count * 1e6, 100 * ($1 - $2) / $1, ($1 - $2) / hertz / seconds * 1e3 }
  ' "$work/ticks" | tee -a "$work/figures"
}

cpu() {
  local pairs="${1:-7}"
  seconds="${2:-8}"
  for pair in $(seq "$pairs"); do
    if ((pair % 2)); then run plain; run watched; else run watched; run plain; fi
  done
  awk '
    { each[$1] = $4 }
    NR % 2 == 0 { print each["watched"] / each["plain"] }' "$work/figures" | sort -n | awk '
    { ratio[NR] = $1 }
    END { printf "watched / plain: median %.3f, from %.3f to %.3f\n", (ratio[int((NR + 1) / 2)] + ratio[int(NR / 2) + 1]) / 2, ratio[1], ratio[NR] }'
  awk '
    { share[$1] += $13; time[$1] += $15; runs[$1]++ }
    END {
      for (kind in runs)
        printf "outside of the threads of users, %s: %.2f %%, %.2f ms a second\n", kind, share[kind] / runs[kind], time[kind] / runs[kind]
    }
  ' "$work/figures"
}

# start_modest KIND OPTION…: a run of 30 users who wait 10 ms after each request; sets 'pid'.
start_modest() {
  taskset -c "$load_core" "$lgoose" "$work/modest.lua" -H "$url" -u 30 -r 1000 -q --threads 1 -o "json=$work/$1.json" "${@:2}" >"$work/$1.out" 2>&1 &
  pid=$!
  running+=("$pid")
}

# Both at the same time: what grows in either is what a run keeps for its report, its points over time.
flat() {
  local length="${1:-600}" port kind end
  declare -A pids
  port="$(free_port)"
  start_modest plain
  pids[plain]=$pid
  start_modest watched --web "127.0.0.1:$port"
  pids[watched]=$pid
  wait_for "$port"
  watch "$port"
  end=$((SECONDS + length))
  while [ "$SECONDS" -lt "$end" ]; do
    sleep 10
    for kind in plain watched; do memory "${pids[$kind]}" VmRSS >>"$work/$kind.kib"; done
  done
  for one in "${watching[@]}"; do kill -0 "$one" || fail "readers: $(tail -n 3 "$work/readers.log")"; done
  for kind in plain watched; do
    kill -INT "${pids[$kind]}"
    wait "${pids[$kind]}" || fail "lgoose has failed: $(tail -n 5 "$work/$kind.out")"
    printf '\n%s, KiB each 10 s for %s s:\n%s\n' "$kind" "$length" "$(paste -sd ' ' "$work/$kind.kib")"
    awk -v count="$(figure count "$work/$kind.json")" '
      { kib[NR] = $1 }
      END {
        for (one = 1; one <= 6; one++) { first += kib[one] / 6; last += kib[NR - 6 + one] / 6 }
        printf "first minute %d KiB, last minute %d KiB, %d requests\n", first, last, count
      }' "$work/$kind.kib"
  done
}

have_two_cores
find_lgoose
part="${1:-cpu}"
case "$part" in
  cpu | memory) ;;
  *) fail "'$part' is not a part: cpu, memory" ;;
esac
start_site
machine
case "$part" in
  cpu) cpu "${@:2}" ;;
  memory) flat "${@:2}" ;;
esac
