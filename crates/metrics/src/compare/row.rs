//! A row of a comparison and its verdict: plain data.

use super::bootstrap::FigureError;
use super::figure::Figure;
use super::run_spread::RunSpread;
use serde::Serialize;

/// One figure of all requests or of a name.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
pub struct Row {
    /// Method of the requests; `null`, like the name, for all requests together.
    pub method: Option<String>,
    /// Name from the plan.
    pub name: Option<String>,
    /// The figure.
    pub figure: Figure,
    /// Value before the change: milliseconds, requests per second or, for failures, a share; `null` without requests.
    pub before: Option<f64>,
    /// Value after the change, in the same unit.
    pub after: Option<f64>,
    /// The change: 0.05 is 5 % more or, for failures, five more in a hundred requests; `null` if it cannot be computed.
    pub change: Option<f64>,
    /// Lower end of the confidence interval of the change, at the level that decides the verdict: the more figures are
    /// compared, the wider; `null` if there are too few data.
    pub low: Option<f64>,
    /// Upper end of that interval; `null` if there are too few data.
    pub high: Option<f64>,
    /// The verdict on the row, corrected for the number of rows.
    pub verdict: RowVerdict,
    /// Whether the row is worse than a limit allows, by more than chance explains.
    pub beyond_limit: bool,
    /// Number of requests before and after the change; in a row of the successful requests, of those.
    pub requests: [u64; 2],
    /// Whether no request of the name failed on either side, so that the row is that of the successful requests, too.
    #[serde(skip)]
    pub without_failures: bool,
    /// Runs of each side that would be enough to tell such a change from chance, if they differ as these do; absent unless
    /// the verdict is `too few runs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs_needed: Option<u64>,
    /// The difference on the figure's scale, and its error; `None` if there are too few data.
    #[serde(skip)]
    pub judged: Option<(f64, FigureError)>,
    /// How runs of a side differ, if that decides the row.
    #[serde(skip)]
    pub spread: Option<RunSpread>,
}

impl Row {
    /// Returns the probability that chance alone makes such a change or a greater one; `None` if there are too few data.
    pub(super) fn chance(&self) -> Option<f64> {
        let (difference, error) = self.judged?;
        Some(error.probability(difference))
    }

    /// Sets the ends of the interval that misses the true change with that probability.
    pub(super) fn set_interval(&mut self, missing: f64) {
        if let Some((difference, error)) = self.judged {
            let (low, high) = error.interval(difference, missing);
            self.low = Some(self.figure.change(low));
            self.high = Some(self.figure.change(high));
        }
    }

    /// Returns the name for people: `'GET /cart'`, or all requests.
    pub(super) fn title(&self) -> String {
        match (&self.method, &self.name) {
            (Some(method), Some(name)) => format!("'{method} {name}'"),
            _ => "all requests".to_owned(),
        }
    }

    /// Returns whether one side had requests enough for a verdict, and the other not half as many and too few.
    pub(super) fn has_one_side(&self) -> bool {
        let [before, after] = self
            .requests
            .map(|count| self.figure.has_enough(count as f64));
        let [less, more] = [self.requests.iter().min(), self.requests.iter().max()]
            .map(|count| count.copied().unwrap_or(0));
        before != after && less < more / 2
    }

    /// Returns how much worse the row is, in the unit of its change; negative if it is better.
    pub(super) fn worsening(&self) -> Option<f64> {
        let sign = if self.figure.is_better_high() {
            -1.0
        } else {
            1.0
        };
        self.change.map(|change| sign * change)
    }
}

/// Verdict on a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
#[cfg_attr(any(test, feature = "test-support"), schemars(rename = "Verdict"))]
pub enum RowVerdict {
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
    /// The change is more than would be chance if it was known how much runs of one side differ, and there are too few runs
    /// to know that.
    #[serde(rename = "too few runs")]
    TooFewRuns,
    /// There are too few data for a verdict.
    #[serde(rename = "too few data")]
    TooFewData,
}

impl RowVerdict {
    /// Returns the verdict in words, as in JSON.
    pub fn text(self) -> &'static str {
        match self {
            RowVerdict::Slower => "slower",
            RowVerdict::Faster => "faster",
            RowVerdict::MoreFailures => "more failures",
            RowVerdict::FewerFailures => "fewer failures",
            RowVerdict::NoDifference => "no difference seen",
            RowVerdict::TooFewRuns => "too few runs",
            RowVerdict::TooFewData => "too few data",
        }
    }

    /// Returns whether the row is worse after the change than before.
    pub fn is_worse(self) -> bool {
        matches!(self, RowVerdict::Slower | RowVerdict::MoreFailures)
    }

    /// Returns whether the row is better after the change.
    pub fn is_better(self) -> bool {
        matches!(self, RowVerdict::Faster | RowVerdict::FewerFailures)
    }
}
