//! Exports the run while it goes on, as the flags say.

use crate::app::runtime;
use crate::app::supervisor::Begun;
use crate::cli;
use crate::error::Error;
use crate::metrics::Report;
use crate::otlp::{Exporter, Options};

/// Begins to export the run, if the flags want that.
///
/// # Errors
/// A mistake in the flag or in a variable of the environment; trouble with a thread.
pub(super) fn export(flags: &cli::Run, begun: &Begun) -> Result<Option<Exporter>, Error> {
    let Some(endpoint) = &flags.export.otlp else {
        return Ok(None);
    };
    let endpoint = Some(endpoint.as_str()).filter(|endpoint| !endpoint.is_empty());
    let options = Options::read(endpoint, |name| std::env::var(name).ok())?;
    let facts = (&*begun.prepared().name, &*begun.target());
    Exporter::start(options, runtime()?, begun.handle().clone(), facts).map(Some)
}

/// Exports the report of the run, which is told there if something did not arrive.
pub(super) fn finish(exporter: Option<Exporter>, report: &mut Report) {
    let warning = exporter.and_then(|exporter| exporter.finish(report));
    report.warnings.extend(warning);
}
