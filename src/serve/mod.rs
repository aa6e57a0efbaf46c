//! Runs for whoever asks over HTTP, one after another: the plans that may be run, the queue, the run that goes on, and the
//! folder that keeps all of them. Driven by `app` (the runner and the signals) and by `web` (what is asked for); knows
//! neither HTTP nor how a run is put together.
//!
//! # Each run is a process of its own
//!
//! A run is `lgoose hosted`, a child of this process that serves its own interface on a port of 127.0.0.1 with a token that
//! only this process knows; `web` hands requests on to it. A run in this process would be simpler by that one hop, but
//! lgoose ends a process for a plan: when it takes all memory or computes without end (exit code 3), when the kernel takes
//! memory back, and within a second of an abort. None of that may take the queue and the server along. A child is also
//! stopped by the signals that stop any run, writes its report as any run does, and gives back all that it held. Plans are
//! loaded for a check in such a process, too.
//!
//! The child's standard input is a socket to this process ([`Order`]): by it come its arguments, which no list of processes
//! shows, and the token. When it ends, this process has gone, and the run stops with its report: no load goes on that
//! nobody can stop.
//!
//! # The folder
//!
//! Nothing but files ([`Data`]): a folder for each run, made when it is asked for, with `run.json`, the plan's text and
//! `report.json`. The queue lives in this process alone. A run whose folder has neither a report nor an end was lost with
//! it, and is told so: no load begins by itself because a machine was started again.

mod data;
mod facts;
mod options;
mod order;
mod plans;
mod process;
mod record;
mod runner;
mod runs;

pub(crate) use data::Data;
pub(crate) use order::{Order, answer, host_gone};
pub(crate) use plans::Plans;
pub(crate) use record::RunRow;
pub(crate) use runner::{Ended, run_all};
pub(crate) use runs::{Current, Refusal, Runs, Wanted};
