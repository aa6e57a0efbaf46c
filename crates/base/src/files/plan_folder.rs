//! The folder of a plan, and the one way from a path that a plan names to a file. The plan may be that of a stranger,
//! so the files that it names lie in its folder or below, symbolic links included. It writes nothing below a name that
//! begins with a dot: such files steer other programs (`.git/config`, `.bashrc`). `--allow-files` lifts these rules.

use super::reading::or_here;
use rustix::fs::{CWD, Mode, OFlags, openat};
use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

/// The reach of the paths of a plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FileReach {
    /// The plan's folder and everything below.
    #[default]
    Folder,
    /// Every file that lgoose may open (`--allow-files`).
    Anywhere,
}

/// The use that a plan makes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileUse {
    /// The plan reads the file.
    Read,
    /// The plan writes the file.
    Write,
}

/// The folder that a plan writes to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum WriteFolder {
    /// The one that it reads from.
    #[default]
    Same,
    /// This one alone, which is made with the folders in it when they are needed: several people run plans of one folder.
    Own(PathBuf),
    /// None, since there is no run.
    Nowhere,
    /// None: the plan may not write (`--sandbox`).
    Forbidden,
}

/// The folder that the paths of a plan are relative to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanFolder {
    reads: PathBuf,
    pub(super) writes: WriteFolder,
    pub(super) reach: FileReach,
}

/// The reason why a plan may not use a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathRefusal {
    /// The plan may write no file.
    #[error("'--sandbox' lets a plan write no file")]
    Forbidden,
    /// The path names no file.
    #[error("it names no file")]
    NoName,
    /// The path contains a NUL character.
    #[error("it contains a NUL character")]
    Nul,
    /// The path is absolute.
    #[error("an absolute path leads outside the plan's folder")]
    Absolute,
    /// The path has a `..`.
    #[error("'..' leads outside the plan's folder")]
    Parent,
    /// A symbolic link leads out of the folder.
    #[error("a symbolic link leads outside the plan's folder")]
    LeadsOut,
    /// A symbolic link leads to nothing.
    #[error("a symbolic link leads nowhere")]
    LeadsNowhere,
    /// The name of a file or folder that is written begins with a dot.
    #[error("'{0}' begins with a dot, and plans write no such files")]
    Hidden(String),
    /// The file is there and was not written for a plan.
    #[error("it is there already, and was not written for a plan")]
    Foreign,
    /// The file has changed since it was written for a plan.
    #[error("it is there already, and has changed since it was written for a plan")]
    Changed,
    /// The file has a second name.
    #[error("it is there already, and has another name as well, a hard link")]
    Linked,
    #[error(
        "it is there already, and its file system does not keep the attribute that marks the files of plans"
    )]
    /// The file system cannot mark the files of plans.
    NoMarks,
}

impl PathRefusal {
    /// Returns the remedy.
    pub fn help(&self) -> &'static str {
        match self {
            PathRefusal::Foreign
            | PathRefusal::Changed
            | PathRefusal::Linked
            | PathRefusal::NoMarks => {
                "remove it, or name another file; '--allow-files' lets a plan that you trust write over any file"
            }
            PathRefusal::Forbidden => "leave '--sandbox' out if you trust the plan",
            _ => {
                "name a file in the plan's folder or below; '--allow-files' lets a plan that you trust use any file"
            }
        }
    }
}

/// The reason why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// A plan names it, and may not.
    #[error(transparent)]
    Refused(#[from] PathRefusal),
    /// The file system says so, or the file is not one.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A file by its name in its folder, which is open: no link can take the place of a folder any more.
#[derive(Debug)]
pub(super) struct FileLocation {
    pub(super) folder: OwnedFd,
    pub(super) name: OsString,
    /// Its path without links.
    pub(super) path: PathBuf,
}

impl PlanFolder {
    /// Makes the folder of a plan that reads and writes in it.
    pub fn new(folder: &Path, reach: FileReach) -> PlanFolder {
        PlanFolder {
            reads: or_here(folder).to_owned(),
            writes: WriteFolder::Same,
            reach,
        }
    }

    /// Has the plan write to that folder.
    pub fn writing_to(self, writes: WriteFolder) -> PlanFolder {
        PlanFolder { writes, ..self }
    }

    /// Returns a path of the plan as seen from the current folder.
    pub(crate) fn join(&self, path: &Path, usage: FileUse) -> PathBuf {
        let root = self.root(usage);
        if root == Path::new(".") {
            path.to_owned()
        } else {
            root.join(path)
        }
    }

    /// Returns the path of the folder that it reads from, without links.
    ///
    /// # Errors
    /// The error of the file system.
    pub fn real_path(&self) -> io::Result<PathBuf> {
        self.reads.canonicalize()
    }

    fn root(&self, usage: FileUse) -> &Path {
        match (usage, &self.writes) {
            (FileUse::Write, WriteFolder::Own(folder)) => folder,
            _ => &self.reads,
        }
    }

    /// Makes the folder that the plan writes to, if that is its own, with those that a path leads through.
    pub(super) fn make_own(&self, path: &Path) -> io::Result<()> {
        match &self.writes {
            WriteFolder::Own(own) if path.is_relative() => {
                fs::create_dir_all(own.join(path.parent().unwrap_or(Path::new(""))))
            }
            _ => Ok(()),
        }
    }

    /// Checks a path of the plan without a look at the file system.
    ///
    /// # Errors
    /// The reason why the plan may not use it.
    pub(super) fn check_words(&self, path: &Path, usage: FileUse) -> Result<(), PathRefusal> {
        if usage == FileUse::Write && self.writes == WriteFolder::Forbidden {
            return Err(PathRefusal::Forbidden);
        }
        check_words(path, usage)
    }

    /// Finds the file that a path of the plan leads to, which need not exist if it is written. All rules about where
    /// the files of a plan are stand here.
    ///
    /// # Errors
    /// The reason why the plan may not use it, or the file system's error for its folders.
    pub(super) fn locate(&self, path: &Path, usage: FileUse) -> Result<FileLocation, FileError> {
        self.check_words(path, usage)?;
        if usage == FileUse::Write {
            self.make_own(path)?;
        }
        let root = self.root(usage).canonicalize()?;
        let real = real_path(&root.join(path), usage)?;
        let Ok(inside) = real.strip_prefix(&root) else {
            return Err(PathRefusal::LeadsOut.into());
        };
        // A link may lead to a hidden file of the folder, or to the folder itself.
        check_words(inside, usage)?;
        Ok(FileLocation {
            folder: open_folder(&root, inside.parent().unwrap_or(Path::new("")))?,
            name: inside.file_name().unwrap_or_default().to_owned(),
            path: real.clone(),
        })
    }
}

/// Checks the words of a path, without a look at the file system.
fn check_words(path: &Path, usage: FileUse) -> Result<(), PathRefusal> {
    let bytes = path.as_os_str().as_bytes();
    if bytes.contains(&0) {
        return Err(PathRefusal::Nul);
    }
    if path.is_absolute() {
        return Err(PathRefusal::Absolute);
    }
    for part in path.components() {
        match part {
            Component::Normal(name) if usage == FileUse::Write && name.as_bytes()[0] == b'.' => {
                return Err(PathRefusal::Hidden(name.to_string_lossy().into_owned()));
            }
            Component::ParentDir => return Err(PathRefusal::Parent),
            _ => {}
        }
    }
    let last = bytes.rsplit(|byte| *byte == b'/').next();
    match last {
        Some(b"" | b".") | None => Err(PathRefusal::NoName),
        Some(_) => Ok(()),
    }
}

/// Returns a path without links. The file itself need not exist if it is written.
fn real_path(path: &Path, usage: FileUse) -> Result<PathBuf, FileError> {
    match path.canonicalize() {
        Err(error) if error.kind() == ErrorKind::NotFound && usage == FileUse::Write => {
            if path.symlink_metadata().is_ok() {
                return Err(PathRefusal::LeadsNowhere.into());
            }
            let folder = path.parent().unwrap_or(Path::new("")).canonicalize()?;
            Ok(folder.join(path.file_name().unwrap_or_default()))
        }
        real => Ok(real?),
    }
}

/// Opens a folder below another, step by step. A step that has become a link meanwhile is not followed.
fn open_folder(root: &Path, inside: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut folder = openat(CWD, root, flags, Mode::empty())?;
    for step in inside {
        folder = openat(&folder, step, flags | OFlags::NOFOLLOW, Mode::empty())?;
    }
    Ok(folder)
}
