//! Checks and metrics of a plan's own.

use super::super::latency::nanoseconds;
use super::super::measures::{Kind, Measure, MeasureDelta};
use super::super::report::MetricKind;
use super::super::spread::Room;
use super::{Recorder, TOO_MANY_MEASURES};
use std::time::Instant;

impl Recorder {
    /// Counts a check of the plan.
    pub fn check(&mut self, name: &str, passed: bool) {
        self.measure(Kind::Check, name).truth(passed);
    }

    /// Adds to a counter of the plan.
    pub fn counter(&mut self, name: &str, value: f64) {
        self.measure(Kind::Metric(MetricKind::Counter), name)
            .value(value);
    }

    /// Sets a gauge of the plan; reports show the latest value of all shards.
    pub fn gauge(&mut self, name: &str, value: f64, at: Instant) {
        let at = nanoseconds(at.saturating_duration_since(self.slices.zero()));
        self.measure(Kind::Metric(MetricKind::Gauge), name)
            .level(value, at);
    }

    /// Counts a true or false value of a rate of the plan.
    pub fn rate(&mut self, name: &str, held: bool) {
        self.measure(Kind::Metric(MetricKind::Rate), name)
            .truth(held);
    }

    /// Adds a value to a trend of the plan.
    pub fn trend(&mut self, name: &str, value: f64) {
        let room = Room::among(self.kinds.len());
        self.measure(Kind::Metric(MetricKind::Trend), name)
            .sample(value, room);
    }

    /// Returns the row of a check or metric in the open slice, and makes it if it is new.
    fn measure(&mut self, kind: Kind, name: &str) -> &mut Measure {
        let interned = self.measures.intern_grouped(kind.group(), name);
        if interned.overflow && !self.told.contains(TOO_MANY_MEASURES) {
            self.warn(TOO_MANY_MEASURES.to_owned());
        }
        let id = interned.id as usize;
        if self.kinds.len() == id {
            self.kinds.push(kind);
        }
        let rows = &mut self.slices.open().measures;
        let labels = self.measures.labels().iter().zip(&self.kinds);
        for (label, kind) in labels.take(id + 1).skip(rows.len()) {
            rows.push(MeasureDelta {
                label: label.clone(),
                measure: Measure::new(*kind),
            });
        }
        &mut rows[id].measure
    }
}
