//! Export of a run while it is under way, as the flags say.

use crate::app::prepare::PreparedRun;
use crate::app::runtime;
use crate::cli;
use lgoose_base::error::Error;
use lgoose_metrics::Report;
use lgoose_metrics::control::Handle;
use lgoose_otlp::{ExportOptions, Exporter};

/// Returns the options of the export, if the flags request one.
///
/// # Errors
/// A mistake in the flag or in an environment variable.
pub(super) fn options(flags: &cli::RunArgs) -> Result<Option<ExportOptions>, Error> {
    let Some(endpoint) = &flags.export.otlp else {
        return Ok(None);
    };
    let endpoint = Some(endpoint.as_str()).filter(|endpoint| !endpoint.is_empty());
    ExportOptions::read(endpoint, |name| std::env::var(name).ok()).map(Some)
}

/// Starts the export of the run.
///
/// # Errors
/// A mistake for a header that cannot be sent; trouble with a thread.
pub(super) fn start(
    options: ExportOptions,
    prepared: &PreparedRun,
    handle: &Handle,
) -> Result<Exporter, Error> {
    let run = &prepared.run;
    Exporter::start(options, runtime()?, handle.clone(), &run.name, &run.target)
}

/// Exports the report of the run. If something did not arrive, the report gets a warning.
pub(super) fn finish(exporter: Option<Exporter>, report: &mut Report) {
    let warning = exporter.and_then(|exporter| exporter.finish(report));
    report.warnings.extend(warning);
}
