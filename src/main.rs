//! The `lgoose` command: parses the flags, runs, prints the error, returns its exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    lgoose::main()
}
