//! Record of a run in addition to its report, and the row that lists show for both.

use super::facts::ReportFacts;
use jiff::{Timestamp, Unit};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Contents of `run.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RunRecord {
    /// Path of the plan below the folder of plans.
    pub(crate) plan: String,
    /// The requested options, without those that may be secret.
    pub(crate) options: Map<String, Value>,
    /// When the run was requested, RFC 3339.
    pub(crate) queued: String,
    /// When the process of the run was started, RFC 3339.
    #[serde(default)]
    pub(crate) begun: Option<String>,
    /// How the run ended.
    #[serde(default)]
    pub(crate) end: Option<RunEnd>,
}

/// How a run ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RunEnd {
    /// When the run ended, RFC 3339.
    pub(crate) at: String,
    /// The exit code; `None` if a signal ended the process, or it was never started.
    pub(crate) exit_code: Option<i32>,
    /// What went wrong, as printed.
    pub(crate) error: Option<String>,
    /// The end of the run's printed output, if there is no report.
    pub(crate) output: Option<String>,
}

/// State of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum RunState {
    /// The run waits in the queue.
    Queued,
    /// The run is in progress.
    Running,
    /// The run is over and has a report.
    Kept,
    /// The run is over and has no report that can be shown.
    Failed,
}

/// A run in a list.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RunRow {
    /// Name of the run in URLs, which is the name of its folder.
    pub(crate) id: String,
    /// `queued`, `running`, `kept` (there is a report) or `failed` (there is none, or it cannot be read).
    pub(crate) state: RunState,
    /// Path of the plan below the folder of plans; for a report that was copied there, the path as given to its run.
    pub(crate) plan: String,
    /// The requested options, without those that may be secret; `null` if the run was not started here.
    pub(crate) options: Option<Map<String, Value>>,
    /// When the run was requested, RFC 3339; `null` if it was not started here.
    pub(crate) queued: Option<String>,
    /// When the process of the run, or else the run itself, was started, RFC 3339; `null` before that.
    pub(crate) started: Option<String>,
    /// Exit code of the process; `null` before its end, if a signal ended it, or if the run was not started here.
    pub(crate) exit_code: Option<i32>,
    /// What went wrong; `null` if nothing did.
    pub(crate) error: Option<String>,
    /// The end of the run's printed output, if there is no report.
    pub(crate) output: Option<String>,
    /// Main figures of the report; `null` without a report.
    pub(crate) report: Option<ReportFacts>,
    /// When the run was started or requested, by which lists are sorted.
    #[serde(skip)]
    pub(super) time: Timestamp,
}

impl RunRecord {
    pub(super) fn new(plan: &str, options: Map<String, Value>) -> RunRecord {
        RunRecord {
            plan: plan.to_owned(),
            options,
            queued: now(),
            begun: None,
            end: None,
        }
    }
}

impl RunRow {
    /// Makes the row for a folder with a record, a report or both. An `Err` says why the report cannot be shown.
    pub(super) fn new(
        id: &str,
        record: Option<RunRecord>,
        report: Option<Result<ReportFacts, String>>,
    ) -> RunRow {
        let (report, broken) = match report {
            Some(Ok(facts)) => (Some(facts), None),
            Some(Err(message)) => (None, Some(message)),
            None => (None, None),
        };
        let record = record.as_ref();
        let end = record.and_then(|record| record.end.clone());
        let lost = || match record.map(|record| &record.begun) {
            Some(None) => "lgoose ended before this run began: start it again".to_owned(),
            _ => "lgoose ended during this run, and it has left no report".to_owned(),
        };
        let (exit_code, error, output) = match end {
            Some(end) => (end.exit_code, end.error, end.output),
            None => (None, report.is_none().then(lost), None),
        };
        let queued = record.map(|record| record.queued.clone());
        let recorded_start = record.and_then(|record| record.begun.clone());
        let began = report.as_ref().map(|facts| facts.started.clone());
        let started = recorded_start.or(began);
        let time = [&started, &queued]
            .into_iter()
            .flatten()
            .find_map(|time| time.parse().ok());
        let plan = record.map(|record| record.plan.clone());
        let planned = report.as_ref().map(|facts| facts.plan.clone());
        RunRow {
            id: id.to_owned(),
            state: match report {
                Some(_) => RunState::Kept,
                None => RunState::Failed,
            },
            plan: plan.or(planned).unwrap_or_default(),
            options: record.map(|record| record.options.clone()),
            queued,
            started,
            exit_code,
            error: broken.or(error),
            output,
            report,
            time: time.unwrap_or_default(),
        }
    }

    /// Shows the run as one whose process is there although its server has ended: it stops, and writes its report.
    pub(super) fn go_on(&mut self) {
        (self.state, self.error) = (RunState::Running, None);
    }

    /// Makes the row for a run that is not over.
    pub(super) fn open(id: &str, record: &RunRecord, state: RunState) -> RunRow {
        RunRow {
            state,
            error: None,
            ..RunRow::new(id, Some(record.clone()), None)
        }
    }
}

/// Returns the current time, RFC 3339, to a millisecond.
pub(super) fn now() -> String {
    let now = Timestamp::now();
    now.round(Unit::Millisecond).unwrap_or(now).to_string()
}
