//! Measurements that a plan makes itself: checks, counters, gauges, rates and trends.
//!
//! All of them share one kind of row, in a shard's delta and in the store; when the report is made, the kind of the
//! measurement says what its row means.

mod spread;
#[cfg(test)]
mod tests;

pub(crate) use spread::{BucketLimit, Spread};

use crate::delta::MOST_COUNT;
use crate::record::{GroupedName, NameInterner};
use crate::report::{Check, Metric, MetricKind};
use crate::thresholds::{ThresholdFigures, ThresholdSubject};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Kinds of measurements. The same name counts separately in each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum MeasureKind {
    Check,
    Metric(MetricKind),
    /// Checks with the tags that the name of a threshold has, under that name. No table shows them.
    TaggedCheck,
    /// The same of a metric.
    TaggedMetric(MetricKind),
}

impl MeasureKind {
    pub(crate) fn is_check(self) -> bool {
        self == MeasureKind::Check
    }

    /// Returns whether it is counted for a threshold on tags.
    pub(crate) fn is_tagged(self) -> bool {
        matches!(
            self,
            MeasureKind::TaggedCheck | MeasureKind::TaggedMetric(_)
        )
    }

    /// Returns the kind in which the same is counted for a threshold on tags.
    pub(crate) fn tagged(self) -> MeasureKind {
        match self {
            MeasureKind::Metric(kind) => MeasureKind::TaggedMetric(kind),
            _ => MeasureKind::TaggedCheck,
        }
    }

    /// Returns what thresholds on it are about.
    pub(crate) fn subject(self) -> ThresholdSubject {
        match self {
            MeasureKind::Check | MeasureKind::TaggedCheck => ThresholdSubject::Checks,
            MeasureKind::Metric(kind) | MeasureKind::TaggedMetric(kind) => {
                ThresholdSubject::Metric(kind)
            }
        }
    }

    /// Returns the group in which its names are kept.
    pub(crate) fn group(self) -> &'static str {
        match self {
            MeasureKind::Check => "check",
            MeasureKind::Metric(MetricKind::Counter) => "counter",
            MeasureKind::Metric(MetricKind::Gauge) => "gauge",
            MeasureKind::Metric(MetricKind::Rate) => "rate",
            MeasureKind::Metric(MetricKind::Trend) => "trend",
            MeasureKind::TaggedCheck => "tagged check",
            MeasureKind::TaggedMetric(MetricKind::Counter) => "tagged counter",
            MeasureKind::TaggedMetric(MetricKind::Gauge) => "tagged gauge",
            MeasureKind::TaggedMetric(MetricKind::Rate) => "tagged rate",
            MeasureKind::TaggedMetric(MetricKind::Trend) => "tagged trend",
        }
    }
}

/// One check or metric, of a tick or of a whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Measure {
    pub(crate) kind: MeasureKind,
    count: u64,
    /// Sum of all values; for checks and rates, how many were true.
    sum: f64,
    min: f64,
    max: f64,
    /// Latest value and its time, in nanoseconds since the run began; gauges only.
    last: Option<(u64, f64)>,
    /// Distribution of the values; trends only.
    spread: Spread,
}

impl Measure {
    pub(crate) fn new(kind: MeasureKind) -> Self {
        Measure {
            kind,
            count: 0,
            sum: 0.0,
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
            last: None,
            spread: Spread::default(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Counts a value that is true or false.
    pub(crate) fn truth(&mut self, held: bool) {
        self.value(if held { 1.0 } else { 0.0 });
    }

    /// Adds a value of a trend, which may have that much room.
    pub(crate) fn sample(&mut self, value: f64, room: BucketLimit) {
        self.value(value);
        self.spread.record(value, room);
    }

    /// Adds a value.
    pub(crate) fn value(&mut self, value: f64) {
        self.count += 1;
        self.sum = finite(self.sum + value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Adds the value of a gauge.
    pub(crate) fn level(&mut self, value: f64, at: u64) {
        self.value(value);
        self.last = Some((at, value));
    }

    pub(crate) fn merge(&mut self, other: &Measure, room: BucketLimit) {
        self.count += other.count;
        self.sum = finite(self.sum + other.sum);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        if let Some(theirs) = other.last
            && self
                .last
                .is_none_or(|ours| (ours.0, ours.1.to_bits()) <= (theirs.0, theirs.1.to_bits()))
        {
            self.last = Some(theirs);
        }
        self.spread.add(&other.spread, room);
    }

    /// Returns whether a run can have counted this: a file may be damaged.
    pub(crate) fn is_plausible(&self) -> bool {
        let sum = match self.kind.subject() {
            ThresholdSubject::Checks | ThresholdSubject::Metric(MetricKind::Rate) => {
                0.0..=self.count as f64
            }
            _ => f64::MIN..=f64::MAX,
        };
        self.count <= MOST_COUNT
            && sum.contains(&self.sum)
            && (self.is_empty() || self.min <= self.max)
            && self.spread.is_plausible()
    }

    pub(crate) fn clear(&mut self) {
        if !self.is_empty() {
            *self = Measure::new(self.kind);
        }
    }

    /// Returns the figures that thresholds look at.
    pub(crate) fn threshold_figures(&self) -> ThresholdFigures {
        let subject = self.kind.subject();
        let has_truth = matches!(
            subject,
            ThresholdSubject::Checks | ThresholdSubject::Metric(MetricKind::Rate)
        );
        let failures = if has_truth {
            self.count - self.sum as u64
        } else {
            0
        };
        ThresholdFigures {
            sum: self.sum,
            min: self.min,
            max: self.max,
            last: self.last.map(|(_, value)| value),
            ..ThresholdFigures::numbers(subject, self.count, failures, &self.spread)
        }
    }

    fn check(&self, name: &str, first_failed_s: Option<f64>) -> Check {
        let passes = self.sum as u64;
        Check {
            name: name.to_owned(),
            passes,
            failures: self.count - passes,
            first_failed_s,
        }
    }

    fn metric(&self, name: &str, kind: MetricKind) -> Metric {
        let mean = self.sum / self.count.max(1) as f64;
        let mut row = Metric {
            name: name.to_owned(),
            kind,
            count: self.count,
            value: match kind {
                MetricKind::Counter => Some(self.sum),
                MetricKind::Gauge => self.last.map(|(_, value)| value),
                MetricKind::Rate | MetricKind::Trend => Some(mean),
            },
            min: None,
            max: None,
            p50: None,
            p90: None,
            p95: None,
            p99: None,
        };
        if matches!(kind, MetricKind::Gauge | MetricKind::Trend) {
            (row.min, row.max) = (Some(self.min), Some(self.max));
        }
        if kind == MetricKind::Trend {
            let found = self.spread.quantiles([0.5, 0.9, 0.95, 0.99]);
            [row.p50, row.p90, row.p95, row.p99] =
                found.map(|value| Some(value.clamp(self.min, self.max)));
        }
        row
    }
}

/// Returns a sum as the nearest number that is one: no output can show an infinite one.
fn finite(sum: f64) -> f64 {
    sum.clamp(f64::MIN, f64::MAX)
}

/// One check or metric within one tick.
#[derive(Debug)]
pub(crate) struct MeasureDelta {
    pub(crate) label: Arc<GroupedName>,
    pub(crate) measure: Measure,
}

/// All checks and metrics of a run.
#[derive(Debug, Default)]
pub(crate) struct MeasureLog {
    names: NameInterner,
    rows: Vec<Measure>,
    /// Rows of counters that the plan has declared, which are 0 and not absent as long as nothing is added.
    declared: BTreeSet<usize>,
    /// When the check of a row first failed, in seconds since the start of the measurement.
    first_failed_s: BTreeMap<usize, f64>,
    /// Rows as of the last change, shared with live views.
    shown: (Arc<[Check]>, Arc<[Metric]>),
    changed: bool,
}

impl MeasureLog {
    /// Adds a shard's measurements of so many seconds after the start, and returns whether a name had to be counted with the
    /// others.
    pub(crate) fn merge(&mut self, rows: &[MeasureDelta], second: f64) -> bool {
        let mut overflow = false;
        for row in rows.iter().filter(|row| !row.measure.is_empty()) {
            let (at, beyond) = self.row(row.measure.kind, &row.label.name);
            overflow |= beyond;
            let room = BucketLimit::among(self.rows.len());
            self.rows[at].merge(&row.measure, room);
            if row.measure.kind.is_check() && row.measure.sum < row.measure.count as f64 {
                let first = self.first_failed_s.entry(at).or_insert(second);
                *first = first.min(second);
            }
            self.changed = true;
        }
        overflow
    }

    /// Returns the checks and the metrics in the order of their first appearance.
    pub(crate) fn rows(&mut self) -> (Arc<[Check]>, Arc<[Metric]>) {
        if std::mem::take(&mut self.changed) {
            let used = || self.numbered();
            let checks = used().filter(|(_, (_, row))| row.kind == MeasureKind::Check);
            let metrics = used().filter_map(|(_, (name, row))| match row.kind {
                MeasureKind::Metric(kind) => Some(row.metric(name, kind)),
                _ => None,
            });
            let checks = checks
                .map(|(at, (name, row))| row.check(name, self.first_failed_s.get(&at).copied()));
            self.shown = (checks.collect(), metrics.collect());
        }
        self.shown.clone()
    }

    /// Declares counters.
    pub(crate) fn declare_counters(&mut self, names: &[String]) {
        let kind = MeasureKind::Metric(MetricKind::Counter);
        for name in names {
            let row = self.row(kind, name).0;
            self.declared.insert(row);
            self.changed = true;
        }
    }

    /// Returns the row of a name, and whether it had to be counted with the others.
    fn row(&mut self, kind: MeasureKind, name: &str) -> (usize, bool) {
        let interned = self.names.intern_grouped(kind.group(), name);
        if interned.id as usize == self.rows.len() {
            self.rows.push(Measure::new(kind));
        }
        (interned.id as usize, interned.overflow)
    }

    /// Returns the measurements so far with their names, and the declared counters.
    pub(crate) fn named(&self) -> impl Iterator<Item = (&str, &Measure)> {
        self.numbered().map(|(_, named)| named)
    }

    fn numbered(&self) -> impl Iterator<Item = (usize, (&str, &Measure))> {
        let labels = self.names.labels().iter().map(|label| &*label.name);
        let rows = labels.zip(&self.rows).enumerate();
        rows.filter(|(at, (_, row))| !row.is_empty() || self.declared.contains(at))
    }

    /// Returns the names that plans give.
    pub(crate) fn names(&self) -> impl Iterator<Item = String> {
        let rows = self.names.labels().iter().zip(&self.rows);
        rows.filter(|(_, row)| !row.kind.is_tagged())
            .map(|(label, _)| label.name.to_string())
    }

    pub(crate) fn clear(&mut self) {
        self.rows.iter_mut().for_each(Measure::clear);
        self.first_failed_s.clear();
        self.changed = true;
    }
}
