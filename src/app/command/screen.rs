//! Prints a run without a terminal view: figures on standard output, troubles and the plan's log on standard error.

use crate::cli;
use lgoose_base::console::{self, ConsoleState};
use lgoose_base::error::{Diagnostic, Error, printable};
use lgoose_metrics::control::{Reader, ReaderMessage, ReloadResult};
use lgoose_metrics::{ErrorRow, Snapshot};
use lgoose_plan::config::Config;
use std::collections::HashSet;
use std::io::IsTerminal as _;
use std::sync::Arc;
use tokio::sync::watch;

/// Prints a line when all users have started, and one every `--running-metrics`. Never ends. Lines that nobody reads
/// are dropped.
pub(super) async fn report_progress(
    mut pictures: watch::Receiver<Option<Arc<Snapshot>>>,
    config: &Config,
    flags: &cli::RunArgs,
) -> Error {
    // For a single iteration, the log shows each request.
    let silent = flags.screen.quiet || config.screen.only_summary || flags.load.once;
    if silent || writes_to_stdout(flags) {
        return std::future::pending().await;
    }
    let (users, every) = (
        config.local.part.share(config.run.users),
        config.screen.running_metrics,
    );
    let mut next = (!every.is_zero()).then_some(every);
    let mut started = false;
    let mut reported = ReportedErrors::default();
    loop {
        if pictures.changed().await.is_err() {
            return std::future::pending().await;
        }
        let Some(picture) = pictures.borrow_and_update().clone() else {
            continue;
        };
        if !started && picture.users == users {
            started = true;
            offer(&lgoose_report::text::started_line(
                users,
                picture.progress.elapsed,
            ));
        }
        for error in reported.new_in(&picture.errors) {
            offer(&lgoose_report::text::error_line(error));
        }
        if let Some(due) = next.filter(|due| picture.progress.elapsed >= *due) {
            next = Some(due + every);
            offer(&lgoose_report::text::progress_line(&picture));
        }
    }
}

/// Prints the results of reloads. Never ends.
pub(super) async fn report_news(mut news: Reader<ReloadResult>) -> Error {
    while let Some(received) = news.next().await {
        match received {
            ReaderMessage::Entry(Ok(message)) => {
                tracing::info!(target: "lgoose::app::reload", "{message}")
            }
            ReaderMessage::Entry(Err(error)) => report_error(&error, false),
            // Newer results follow.
            ReaderMessage::Skipped(_) => {}
        }
    }
    std::future::pending().await
}

/// Kinds of errors that have been printed.
#[derive(Default)]
struct ReportedErrors(HashSet<(String, String, Option<String>)>);

impl ReportedErrors {
    /// Returns the errors of kinds that are new, up to a limit; the tables at the end have the rest.
    fn new_in<'a>(&mut self, errors: &'a [ErrorRow]) -> Vec<&'a ErrorRow> {
        const MAX_KINDS: usize = 20;
        let mut new = Vec::new();
        for error in errors {
            if error.cause(errors).is_some() {
                continue;
            }
            let kind = (
                error.name.clone(),
                error.message.clone(),
                error.line.clone(),
            );
            if self.0.len() < MAX_KINDS && self.0.insert(kind) {
                new.push(error);
            }
        }
        new
    }
}

/// Returns whether to show the live view: standard output is a capable terminal, and no flag requests something else.
pub(super) fn shows_view(flags: &cli::RunArgs) -> bool {
    let screen = &flags.screen;
    let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty());
    let unwanted = screen.headless || screen.quiet || screen.only_summary || flags.load.once;
    std::io::stdout().is_terminal() && !dumb && !unwanted && !writes_to_stdout(flags)
}

/// Returns whether the run can get commands.
pub(super) fn can_steer(flags: &cli::RunArgs) -> bool {
    is_steered_from_afar(flags) || shows_view(flags)
}

/// Returns whether the run takes commands over HTTP.
pub(super) fn is_steered_from_afar(flags: &cli::RunArgs) -> bool {
    flags.web.web.is_some() && !flags.web.web_read_only
}

/// Returns whether colours are allowed: <https://no-color.org> defines a variable that forbids them unless it is
/// empty.
pub(super) fn may_colour(flags: &cli::RunArgs) -> bool {
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !(flags.screen.no_color || no_color)
}

/// Returns the columns of the terminal; where standard output is none, those that `COLUMNS` in the environment says.
pub(super) fn terminal_width() -> usize {
    let columns = rustix::termios::tcgetwinsize(std::io::stdout()).map_or(0, |size| size.ws_col);
    let wanted = || std::env::var("COLUMNS").ok()?.trim().parse::<u16>().ok();
    match columns {
        0 => wanted().map_or(lgoose_report::text::PLAIN_WIDTH, |columns| {
            columns.max(20).into()
        }),
        columns => columns.into(),
    }
}

/// Prints a line about a run that is about to begin, without waiting.
pub(super) fn announce(flags: &cli::RunArgs, line: &str) {
    if !flags.screen.quiet && !writes_to_stdout(flags) {
        offer(line);
    }
}

/// Returns whether standard output is for a report that another program reads.
pub(super) fn writes_to_stdout(flags: &cli::RunArgs) -> bool {
    flags
        .outputs
        .output
        .iter()
        .any(|output| output.path.is_none())
}

/// Prints a line as soon as standard output takes it, without waiting.
fn offer(text: &str) {
    console::out().offer(line(text));
}

/// Returns a text as a printable line. Plans and targets may have written parts of it, so control characters are made
/// harmless for the terminal.
fn line(text: &str) -> Vec<u8> {
    format!("{}\n", printable(text.trim_end_matches('\n'))).into_bytes()
}

/// Prints a text and waits until standard output has taken it.
pub(super) fn print_text(text: &str) -> Result<(), Error> {
    put(line(text))
}

/// Prints bytes unchanged and waits until standard output has taken them.
pub(super) fn put(bytes: Vec<u8>) -> Result<(), Error> {
    console::out().put(bytes);
    written(console::out().settle(None))
}

/// Queues the last text of a run for standard output. It does not wait: the run is over, and its exit code must not
/// depend on a terminal or a pipe that nobody reads.
pub(super) fn print_last(text: &str) {
    console::out().put(line(text));
}

/// Checks that standard output has had no error; a reader that has gone is not an error.
pub(super) fn written(state: ConsoleState) -> Result<(), Error> {
    match state {
        ConsoleState::Ended(errno) if !state.is_gone() => {
            let error = std::io::Error::from(errno);
            let message = format!("cannot write to {}: {error}", console::out().name());
            Err(Error::trouble(message))
        }
        // The reader has gone, as in `lgoose … | head`: the run goes on for its other outputs.
        ConsoleState::Ended(_) | ConsoleState::Idle | ConsoleState::Busy => Ok(()),
    }
}

/// Prints a text on standard error, such as the log after the view, or lines for which standard output is not free.
pub(super) fn aside(text: &str) {
    console::err().put(line(text));
}

/// Prints an error in the arguments of a hosted run.
pub(super) fn report_argument_error(message: &str) {
    put_error(message);
}

pub(super) fn report_error(error: &Error, backtrace: bool) {
    let stack = match error {
        Error::Mistake(diagnostic) if backtrace => diagnostic.backtrace_text(),
        _ => None,
    };
    put_error(&match stack {
        Some(stack) => format!("{error}\nstack:{stack}"),
        None => error.to_string(),
    });
}

/// Prints an error on standard error, and sends it to the host of this process, if it has one.
fn put_error(text: &str) {
    // If standard error is gone, nobody receives it.
    console::err().put(line(text));
    lgoose_web::queue::report_error(text);
}

/// Prints a reason for the verdict in the same form as an error. A verdict on the target is not an error of lgoose.
pub(super) fn print_reason(reason: &str) {
    put_error(&format!("error: {reason}"));
}

/// Sends a reason for the verdict that the tables show to the host of this process, if it has one.
pub(super) fn send_reason(reason: &str) {
    lgoose_web::queue::report_error(&format!("error: {reason}"));
}

/// Prints a warning about a plan, with an empty line before it.
pub(super) fn warn(warning: &Diagnostic) {
    console::err().put(line(&format!("\n{}", warning.as_warning())));
}
