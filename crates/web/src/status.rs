//! The state of a run in a few figures, and everything that the live view shows.

use super::responses::{self, ErrorResponse, WebResult};
use super::site::{RunResult, WebState};
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use lgoose_metrics::{Ending, RunPhase, Snapshot, Verdict};
use lgoose_report::json::{self, JsonAim, JsonSnapshot, JsonTotal};
use serde::Serialize;
use std::sync::Arc;

/// The state of a run.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Status<'a> {
    /// `starting`, `running`, `paused`, `stopping` or `over`; with `lgoose serve` also `idle`, when no run is in
    /// progress.
    phase: &'static str,
    /// Path of the plan, as given.
    plan: &'a str,
    /// Base URL of the target.
    host: &'a str,
    /// Version of lgoose.
    version: &'static str,
    /// Whether steering the run is disabled.
    read_only: bool,
    /// The load that the run aims at.
    wanted: JsonAim,
    /// Seconds since the start of the run.
    run_s: f64,
    /// Seconds that the figures cover, without pauses.
    elapsed_s: f64,
    /// Users now.
    users_now: u64,
    /// All requests so far.
    aggregated: JsonTotal,
    /// Why and when the run ended; `null` before its end.
    ending: Option<Ending>,
    /// The verdict; `null` before the end of the run.
    verdict: Option<Verdict>,
}

impl Status<'_> {
    /// Returns the state of a run that is stopping.
    pub(super) fn stopping(mut self) -> Self {
        if self.phase != "over" {
            self.phase = RunPhase::Stopping.name();
        }
        self.wanted.users = 0;
        self
    }
}

/// Returns the current state.
pub(super) fn of(site: &WebState) -> Status<'_> {
    let snapshot = site.snapshot();
    let starting = snapshot.is_none().then_some("starting");
    let phase = site.is_over().then_some("over").or(starting);
    let snapshot = snapshot.unwrap_or_default();
    let live = JsonSnapshot::of(&snapshot);
    let report = match &*site.end.borrow() {
        RunResult::Report(report) => Some(report.clone()),
        _ => None,
    };
    Status {
        phase: phase.unwrap_or(live.phase),
        plan: &site.facts.plan,
        host: &site.facts.host,
        version: env!("CARGO_PKG_VERSION"),
        read_only: site.access.read_only,
        run_s: live.run_s,
        elapsed_s: live.elapsed_s,
        users_now: live.users_now,
        wanted: live.wanted,
        aggregated: live.aggregated,
        ending: report.as_ref().and_then(|report| report.ending.clone()),
        verdict: report.and_then(|report| report.verdict.clone()),
    }
}

/// Returns the state of a server that has no run, or whose run does not respond.
pub(super) fn without_figures(phase: &'static str, plan: &str, read_only: bool) -> Response {
    let snapshot = Snapshot::default();
    let live = JsonSnapshot::of(&snapshot);
    let status = Status {
        phase,
        plan,
        host: "",
        version: env!("CARGO_PKG_VERSION"),
        read_only,
        wanted: live.wanted,
        run_s: 0.0,
        elapsed_s: 0.0,
        users_now: 0,
        aggregated: live.aggregated,
        ending: None,
        verdict: None,
    };
    responses::json(StatusCode::OK, &status)
}

/// `GET /api/v1/status`.
pub(super) async fn status(State(site): State<Arc<WebState>>) -> Response {
    responses::json(StatusCode::OK, &of(&site))
}

/// `GET /api/v1/snapshot`.
pub(super) async fn snapshot(State(site): State<Arc<WebState>>) -> WebResult {
    let text = json::snapshot(&site.snapshot().unwrap_or_default());
    let text =
        text.map_err(|error| ErrorResponse::new(StatusCode::INTERNAL_SERVER_ERROR, error.text()))?;
    Ok(([(CONTENT_TYPE, "application/json")], text).into_response())
}
