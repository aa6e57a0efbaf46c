//! Writing of reports to the places that `-o` names, after a run or from a saved one.

use super::context::RunContext;
use super::screen::{self, print_text, report_error, terminal_width};
use crate::app::places::{self, RunFile};
use crate::cli;
use lgoose_base::console;
use lgoose_base::error::{Diagnostic, Error, Trouble, exit};
use lgoose_base::files::{self, is_device, replace};
use lgoose_metrics::Report;
use lgoose_plan::config::{Format, Output};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// Time for each device after an interrupt: one that is read takes all in it.
const AFTER_INTERRUPT: Duration = Duration::from_secs(1);

/// Writes all outputs, regular files first, since a pipe may block. Output for standard output is queued when this
/// returns.
///
/// # Errors
/// An error for each output that could not be written.
pub(super) fn write_all(outputs: &[Output], report: &Report) -> Result<(), Vec<Error>> {
    let (files, streams) = files_and_streams(outputs);
    let parts = files.iter().chain(&streams);
    to_result(parts.filter_map(|part| part.write(report).err()).collect())
}

/// Writes all outputs of a run that is over, likewise, until a signal comes: that ends the wait for a pipe or a device
/// that takes nothing, and leaves no file out.
///
/// # Errors
/// An error for each output that could not be written.
pub(super) async fn write_until(
    context: RunContext<'_>,
    report: &Report,
) -> Result<(), Vec<Error>> {
    let mut interrupted = pin!(context.interrupted());
    // From here on it receives signals, also while files are written.
    let mut is_interrupted = tokio::select! {
        biased;
        () = &mut interrupted => true,
        () = std::future::ready(()) => false,
    };
    context.handler.note_over();
    let (files, streams) = files_and_streams(&context.flags.outputs.output);
    let mut troubles: Vec<Error> = files
        .iter()
        .filter_map(|part| part.write(report).err())
        .collect();
    for part in streams {
        let patience = async {
            if is_interrupted {
                tokio::time::sleep(AFTER_INTERRUPT).await
            } else {
                interrupted.as_mut().await
            }
        };
        let written = part.write_beside(report, patience).await;
        is_interrupted |= matches!(written, Err(OutputFailure::Interrupted));
        troubles.extend(written.err().map(|unwritten| match unwritten {
            OutputFailure::Trouble(error) => error,
            OutputFailure::Interrupted => {
                let path = part.path.unwrap_or_default();
                cannot(&path, "nobody had read all of it when a signal came")
            }
        }));
    }
    to_result(troubles)
}

fn to_result(troubles: Vec<Error>) -> Result<(), Vec<Error>> {
    if troubles.is_empty() {
        Ok(())
    } else {
        Err(troubles)
    }
}

/// Reason for which an output was not written.
enum OutputFailure {
    Interrupted,
    Trouble(Error),
}

fn files_and_streams(outputs: &[Output]) -> (Vec<ReportOutput>, Vec<ReportOutput>) {
    let is_file = |part: &ReportOutput| part.path.as_ref().is_some_and(|path| !is_device(path));
    outputs.iter().flat_map(parts).partition(is_file)
}

/// Output to one place.
struct ReportOutput {
    format: Format,
    /// Whether it is the series, the second file of CSV.
    is_series: bool,
    /// `None` for standard output.
    path: Option<PathBuf>,
}

/// Returns the parts of an output, each of which may be a file or may block.
fn parts(output: &Output) -> impl Iterator<Item = ReportOutput> {
    let part = |is_series, path| ReportOutput {
        format: output.format,
        is_series,
        path,
    };
    let beside = output
        .path
        .as_deref()
        .filter(|path| output.format == Format::Csv && !is_device(path))
        .map(lgoose_report::csv::series_path);
    let series = beside.map(|path| part(true, Some(path)));
    [part(false, output.path.clone())].into_iter().chain(series)
}

impl ReportOutput {
    fn write(&self, report: &Report) -> Result<(), Error> {
        write(self.path.as_deref(), &self.render(report)?)
    }

    fn render(&self, report: &Report) -> Result<Vec<u8>, Error> {
        if self.is_series {
            Ok(lgoose_report::csv::series(report)?.into_bytes())
        } else {
            lgoose_report::render(report, self.format)
        }
    }

    /// Writes it on a thread of its own, which is left behind when the wait is `interrupted`, and ends with the process.
    async fn write_beside(
        &self,
        report: &Report,
        interrupted: impl Future<Output = ()>,
    ) -> Result<(), OutputFailure> {
        let Some(path) = self.path.clone() else {
            return self.write(report).map_err(OutputFailure::Trouble);
        };
        let bytes = Arc::new(self.render(report).map_err(OutputFailure::Trouble)?);
        let (done, is_done) = oneshot::channel();
        let theirs = Arc::clone(&bytes);
        let thread = std::thread::Builder::new().name("output".to_owned());
        let started = thread.spawn(move || {
            // There may be nobody left who waits for this.
            let _gone = done.send(write(Some(&path), &theirs));
        });
        let written = async {
            match started {
                Ok(_) => is_done.await.ok(),
                Err(_) => None,
            }
        };
        let written = tokio::select! {
            written = written => written,
            () = interrupted => return Err(OutputFailure::Interrupted),
        };
        // Without a thread it is written here.
        let written = written.unwrap_or_else(|| write(self.path.as_deref(), &bytes));
        written.map_err(OutputFailure::Trouble)
    }
}

/// Runs `lgoose report`: prints the tables of a saved run, and writes other formats of it. The exit code does not
/// depend on the run's verdict: 0 means that everything was printed and written.
pub(super) fn report(flags: &cli::ReportArgs) -> Result<u8, Error> {
    apart(&flags.file, &flags.output)?;
    let mut reports = Vec::new();
    for file in &flags.file {
        let (name, text) = read(file)?;
        let report = lgoose_report::json::from_json(&text, &name)?;
        reports.push((name, report));
    }
    let mut report = match reports.len() {
        1 => reports.remove(0).1,
        _ => lgoose_metrics::join(reports).map_err(|problem| {
            let help =
                "give the JSON reports of all parts of one load, '--part 1/2' and '--part 2/2'";
            Diagnostic::new(problem).help(help)
        })?,
    };
    if report.verdict.is_none() {
        // An earlier lgoose wrote it, or it was written during the run.
        report.verdict = Some(lgoose_judgement::judge(&report, None));
    }
    let written = write_all(&flags.output, &report);
    screen::written(console::out().settle(None))?;
    if flags.output.iter().all(|output| output.path.is_some()) {
        let options = lgoose_report::text::TableOptions {
            status_codes: flags.status_codes,
            ..Default::default()
        };
        print_text(&lgoose_report::text::tables(
            &report,
            terminal_width(),
            options,
        ))?;
    }
    for trouble in written.as_ref().err().into_iter().flatten() {
        report_error(trouble, false);
    }
    Ok(written.map_or(exit::TROUBLE, |()| exit::OK))
}

/// Checks that no output overwrites a report that is read.
pub(super) fn apart<'a>(
    read: impl IntoIterator<Item = &'a PathBuf>,
    outputs: &[Output],
) -> Result<(), Diagnostic> {
    let read = read.into_iter().filter(|path| path.as_os_str() != "-");
    let read: Vec<RunFile> = read.map(|path| RunFile::new("a report", path)).collect();
    places::apart(&read, &places::reports(outputs))
}

/// Returns the name and text of a saved report; `-` is standard input.
pub(super) fn read(path: &Path) -> Result<(String, String), Error> {
    let (name, found) = match path.to_str() {
        Some("-") => (
            "standard input".to_owned(),
            files::read_all(std::io::stdin()),
        ),
        _ => (path.display().to_string(), files::read(path)),
    };
    let help = "give a file that a run wrote with '-o json=run.json', or '-'";
    let bytes = found.map_err(|error| {
        Diagnostic::new(format!("cannot read the report '{name}': {error}")).help(help)
    })?;
    let text = String::from_utf8(bytes).map_err(|_| {
        Diagnostic::new("not a report of lgoose: it is not UTF-8")
            .at(&name, None, "")
            .help(help)
    })?;
    Ok((name, text))
}

/// Writes an output; `None` is standard output.
pub(super) fn write(path: Option<&Path>, bytes: &[u8]) -> Result<(), Error> {
    let Some(path) = path else {
        console::out().put(bytes.to_vec());
        return Ok(());
    };
    replace(path, bytes).map_err(|error| cannot(path, error))
}

fn cannot(path: &Path, why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    let trouble = Trouble::cannot("write the report to");
    trouble.with_path(path).because(why).into()
}
