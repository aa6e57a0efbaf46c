//! Prints a run without a terminal view: figures to standard output, troubles and the plan's log to standard error.

use crate::app::prepare::Prepared;
use crate::cli;
use crate::config::{Config, Load, Part};
use crate::control::{Heard, News, Reader};
use crate::error::{Diagnostic, Error, printable};
use crate::metrics::{ErrorRow, Snapshot};
use crate::{output, units};
use std::collections::HashSet;
use std::io::{IsTerminal as _, Write as _};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Prints a line when all users have started and one every `--running-metrics`. Ends only with an error.
pub(super) async fn report_progress(
    mut pictures: watch::Receiver<Option<Arc<Snapshot>>>,
    config: &Config,
    flags: &cli::Run,
) -> Error {
    if flags.screen.quiet || config.screen.only_summary || writes_to_stdout(flags) {
        return std::future::pending().await;
    }
    let (users, every) = (
        config.local.part.share(config.run.users),
        config.screen.running_metrics,
    );
    let mut next = (!every.is_zero()).then_some(every);
    let mut started = false;
    let mut told = ReportedErrors::default();
    loop {
        if pictures.changed().await.is_err() {
            return std::future::pending().await;
        }
        let Some(picture) = pictures.borrow_and_update().clone() else {
            continue;
        };
        if !started && picture.users == users {
            started = true;
            if let Err(error) = say(&output::text::started_line(users, picture.elapsed)) {
                return error;
            }
        }
        for error in told.new_in(&picture.errors) {
            if let Err(error) = say(&output::text::error_line(error)) {
                return error;
            }
        }
        if let Some(due) = next.filter(|due| picture.elapsed >= *due) {
            next = Some(due + every);
            if let Err(error) = say(&output::text::progress_line(&picture)) {
                return error;
            }
        }
    }
}

/// Prints the results of reloads, for whoever reads the log. Ends only with an error.
pub(super) async fn report_news(mut news: Reader<News>) -> Error {
    while let Some(heard) = news.next().await {
        match heard {
            Heard::Entry(Ok(told)) => tracing::info!(target: "lgoose::app::reload", "{told}"),
            Heard::Entry(Err(error)) => complain(&error, false),
            // Newer ones follow.
            Heard::Missed(_) => {}
        }
    }
    std::future::pending().await
}

/// Kinds of errors that were already reported.
#[derive(Default)]
struct ReportedErrors(HashSet<(String, String, Option<String>)>);

impl ReportedErrors {
    /// Returns the errors of kinds that were not reported before, up to a limit; the tables at the end have the
    /// rest. What goes beyond the most is in the tables at the end.
    fn new_in<'a>(&mut self, errors: &'a [ErrorRow]) -> Vec<&'a ErrorRow> {
        const MOST: usize = 20;
        let mut new = Vec::new();
        for error in errors {
            let kind = (
                error.name.clone(),
                error.message.clone(),
                error.line.clone(),
            );
            if self.0.len() < MOST && self.0.insert(kind) {
                new.push(error);
            }
        }
        new
    }
}

/// Describes the run to come: `plans/drupal.lua: 12 users, 1 started per second, for 30s`.
pub(super) fn announcement(prepared: &Prepared) -> String {
    let config = &prepared.config.run;
    let users = units::counted(config.users, "user");
    let each = config
        .iterations
        .filter(|_| !matches!(config.load, Load::Rate(..)));
    let span = match (config.run_time, each) {
        (Some(time), _) => format!("for {}", units::show_long(time)),
        (None, Some(1)) => "for 1 iteration each".to_owned(),
        (None, Some(iterations)) => {
            format!("for {} iterations each", units::show_count(iterations))
        }
        (None, None) => "until Ctrl-C".to_owned(),
    };
    let load = match &config.load {
        Load::Stages(stages) => format!("up to {users} in {}", parts(stages.len())),
        Load::Rate(rates, _) => {
            let most = rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
            let up_to = match rates[..] {
                [(Duration::ZERO, _)] => String::new(),
                _ => format!("in {}, up to ", parts(rates.len())),
            };
            format!("{up_to}{most} iterations started per second by at most {users}")
        }
        Load::Users if config.hatch_rate.is_finite() => {
            format!("{users}, {} started per second", config.hatch_rate)
        }
        Load::Users => format!("{users}, all started at once"),
    };
    let part = match prepared.config.local.part {
        Part::WHOLE => String::new(),
        part => format!("{part} of "),
    };
    format!("{}: {part}{load}, {span}", prepared.name)
}

fn parts(stages: usize) -> String {
    match stages {
        1 => "1 stage".to_owned(),
        stages => format!("{stages} stages"),
    }
}

/// Returns whether the run is shown as it goes on a terminal of its own: standard output is one, and nobody wants
/// it for anything else.
pub(super) fn wants_view(flags: &cli::Run) -> bool {
    let screen = &flags.screen;
    let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty());
    let unwanted = screen.headless || screen.quiet || screen.only_summary || flags.load.once;
    std::io::stdout().is_terminal() && !dumb && !unwanted && !writes_to_stdout(flags)
}

/// Returns whether colours may be used: <https://no-color.org> asks for a variable that is not empty.
pub(super) fn may_colour(flags: &cli::Run) -> bool {
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !(flags.screen.no_color || no_color)
}

pub(super) fn terminal_width() -> usize {
    let columns = rustix::termios::tcgetwinsize(std::io::stdout()).map_or(0, |size| size.ws_col);
    match columns {
        0 => output::text::PLAIN_WIDTH,
        columns => columns.into(),
    }
}

pub(super) fn tell(flags: &cli::Run, line: &str) -> Result<(), Error> {
    match flags.screen.quiet || writes_to_stdout(flags) {
        true => Ok(()),
        false => say(line),
    }
}

/// Returns whether standard output belongs to a report that another program reads.
pub(super) fn writes_to_stdout(flags: &cli::Run) -> bool {
    flags
        .outputs
        .output
        .iter()
        .any(|output| output.path.is_none())
}

/// Prints lines. Plans and targets may have written parts of them, so that nothing in them steers a terminal.
pub(super) fn say(text: &str) -> Result<(), Error> {
    put(format!("{}\n", printable(text.trim_end_matches('\n'))).as_bytes())
}

/// Prints lines to standard error, likewise.
pub(super) fn say_error(text: &str) {
    // Nothing is left to tell if standard error is gone.
    let _gone = writeln!(std::io::stderr().lock(), "{}", printable(text));
}

pub(super) fn put(bytes: &[u8]) -> Result<(), Error> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        // Whoever read has gone, as in `lgoose … | head`: the run goes on for its other outputs.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => result
            .map_err(|error| Error::trouble(format!("cannot write to standard output: {error}"))),
    }
}

pub(super) fn complain(error: &Error, backtrace: bool) {
    let stack = match error {
        Error::Mistake(diagnostic) if backtrace => diagnostic.backtrace_text(),
        _ => None,
    };
    match stack {
        Some(stack) => say_error(&format!("{error}\nstack:{stack}")),
        None => say_error(&error.to_string()),
    }
}

/// Prints a warning about a plan, set off from what was printed before.
pub(super) fn warn(warning: &Diagnostic) {
    say_error(&format!("\n{}", warning.as_warning()));
}
