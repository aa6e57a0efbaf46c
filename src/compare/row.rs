//! A row of a comparison and its verdict: plain data.

use super::figure::Figure;
use serde::Serialize;

/// One figure of the whole or of a name.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Row {
    /// `GET`; `null` for all requests together, like the name.
    pub(crate) method: Option<String>,
    /// The name given by the plan.
    pub(crate) name: Option<String>,
    /// The figure.
    pub(crate) figure: Figure,
    /// Its value before: milliseconds, requests per second or, of failures, a share; `null` without requests.
    pub(crate) before: Option<f64>,
    /// Its value after, likewise.
    pub(crate) after: Option<f64>,
    /// The change: 0.05 is 5 % more, of failures five more in a hundred requests; `null` if there is none.
    pub(crate) change: Option<f64>,
    /// Lower end of the change's 95 % confidence interval; `null` with too few data.
    pub(crate) low: Option<f64>,
    /// Upper end of it, likewise.
    pub(crate) high: Option<f64>,
    /// What is to be said of it, all rows considered.
    pub(crate) verdict: Verdict,
    /// Whether it is worse than a limit allows, beyond chance.
    pub(crate) beyond_limit: bool,
    /// Requests of the name on both sides.
    pub(crate) requests: [u64; 2],
    /// How often chance alone makes such a change or a greater one; `None` with too few data.
    #[serde(skip)]
    pub(crate) p: Option<f64>,
}

impl Row {
    /// Returns by how much the row is worse, in the terms of its change; negative if it is better.
    pub(super) fn worsening(&self) -> Option<f64> {
        let sign = if self.figure.is_better_high() {
            -1.0
        } else {
            1.0
        };
        self.change.map(|change| sign * change)
    }
}

/// What is to be said of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) enum Verdict {
    /// Latencies are longer or there are fewer requests per second, and not by chance.
    #[serde(rename = "slower")]
    Slower,
    /// Latencies are shorter or there are more requests per second, and not by chance.
    #[serde(rename = "faster")]
    Faster,
    /// More requests fail, and not by chance.
    #[serde(rename = "more failures")]
    MoreFailures,
    /// Fewer requests fail, and not by chance.
    #[serde(rename = "fewer failures")]
    FewerFailures,
    /// Chance explains the change, or it is below 1 %.
    #[serde(rename = "no difference seen")]
    NoDifference,
    /// Nothing can be said.
    #[serde(rename = "too few data")]
    TooFewData,
}

impl Verdict {
    /// Returns the verdict in words, as JSON has it.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Verdict::Slower => "slower",
            Verdict::Faster => "faster",
            Verdict::MoreFailures => "more failures",
            Verdict::FewerFailures => "fewer failures",
            Verdict::NoDifference => "no difference seen",
            Verdict::TooFewData => "too few data",
        }
    }

    /// Returns whether the row is worse after the change than before.
    pub(crate) fn is_worse(self) -> bool {
        matches!(self, Verdict::Slower | Verdict::MoreFailures)
    }

    /// Returns whether the row is better after the change.
    pub(crate) fn is_better(self) -> bool {
        matches!(self, Verdict::Faster | Verdict::FewerFailures)
    }
}
