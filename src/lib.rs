//! lgoose: a load tester whose test plans are Lua scripts.
//!
//! ```text
//!  plan.lua ──load once──► Plan (plain data + bytecode)
//!                            │
//!    Shape.users_at(t) ──────┤                     Command ◄──── signals, views
//!                            ▼                        │
//!                         engine ── start/stop ──► shard 0 … shard N-1     (N threads)
//!                                                     │  one current-thread runtime each
//!                                                     │  user: Lua VM ⇄ Op ⇄ http session
//!                                                     │  Recorder (counters, HDR histograms)
//!                                                     ▼  every tick: Delta
//!                                                  Store ──► Snapshot ──► views
//!                                                     └────► Report ──► text, JSON, exit code
//! ```
//!
//! A *plan* declares *scenarios* (kinds of users) made of *tasks*; an *iteration* is one pass through a
//! scenario's schedule; a *request* is counted as a *sample*; a *shard* is a thread of users. The folders
//! of this crate are the boxes of the picture; which may use which is in `CONTRIBUTING.md`.
//!
//! # As a library
//!
//! A [`Test`] is a plan and how to run it; [`Test::run`] gives its [`Report`]. A [`Supervisor`] runs one after another.
//! Everything else that is public here is
//! what the command is made of, and may change.
//!
//! ```no_run
//! # fn main() -> Result<(), lgoose::Error> {
//! let plan = r#"task { "front page", function(user) user:get "/" end }"#;
//! let report = lgoose::Test::from_source(plan)
//!     .host("http://127.0.0.1:8080")
//!     .users(10)
//!     .run_time(std::time::Duration::from_secs(5))
//!     .run()?;
//! assert_eq!(report.aggregated.failures, 0);
//! # Ok(())
//! # }
//! ```

pub mod app;
pub mod cli;
pub mod config;
pub mod console;
pub mod control;
pub mod demo;
pub mod engine;
pub mod error;
pub mod html;
pub mod http;
pub mod lua;
pub mod machine;
pub mod metrics;
pub mod output;
pub mod phases;
pub mod plan;
pub mod threshold;
pub mod tui;
pub mod units;

pub use app::{Running, Supervisor, Test};
pub use error::Error;
pub use metrics::Report;
