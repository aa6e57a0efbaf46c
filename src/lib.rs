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
//! tasks; a *request* is counted as a *sample*; a *shard* is a thread of users. The folders of this crate are the boxes
//! of the picture; `CONTRIBUTING.md` says which may use which.
//!
//! # As a library
//!
//! A [`Test`] is a plan with its options. [`Test::run`] runs it and returns its [`Report`]; [`Test::start`] returns a
//! [`Running`] test, which can be watched and steered through its [`Handle`](control::Handle). A [`Supervisor`] runs
//! one test after another.
//!
//! | feature | what it adds |
//! |---|---|
//! | `cli` | the command |
//! | `tui` | the command's live view |
//! | `demo` | the built-in sites, hosts such as `demo:drupal` |
//! | `reqwest` | the client that can use proxies |
//! | `web` | the command's HTTP interface, and `lgoose serve` |
//! | `otlp` | the command's export to OpenTelemetry |
//!
//! All are enabled by default; a program that embeds lgoose can leave out what it does not need:
//!
//! ```toml
//! lgoose = { version = "0.1", default-features = false }
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

#![warn(unreachable_pub)]
#![cfg_attr(
    not(all(
        feature = "cli",
        feature = "demo",
        feature = "otlp",
        feature = "reqwest",
        feature = "tui",
        feature = "web"
    )),
    allow(
        dead_code,
        unused_imports,
        unused_variables,
        reason = "what is dead is found with all features"
    )
)]

mod allotment;
mod app;
#[cfg(feature = "cli")]
mod capacity;
#[cfg(feature = "cli")]
mod cli;
#[cfg(feature = "cli")]
mod compare;
mod config;
#[cfg(feature = "cli")]
mod console;
pub mod control;
#[cfg(feature = "demo")]
pub mod demo;
mod engine;
mod error;
mod files;
#[cfg(feature = "gaggle")]
mod gaggle;
mod http;
#[cfg(feature = "cli")]
mod import;
mod lua;
mod machine;
mod metrics;
mod other_tools;
#[cfg(feature = "otlp")]
mod otlp;
mod output;
mod packed;
mod pem;
mod phases;
mod plan;
mod protocols;
mod secrets;
#[cfg(feature = "web")]
mod serve;
mod shared_state;
mod tags;
#[cfg(feature = "cli")]
mod targets;
#[cfg(any(feature = "otlp", feature = "web"))]
mod telemetry;
mod threshold;
mod trace;
#[cfg(feature = "tui")]
mod tui;
mod units;
#[cfg(feature = "web")]
mod web;
mod wildcard;
mod yaml;

pub mod report {
    //! The results of a run: the [`Report`] with its parts, [`Snapshot`]s, and the formats of reports.

    pub use crate::config::Format;
    pub use crate::lua::Written;
    pub use crate::metrics::{
        Aim, ArrivalsRow, Capacity, CapacityOutcome, CapacityStep, Cause, Check, CoFigures,
        CoMitigation, CoRow, CpuLimitFile, CpuLimitRow, Ending, ErrorRow, Event, EventKind,
        Exemplar, Figures, GeneratorRow, HopRow, LabelRow, Latency, LiveArrivals, LiveLoad,
        LiveRequests, LiveRow, LiveTag, LiveTask, LiveWorker, LoadKind, LogRow, MachineRow,
        Messages, Metric, MetricKind, PartRow, PhasesMs, PointGenerator, PointLatency, Progress,
        Report, RequestRow, RunPhase, RunSettings, ScenarioArrivals, ScenarioRow, SeriesPoint,
        SlowRequest, Snapshot, StepResult, SubjectKind, SubjectRow, TagRow, TaskRow, ThresholdRow,
        TraceRow, Usl, Verdict, VerdictResult, WorkerRow, WorkerState, join,
    };
    pub use crate::output::json::snapshot as render_snapshot;
    pub use crate::output::render;
}

#[cfg(feature = "cli")]
#[doc(hidden)]
pub use app::main;
pub use app::{Running, Supervisor, Test};
pub use config::Value;
pub use engine::Outcome;
pub use error::{Diagnostic, Error, Trouble};
pub use report::Report;

#[doc(hidden)]
pub mod internals {
    //! What the fuzz targets and benchmarks of this repository use. Not part of lgoose's public interface.

    pub use crate::metrics::Recorder;

    #[cfg(feature = "gaggle")]
    pub mod gaggle {
        //! Workers that only deliver figures.
        pub use crate::gaggle::simulate;
    }
    pub mod html {
        //! Pages.
        pub use lgoose_html::{
            Document, Selector, assets, decode_entities, find_form, links, reason, title,
        };
    }
    pub mod http {
        //! The client.
        pub use crate::http::{
            Client, ClientConfig, Exchange, Phases, Request, Response, Session, Target, Transfer,
            TransferMeter, fuzzing,
        };
    }
    pub mod lua {
        //! The Lua VMs of users.
        pub use crate::lua::{
            CompiledRegex, ExchangeEnd, Finished, Heartbeat, Op, Program, ReceiveTime, Step, Vm,
            VmSetup, decode_any_message, load, read_in_pieces,
        };
    }
}
