//! The report of a run that goes on, made when somebody asks for it.

use crate::metrics::{Report, RunSettings, Store};
use std::sync::Arc;

/// Cache of the report so far: all who ask between two ticks get the same one.
#[derive(Debug, Default)]
pub(crate) struct LiveReport {
    report: Option<Arc<Report>>,
    settings: Option<RunSettings>,
}

impl LiveReport {
    /// Returns the report, with the settings that `settings` makes when they are not known.
    pub(crate) fn get(
        &mut self,
        store: &mut Store,
        settings: impl FnOnce() -> RunSettings,
    ) -> Arc<Report> {
        let report = self.report.get_or_insert_with(|| {
            Arc::new(Report {
                settings: Some(self.settings.get_or_insert_with(settings).clone()),
                ..store.report_so_far()
            })
        });
        report.clone()
    }

    /// Forgets the report: the figures have changed.
    pub(crate) fn figures_changed(&mut self) {
        self.report = None;
    }

    /// Forgets the settings: the plan has changed.
    pub(crate) fn settings_changed(&mut self) {
        self.settings = None;
    }
}
