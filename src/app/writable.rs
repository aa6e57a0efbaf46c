//! Tests before the first request whether the files of a run can be written, so that an hour of load is not lost to a
//! missing folder. Does not change existing files.

use super::places::made_by;
use lgoose_base::error::{Diagnostic, Error};
use lgoose_base::files::{FileUse, is_device, or_here};
use lgoose_plan::config::{Format, Logs, Output};
use rustix::fs::{Access, access};
use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;

/// Tests every file that the run will write.
///
/// # Errors
/// Returns a mistake that names the first file that cannot be written, its option and the reason.
pub(super) fn try_places(outputs: &[Output], logs: &Logs) -> Result<(), Error> {
    for output in outputs {
        let Some(path) = &output.path else { continue };
        place("--output", path, replaceable(path))?;
        if output.format == Format::Csv && !is_device(path) {
            let series = lgoose_report::csv::series_path(path);
            place("--output", &series, replaceable(&series))?;
        }
    }
    for (word, log) in logs.files() {
        let tried = writable(&log.file.place(FileUse::Write));
        let shown = log.file.to_string();
        place(&format!("--{word}-log"), Path::new(&shown), tried)?;
    }
    Ok(())
}

/// Describes the mistake for an option whose file cannot be written.
pub(super) fn mistake(flag: &str, path: &Path, reason: &io::Error) -> Error {
    let message = format!("cannot write '{flag}' to '{}': {reason}", path.display());
    Diagnostic::new(message)
        .help("make the folder, change its permissions, or name another file")
        .into()
}

fn place(flag: &str, path: &Path, tried: io::Result<()>) -> Result<(), Error> {
    tried.map_err(|reason| mistake(flag, path, &reason))
}

/// Checks that a file can be replaced in one step, or written in place.
fn replaceable(path: &Path) -> io::Result<()> {
    match writable(path) {
        Err(error) if path.is_file() => in_folder_of(path).map_err(|_| error),
        tried => tried,
    }
}

/// Checks that a file can be opened for writing.
fn writable(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        // Opening a pipe waits for its reader.
        Ok(_) if is_device(path) => Ok(access(path, Access::WRITE_OK)?),
        Ok(_) => OpenOptions::new().append(true).open(path).map(drop),
        Err(error) if error.kind() == io::ErrorKind::NotFound => in_folder_of(path),
        Err(error) => Err(error),
    }
}

/// Checks that a file can be created in the folder of this one. For a link that leads nowhere, that is the folder that it
/// points to.
fn in_folder_of(path: &Path) -> io::Result<()> {
    let target = made_by(path);
    tempfile::Builder::new()
        .prefix(".lgoose-")
        .tempfile_in(or_here(target.parent().unwrap_or(Path::new(""))))
        .map(drop)
}
