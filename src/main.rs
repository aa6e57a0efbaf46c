//! The `lgoose` command: parses the flags, runs, prints the error, returns its exit code.

mod allocator;

use allocator::Allocator;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

fn main() -> ExitCode {
    Allocator::return_memory_early();
    lgoose::main()
}
