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

# The benchmarks
bench:
    cargo bench

# The binary that is shipped: target/dist/lgoose
dist:
    cargo build --locked --profile dist
