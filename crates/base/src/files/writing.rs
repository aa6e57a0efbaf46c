//! Writing of files: in one step, or bit by bit without waiting for the reader of a pipe.

use super::mark;
use super::reading::{is_descriptor, or_here};
use rand::RngExt as _;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, openat, renameat, statat, unlinkat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Whether a file gets the mark of those that plans may write over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Marking {
    None,
    OfPlan,
}

/// Returns whether the path is not a regular file: a pipe, a terminal, or a descriptor of this process.
pub fn is_device(path: &Path) -> bool {
    path == Path::new("/dev/stderr")
        || is_descriptor(path)
        || fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// Creates a file, or truncates an existing one, without waiting: a pipe may have no reader yet, or never.
pub fn create(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK.bits() as i32;
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    match options.custom_flags(flags).open(path) {
        // A pipe without a reader, which may come later: a pipe that is opened for reading as well does not wait
        // for it.
        Err(error) if error.raw_os_error() == Some(Errno::NXIO.raw_os_error()) => {
            let mut options = OpenOptions::new();
            options.read(true).write(true).custom_flags(flags);
            options.open(path)
        }
        file => file,
    }
}

/// Writes a file in one step: a reader finds the old file or the new one, even after a crash, and never a part.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if is_device(path) {
        return File::options().append(true).open(path)?.write_all(bytes);
    }
    // For a link, this replaces the file that it points to, not the link.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = or_here(target.parent().unwrap_or(Path::new("")));
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = openat(CWD, folder, flags, Mode::empty())?;
    let name = target.file_name().ok_or(io::ErrorKind::IsADirectory)?;
    replace_in(&folder, name, bytes, Marking::None)
}

/// Writes a file of a folder as [`replace`] does; does not follow a link of that name.
pub(super) fn replace_in(
    folder: &OwnedFd,
    name: &OsStr,
    bytes: &[u8],
    marking: Marking,
) -> io::Result<()> {
    let old = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok();
    let mode = old.map_or(Mode::from_raw_mode(0o666), |old| {
        Mode::from_raw_mode(old.st_mode)
    });
    let temporary = format!(".lgoose-{:016x}", rand::rng().random::<u64>());
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let create = flags | OFlags::CREATE | OFlags::EXCL;
    let mut file: File = match openat(folder, &temporary, create, mode) {
        Ok(file) => file.into(),
        // The file may be writable although its folder is not.
        Err(_) if old.is_some_and(|old| FileType::from_raw_mode(old.st_mode).is_file()) => {
            let file = openat(folder, name, flags | OFlags::TRUNC, Mode::empty());
            return write(&mut file?.into(), bytes, marking);
        }
        Err(error) => return Err(error.into()),
    };
    let written = write(&mut file, bytes, marking)
        .and_then(|()| Ok(renameat(folder, &temporary, folder, name)?));
    if written.is_err() {
        let _unusable = unlinkat(folder, &temporary, AtFlags::empty());
    }
    written
}

fn write(file: &mut File, bytes: &[u8], marking: Marking) -> io::Result<()> {
    file.write_all(bytes)?;
    if marking == Marking::OfPlan {
        mark::end(file);
    }
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_descriptor_is_none_that_only_starts_like_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("file");
        fs::write(&file, "").expect("written");
        for (path, is) in [
            ("/dev/stderr".into(), true),
            ("/dev/fd/7".into(), true),
            ("/proc/self/fd/7".into(), true),
            ("/dev/null".into(), true),
            (format!("/dev/fd/../../..{}", file.display()), false),
            (format!("/proc/self/fd/../../..{}", file.display()), false),
            (file.display().to_string(), false),
        ] {
            assert_eq!(is_device(Path::new(&path)), is, "{path}");
        }
    }
}
