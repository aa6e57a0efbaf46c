//! The `lgoose` command: parses the flags, runs, prints the error, returns its exit code.

use mimalloc::MiMalloc;
use std::process::ExitCode;

/// Lua and pages are made of small pieces that live for one request, which this allocator hands out faster than glibc's
/// or musl's.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    lgoose::main()
}
