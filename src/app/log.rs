//! Log of plans and of lgoose itself: goes to standard error unless a view has the terminal, to the readers of the
//! run that is under way, and to the file of `--log-file`.

use super::places::mistake;
use crate::console;
use crate::error::Error;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::{Mutex, PoisonError};
use tokio::sync::broadcast;
use tracing_subscriber::fmt::MakeWriter;

static PLACES: Mutex<Places> = Mutex::new(Places {
    readers: None,
    off_terminal: false,
    file: None,
});

#[derive(Debug)]
struct Places {
    /// Readers of the run that is under way.
    readers: Option<broadcast::Sender<Arc<str>>>,
    /// Whether a view has the terminal.
    off_terminal: bool,
    /// The file of `--log-file`, and whether it still has what an earlier run wrote.
    file: Option<(File, bool)>,
}

/// Starts the log.
///
/// # Errors
/// A mistake if the file cannot be written.
pub(super) fn start(verbose: bool, quiet: bool, file: Option<&Path>) -> Result<(), Error> {
    if let Some(path) = file {
        let opened = File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(|error| mistake("--log-file", path, &error))?;
        places(|places| places.file = Some((opened, true)));
    }
    let level = match (verbose, quiet) {
        (true, _) => tracing::Level::DEBUG,
        (false, true) => tracing::Level::ERROR,
        (false, false) => tracing::Level::INFO,
    };
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(Lines)
        .with_ansi(false)
        .without_time()
        .init();
    Ok(())
}

/// Keeps lines off standard error from now on, or lets them through again.
pub(super) fn keep_off_terminal(off: bool) {
    places(|places| places.off_terminal = off);
}

/// Feeds the readers of a run with lines, as long as it lives.
#[derive(Debug)]
pub(super) struct Feed;

impl Feed {
    pub(super) fn start(readers: broadcast::Sender<Arc<str>>) -> Feed {
        places(|places| {
            places.empty_file();
            places.readers = Some(readers);
        });
        Feed
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        places(|places| places.readers = None);
    }
}

impl Places {
    /// Drops what an earlier run wrote: this one begins, or has something to say.
    fn empty_file(&mut self) {
        if let Some((file, is_old)) = &mut self.file
            && std::mem::take(is_old)
        {
            // A pipe has no length.
            let _pipe = file.set_len(0);
        }
    }
}

fn places<T>(with: impl FnOnce(&mut Places) -> T) -> T {
    with(&mut PLACES.lock().unwrap_or_else(PoisonError::into_inner))
}

#[derive(Debug)]
struct Lines;

/// A line of the log, sent on its way when it is dropped.
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
        places(|places| {
            // Nothing is left to tell if a place is gone.
            places.empty_file();
            if let Some((file, _)) = &mut places.file {
                let _full = file.write_all(&self.0);
            }
            if let Some(readers) = places
                .readers
                .as_ref()
                .filter(|all| all.receiver_count() > 0)
            {
                let text = String::from_utf8_lossy(&self.0);
                for line in text.lines() {
                    let _closed = readers.send(line.into());
                }
            }
            if !places.off_terminal {
                console::err().offer(std::mem::take(&mut self.0));
            }
        });
    }
}
