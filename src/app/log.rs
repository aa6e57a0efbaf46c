//! Where the log of plans and of lgoose itself goes: to standard error, to the view while it has the terminal, and
//! to the file of `--log-file`.

use crate::error::{Error, Trouble};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use tokio::sync::mpsc::UnboundedSender;
use tracing_subscriber::fmt::MakeWriter;

static PLACES: Mutex<Places> = Mutex::new(Places {
    view: None,
    file: None,
});

#[derive(Debug)]
struct Places {
    view: Option<UnboundedSender<String>>,
    file: Option<File>,
}

/// Starts the log.
///
/// # Errors
/// Trouble with the file.
pub(super) fn start(verbose: bool, quiet: bool, file: Option<&Path>) -> Result<(), Error> {
    if let Some(path) = file {
        let opened = File::create(path).map_err(|error| {
            Trouble::cannot("write the log to")
                .with_path(path)
                .because(error)
        })?;
        places(|places| places.file = Some(opened));
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

/// Shows lines in the view from now on, or on standard error again.
pub(super) fn show_in(view: Option<UnboundedSender<String>>) {
    places(|places| places.view = view);
}

fn places<T>(with: impl FnOnce(&mut Places) -> T) -> T {
    with(&mut PLACES.lock().unwrap_or_else(PoisonError::into_inner))
}

#[derive(Debug)]
struct Lines;

/// One line, sent on its way when it is dropped.
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
            if let Some(file) = &mut places.file {
                let _full = file.write_all(&self.0);
            }
            match &places.view {
                Some(view) => {
                    let text = String::from_utf8_lossy(&self.0);
                    for line in text.lines() {
                        let _closed = view.send(line.to_owned());
                    }
                }
                None => {
                    let _gone = io::stderr().write_all(&self.0);
                }
            }
        });
    }
}
