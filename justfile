# What there is to do here; `just` alone lists it.
_list:
    @just --list

# Everything a change must pass
check:
    .ci/run

# A debug build
build:
    cargo build

# The tests, or those whose name contains FILTER
test *FILTER:
    cargo test {{FILTER}}

# All tests, those that take long, too
test-all:
    cargo test --locked
    .ci/long-tests

# What browsers, curl, openapi-core and the clients of language models make of the cases in tests/judges, asked anew; needs
# chromium, curl, and Pythons with openapi-core, and with openai and anthropic, that OPENAPI_CORE_PYTHON and OPENAI_PYTHON name
judges:
    JUDGES=record cargo test --test judges record

# The stubs as an editor sees them; needs emmylua_check, which takes minutes to build
editor:
    tests/editor/check

# The benchmarks: processor time per request and memory per user
bench:
    cargo build --release
    benches/cpu.sh
    benches/memory.sh
    benches/cores.sh
    cargo bench --bench vm

# What a request executes, function by function; needs valgrind
footprint:
    TOP=40 benches/footprint.sh

# lgoose beside other load generators: installs them if they are missing, then measures; for example --only tiny
peers *OPTIONS:
    -benches/peers/install.sh
    benches/peers/run.sh {{OPTIONS}}

# The documentation as a book in target/book/docs; needs mdbook
book:
    mdbook build docs
    for part in plans examples lua schema benches deploy; do cp -r $part target/book/; done
    cp *.md target/book/

# The pictures of the README, from a real run; needs tmux and chromium
pictures:
    cargo build --release
    docs/images/make

# The binary that is shipped, without a path of this machine in it: target/dist/lgoose
dist:
    .ci/dist

# What this machine can make of a release: archive, .deb, checksums, in target/packages
dist-all:
    .ci/package

# The binary that is shipped, guided by a profile of itself; needs the llvm-profdata of rustc's LLVM
pgo:
    benches/pgo.sh
