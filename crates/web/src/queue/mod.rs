//! Runs that are requested over HTTP, one after another: the plans that can be run, the queue, the current run, and the
//! folder that keeps all runs. Driven by `app` (the runner and the signals) and by `web` (the requests); knows neither
//! HTTP nor how a run is assembled.
//!
//! # Each run is a process of its own
//!
//! A run is `lgoose hosted`, a child of this process that serves its own interface on a port of 127.0.0.1 with a token
//! that only this process knows; `web` forwards requests to it. A run within this process would save that hop, but a
//! plan can end the process of its run: when it uses up all memory or computes without end (exit code 3), when the
//! kernel reclaims memory, and within a second of an abort. None of that may take down the queue and the server. A
//! child is also stopped by the same signals as any run, writes its report as any run does, and frees everything when
//! it ends. Plans are also checked in such a process.
//!
//! The child's standard input is a socket to this process (`Order`), through which it gets the token and its
//! arguments, which therefore appear in no process list. When the socket closes, this process is gone, and the run
//! stops and reports: no load goes on that nobody can stop.
//!
//! # The folder
//!
//! Only files (`Data`): a folder for each run, created when the run is requested, with `run.json`, the text of the
//! plan and `report.json`. The queue exists only in this process. A run whose folder has neither a report nor an end
//! was lost together with the process, and is shown as lost: no load starts by itself because a machine was restarted.

mod data;
mod facts;
mod options;
mod order;
mod plans;
mod process;
mod record;
mod runner;
mod runs;

pub use data::RunFolder;
pub use order::{ProcessOrder, host_gone, report_error, send_address};
pub use plans::Plans;
pub(crate) use record::RunRow;
pub use runner::{RunnerEnd, run_all};
pub use runs::Runs;
pub(crate) use runs::{CurrentRun, RunRefusal, RunRequest};
