#!/usr/bin/env bash
# Builds lgoose guided by its own profile: an instrumented build runs plans/drupal.lua and the smallest plan, then
# the 'dist' profile is built with what was learnt. Prints the path of the binary. Needs the llvm-profdata of the
# LLVM that rustc has ('rustc -vV'): 'rustup component add llvm-tools', or Debian's llvm-NN of the same number.
#   DURATION=20 LLVM_PROFDATA=path benches/pgo.sh
set -euo pipefail

# shellcheck source=benches/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

duration="${DURATION:-20}"
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

# build FLAG: the shipped profile with FLAG, into a folder of its own.
build() {
  (cd "$root" && RUSTFLAGS="$1" cargo build --locked --profile dist --target-dir "$target/$2" >&2)
}

# learn PLAN ARGUMENTS…: a run of the instrumented binary.
learn() {
  LLVM_PROFILE_FILE="$work/raw/%p-%m.profraw" "$target/learning/dist/lgoose" "$@" -r 1000 -t "${duration}s" \
    -q -o "json=$work/run.json" >&2 || fail "the instrumented run of '$1' failed"
}

find_profdata
# Loops stay as they are: LLVM 22 crashes on vectorizing some that are instrumented.
build "-Cprofile-generate=$work/raw -Cno-vectorize-loops" learning
LGOOSE="$target/learning/dist/lgoose"
find_lgoose
# The site is the same program; what it learns is not wanted.
LLVM_PROFILE_FILE=/dev/null start_demo
host="http://127.0.0.1:$demo_port"
learn "$root/plans/drupal.lua" -H "$host" -u 12
learn "$here/tiny.lua" -H "$host" -u 12
"$profdata" merge -o "$target/lgoose.profdata" "$work"/raw/*.profraw
build "-Cprofile-use=$target/lgoose.profdata" guided
echo "$target/guided/dist/lgoose"
