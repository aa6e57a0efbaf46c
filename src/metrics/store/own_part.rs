//! Estimates lgoose's own part in a run from what the store knows of its threads, its requests and its users.

use super::super::lateness::Latencies;
use super::super::report::GeneratorRow;
use super::Store;
use std::time::Duration;

impl Store {
    /// Returns how hard lgoose itself worked, and a warning for readers of latencies if lgoose itself set them.
    pub(super) fn own_part(&self, measured: Duration) -> (Option<GeneratorRow>, Option<String>) {
        let whole = Latencies::of(&self.total.exact(), &self.total.all)
            .map(|whole| whole.by(self.users.peak(), measured));
        let users = self.users.now();
        let open = |second| self.series.open_latencies(second, users);
        let row = self.generator.row(whole.as_ref(), open);
        let warning = row.and_then(|row| row.warning(whole.as_ref()));
        (row, warning)
    }
}
