//! The figures of a run in the view: the moment that all pages show, the latest one, the report, and the figures of one
//! tag. A run that is over has the same pages, made from the report that is printed.

use super::by_tag::TagView;
use super::history::History;
use super::timeline::Timeline;
use lgoose_base::units::counted;
use lgoose_metrics::{LiveTag, Report, Snapshot, ThresholdRow, VerdictResult};
use std::sync::Arc;
use std::time::Duration;

/// Interval at which the figures change: people read no faster, and every change is sent over the line to the
/// terminal.
const EVERY: Duration = Duration::from_millis(950);
/// Time that the pages wait for a report that is to come with the next figures.
const PATIENCE: Duration = Duration::from_secs(3);

/// The way in which a run that is over has ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct RunConclusion {
    /// Length of the run.
    pub(super) after: Duration,
    /// Verdict in short: `5 of 6 thresholds`.
    pub(super) verdict: String,
    pub(super) passed: bool,
}

/// Figures of a run in a view.
#[derive(Debug, Default)]
pub struct RunFigures {
    pub(super) history: History,
    pub(super) timeline: Timeline,
    /// Snapshot that all pages show.
    pub(super) moment: Option<Arc<Snapshot>>,
    pub(super) latest: Option<Arc<Snapshot>>,
    pub(super) report: Option<Arc<Report>>,
    pub(super) finished: Option<RunConclusion>,
    /// The tag whose requests alone are shown.
    pub(super) one_tag: Option<TagView>,
}

impl RunFigures {
    /// Looks at a new snapshot, and goes on to it if that is due. `by_report` says whether pages wait for a report.
    pub(super) fn look(&mut self, snapshot: &Arc<Snapshot>, by_report: bool) {
        self.timeline.look(snapshot);
        self.latest = Some(snapshot.clone());
        let due = self.moment.as_ref().is_none_or(|shown| {
            let since = snapshot
                .progress
                .elapsed
                .saturating_sub(shown.progress.elapsed);
            let waits = by_report && self.report.is_some() && since < PATIENCE;
            let reset = snapshot.progress.measured < shown.progress.measured;
            let first = shown.requests.total.count == 0 && snapshot.requests.total.count > 0;
            reset || first || (since >= EVERY && !waits)
        });
        if due {
            self.renew();
        }
    }

    fn renew(&mut self) {
        if let Some(latest) = &self.latest {
            self.history
                .look(latest.progress.elapsed, &latest.requests.rows);
            self.moment = Some(latest.clone());
        }
    }

    /// Returns how many names the requests of the moment have.
    pub(super) fn names(&self) -> usize {
        let shown = self.moment.as_ref();
        shown.map_or(0, |shown| shown.requests.rows.len())
    }

    /// Takes the report that was requested, and brings the pages to the latest snapshot.
    pub fn show_report(&mut self, report: Option<Arc<Report>>) {
        if report.is_some() && self.finished.is_none() {
            self.report = report;
            self.renew();
        }
    }

    /// Takes the figures of a tag, which are `None` if no request has it.
    pub fn show_tag(&mut self, tag: &str, figures: Option<LiveTag>) {
        let elapsed = self.moment.as_ref().map(|shown| shown.progress.elapsed);
        let elapsed = elapsed.filter(|_| self.finished.is_none());
        if let Some(one) = self.one_tag.as_mut().filter(|one| one.tag() == tag) {
            one.show(figures, elapsed);
        }
    }

    /// Shows the requests of one tag from now on, or all of them.
    pub(super) fn choose_tag(&mut self, tag: Option<Arc<str>>) {
        self.one_tag = tag.map(TagView::new);
        if self.finished.is_some() {
            self.take_tag_of_report();
        }
    }

    /// Takes the figures of the tag from the report of the run, which is over.
    fn take_tag_of_report(&mut self) {
        let (Some(one), Some(report)) = (&mut self.one_tag, &self.report) else {
            return;
        };
        let row = report.by_tag.iter().find(|row| *row.tag == *one.tag());
        one.show(row.map(LiveTag::from), None);
    }

    /// Returns the last snapshot of a run that is over, which is looked at before the run counts as
    /// [finished](RunFigures::finish).
    pub(super) fn last(&mut self, report: &Arc<Report>) -> Arc<Snapshot> {
        let last = self.moment.take().unwrap_or_default();
        Arc::new(last.ended(report))
    }

    /// Shows the report of the run, which is over, from now on.
    pub(super) fn finish(&mut self, last: &Arc<Snapshot>, report: &Arc<Report>) {
        self.moment = Some(last.clone());
        self.report = Some(report.clone());
        let verdict = report.verdict.as_ref();
        let after = report.ending.as_ref().map(|ending| ending.at_s);
        self.finished = Some(RunConclusion {
            after: after
                .and_then(|at| Duration::try_from_secs_f64(at).ok())
                .map_or(last.progress.elapsed, |at| at.max(last.progress.elapsed)),
            verdict: thresholds_in_short(&report.thresholds),
            passed: verdict.is_none_or(|verdict| verdict.result != VerdictResult::Failed),
        });
        self.take_tag_of_report();
    }
}

/// Returns how many thresholds hold, such as `5 of 6 thresholds`; empty without any.
fn thresholds_in_short(thresholds: &[ThresholdRow]) -> String {
    let held = thresholds.iter().filter(|row| row.passed).count();
    match thresholds.len() {
        0 => String::new(),
        all => format!("{held} of {}", counted(all as u64, "threshold")),
    }
}
