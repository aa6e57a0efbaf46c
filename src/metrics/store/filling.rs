//! What was filled in for users that were late: merged beside what was measured, never into it.

use super::super::delta::Delta;
use super::super::report::{CoMitigation, CoRow};
use super::Store;

impl Store {
    /// Adds what a shard filled in.
    pub(super) fn merge_filled(&mut self, delta: &Delta) {
        if delta.late.count == 0 {
            return;
        }
        self.late = self.late.merged(&delta.late);
        for (id, row) in delta.requests.iter().enumerate() {
            let Some(filled) = row.filled.as_ref().filter(|filled| filled.exact.count > 0) else {
                continue;
            };
            let (at, _) = self.requests.row(delta.shard, id, &row.label);
            for tally in [&mut self.requests.rows[at], &mut self.total] {
                tally.filled.get_or_insert_default().merge(filled);
            }
        }
    }

    /// The figures with what was filled in, if that is on.
    pub(super) fn co_mitigation(&self) -> Option<CoMitigation> {
        let cadence = self.facts.co_mitigation?;
        let rows = self.requests.named();
        let mut requests: Vec<CoRow> = rows
            .filter(|(_, row)| row.filled.is_some())
            .map(|(label, row)| CoRow {
                method: label.group.to_string(),
                name: label.name.to_string(),
                figures: row.corrected(),
            })
            .collect();
        requests.sort_by_key(|row| self.facts.place_of_name(&row.name));
        Some(CoMitigation {
            cadence,
            late_cycles: self.late.count,
            cadence_ms: (self.late.count > 0).then(|| self.late.mean_ms()),
            requests,
            aggregated: self.total.corrected(),
        })
    }
}
