//! A threshold: a limit on a figure, such as `GET /: p95 < 300ms`. Plain data and its text; `config` reads it from
//! plans and flags, `metrics` judges it. Knows neither.

mod read;
mod unit;

pub use read::GRAMMAR;
use read::ThresholdMistake;
pub(crate) use unit::ByteUnit;
pub use unit::Unit;

use crate::phases::TimedPart;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// The shortest sliding window: figures are looked at four times a second.
pub(crate) const SHORTEST_WINDOW: Duration = Duration::from_secs(1);

/// A limit on a figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Threshold {
    /// The row it applies to, as reports show it: `GET front page`, also without the method, `task log in`, or the
    /// name of a check or a custom metric; `checks` is all checks. `None` is all requests.
    pub name: Option<String>,
    /// The requests whose latency is judged.
    pub among: LatencySubset,
    /// The part whose time is judged instead of the whole latency, among the requests that had it.
    pub part: Option<TimedPart>,
    /// The figure that is compared.
    pub figure: FigureKind,
    /// The comparison.
    pub comparison: Comparator,
    /// The limit, in `unit`.
    pub limit: f64,
    /// The unit of the limit and of the figure.
    pub unit: Unit,
    /// The length of the sliding window to judge, instead of the whole run.
    pub during: Option<Duration>,
    /// Whether the run stops as soon as the threshold is broken.
    pub abort: bool,
    /// The beginning of the run that is left out. For figures that only grow (`count`, `value`) nothing is left
    /// out: there it is the time from which on `abort` looks.
    pub after: Option<Duration>,
    /// Whether its name is that of a task which the run leaves out: without data, it says nothing then.
    #[serde(default)]
    pub of_left_out: bool,
}

/// The requests whose latency is judged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LatencySubset {
    /// All requests, failed ones at the time they took.
    #[default]
    All,
    /// Successful requests.
    Ok,
    /// All requests, and those that users could not make while they waited (coordinated omission).
    Corrected,
}

/// A figure of a row.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum FigureKind {
    /// A percentile of the latencies, or of a trend's values.
    Percentile(f64),
    /// The mean of the values.
    Avg,
    /// The smallest value.
    Min,
    /// The largest value.
    Max,
    /// The number or the share of failures.
    Failures,
    /// The rate per second; of checks and of a custom rate also the share that was true.
    Rate,
    /// The count; of a counter the number of additions, whose sum is its value.
    Count,
    /// The share of checks that passed.
    Checks,
    /// The age of the oldest request so far, complete or still under way.
    Oldest,
    /// The value of a custom metric, as the report shows it.
    Value,
    /// The bytes received.
    Bytes,
    /// The number or the share of iterations that found no free user, in a run at a rate.
    Dropped,
}

/// The comparison of figure and limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Comparator {
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Threshold {
    /// Reads a threshold. A name ends at the last colon of the text, so it may have some itself.
    ///
    /// # Errors
    /// The mistake and its place. [`Threshold::check`] finds whether the parts fit together.
    pub fn read(text: &str) -> Result<Threshold, ThresholdMistake> {
        read::read(text)
    }

    /// Reads a threshold whose name is known already.
    ///
    /// # Errors
    /// As [`Threshold::read`].
    pub fn read_for(name: &str, text: &str) -> Result<Threshold, ThresholdMistake> {
        read::read_for(name, text)
    }

    /// Returns whether a value of the figure, in the threshold's unit, keeps the limit.
    pub fn holds(&self, value: f64) -> bool {
        match self.comparison {
            Comparator::Less => value < self.limit,
            Comparator::LessOrEqual => value <= self.limit,
            Comparator::Greater => value > self.limit,
            Comparator::GreaterOrEqual => value >= self.limit,
        }
    }

    /// Returns whether the figure must stay below the limit, not above it.
    pub fn is_upper(&self) -> bool {
        matches!(self.comparison, Comparator::Less | Comparator::LessOrEqual)
    }

    /// Returns whether the figure is a sum, which never falls while a run goes on.
    pub fn only_grows(&self) -> bool {
        match self.figure {
            FigureKind::Count | FigureKind::Value => true,
            FigureKind::Bytes => matches!(self.unit, Unit::Size(_)),
            _ => false,
        }
    }

    /// Returns whether the limit is on the number or the share of failures.
    pub fn is_on_failures(&self) -> bool {
        match self.figure {
            FigureKind::Failures | FigureKind::Checks => true,
            FigureKind::Rate => self.unit == Unit::Percent,
            _ => false,
        }
    }

    /// Returns whether requests and tasks both can have the figure.
    pub fn can_be_of_tasks(&self) -> bool {
        self.part.is_none()
            && self.among == LatencySubset::All
            && match self.figure {
                FigureKind::Count | FigureKind::Failures => true,
                FigureKind::Rate => self.unit == Unit::PerSecond,
                FigureKind::Percentile(_) | FigureKind::Avg | FigureKind::Min | FigureKind::Max => {
                    self.unit.per_millisecond().is_some()
                }
                FigureKind::Bytes
                | FigureKind::Oldest
                | FigureKind::Checks
                | FigureKind::Value
                | FigureKind::Dropped => false,
            }
    }

    /// Checks that the threshold's parts fit together.
    ///
    /// # Errors
    /// A sentence that says which parts do not, and the correct form.
    pub fn check(&self) -> Result<(), String> {
        if self.during.is_some_and(|during| during < SHORTEST_WINDOW) {
            return Err("'during' needs at least 1s".to_owned());
        }
        let counts = self.only_grows();
        if counts && self.after.is_some() && !self.abort && self.during.is_none() {
            let help = format!(
                "'after' says from when on 'abort' or 'during' look at a '{}': give one of them too",
                self.figure
            );
            return Err(help);
        }
        let starts_at_nothing = match self.unit {
            Unit::PerSecond => self.figure == FigureKind::Rate,
            Unit::SizePerSecond(_) => true,
            _ => false,
        };
        let grows = counts || starts_at_nothing;
        if grows && !self.is_upper() && self.abort && self.after.or(self.during).is_none() {
            return Err(format!(
                "'{}' starts at zero, so 'abort' would stop the run at once: say with 'after' from when it has to hold, such as 'abort after 30s'",
                self.figure
            ));
        }
        Ok(())
    }
}

impl fmt::Display for Threshold {
    /// Returns the text without the name: `p95 < 300ms during 30s abort`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.among {
            LatencySubset::All => {}
            LatencySubset::Ok => f.write_str("ok ")?,
            LatencySubset::Corrected => f.write_str("corrected ")?,
        }
        if let Some(part) = self.part {
            write!(f, "{} ", part.name())?;
        }
        write!(f, "{} {} {}", self.figure, self.comparison, self.limit)?;
        write!(f, "{}", self.unit)?;
        if let Some(during) = self.during {
            write!(f, " during {}s", during.as_secs_f64())?;
        }
        if self.abort {
            f.write_str(" abort")?;
        }
        if let Some(after) = self.after {
            write!(f, " after {}s", after.as_secs_f64())?;
        }
        Ok(())
    }
}

impl fmt::Display for FigureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FigureKind::Percentile(percent) => write!(f, "p{percent}"),
            FigureKind::Avg => f.write_str("avg"),
            FigureKind::Min => f.write_str("min"),
            FigureKind::Max => f.write_str("max"),
            FigureKind::Failures => f.write_str("failures"),
            FigureKind::Rate => f.write_str("rate"),
            FigureKind::Count => f.write_str("count"),
            FigureKind::Checks => f.write_str("checks"),
            FigureKind::Oldest => f.write_str("oldest"),
            FigureKind::Value => f.write_str("value"),
            FigureKind::Bytes => f.write_str("bytes"),
            FigureKind::Dropped => f.write_str("dropped"),
        }
    }
}

impl fmt::Display for Comparator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Comparator::Less => "<",
            Comparator::LessOrEqual => "<=",
            Comparator::Greater => ">",
            Comparator::GreaterOrEqual => ">=",
        })
    }
}
