//! The verdict on a run, as in the report; the crate `judgement` reaches it once, everything else only reads it.

use serde::{Deserialize, Serialize};

/// Result of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum VerdictResult {
    /// Everything that was judged is fine.
    Passed,
    /// There is a reason why the run failed.
    Failed,
    /// There was nothing to judge, and nothing is wrong.
    None,
}

/// Kinds of reasons for which a run fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ReasonKind {
    /// A failure of lgoose itself.
    Trouble,
    /// The way in which the run ended: it was aborted, not started, cut short, or lost its workers or users.
    Ending,
    /// No request succeeded.
    NothingSucceeded,
    /// The plan failed the run with `run.fail`.
    Plan,
    /// A broken threshold.
    Threshold,
    /// Lgoose was the bottleneck (`--fail-on-saturation`).
    Saturation,
    /// A task that failed in all of its runs.
    Task,
    /// A check that never held.
    Check,
    /// Failed requests, tasks or checks (`--fail-on-error`).
    Failures,
    /// Less load than planned.
    Load,
    /// The result of a search for the capacity.
    Capacity,
}

/// The verdict on a run. It does not cover outputs that could not be written afterwards (exit code 3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
pub struct Verdict {
    /// Result of the run.
    pub result: VerdictResult,
    /// Exit code of the run.
    pub exit_code: u8,
    /// Reasons why the run failed, one sentence each; empty if it did not.
    pub reasons: Vec<String>,
    /// The kind of each of these reasons, in their order; empty in reports of earlier versions.
    #[serde(default)]
    pub reason_kinds: Vec<ReasonKind>,
    /// Remarks that do not affect the result but that readers should know, one sentence each.
    pub remarks: Vec<String>,
    /// The verdict in one line, such as `passed so far, stopped at 2 s of 60 s`.
    pub text: String,
}
