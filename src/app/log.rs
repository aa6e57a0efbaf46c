//! Log of plans and of lgoose itself: written to standard error unless a view has the terminal, to the readers of the
//! current run, and to the file of `--log-file`.

use super::signals::Signals;
use super::writable::mistake;
use lgoose_base::console::{self, ConsoleState, OutputStream};
use lgoose_base::error::{Error, Trouble, printable};
use lgoose_base::files;
use lgoose_base::units::show_count;
use lgoose_engine::Outcome;
use lgoose_metrics::control::Handle;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::broadcast;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Time without progress after a run, after which the rest of the file is given up.
const PATIENCE: Duration = Duration::from_secs(5);

/// The same at the end of the process.
const LAST_WORDS: Duration = Duration::from_secs(1);

static PLACES: Mutex<LogDestinations> = Mutex::new(LogDestinations {
    readers: None,
    off_terminal: false,
    held: None,
});

/// The file of `--log-file`, once there is one.
static FILE: OnceLock<LogFileWriter> = OnceLock::new();

#[derive(Debug)]
struct LogDestinations {
    /// Readers of the current run.
    readers: Option<broadcast::Sender<Arc<str>>>,
    /// Whether a view has the terminal.
    off_terminal: bool,
    /// Lines held for the file, until it is known that the file may be written.
    held: Option<Vec<Vec<u8>>>,
}

/// A file, which is written by a thread of its own: a full disk or a pipe that nobody reads holds nobody up.
#[derive(Debug)]
struct LogFileWriter {
    path: PathBuf,
    stream: OutputStream,
    /// Missing lines that a report mentions.
    reported: AtomicU64,
}

/// Starts the log. With `hold`, its lines are kept for the file that [`write_to`] sets.
pub(super) fn start(verbose: bool, quiet: bool, hold: bool) {
    places(|places| places.held = hold.then(Vec::new));
    let level = if verbose {
        tracing::Level::DEBUG
    } else if quiet {
        tracing::Level::ERROR
    } else {
        tracing::Level::INFO
    };
    // lgoose itself reports the state of the connection to a broker.
    let levels = Targets::new()
        .with_default(level)
        .with_target("async_nats", LevelFilter::OFF);
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(LineMaker)
        .with_ansi(false)
        .without_time();
    tracing_subscriber::registry()
        .with(lines.with_filter(levels))
        .init();
}

/// Writes the log to a file from now on, including the lines that were held for it.
///
/// # Errors
/// Returns a mistake if the file cannot be written.
pub(super) fn write_to(path: &Path) -> Result<(), Error> {
    let file = files::create(path).map_err(|error| mistake("--log-file", path, &error))?;
    let file = FILE.get_or_init(|| LogFileWriter {
        path: path.to_owned(),
        stream: OutputStream::of_file("the log file", file),
        reported: AtomicU64::new(0),
    });
    places(|places| {
        for line in places.held.take().unwrap_or_default() {
            file.stream.offer(line);
        }
    });
    Ok(())
}

/// Waits until the file has taken the lines of a run, and adds the missing ones to the outcome: lines
/// that were left out are a warning, and a file that cannot be written is trouble. Ctrl-C and SIGTERM end the wait.
pub(super) async fn enter(outcome: &mut Outcome, signals: &Signals, run: &Handle) {
    let Some(file) = FILE.get() else {
        return;
    };
    let state = tokio::select! {
        state = file.stream.settled_within(PATIENCE) => state,
        () = signals.interrupted(run) => file.stream.state(),
    };
    outcome.report.warnings.extend(file.loss());
    if let Some(trouble) = file.trouble(state) {
        outcome.trouble.get_or_insert(trouble);
    }
}

/// Waits at the end of the process until the file has taken all lines.
///
/// # Errors
/// Returns trouble if lines are missing that no report mentions.
pub(super) fn end() -> Result<(), Error> {
    let Some(file) = FILE.get() else {
        return Ok(());
    };
    let all_reported = || file.stream.count().missing <= file.reported.load(Ordering::Relaxed);
    // Lines that a report mentions have been given up.
    if all_reported() {
        return Ok(());
    }
    let state = file.stream.settle(Some(LAST_WORDS));
    if all_reported() {
        return Ok(());
    }
    let loss = file.loss().unwrap_or_default();
    Err(file.trouble(state).unwrap_or_else(|| Error::trouble(loss)))
}

impl LogFileWriter {
    /// Returns a text about the lines that are missing, if there are any.
    fn loss(&self) -> Option<String> {
        let count = self.stream.count();
        self.reported.store(count.missing, Ordering::Relaxed);
        (count.missing > 0).then(|| {
            format!(
                "{} of {} lines of the log '{}' were left out: the file could not be written as fast as they came, or not \
                 at all",
                show_count(count.missing),
                show_count(count.lines),
                self.path.display()
            )
        })
    }

    fn trouble(&self, state: ConsoleState) -> Option<Error> {
        let ConsoleState::Ended(errno) = state else {
            return None;
        };
        let trouble = Trouble::cannot("write the log").with_path(&self.path);
        Some(trouble.because(io::Error::from(errno)).into())
    }
}

/// Keeps lines off standard error from now on, or lets them through again.
pub(super) fn silence_terminal(off: bool) {
    places(|places| places.off_terminal = off);
}

/// Sends lines to the readers of a run until it is dropped.
#[derive(Debug)]
pub(super) struct LogFeed;

impl LogFeed {
    pub(super) fn start(readers: broadcast::Sender<Arc<str>>) -> LogFeed {
        places(|places| places.readers = Some(readers));
        LogFeed
    }
}

impl Drop for LogFeed {
    fn drop(&mut self) {
        places(|places| places.readers = None);
    }
}

fn places<T>(with: impl FnOnce(&mut LogDestinations) -> T) -> T {
    with(&mut PLACES.lock().unwrap_or_else(PoisonError::into_inner))
}

#[derive(Debug)]
struct LineMaker;

/// A line of the log, which is written when this is dropped.
#[derive(Debug, Default)]
struct LineBuffer(Vec<u8>);

impl<'a> MakeWriter<'a> for LineMaker {
    type Writer = LineBuffer;

    fn make_writer(&'a self) -> LineBuffer {
        LineBuffer::default()
    }
}

impl Write for LineBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for LineBuffer {
    fn drop(&mut self) {
        // Fields of a line can come from the plan, such as the name of a scenario.
        let text = String::from_utf8_lossy(&self.0);
        let text = printable(&text);
        places(|places| {
            let bytes = || text.as_bytes().to_vec();
            match (&mut places.held, FILE.get()) {
                (Some(held), _) => held.push(bytes()),
                (None, Some(file)) => file.stream.offer(bytes()),
                (None, None) => {}
            }
            if let Some(readers) = places
                .readers
                .as_ref()
                .filter(|all| all.receiver_count() > 0)
            {
                for line in text.lines() {
                    let _closed = readers.send(line.into());
                }
            }
            if !places.off_terminal {
                console::err().offer(bytes());
            }
        });
    }
}
