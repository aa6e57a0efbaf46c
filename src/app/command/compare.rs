//! `lgoose compare`: reads reports or runs a plan, compares the runs before a change with those after it, and prints
//! the result.

use super::outputs::{apart, read, write};
use super::repeat::RepeatedRuns;
use super::screen::{self, print_reason, print_text, report_error, terminal_width};
use crate::app::signal_handler::SignalHandler;
use crate::cli;
use lgoose_base::console;
use lgoose_base::error::{Diagnostic, Error, exit};
use lgoose_metrics::compare::{self, Comparison, GRAMMAR, NamedReport, RegressionLimit};
use lgoose_plan::config::Output;
use std::path::{Path, PathBuf};

/// Compares the reports that the flags name, and returns the exit code.
///
/// # Errors
/// A mistake in a limit, a file that is not a report, or a file that is named twice.
pub(super) fn compare(flags: &cli::CompareArgs, handler: &SignalHandler) -> Result<u8, Error> {
    let limits: Vec<RegressionLimit> = flags
        .max_regression
        .iter()
        .map(|text| limit(text))
        .collect::<Result<_, _>>()?;
    let runs = RepeatedRuns::of(flags)?;
    let sides = match &runs {
        Some(runs) => (runs.before, &[][..]),
        None => sides(flags)?,
    };
    apart(sides.0.iter().chain(sides.1), &flags.output)?;
    let [before, after] = match runs {
        Some(runs) => match runs.run(handler)? {
            Some(sides) => sides,
            None => return Ok(exit::ABORTED),
        },
        None => {
            let mut texts = Vec::new();
            let before = read_reports(sides.0, &mut texts)?;
            [before, read_reports(sides.1, &mut texts)?]
        }
    };
    let comparison = compare::compare(&before, &after, limits);
    show(&comparison, &flags.output, flags.anyway)
}

fn limit(text: &str) -> Result<RegressionLimit, Error> {
    RegressionLimit::read(text).map_err(|what| {
        let message = format!("'--max-regression {text}': {what}");
        Diagnostic::new(message).help(GRAMMAR).into()
    })
}

/// Returns the files before the change and those after it.
fn sides(flags: &cli::CompareArgs) -> Result<(&[PathBuf], &[PathBuf]), Error> {
    let shown = |path: &PathBuf| path.display().to_string();
    match (&flags.file[..], &flags.after[..]) {
        ([_, _], []) => Ok(flags.file.split_at(1)),
        ([only], []) => {
            let only = shown(only);
            let message = format!("'{only}' alone cannot be compared");
            let help =
                format!("name the report after the change, too: lgoose compare {only} after.json");
            Err(Diagnostic::new(message).help(help).into())
        }
        ([first, ..], []) => {
            let message = format!(
                "it is not clear which of {} reports are from before the change",
                flags.file.len()
            );
            let help = format!(
                "put '--after' before those after it: lgoose compare {} … --after {} …",
                shown(first),
                flags.file.last().map(shown).unwrap_or_default()
            );
            Err(Diagnostic::new(message).help(help).into())
        }
        (before, after) => Ok((before, after)),
    }
}

/// Reads reports; `texts` has the names and texts of all reports read so far.
pub(super) fn read_reports(
    files: &[PathBuf],
    texts: &mut Vec<(String, String)>,
) -> Result<Vec<NamedReport>, Error> {
    let one = |path: &PathBuf| {
        let (file, text) = read(path)?;
        let report = lgoose_report::json::from_json(&text, &file)?;
        if let Some((other, _)) = texts.iter().find(|(_, earlier)| *earlier == text) {
            let message = if *other == file {
                format!("'{file}' is named twice")
            } else {
                format!("'{other}' and '{file}' are the same report")
            };
            let help = "give the reports of different runs: a run says nothing of how runs differ";
            return Err(Diagnostic::new(message).help(help).into());
        }
        texts.push((file.clone(), text));
        Ok(NamedReport { file, report })
    };
    files.iter().map(one).collect()
}

/// Writes and prints a comparison, and returns the exit code.
fn show(comparison: &Comparison, outputs: &[Output], anyway: bool) -> Result<u8, Error> {
    let mut troubles = Vec::new();
    for output in outputs {
        let text = lgoose_report::render_comparison(comparison, output.format);
        let path: Option<&Path> = output.path.as_deref();
        troubles.extend(text.and_then(|text| write(path, text.as_bytes())).err());
    }
    screen::written(console::out().settle(None))?;
    if outputs.iter().all(|output| output.path.is_some()) {
        print_text(lgoose_report::text::comparison(comparison, terminal_width()).trim_end())?;
    }
    for trouble in &troubles {
        report_error(trouble, false);
    }
    let regressions = comparison.regressions().count();
    if !comparison.comparable && !anyway {
        print_reason("the runs are not comparable; '--anyway' judges by the figures nevertheless");
    } else if regressions > 0 {
        print_reason("slower than '--max-regression' allows, beyond chance");
    }
    Ok(if !troubles.is_empty() {
        exit::TROUBLE
    } else if !comparison.comparable && !anyway {
        exit::MISTAKE
    } else if regressions > 0 {
        exit::VERDICT
    } else {
        exit::OK
    })
}
