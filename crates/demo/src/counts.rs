//! The number of requests that a demo site received, by route. The server counts; `Demo::served` and
//! `/_demo/served` read. The imitated site has the list of routes.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// The counters of requests, a row for each thread, so that threads never write to each other's.
pub(super) struct RouteCounts {
    labels: &'static [&'static str],
    threads: Vec<Box<[AtomicU64]>>,
}

impl RouteCounts {
    pub(super) fn new(labels: &'static [&'static str], threads: usize) -> Self {
        let row = || labels.iter().map(|_| AtomicU64::new(0)).collect();
        RouteCounts {
            labels,
            threads: (0..threads).map(|_| row()).collect(),
        }
    }

    /// Counts one request of `thread`; a label that is not in the list counts as its last one.
    pub(super) fn add(&self, thread: usize, label: &str) {
        let found = self.labels.iter().position(|existing| *existing == label);
        let column = found.unwrap_or(self.labels.len() - 1);
        self.threads[thread][column].fetch_add(1, Ordering::Relaxed);
    }

    /// The sums over all threads; every label is there, also at 0.
    pub(super) fn totals(&self) -> BTreeMap<String, u64> {
        let total = |column: usize| {
            let counters = self.threads.iter().map(|row| &row[column]);
            counters.map(|count| count.load(Ordering::Relaxed)).sum()
        };
        let labels = self.labels.iter().enumerate();
        labels
            .map(|(column, label)| ((*label).to_owned(), total(column)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threads_are_added_up_and_an_unknown_label_is_the_last() {
        let counts = RouteCounts::new(&["GET /", "GET /user", "other"], 2);
        counts.add(0, "GET /");
        counts.add(1, "GET /");
        counts.add(1, "DELETE /");
        let expected = [("GET /", 2), ("GET /user", 0), ("other", 1)];
        let expected = expected.map(|(label, count)| (label.to_owned(), count));
        assert_eq!(counts.totals(), BTreeMap::from(expected));
    }
}
