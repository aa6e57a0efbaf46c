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
//! A *plan* declares *scenarios* (kinds of users) made of *tasks*; an *iteration* is one pass of a user through its
//! tasks; a *request* is counted as a *sample*; a *shard* is a thread of users. The boxes of the picture are
//! crates; `CONTRIBUTING.md` says which needs which.
//!
//! # As a library
//!
//! A [`Test`] is a plan with its options. [`Test::run`] runs it and returns its [`Report`]; [`Test::start`] returns a
//! [`Running`] test, which can be watched and steered through its [`Handle`](control::Handle). A [`Supervisor`] runs
//! one test after another.
//!
//! | feature | adds |
//! |---|---|
//! | `cli` | the command |
//! | `tui` | the command's live view |
//! | `gaggle` | runs on many machines, over NATS |
//! | `demo` | the built-in sites, hosts such as `demo:drupal` |
//! | `reqwest` | the client that can use proxies |
//! | `web` | the command's HTTP interface, and `lgoose serve` |
//! | `otlp` | the command's export to OpenTelemetry |
//!
//! All are enabled by default; a program that embeds lgoose can leave out those that it does not need:
//!
//! ```toml
//! lgoose = { version = "0.2", default-features = false }
//! ```
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

#![cfg_attr(
    not(all(feature = "cli", feature = "reqwest")),
    allow(
        dead_code,
        unused_imports,
        unused_variables,
        reason = "what is dead is found with all features"
    )
)]

mod app;
#[cfg(feature = "cli")]
mod cli;

#[cfg(feature = "demo")]
pub use lgoose_demo as demo;
/// A [`Handle`](control::Handle) steers a run from any thread:
///
/// ```
/// use lgoose::control::Command;
///
/// # fn main() -> Result<(), lgoose::Error> {
/// let plan = "task { wait = 0.01, function(user) user:get '/api/products/1' end }";
/// let running = lgoose::Test::from_source(plan).host("demo:api").users(1).start()?;
/// let handle = running.handle().clone();
/// handle.send(Command::SetUsers(3)).wait().expect("it is a run of users");
/// let refused = handle.send(Command::SetRate(5.0)).wait().expect_err("it has no rate");
/// assert!(!refused.to_string().is_empty());
/// handle.send(Command::Stop).wait().expect("it is under way");
/// running.wait()?;
/// # Ok(())
/// # }
/// ```
///
/// It also gives the requests with one tag:
///
/// ```
/// # fn main() -> Result<(), lgoose::Error> {
/// let plan = "plan { tags = { region = 'eu' } }
///   task { wait = 0.01, function(user) user:get '/api/products/1' end }";
/// let running = lgoose::Test::from_source(plan).host("demo:api").users(1).start()?;
/// let handle = running.handle().clone();
/// let runtime = tokio::runtime::Builder::new_current_thread().build().expect("no thread is needed");
/// runtime.block_on(async {
///     let mut snapshots = handle.snapshots();
///     let has_tag = |now: &Option<_>| now.as_ref().is_some_and(has_region);
///     snapshots.wait_for(has_tag).await.expect("the run goes on");
///     let eu = handle.tag("region=eu").await.expect("it has requests");
///     assert!(eu.requests.total.count > 0);
/// });
/// # fn has_region(now: &std::sync::Arc<lgoose::report::Snapshot>) -> bool {
/// #     now.tags.iter().any(|tag| &**tag == "region=eu")
/// # }
/// # handle.send(lgoose::control::Command::Stop).wait().expect("it is under way");
/// # running.wait()?;
/// # Ok(())
/// # }
/// ```
pub use lgoose_metrics::control;

pub mod report {
    //! The results of a run: the [`Report`] with its parts, [`Snapshot`]s, and the formats of reports.

    pub use lgoose_lua::Written;
    pub use lgoose_metrics::{
        Aim, ArrivalsRow, Capacity, CapacityOutcome, CapacityStep, Cause, Check, CoFigures,
        CoMitigation, CoRow, CpuLimitFile, CpuLimitRow, Ending, ErrorRow, Event, EventKind,
        Exemplar, Figures, GeneratorRow, HopRow, LabelRow, Latency, LiveArrivals, LiveLoad,
        LiveRequests, LiveRow, LiveTag, LiveTask, LiveWorker, LoadKind, LogRow, MachineRow,
        Messages, Metric, MetricKind, PartRow, PhasesMs, PointGenerator, PointLatency, Progress,
        ReasonKind, Report, RequestRow, RunPhase, RunSettings, ScenarioArrivals, ScenarioRow,
        SeriesPoint, SlowRequest, Snapshot, StepResult, SubjectKind, SubjectRow, TagRow, TaskRow,
        ThresholdRow, TraceRow, Usl, Verdict, VerdictResult, WorkerRow, WorkerState, join,
    };
    pub use lgoose_plan::config::Format;
    pub use lgoose_report::json::snapshot as render_snapshot;
    pub use lgoose_report::render;
}

#[cfg(feature = "cli")]
#[doc(hidden)]
pub use app::main;
pub use app::{Outcome, Running, Supervisor, Test};
pub use lgoose_base::error::{Diagnostic, Error, Trouble};
pub use lgoose_plan::config::Value;
pub use report::Report;
