//! Publishes a run to its views: snapshots, the effect of a command at once, and reports on demand. Driven by the
//! director.

use crate::run::steering::LoadProgress;
use lgoose_metrics::{Detail, Progress, Report, RunSettings, Snapshot, Store};
use std::sync::Arc;
use tokio::sync::watch;

/// Views of a run under way. All requests for a report of the same detail between two snapshots get the same one.
#[derive(Debug)]
pub(crate) struct Views {
    snapshots: watch::Sender<Option<Arc<Snapshot>>>,
    reports: Vec<(Detail, Arc<Report>)>,
    settings: Option<RunSettings>,
}

impl Views {
    pub(crate) fn new(snapshots: watch::Sender<Option<Arc<Snapshot>>>) -> Views {
        Views {
            snapshots,
            reports: Vec::new(),
            settings: None,
        }
    }

    /// Publishes a snapshot: the figures have changed.
    pub(crate) fn publish(&mut self, snapshot: Arc<Snapshot>) {
        self.figures_changed();
        self.snapshots.send_replace(Some(snapshot));
    }

    /// Publishes a command's effect at once, without newer figures.
    pub(crate) fn publish_load(&self, load: LoadProgress) {
        self.snapshots.send_if_modified(|latest| {
            let Some(snapshot) = latest else {
                return false;
            };
            let changed = snapshot.progress.phase != load.phase
                || snapshot.progress.wanted != load.aim
                || snapshot.loads != load.loads;
            if changed {
                *snapshot = Arc::new(Snapshot {
                    progress: Progress {
                        phase: load.phase,
                        wanted: load.aim,
                        played: load.played,
                        ..snapshot.progress
                    },
                    loads: load.loads,
                    ..Snapshot::clone(snapshot)
                });
            }
            changed
        });
    }

    /// Returns the report so far with the settings of the run, which `settings` makes unless they are known.
    pub(crate) fn report(
        &mut self,
        store: &mut Store,
        detail: Detail,
        settings: impl FnOnce() -> RunSettings,
    ) -> Arc<Report> {
        if let Some((_, stored)) = self.reports.iter().find(|(cached, _)| *cached == detail) {
            return stored.clone();
        }
        let report = Arc::new(Report {
            settings: Some(self.settings.get_or_insert_with(settings).clone()),
            ..store.report_so_far(detail)
        });
        self.reports.push((detail, report.clone()));
        report
    }

    /// Forgets the reports: the figures have changed.
    pub(crate) fn figures_changed(&mut self) {
        self.reports.clear();
    }

    /// Forgets the settings: the plan has changed.
    pub(crate) fn settings_changed(&mut self) {
        self.settings = None;
    }
}
