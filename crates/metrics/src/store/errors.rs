//! Errors of a run: equal ones are counted together, and the first hundred kinds are kept.

use crate::delta::{MAX_ERRORS, ShardErrorOrigin, SliceDelta};
use crate::exemplars::Exemplars;
use crate::record::GroupedName;
use crate::report::ErrorRow;

/// Message under which all further kinds are counted.
const OTHER_ERRORS: &str = "(other errors)";

/// Distinct errors in the order of their first appearance.
#[derive(Debug, Default)]
pub(crate) struct ErrorLog {
    rows: Vec<(ErrorRow, Exemplars)>,
    left_out: Option<ErrorRow>,
}

impl ErrorLog {
    /// Adds a shard's errors from a slice that began `now_s` seconds into the measurement.
    pub(crate) fn merge(&mut self, delta: &SliceDelta, now_s: f64) {
        for error in &delta.errors {
            let name = match error.source {
                ShardErrorOrigin::Request(id) => request_name(&delta.requests[id as usize].label),
                ShardErrorOrigin::Task(id) => {
                    format!("task {}", delta.tasks[id as usize].label.name)
                }
            };
            let existing = self.rows.iter().position(|(row, _)| {
                row.name == name && row.message == error.message && row.line == error.line
            });
            match existing {
                Some(at) => {
                    let (row, exemplars) = &mut self.rows[at];
                    row.count = row.count.saturating_add_signed(error.count);
                    row.first_s = row.first_s.min(now_s);
                    row.last_s = row.last_s.max(now_s);
                    exemplars.merge(&error.exemplars);
                    if row.stack.is_empty() {
                        row.stack = lines(error.stack.as_deref());
                    }
                }
                None if self.rows.len() < MAX_ERRORS => {
                    let row = ErrorRow {
                        count: error.count.max(0) as u64,
                        name,
                        message: error.message.clone(),
                        line: error.line.clone(),
                        first_s: now_s,
                        last_s: now_s,
                        exemplars: Vec::new(),
                        stack: lines(error.stack.as_deref()),
                    };
                    self.rows.push((row, error.exemplars.clone()));
                }
                None => self.leave_out(error.count, now_s),
            }
        }
        if delta.errors_left_out != 0 {
            self.leave_out(delta.errors_left_out, now_s);
        }
    }

    /// Returns the most frequent errors first, at most `limit` and without exemplars; a row for the others comes
    /// last.
    pub(crate) fn top(&self, limit: usize) -> Vec<ErrorRow> {
        let rows = self.in_order().take(limit).map(|(row, _)| row.clone());
        rows.chain(self.left_out.clone()).collect()
    }

    /// Returns all errors with their exemplars.
    pub(crate) fn with_exemplars(&self) -> Vec<ErrorRow> {
        let rows = self.in_order().map(|(row, exemplars)| ErrorRow {
            exemplars: exemplars.list(),
            ..row.clone()
        });
        rows.chain(self.left_out.clone()).collect()
    }

    fn in_order(&self) -> impl Iterator<Item = &(ErrorRow, Exemplars)> {
        // An error whose failures were all taken back is left out.
        let mut order: Vec<_> = self.rows.iter().filter(|(row, _)| row.count > 0).collect();
        order.sort_by_key(|(row, _)| std::cmp::Reverse(row.count));
        order.into_iter()
    }

    fn leave_out(&mut self, count: i64, now_s: f64) {
        let row = self.left_out.get_or_insert_with(|| ErrorRow {
            count: 0,
            name: String::new(),
            message: OTHER_ERRORS.to_owned(),
            line: None,
            first_s: now_s,
            last_s: now_s,
            exemplars: Vec::new(),
            stack: Vec::new(),
        });
        row.count = row.count.saturating_add_signed(count);
        row.last_s = row.last_s.max(now_s);
    }
}

fn lines(stack: Option<&str>) -> Vec<String> {
    let lines = stack.into_iter().flat_map(str::lines);
    lines.map(str::to_owned).collect()
}

/// Returns a request's name as one text: its method and its name.
fn request_name(label: &GroupedName) -> String {
    format!("{} {}", label.group, label.name)
        .trim_start()
        .to_owned()
}
