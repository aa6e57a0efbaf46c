//! The judgement of a step: whether it held, and whose fault it was if not.

use crate::metrics::{SeriesPoint, StepResult, ThresholdRow};

/// What a step breaks whose latency goes on rising.
pub(super) const DRIFT: &str = "drift";

/// Share of the seconds in which lgoose was the bottleneck, from which on it and not the site failed.
const MOST_SATURATED: f64 = 0.3;

/// Judgement of a step.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Judgement {
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
    pub(crate) fn failed(limited_by: impl Into<String>, reason: impl Into<String>) -> Judgement {
        Judgement {
            result: StepResult::Failed,
            reason: Some(reason.into()),
            limited_by: Some(limited_by.into()),
        }
    }

    /// Returns that of a step that broke this limit.
    pub(crate) fn broke(row: &ThresholdRow) -> Judgement {
        let limit = match &row.name {
            Some(name) => format!("{name}: {}", row.threshold),
            None => row.threshold.clone(),
        };
        let told = match row.value {
            Some(value) => format!("{} where the limit is {limit}", shown(value, &row.unit)),
            None => format!("no data for {limit}"),
        };
        Judgement::failed(limit, told)
    }

    /// Puts a failure down to lgoose where it was the bottleneck. It makes answers late and requests few, not wrong; and what is
    /// too late without its own part, too, is so because of the site.
    pub(super) fn blamed(self, limits: &[ThresholdRow], points: &[SeriesPoint]) -> Judgement {
        let limit = self.limited_by.as_deref();
        let row = limits
            .iter()
            .find(|row| Judgement::broke(row).limited_by.as_deref() == limit);
        let excused = match row {
            Some(row) => !matches!(&*row.unit, "" | "%") && !is_late_without(row, points),
            None => limit == Some(DRIFT),
        };
        if !excused {
            return self;
        }
        let slow = points.iter().filter(|point| point.generator.saturated);
        let slow = slow.count();
        if (slow as f64) < MOST_SATURATED * points.len().max(1) as f64 {
            return self;
        }
        let told = format!(
            "lgoose itself was the bottleneck in {slow} of {} s",
            points.len()
        );
        Judgement {
            result: StepResult::Generator,
            reason: Some(told),
            limited_by: Some("lgoose".to_owned()),
        }
    }
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
