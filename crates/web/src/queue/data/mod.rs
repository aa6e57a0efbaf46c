//! The folder of runs: one folder for each, with `run.json`, the text of the plan, `report.json`, and the files that the
//! plan writes. Files that others put there are read with limits and never trusted; links are not followed.

use super::facts::ReportFacts;
use super::record::{RunRecord, RunRow};
use lgoose_base::error::{Diagnostic, Error, Trouble};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, unlinkat};
use rustix::io::Errno;
use std::collections::HashMap;
use std::fmt;
use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Name of the report in a run's folder.
pub(super) const REPORT: &str = "report.json";
/// Name of the plan's text there.
pub(super) const PLAN: &str = "plan.lua";
/// Name of the record that is kept beside both.
const RECORD: &str = "run.json";
/// Name of the folder that the plan writes to: apart from the others, so that no plan writes over a report.
const FILES: &str = "files";

/// Name of the file that the process of a run locks, with the name of that run.
const RUNNING: &str = ".running";

/// The most bytes of a report that is opened.
const REPORT_BYTES: u64 = 64 << 20;
/// The most bytes of the other files.
const OTHER_BYTES: u64 = 4 << 20;

/// The most folders that are listed, the last by name.
const MAX_FOLDERS: usize = 5_000;

/// The most bytes of a plan's name in that of a run.
const NAME: usize = 80;

/// The folder of runs, which no other lgoose serves.
#[derive(Debug)]
pub struct RunFolder {
    root: PathBuf,
    /// Locked as long as this process is there.
    _lock: File,
    /// Facts read from reports, by the names of runs.
    cached_facts: Mutex<HashMap<String, StoredFacts>>,
}

/// Facts read from a report, and the stamp of its file.
type StoredFacts = (FileStamp, Result<ReportFacts, String>);

/// Stamp of a file, which differs once the file has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileStamp(u64, u64, i64, i64);

impl RunFolder {
    /// Opens the folder, and makes it if it is not there.
    ///
    /// # Errors
    /// A mistake if it cannot be written, or if another lgoose serves it.
    pub fn open(root: &Path) -> Result<RunFolder, Error> {
        let cannot = |error: io::Error| {
            let message = format!("cannot keep runs in '{}': {error}", root.display());
            Diagnostic::new(message).help("name a folder that lgoose may write, with '--data DIR'")
        };
        let made = DirBuilder::new().recursive(true).mode(0o700).create(root);
        made.map_err(cannot)?;
        let lock = File::options()
            .create(true)
            .append(true)
            .open(root.join(".lock"))
            .map_err(cannot)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let message = format!(
                    "another 'lgoose serve' keeps its runs in '{}'",
                    root.display()
                );
                return Err(Diagnostic::new(message)
                    .help("give each a folder of its own with '--data DIR'")
                    .into());
            }
            Err(TryLockError::Error(error)) => return Err(cannot(error).into()),
        }
        Ok(RunFolder {
            root: root.to_owned(),
            _lock: lock,
            cached_facts: Mutex::default(),
        })
    }

    /// Makes the folder of a requested run, and returns its name: the time and the plan.
    ///
    /// # Errors
    /// Trouble with the folder, such as a full disk.
    pub(super) fn create(&self, record: &RunRecord) -> Result<String, Error> {
        let time = record.queued.split(['.', 'Z']).next().unwrap_or_default();
        let base = format!("{}Z-{}", time.replace(':', "-"), plain(&record.plan));
        let cannot = |error| -> Error {
            let trouble = Trouble::cannot("keep the run in").with_path(&self.root);
            trouble.because(error).into()
        };
        for nth in 1..1_000 {
            let id = match nth {
                1 => base.clone(),
                nth => format!("{base}-{nth}"),
            };
            match DirBuilder::new().mode(0o700).create(self.root.join(&id)) {
                Ok(()) => {
                    if let Err(error) = self.write_record(&id, record) {
                        // As if it had never been requested.
                        let _removed = self.remove(&id);
                        return Err(error);
                    }
                    return Ok(id);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(cannot(error)),
            }
        }
        Err(cannot(io::ErrorKind::AlreadyExists.into()))
    }

    /// Writes the record of a run, in one step.
    ///
    /// # Errors
    /// Trouble that names the file.
    pub(super) fn write_record(&self, id: &str, record: &RunRecord) -> Result<(), Error> {
        let folder = self.root.join(id);
        let written = serde_json::to_vec_pretty(record).map_err(io::Error::from);
        let written = written.and_then(|bytes| {
            let mut file = tempfile::Builder::new()
                .prefix(".lgoose-")
                .tempfile_in(&folder)?;
            file.write_all(&bytes)?;
            file.persist(folder.join(RECORD))?;
            Ok(())
        });
        written.map_err(|error| {
            let trouble = Trouble::cannot("write").with_path(folder.join(RECORD));
            trouble.because(error).into()
        })
    }

    /// Keeps the plan's text with a run.
    ///
    /// # Errors
    /// Trouble with either file.
    pub(super) fn store_plan(&self, id: &str, plan: &Path) -> Result<(), Error> {
        let copy = self.root.join(id).join(PLAN);
        let bytes = lgoose_base::files::read(plan)
            .map_err(|error| Error::from(Trouble::cannot("read").with_path(plan).because(error)))?;
        fs::write(&copy, bytes).map_err(|error| {
            Trouble::cannot("write")
                .with_path(&copy)
                .because(error)
                .into()
        })
    }

    /// Returns the path of the file that the process of a run locks.
    pub(super) fn running_path(&self) -> PathBuf {
        self.root.join(RUNNING)
    }

    /// Returns the run whose process is there, even if another server has started it; `None` if there is none.
    pub(super) fn running(&self) -> Option<String> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = openat(CWD, &self.root, flags, Mode::empty()).ok()?;
        let (file, _) = open(&folder, RUNNING).ok()?;
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => {}
            _ => return None,
        }
        let mut id = String::new();
        file.take(OTHER_BYTES).read_to_string(&mut id).ok()?;
        Some(id)
    }

    /// Returns the path at which a run writes its report.
    pub(super) fn report_path(&self, id: &str) -> PathBuf {
        self.root.join(id).join(REPORT)
    }

    /// Returns the path of the folder that the plan of a run writes to; it is there once the plan has written a file.
    pub(super) fn files_path(&self, id: &str) -> PathBuf {
        self.root.join(id).join(FILES)
    }

    /// Returns the rows of all folders that are runs, in no order.
    ///
    /// # Errors
    /// Trouble with the folder itself.
    pub(super) fn rows(&self) -> Result<Vec<RunRow>, Error> {
        let entries = fs::read_dir(&self.root).map_err(|error| -> Error {
            let trouble = Trouble::cannot("read").with_path(&self.root);
            trouble.because(error).into()
        })?;
        let names = entries.flatten().map(|entry| entry.file_name());
        let mut names: Vec<_> = names.filter_map(|name| name.into_string().ok()).collect();
        // Names begin with the time.
        names.sort_unstable_by(|a, b| b.cmp(a));
        names.truncate(MAX_FOLDERS);
        let rows: Vec<_> = names.iter().filter_map(|id| self.row(id)).collect();
        let mut cached = self
            .cached_facts
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        cached.retain(|id, _| rows.iter().any(|row| row.id == *id));
        Ok(rows)
    }

    /// Returns the row of a run; `None` if there is none of that name.
    pub(super) fn row(&self, id: &str) -> Option<RunRow> {
        let folder = self.folder(id)?;
        let report = self.facts(id, &folder);
        let (record, broken) = match record(&folder) {
            Ok(record) => (record, None),
            Err(error) => (None, Some(Err(error))),
        };
        let report = report.or(broken);
        let is_run = record.is_some() || report.is_some();
        is_run.then(|| RunRow::new(id, record, report))
    }

    /// Returns the main figures of a run's report, or why it cannot be shown; `None` without one.
    fn facts(&self, id: &str, folder: &OwnedFd) -> Option<Result<ReportFacts, String>> {
        let stamp = match open(folder, REPORT) {
            Ok((_, stamp)) => stamp,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => return Some(Err(unreadable(&error))),
        };
        let cached = || {
            self.cached_facts
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        if let Some((_, facts)) = cached().get(id).filter(|(seen, _)| *seen == stamp) {
            return Some(facts.clone());
        }
        let facts = read(folder, REPORT, REPORT_BYTES);
        let facts = facts.map_err(|error| unreadable(&error));
        let facts = facts.and_then(|bytes| ReportFacts::read(&bytes));
        cached().insert(id.to_owned(), (stamp, facts.clone()));
        Some(facts)
    }

    /// Returns the bytes of a run's report; `None` without one.
    ///
    /// # Errors
    /// Why it cannot be read, in words.
    pub(super) fn report(&self, id: &str) -> Result<Option<Vec<u8>>, String> {
        self.file(id, REPORT, REPORT_BYTES)
            .map_err(|error| unreadable(&error))
    }

    /// Returns the text of a run's plan; `None` without one.
    pub(super) fn plan(&self, id: &str) -> Option<Vec<u8>> {
        self.file(id, PLAN, OTHER_BYTES).ok().flatten()
    }

    fn file(&self, id: &str, name: &str, most: u64) -> io::Result<Option<Vec<u8>>> {
        let Some(folder) = self.folder(id) else {
            return Ok(None);
        };
        match read(&folder, name, most) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Removes the files of a run, and its folder if there is nothing else in it.
    ///
    /// # Errors
    /// Trouble that names the folder.
    pub(super) fn remove(&self, id: &str) -> Result<(), Error> {
        let path = self.root.join(id);
        let Some(folder) = self.folder(id) else {
            return Ok(());
        };
        for name in [REPORT, PLAN, RECORD] {
            match unlinkat(&folder, name, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(error) => {
                    let trouble = Trouble::cannot("remove").with_path(path.join(name));
                    return Err(trouble.because(io::Error::from(error)).into());
                }
            }
        }
        // Removes a link, and not its target.
        match fs::remove_dir_all(path.join(FILES)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                let trouble = Trouble::cannot("remove").with_path(path.join(FILES));
                return Err(trouble.because(error).into());
            }
            _ => {}
        }
        // Other people's files stay.
        let _not_empty = fs::remove_dir(&path);
        Ok(())
    }

    /// Opens the folder of a run; `None` if the name is none, or leads elsewhere.
    fn folder(&self, id: &str) -> Option<OwnedFd> {
        let is_name = !id.is_empty() && !id.starts_with('.') && !id.contains(['/', '\0']);
        if !is_name {
            return None;
        }
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        openat(CWD, self.root.join(id), flags, Mode::empty()).ok()
    }
}

/// Opens a file in a folder; a link is none.
fn open(folder: &OwnedFd, name: &str) -> io::Result<(File, FileStamp)> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match openat(folder, name, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::LOOP) => return Err(io::Error::other("it is a link")),
        Err(error) => return Err(error.into()),
    };
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let stamp = FileStamp(found.ino(), found.len(), found.mtime(), found.mtime_nsec());
    Ok((file, stamp))
}

/// Reads a file in a folder that has no more than so many bytes.
fn read(folder: &OwnedFd, name: &str, most: u64) -> io::Result<Vec<u8>> {
    let (file, FileStamp(_, length, ..)) = open(folder, name)?;
    let mut bytes = Vec::new();
    if length <= most {
        // It may grow meanwhile.
        file.take(most + 1).read_to_end(&mut bytes)?;
    }
    if length.max(bytes.len() as u64) > most {
        Err(io::Error::other(format!(
            "it has more than {} MiB",
            most >> 20
        )))
    } else {
        Ok(bytes)
    }
}

/// Reads the record of a run beside its report; `None` without one.
fn record(folder: &OwnedFd) -> Result<Option<RunRecord>, String> {
    let message = |error: &dyn fmt::Display| format!("'{RECORD}' cannot be read: {error}");
    match read(folder, RECORD, OTHER_BYTES) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| message(&error)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(message(&error)),
    }
}

fn unreadable(error: &io::Error) -> String {
    format!("'{REPORT}' cannot be read: {error}")
}

/// Returns a plan's name as it can stand in a file's.
fn plain(plan: &str) -> String {
    let name = plan.strip_suffix(".lua").unwrap_or(plan);
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') {
            c
        } else {
            '_'
        }
    };
    name.chars().map(plain).take(NAME).collect()
}

#[cfg(test)]
mod tests;
