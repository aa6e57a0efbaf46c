//! The view of a run that is over: the same pages, made from the report that is printed.

use super::state::{Dialog, Finished, State};
use crate::metrics::{Report, Snapshot, ThresholdRow, VerdictResult};
use crate::units::counted;
use std::sync::Arc;
use std::time::Duration;

impl State {
    /// Shows the report of the run, which is over, from now on.
    pub(crate) fn finish(&mut self, report: &Arc<Report>) -> Arc<Snapshot> {
        let last = self.moment.take().unwrap_or_default();
        let last = Arc::new(last.ended(report));
        self.look(&last);
        self.moment = Some(last.clone());
        self.report = Some(report.clone());
        let verdict = report.verdict.as_ref();
        let after = report.ending.as_ref().map(|ending| ending.at_s);
        self.finished = Some(Finished {
            after: after
                .and_then(|at| Duration::try_from_secs_f64(at).ok())
                .map_or(last.progress.elapsed, |at| at.max(last.progress.elapsed)),
            verdict: told(&report.thresholds),
            passed: verdict.is_none_or(|verdict| verdict.result != VerdictResult::Failed),
        });
        self.take_tag_of_report();
        // It is too late for what they ask.
        if matches!(
            self.dialog,
            Dialog::Quit | Dialog::Reset | Dialog::Users(_) | Dialog::Rate(_)
        ) {
            self.dialog = Dialog::None;
        }
        self.notice.clear();
        last
    }
}

/// Returns how many thresholds hold, such as `5 of 6 thresholds`; empty without any.
fn told(thresholds: &[ThresholdRow]) -> String {
    let held = thresholds.iter().filter(|row| row.passed).count();
    match thresholds.len() {
        0 => String::new(),
        all => format!("{held} of {}", counted(all as u64, "threshold")),
    }
}
