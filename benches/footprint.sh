#!/usr/bin/env bash
# What one request, call, message or event executes: instructions, the different cache lines of code that they lie on, and misses of the
# first-level caches, simulated by callgrind. The figures do not depend on the load of the machine. Needs valgrind,
# a C compiler, binutils and gawk, and for 'tiny' nginx. About a minute each. See README.md of this folder.
#   CLIENTS=12 ROUNDS=600 TOP=0 LGOOSE=path benches/footprint.sh [tiny] [drupal] [grpc] [websocket] [events]
set -euo pipefail

# shellcheck source=benches/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

clients="${CLIENTS:-12}"
rounds="${ROUNDS:-}"
top="${TOP:-0}"

for tool in valgrind cc nm readelf gawk; do
  command -v "$tool" >/dev/null || fail "'$tool' is needed"
done

# build: sets LGOOSE to a release build that has kept its symbols.
build() {
  (cd "$here/.." && CARGO_PROFILE_RELEASE_STRIP=false cargo build --release --locked --target-dir target/footprint)
  LGOOSE="$here/../target/footprint/release/lgoose"
}

# prepare: a copy of lgoose that runs under valgrind, which shows no vDSO: rustix's reader of it returns 'None' at once.
prepare() {
  local address offset
  address="$(nm "$lgoose" | gawk '/check_elf_base/ && !found++ { print $1 }')"
  [ -n "$address" ] || fail "'$lgoose' has no symbols: build it with CARGO_PROFILE_RELEASE_STRIP=false"
  offset="$(readelf -SW "$lgoose" | gawk --non-decimal-data -v address="0x$address" '
    $0 ~ / \.text / { sub(/.*\.text/, ""); print strtonum(address) - strtonum("0x" $2) + strtonum("0x" $3) }')"
  cp "$lgoose" "$work/lgoose"
  # xor eax, eax; ret
  printf '\x31\xc0\xc3' | dd of="$work/lgoose" bs=1 seek="$offset" conv=notrunc status=none
}

# slow_clock: under valgrind all is fifty times slower, and so is the clock, or ticks would be most of the work.
slow_clock() {
  cat >"$work/slow.c" <<'C'
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t id, struct timespec *at) {
  int failed = syscall(SYS_clock_gettime, id, at);
  if (!failed && id == CLOCK_MONOTONIC) {
    unsigned long long ns = (at->tv_sec * 1000000000ULL + at->tv_nsec) / 50;
    at->tv_sec = ns / 1000000000ULL;
    at->tv_nsec = ns % 1000000000ULL;
  }
  return failed;
}
C
  cc -O2 -shared -fPIC -o "$work/slow.so" "$work/slow.c"
}

# choose_scope: sets 'scope' to the function in which is counted: the loop of a shard over its tasks, or a task where
# that loop is part of a larger function, as with LTO, some 200 instructions less.
choose_scope() {
  scope='*LocalSet*tick*'
  nm -C "$lgoose" | grep -q 'LocalSet::tick' || scope='*tokio::runtime::task::raw::poll*'
}

# profile PLAN PORT ITERATIONS OUT: runs that many iterations of each user under callgrind, which counts in the scope.
# Sets 'requests' to the number of requests on the wire.
profile() {
  LD_PRELOAD="$work/slow.so" timeout 600 valgrind --tool=callgrind -q --callgrind-out-file="$4" --dump-instr=yes \
    --compress-pos=no --compress-strings=no --cache-sim=yes --I1=32768,8,64 --D1=32768,8,64 --LL=1048576,8,64 \
    --toggle-collect="$scope" "$work/lgoose" "$1" -H "http://127.0.0.1:$2" -u "$clients" -r 1000 \
    --iterations "$3" --threads 1 --seed 1 -q -o "json=$work/run.json" >"$work/out" 2>&1 ||
    fail "$(tail -n 3 "$work/out")"
  [ "$(figure failures "$work/run.json")" = 0 ] || fail "requests failed: the figures mean nothing"
  requests=$(($(figure count "$work/run.json") + $(figure redirects "$work/run.json")))
}

# footprint NAME PLAN PORT ITERATIONS [UNIT NUMBER]: the difference between a run and one of a quarter of it, for each
# request, or for each of so many units that an iteration has.
footprint() {
  local few
  profile "$2" "$3" $(($4 / 4)) "$work/few"
  few="$requests"
  profile "$2" "$3" "$4" "$work/many"
  if [ $# -gt 4 ]; then
    few=$(($4 / 4 * clients * $6))
    requests=$(($4 * clients * $6))
  fi
  gawk -v name="$1" -v unit="${5:-request}" -v few="$few" -v many="$requests" -v top="$top" -f "$here/footprint.awk" \
    "$work/few" "$work/many"
}

[ -n "${LGOOSE:-}" ] || build
find_lgoose
prepare
choose_scope
slow_clock
kinds=("$@")
((${#kinds[@]})) || kinds=(tiny drupal)
for kind in "${kinds[@]}"; do
  case "$kind" in
    tiny)
      port="$(free_port)"
      start_nginx "$port" "$(two_bytes "$port")"
      footprint tiny "$here/tiny.lua" "$port" "${rounds:-600}"
      ;;
    drupal)
      start_demo
      footprint drupal "$here/../plans/drupal.lua" "$demo_port" "${rounds:-40}"
      ;;
    grpc | websocket)
      start_demo api
      case "$kind" in grpc) unit=call ;; *) unit="message and its answer" ;; esac
      footprint "$kind" "$here/$kind.lua" "$demo_port" "${rounds:-300}" "$unit" 1
      ;;
    events)
      start_demo api
      footprint events "$here/events.lua" "$demo_port" "${rounds:-20}" event 100
      ;;
    *) fail "'$kind' is none of: tiny, drupal, grpc, websocket, events" ;;
  esac
done
