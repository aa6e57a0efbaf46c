//! Records a part of a load for its report.

use super::super::latency::nanoseconds;
use super::super::recording::Recording;
use super::super::report::PartRow;
use super::Store;
use std::time::Duration;

impl Store {
    /// Records everything measured from now on for the report, which is that of part `number` of `of`.
    pub fn record_part(&mut self, number: u64, of: u64) {
        self.recording = Some(Recording::of(number, of));
    }

    /// Returns what joining this report with those of the other parts takes; `None` in a run of its own.
    pub(super) fn part(&mut self, elapsed: Duration) -> Option<PartRow> {
        let origin_ns = self.origin_ns();
        let recording = self.recording.as_mut()?;
        recording.close();
        Some(PartRow {
            number: recording.number,
            of: recording.of,
            shards: self.covered.len() as u64,
            epoch: self.epoch,
            origin_ns,
            ended_ns: nanoseconds(elapsed),
            co_mitigation: self
                .identity
                .co_mitigation
                .map(|cadence| (cadence, self.identity.co_wanted)),
            order: self.identity.order.clone(),
            warnings: self.warnings.to_vec(),
            measured: recording.pieces.clone(),
            start_stop: recording.start_stop.clone(),
        })
    }
}
