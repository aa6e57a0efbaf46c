//! Latencies filled in for late users, which are kept apart from the measured ones.

use super::super::delta::SliceDelta;
use super::super::identity::RunIdentity;
use super::super::latency::summary as latency;
use super::super::report::{CoMitigation, CoRow, Latency};
use super::requests::Requests;

impl Requests {
    /// Adds the latencies that a shard filled in.
    pub(super) fn merge_filled(&mut self, shard: Option<usize>, delta: &SliceDelta) {
        if delta.late.count == 0 {
            return;
        }
        self.late = self.late.merged(&delta.late);
        for (id, row) in delta.requests.iter().enumerate() {
            let filled = row.figures.filled.as_deref();
            let Some(filled) = filled.filter(|filled| !filled.is_empty()) else {
                continue;
            };
            let (at, _) = self.by_label.row(shard, id, &row.label);
            for tally in [&mut self.by_label.rows[at], &mut self.total] {
                tally.filled.get_or_insert_default().add_slice(filled);
            }
            self.by_tag.merge_filled(at, &row.label, filled);
        }
    }

    /// Returns the figures with the latencies that were filled in, if the correction is on, and either was asked for
    /// or makes a difference.
    pub(super) fn co_mitigation(&self, identity: &RunIdentity) -> Option<CoMitigation> {
        let cadence = identity.co_mitigation?;
        let aggregated = self.total.corrected();
        let differs = || {
            let measured = latency(&self.total.exact(), &self.total.all);
            let pair = measured.zip(aggregated.latency_ms);
            pair.is_some_and(|(measured, corrected)| differ(&measured, &corrected))
        };
        if !identity.co_wanted && !differs() {
            return None;
        }
        let rows = self.by_label.named();
        let mut requests: Vec<CoRow> = rows
            .filter(|(_, row)| row.filled.is_some())
            .map(|(label, row)| CoRow {
                method: label.group.to_string(),
                name: label.name.to_string(),
                figures: row.corrected(),
            })
            .collect();
        requests.sort_by_key(|row| identity.place_of_name(&row.name));
        Some(CoMitigation {
            cadence,
            late_cycles: self.late.count,
            cadence_ms: (self.late.count > 0).then(|| self.late.mean_ms()),
            measured_p99_ms: latency(&self.total.exact(), &self.total.all).map(|all| all.p99),
            requests,
            aggregated,
        })
    }
}

/// Returns whether the correction matters to a reader: some corrected figure is more than a tenth above the measured
/// one.
fn differ(measured: &Latency, corrected: &Latency) -> bool {
    let pairs = [
        (measured.avg, corrected.avg),
        (measured.p50, corrected.p50),
        (measured.p90, corrected.p90),
        (measured.p95, corrected.p95),
        (measured.p99, corrected.p99),
        (measured.p99_9, corrected.p99_9),
    ];
    pairs
        .iter()
        .any(|(measured, corrected)| *corrected > 1.1 * measured)
}
