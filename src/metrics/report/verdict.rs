//! The verdict on a run in the report; found once, by `output::verdict`, and only read from then on.

use serde::{Deserialize, Serialize};

/// Results of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum VerdictResult {
    /// Everything that was judged is good.
    Passed,
    /// There is a reason against the run.
    Failed,
    /// Nothing was to be judged, and nothing is wrong.
    None,
}

/// The verdict on a run. What could not be written after it (exit code 3) is not in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Verdict {
    /// Result of the run.
    pub result: VerdictResult,
    /// The exit code of the run.
    pub exit_code: u8,
    /// Reasons why it failed, a sentence each; empty unless it did.
    pub reasons: Vec<String>,
    /// Remarks that do not decide but have to be known, a sentence each.
    pub remarks: Vec<String>,
    /// The verdict in one line: `passed so far, stopped at 2 s of 60 s`.
    pub text: String,
}
