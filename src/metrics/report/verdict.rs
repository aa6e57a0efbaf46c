//! The verdict on a run as the report has it; found once, by `output::verdict`, and only read from then on.

use serde::{Deserialize, Serialize};

/// What came of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum VerdictResult {
    /// All that was to be judged is good.
    Passed,
    /// There is a reason against it.
    Failed,
    /// Nothing was to be judged, and nothing is wrong.
    None,
}

/// The verdict on a run. What could not be written after it (exit code 3) is not in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Verdict {
    /// What came of it.
    pub result: VerdictResult,
    /// The exit code of the run.
    pub exit_code: u8,
    /// Why it failed, a sentence each; empty unless it did.
    pub reasons: Vec<String>,
    /// What does not decide but has to be known, a sentence each.
    pub remarks: Vec<String>,
    /// The verdict in a line: `passed so far, stopped at 2 s of 60 s`.
    pub text: String,
}
