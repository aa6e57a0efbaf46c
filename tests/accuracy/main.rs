//! Whether the figures of a run are true: runs against sites whose own logs tell what happened, and runs of a client that is
//! held up.
//!
//! These tests are about time, so they have the machine to themselves: cargo runs the programs of tests one after
//! another, and here one test waits for the other.

#![allow(
    dead_code,
    reason = "what helps the tests of tests/it is not all used here"
)]

#[cfg(target_os = "linux")]
mod cores;
mod corrected;
#[path = "../it/log_lines.rs"]
mod log_lines;
mod logging_site;
mod over_time;
#[cfg(target_os = "linux")]
mod own_part;
mod pacing;
mod percentiles;
#[path = "../it/program.rs"]
mod program;
#[path = "../it/report.rs"]
mod report;
mod saturation;
#[path = "../it/server.rs"]
mod server;
mod token_times;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The client of runs: their own default.
const CLIENT: Option<&str> = None;

/// Waits for the other tests of this program to end; they wait until what is returned is dropped.
fn alone() -> MutexGuard<'static, ()> {
    static RUNNING: Mutex<()> = Mutex::new(());
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}
