//! The runs that are compared, and the result: plain data.

use super::limit::RegressionLimit;
use super::row::Row;
use crate::Report;
use serde::Serialize;

/// A report and the name of its file.
#[derive(Debug)]
pub struct NamedReport {
    /// Path of the file, as given.
    pub file: String,
    /// Contents of the file.
    pub report: Report,
}

/// Result of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Whether the runs can be compared: they differ only in what they measured.
    pub comparable: bool,
    /// Why the runs are not comparable: other differences, or flaws of a run; one sentence each.
    pub reasons: Vec<String>,
    /// What readers should know about the figures; one sentence each.
    pub notes: Vec<String>,
    /// The runs before the change.
    pub before: Vec<RunFacts>,
    /// The runs after it.
    pub after: Vec<RunFacts>,
    /// Seconds at the start of each run that the rows leave out, as a trend shows that some run was warming up; 0 for none.
    pub left_out_s: u64,
    /// The limits that were given.
    #[cfg_attr(any(test, feature = "test-support"), schemars(with = "Vec<String>"))]
    pub limits: Vec<RegressionLimit>,
    /// One row for each figure, first of all requests, then of each name, the most requested name first.
    pub rows: Vec<Row>,
}

/// Facts about one of the runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
pub struct RunFacts {
    /// Path of the report.
    pub file: String,
    /// Path of the plan, as given.
    pub plan: String,
    /// Base URL of the target.
    pub host: String,
    /// Start of the run, RFC 3339.
    pub started: String,
    /// Seconds that the figures cover.
    pub elapsed_s: f64,
    /// Number of requests.
    pub requests: u64,
}

impl RunFacts {
    pub(super) fn of(run: &NamedReport) -> RunFacts {
        RunFacts {
            file: run.file.clone(),
            plan: run.report.plan.clone(),
            host: run.report.host.clone(),
            started: run.report.started.clone(),
            elapsed_s: run.report.elapsed_s,
            requests: run.report.aggregated.count,
        }
    }
}

impl Comparison {
    /// Returns the rows that are worse than a limit allows, by more than chance explains.
    pub fn regressions(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.beyond_limit)
    }
}
