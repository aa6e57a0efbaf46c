//! The report of a run under way, made when somebody asks for it.

use crate::metrics::{Detail, Report, RunSettings, Store};
use std::sync::Arc;

/// Cache of the report so far: all who ask for the same detail between two ticks get the same report.
#[derive(Debug, Default)]
pub(crate) struct LiveReport {
    reports: Vec<(Detail, Arc<Report>)>,
    settings: Option<RunSettings>,
}

impl LiveReport {
    /// Returns the report with the settings of the run, which `settings` makes unless they are in the cache.
    pub(crate) fn get(
        &mut self,
        store: &mut Store,
        detail: Detail,
        settings: impl FnOnce() -> RunSettings,
    ) -> Arc<Report> {
        if let Some((_, known)) = self.reports.iter().find(|(known, _)| *known == detail) {
            return known.clone();
        }
        let report = Arc::new(Report {
            settings: Some(self.settings.get_or_insert_with(settings).clone()),
            ..store.report_so_far(detail)
        });
        self.reports.push((detail, report.clone()));
        report
    }

    /// Forgets the report: the figures have changed.
    pub(crate) fn figures_changed(&mut self) {
        self.reports.clear();
    }

    /// Forgets the settings: the plan has changed.
    pub(crate) fn settings_changed(&mut self) {
        self.settings = None;
    }
}
