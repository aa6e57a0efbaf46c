//! Log of plans and of lgoose itself: written to standard error unless a view has the terminal, to the readers of the
//! current run, and to the file of `--log-file`.

use super::writable::mistake;
use crate::console;
use crate::error::{Error, printable};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::{Mutex, PoisonError};
use tokio::sync::broadcast;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

static PLACES: Mutex<Places> = Mutex::new(Places {
    readers: None,
    off_terminal: false,
    file: None,
    held: None,
});

#[derive(Debug)]
struct Places {
    /// Readers of the current run.
    readers: Option<broadcast::Sender<Arc<str>>>,
    /// Whether a view has the terminal.
    off_terminal: bool,
    file: Option<File>,
    /// Lines held for the file, until it is known that the file may be written.
    held: Option<Vec<u8>>,
}

/// Starts the log. With `hold`, its lines are kept for the file that [`write_to`] sets.
pub(super) fn start(verbose: bool, quiet: bool, hold: bool) {
    places(|places| places.held = hold.then(Vec::new));
    let level = match (verbose, quiet) {
        (true, _) => tracing::Level::DEBUG,
        (false, true) => tracing::Level::ERROR,
        (false, false) => tracing::Level::INFO,
    };
    // lgoose itself reports what matters about the connection to a broker.
    let levels = Targets::new()
        .with_default(level)
        .with_target("async_nats", LevelFilter::OFF);
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(Lines)
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
    let opened = File::create(path);
    let begun = places(|places| {
        let mut file = opened?;
        file.write_all(&places.held.take().unwrap_or_default())?;
        places.file = Some(file);
        Ok::<(), io::Error>(())
    });
    begun.map_err(|error| mistake("--log-file", path, &error))
}

/// Keeps lines off standard error from now on, or lets them through again.
pub(super) fn keep_off_terminal(off: bool) {
    places(|places| places.off_terminal = off);
}

/// Sends lines to the readers of a run until it is dropped.
#[derive(Debug)]
pub(super) struct Feed;

impl Feed {
    pub(super) fn start(readers: broadcast::Sender<Arc<str>>) -> Feed {
        places(|places| places.readers = Some(readers));
        Feed
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        places(|places| places.readers = None);
    }
}

fn places<T>(with: impl FnOnce(&mut Places) -> T) -> T {
    with(&mut PLACES.lock().unwrap_or_else(PoisonError::into_inner))
}

#[derive(Debug)]
struct Lines;

/// A line of the log, which is written when this is dropped.
#[derive(Debug, Default)]
struct Line(Vec<u8>);

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Line;

    fn make_writer(&'a self) -> Line {
        Line::default()
    }
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        // Fields of a line can come from the plan, such as the name of a scenario.
        let text = String::from_utf8_lossy(&self.0);
        let text = printable(&text);
        places(|places| {
            if let Some(held) = &mut places.held {
                held.extend_from_slice(text.as_bytes());
            }
            // If a place is gone, nobody can be told.
            if let Some(file) = &mut places.file {
                let _full = file.write_all(text.as_bytes());
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
                console::err().offer(text.as_bytes().to_vec());
            }
        });
    }
}
