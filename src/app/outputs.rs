//! Writes the report in the formats that were asked for.

use super::screen::put;
use crate::config::{Format, Output};
use crate::error::Error;
use crate::metrics::Report;
use crate::output;

/// Writes all of them, whatever becomes of some.
///
/// # Errors
/// The first trouble.
pub(super) fn write_all(outputs: &[Output], report: &Report) -> Result<(), Error> {
    let mut written = Ok(());
    for output in outputs {
        written = written.and(write(output, report));
    }
    written
}

fn write(output: &Output, report: &Report) -> Result<(), Error> {
    let text = match output.format {
        Format::Json => output::json::to_json(report)?,
    };
    match &output.path {
        None => put(text.as_bytes()),
        Some(path) => std::fs::write(path, text).map_err(|error| {
            Error::Trouble(format!(
                "cannot write the report to '{}': {error}",
                path.display()
            ))
        }),
    }
}
