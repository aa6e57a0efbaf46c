#!/usr/bin/env bash
# Builds the lgoose that is shipped, guided by its own profile: an instrumented build runs plans over HTTP/1.1 with pages,
# forms, JSON and streams, and over TLS and HTTP/2 where nginx and openssl are installed; then it is built again with the
# profile. Prints the path of the binary. Needs the llvm-profdata of the LLVM that rustc has ('rustc -vV'): 'rustup
# component add llvm-tools', or Debian's llvm-NN of the same number.
#   DURATION=10 LLVM_PROFDATA=path benches/pgo.sh
set -euo pipefail

# shellcheck source=benches/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

duration="${DURATION:-10}"
root="$(cd "$here/.." && pwd)"
target="${CARGO_TARGET_DIR:-$root/target}/pgo"
llvm="$(rustc -vV | sed -n 's/^LLVM version: \([0-9]*\).*/\1/p')"

# find_profdata: sets 'profdata' to the tool that fits rustc's LLVM.
find_profdata() {
  local candidate
  for candidate in "${LLVM_PROFDATA:-}" "$(rustc --print sysroot)"/lib/rustlib/*/bin/llvm-profdata \
    "/usr/lib/llvm-$llvm/bin/llvm-profdata"; do
    if [ -x "$candidate" ]; then
      profdata="$candidate"
      return
    fi
  done
  fail "llvm-profdata $llvm is needed: 'rustup component add llvm-tools', or Debian's llvm-$llvm"
}

# build NAME FLAG: as .ci/dist does, with FLAG, into a folder of its own. Prints the path of the binary.
build() {
  CARGO_TARGET_DIR="$target/$1" RUSTFLAGS="$2" "$root/.ci/dist" | tail -n 1
}

# learn PLAN HOST OPTION...: a run of the instrumented binary, which is too slow for the thresholds of some plans.
learn() {
  rm -f "$work/run.json"
  LLVM_PROFILE_FILE="$work/raw/%p-%m.profraw" "$lgoose" "$1" -H "$2" "${@:3}" -u 12 -r 1000 -t "${duration}s" -q \
    -o "json=$work/run.json" >"$work/out" 2>&1 || [ -s "$work/run.json" ] || fail "'$1' failed: $(tail -n 3 "$work/out")"
  echo "$(basename "$1")${3:+ }${*:3}: $(figure count "$work/run.json") requests" >&2
}

# learn_tls: the smallest plan over TLS, by HTTP/1.1 and HTTP/2.
learn_tls() {
  local port
  if ! command -v nginx >/dev/null || ! command -v openssl >/dev/null; then
    echo "without nginx and openssl nothing is learned of TLS and HTTP/2" >&2
    return
  fi
  port="$(free_port)"
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=127.0.0.1 \
    -keyout "$work/key.pem" -out "$work/certificate.pem" 2>/dev/null
  start_nginx "$port" "server { listen 127.0.0.1:$port ssl http2; ssl_certificate $work/certificate.pem;
    ssl_certificate_key $work/key.pem; location / { default_type text/plain; return 200 ok; } }"
  learn "$here/tiny.lua" "https://127.0.0.1:$port" --insecure --http 1.1
  learn "$here/tiny.lua" "https://127.0.0.1:$port" --insecure --http 2
}

find_profdata
# What build scripts and the sites, which are the same program, learn is not wanted.
export LLVM_PROFILE_FILE=/dev/null
# Loops stay as they are: LLVM 22 crashes on vectorizing some that are instrumented.
LGOOSE="$(build learning "-Cprofile-generate -Cno-vectorize-loops")"
find_lgoose
start_demo drupal
learn "$root/plans/drupal.lua" "http://127.0.0.1:$demo_port"
learn "$here/tiny.lua" "http://127.0.0.1:$demo_port"
start_demo api
learn "$root/plans/rest-api.lua" "http://127.0.0.1:$demo_port"
start_demo llm
learn "$root/plans/llm.lua" "http://127.0.0.1:$demo_port"
learn_tls
"$profdata" merge -o "$target/lgoose.profdata" "$work"/raw/*.profraw
LGOOSE_GUIDED=yes build guided "-Cprofile-use=$target/lgoose.profdata"
