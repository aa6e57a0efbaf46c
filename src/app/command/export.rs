//! Exports the run while it goes on, as the flags say.

use crate::app::runtime;
use crate::app::supervisor::Begun;
use crate::cli;
use crate::error::Error;
use crate::metrics::Report;
use crate::otlp::{Exporter, Options};

/// Returns how the run is to be exported, if the flags want that.
///
/// # Errors
/// A mistake in the flag or in a variable of the environment.
pub(super) fn options(flags: &cli::Run) -> Result<Option<Options>, Error> {
    let Some(endpoint) = &flags.export.otlp else {
        return Ok(None);
    };
    let endpoint = Some(endpoint.as_str()).filter(|endpoint| !endpoint.is_empty());
    Options::read(endpoint, |name| std::env::var(name).ok()).map(Some)
}

/// Begins to export the run.
///
/// # Errors
/// A header that cannot be sent; trouble with a thread.
pub(super) fn start(options: Options, begun: &Begun) -> Result<Exporter, Error> {
    let facts = (&*begun.prepared().name, &*begun.target());
    Exporter::start(options, runtime()?, begun.handle().clone(), facts)
}

/// Exports the report of the run, which is told there if something did not arrive.
pub(super) fn finish(exporter: Option<Exporter>, report: &mut Report) {
    let warning = exporter.and_then(|exporter| exporter.finish(report));
    report.warnings.extend(warning);
}
