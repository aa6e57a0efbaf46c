//! The verdict on a run, as in the report; `output::verdict` reaches it once, everything else only reads it.

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
    /// Remarks that do not affect the result but that readers should know, one sentence each.
    pub remarks: Vec<String>,
    /// The verdict in one line, such as `passed so far, stopped at 2 s of 60 s`.
    pub text: String,
}
