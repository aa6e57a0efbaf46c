//! The judgement of a step: whether it held, and if not, whether the site or lgoose failed.

use super::watch::{MOST_FAILED, StepWindow};
use crate::{SeriesPoint, StepResult, ThresholdRow};
use lgoose_base::threshold::{FigureKind, Threshold, Unit};

/// Limit that a step breaks whose latency goes on rising.
pub(super) const DRIFT: &str = "drift";

/// Limit that a step breaks most of whose requests failed.
pub(super) const FAILURES: &str = "failures";

/// Share of the seconds in which lgoose was the bottleneck, from which on it and not the site failed.
const MOST_SATURATED: f64 = 0.3;

/// lgoose's own part of the latency from which on a second has a burst, in milliseconds, if it is also [`BURST`] of the latency:
/// requests that were not sent meanwhile come at once, and a site that was nearly full has no room for it.
const BURST_MS: f64 = 10.0;

/// The same as a share of the mean latency.
const BURST: f64 = 0.05;

/// Seconds without a burst that have to be left to judge failures by.
const LEAST_CALM: usize = 3;

/// The greatest share of failures that bursts explain where nearly every second had one.
const MOST_OF_BURSTS: f64 = 0.2;

/// Judgement of a step.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Judgement {
    /// Its result.
    pub result: StepResult,
    /// Why it did not hold.
    pub reason: Option<String>,
    /// The limit that it broke: one of the search, or `drift`, `failures`, `no answer`, `users`.
    pub limited_by: Option<String>,
}

impl Judgement {
    pub(super) fn held() -> Judgement {
        Judgement {
            result: StepResult::Held,
            ..Judgement::default()
        }
    }

    /// Returns that of a step that broke a limit.
    pub fn failed(limited_by: impl Into<String>, reason: impl Into<String>) -> Judgement {
        Judgement {
            result: StepResult::Failed,
            reason: Some(reason.into()),
            limited_by: Some(limited_by.into()),
        }
    }

    /// Returns that of a step whose latency goes on rising.
    pub(super) fn drift() -> Judgement {
        Judgement::failed(
            DRIFT,
            "its latency kept rising: requests pile up faster than they are answered",
        )
    }

    /// Returns that of a step that broke this limit.
    pub fn broke(row: &ThresholdRow) -> Judgement {
        let limit = match &row.name {
            Some(name) => format!("{name}: {}", row.threshold),
            None => row.threshold.clone(),
        };
        let reason = match row.value {
            Some(value) => format!("{} where the limit is {limit}", shown(value, &row.unit)),
            None => format!("no data for {limit}"),
        };
        Judgement::failed(limit, reason)
    }

    /// Returns whether a longer step might have had another result: its figures were not steady, or its iterations did not end.
    pub fn is_for_want_of_time(&self) -> bool {
        match self.result {
            StepResult::TooShort => true,
            StepResult::Failed => self.limited_by.as_deref() == Some(DRIFT),
            StepResult::Held | StepResult::Generator | StepResult::Stopped => false,
        }
    }

    /// Puts a failure down to lgoose where it was the bottleneck, or where only its bursts failed. A latency that
    /// breaks the limit without lgoose's own part, too, is the site's, and so are failures in seconds in which lgoose
    /// was on time.
    pub(super) fn blamed(self, slo: &[Threshold], look: &StepWindow<'_>) -> Judgement {
        let limit = self.limited_by.as_deref();
        let mut rows = slo.iter().zip(look.limits);
        let row = rows.find(|(_, row)| Judgement::broke(row).limited_by.as_deref() == limit);
        let points = look.points;
        let reason = match row {
            Some((slo, row)) if slo.figure == FigureKind::Failures && slo.unit == Unit::Percent => {
                fails_in_bursts(points, row.limit / 100.0)
            }
            None if limit == Some(FAILURES) => fails_in_bursts(points, MOST_FAILED),
            Some((_, row)) if !matches!(&*row.unit, "" | "%") && !is_late_without(row, points) => {
                is_saturated(points)
            }
            None if limit == Some(DRIFT) => is_saturated(points),
            _ => None,
        };
        match reason {
            Some(reason) => Judgement {
                result: StepResult::Generator,
                reason: Some(reason),
                limited_by: Some("lgoose".to_owned()),
            },
            None => self,
        }
    }
}

/// Returns the reason of a step in too many of whose seconds lgoose was the bottleneck.
fn is_saturated(points: &[SeriesPoint]) -> Option<String> {
    let slow = points.iter().filter(|point| point.generator.saturated);
    let slow = slow.count();
    (slow as f64 >= MOST_SATURATED * points.len().max(1) as f64).then(|| {
        format!(
            "lgoose itself was the bottleneck in {slow} of {} s",
            points.len()
        )
    })
}

/// Returns the reason of a step whose share of failures is above its limit only with the seconds in which lgoose itself was
/// late, and those after them; or of one with hardly any other seconds, unless so much failed that no burst explains it.
fn fails_in_bursts(points: &[SeriesPoint], limit: f64) -> Option<String> {
    let (count, failures) = totals(points.iter());
    let sum_ms: f64 = points.iter().map(|point| point.latency.sum_ms).sum();
    let late_ms = BURST_MS.max(BURST * sum_ms / count.max(1.0));
    let is_late =
        |point: &SeriesPoint| point.generator.own_p99_ms.is_some_and(|own| own >= late_ms);
    let calm = points.iter().enumerate().filter(|(place, point)| {
        let before = place.checked_sub(1).map(|before| &points[before]);
        !is_late(point) && !before.is_some_and(is_late)
    });
    let calm: Vec<&SeriesPoint> = calm.map(|(_, point)| point).collect();
    let late = points.len() - calm.len();
    let (calm_count, calm_failures) = totals(calm.iter().copied());
    let excused = if calm.len() >= LEAST_CALM {
        calm_failures <= limit * calm_count
    } else {
        failures <= MOST_OF_BURSTS * count
    };
    (late > 0 && excused).then(|| {
        format!(
            "lgoose itself was late in {late} of {} s, and requests failed only then",
            points.len()
        )
    })
}

/// Returns how many requests some seconds had, and how many of them failed.
fn totals<'a>(points: impl Iterator<Item = &'a SeriesPoint>) -> (f64, f64) {
    points.fold((0.0, 0.0), |(count, failures), point| {
        (count + point.count as f64, failures + point.failures as f64)
    })
}

/// Returns whether a latency is above its limit also without lgoose's own part in the worst second.
fn is_late_without(row: &ThresholdRow, points: &[SeriesPoint]) -> bool {
    let ms = match &*row.unit {
        "us" => 1e-3,
        "ms" => 1.0,
        "s" => 1e3,
        _ => return false,
    };
    let own = points.iter().filter_map(|point| point.generator.own_p99_ms);
    let own = own.fold(None, |most: Option<f64>, own| {
        Some(most.map_or(own, |most| most.max(own)))
    });
    match (row.value, own) {
        (Some(value), Some(own)) => value * ms - own > row.limit * ms,
        _ => false,
    }
}

/// Formats a figure in the unit of its limit.
fn shown(value: f64, unit: &str) -> String {
    let digits = match value.abs() {
        large if large >= 100.0 => 0,
        middle if middle >= 10.0 => 1,
        _ => 2,
    };
    match unit {
        "" | "%" | "/s" => format!("{value:.digits$}{unit}"),
        _ => format!("{value:.digits$} {unit}"),
    }
}
