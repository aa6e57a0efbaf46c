//! What is kept of a run beside its report, and the row in which lists show both.

use super::facts::Facts;
use jiff::{Timestamp, Unit};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What `run.json` holds.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Record {
    /// Path of the plan below the folder of plans.
    pub(crate) plan: String,
    /// The options that were asked for, without what may be secret.
    pub(crate) options: Map<String, Value>,
    /// When it was asked for, RFC 3339.
    pub(crate) queued: String,
    /// When its process was started.
    #[serde(default)]
    pub(crate) begun: Option<String>,
    /// How it ended.
    #[serde(default)]
    pub(crate) end: Option<RunEnd>,
}

/// How a run ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RunEnd {
    /// When, RFC 3339.
    pub(crate) at: String,
    /// The exit code; `None` if a signal ended it, or it was never started.
    pub(crate) exit_code: Option<i32>,
    /// What went wrong, as printed.
    pub(crate) error: Option<String>,
    /// The end of what the run has printed, if it came to no report.
    pub(crate) output: Option<String>,
}

/// Where a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum RunState {
    /// It waits for those before it.
    Queued,
    /// It goes on.
    Running,
    /// It is over, and has a report.
    Kept,
    /// It is over, and has no report that can be shown.
    Failed,
}

/// A run, as lists show it.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RunRow {
    /// Its name in addresses, which is that of its folder.
    pub(crate) id: String,
    /// `queued`, `running`, `kept` (it has a report) or `failed` (it has none, or none that can be read).
    pub(crate) state: RunState,
    /// The plan; of a report that was put there, its path as it was given.
    pub(crate) plan: String,
    /// The options that were asked for, without what may be secret; `null` if it was not started here.
    pub(crate) options: Option<Map<String, Value>>,
    /// When it was asked for, RFC 3339; `null` if it was not started here.
    pub(crate) queued: Option<String>,
    /// When its process, or else the run, was started, RFC 3339; `null` before.
    pub(crate) started: Option<String>,
    /// The exit code of its process; `null` before its end, if a signal ended it, or if it was not started here.
    pub(crate) exit_code: Option<i32>,
    /// What went wrong; `null` if nothing did.
    pub(crate) error: Option<String>,
    /// The end of what it has printed, if it came to no report.
    pub(crate) output: Option<String>,
    /// Main figures of its report; `null` without one.
    pub(crate) report: Option<Facts>,
    /// When it was started or asked for: what lists are sorted by.
    #[serde(skip)]
    pub(super) time: Timestamp,
}

impl Record {
    pub(super) fn new(plan: &str, options: Map<String, Value>) -> Record {
        Record {
            plan: plan.to_owned(),
            options,
            queued: now(),
            begun: None,
            end: None,
        }
    }
}

impl RunRow {
    /// Makes the row of a folder in which one of both is found, or both. An `Err` says why a report cannot be shown.
    pub(super) fn new(
        id: &str,
        record: Option<Record>,
        report: Option<Result<Facts, String>>,
    ) -> RunRow {
        let (report, broken) = match report {
            Some(Ok(facts)) => (Some(facts), None),
            Some(Err(told)) => (None, Some(told)),
            None => (None, None),
        };
        let record = record.as_ref();
        let end = record.and_then(|record| record.end.clone());
        let lost = || match record.map(|record| &record.begun) {
            Some(None) => "lgoose ended before this run began: start it again".to_owned(),
            _ => "lgoose ended during this run, and it has left no report".to_owned(),
        };
        let (exit_code, told, output) = match end {
            Some(end) => (end.exit_code, end.error, end.output),
            None => (None, report.is_none().then(lost), None),
        };
        let queued = record.map(|record| record.queued.clone());
        let begun = record.and_then(|record| record.begun.clone());
        let began = report.as_ref().map(|facts| facts.started.clone());
        let started = begun.or(began);
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
            error: broken.or(told),
            output,
            report,
            time: time.unwrap_or_default(),
        }
    }

    /// Makes the row of a run that is not over.
    pub(super) fn open(id: &str, record: &Record, state: RunState) -> RunRow {
        RunRow {
            state,
            error: None,
            ..RunRow::new(id, Some(record.clone()), None)
        }
    }
}

/// Returns the time of now, RFC 3339, to a millisecond.
pub(super) fn now() -> String {
    let now = Timestamp::now();
    now.round(Unit::Millisecond).unwrap_or(now).to_string()
}
