//! Reading of files: only regular files are opened, so that nothing waits for a pipe without a writer or reads a device
//! forever, and only those that fit into memory: all are kept whole.

use crate::machine;
use crate::units::show_size;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::Path;

/// The folders of the descriptors of this process, by their numbers: a shell may hand over pipes by them, as in `lgoose
/// <(generate)`.
const DESCRIPTORS: [&str; 2] = ["/dev/fd", "/proc/self/fd"];

/// Returns whether a path is that of a descriptor of this process, and not only begins like one: `..` leads from there
/// to any file.
pub(super) fn is_descriptor(path: &Path) -> bool {
    let is_number = |rest: &Path| {
        let digits = rest.as_os_str().as_encoded_bytes();
        !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
    };
    DESCRIPTORS
        .iter()
        .any(|folder| path.strip_prefix(folder).is_ok_and(is_number))
}

/// Returns whether a path stands for a descriptor of this process that may be read, so that it lies in no folder.
pub fn is_handed_over(path: &Path) -> bool {
    path == Path::new("/dev/stdin") || is_descriptor(path)
}

/// Returns the folder, the current one for an empty path.
pub fn or_here(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    }
}

/// Opens a file to be read.
///
/// # Errors
/// As `File::open`, and one in words for a folder, a pipe, a socket, a device or a file larger than the memory.
pub fn open(path: &Path) -> io::Result<File> {
    let file = open_of_any_size(path)?;
    if !is_handed_over(path) {
        fits(file.metadata()?.len())?;
    }
    Ok(file)
}

/// Opens a file to be read in parts: it may be larger than the memory.
///
/// # Errors
/// As [`open`], but for its size.
pub fn open_of_any_size(path: &Path) -> io::Result<File> {
    if is_handed_over(path) {
        return File::open(path);
    }
    // Without waiting: a pipe is found out after it is opened, so that no other file can take its place between.
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    regular(
        OpenOptions::new()
            .read(true)
            .custom_flags(flags)
            .open(path)?,
    )
}

/// Checks that the opened file is a regular one.
pub(super) fn regular(file: File) -> io::Result<File> {
    let metadata = file.metadata()?;
    let kind = metadata.file_type();
    let what = match () {
        () if kind.is_file() => return Ok(file),
        () if kind.is_dir() => "a folder",
        () if kind.is_fifo() => "a pipe",
        () => "a device",
    };
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("it is {what}, not a file"),
    ))
}

/// Checks that a file of that many bytes may be kept. It may have no contents and still be that long.
pub(super) fn fits(length: u64) -> io::Result<()> {
    /// Smaller files need no look at the machine.
    const SMALL_FILE: u64 = 1 << 20;
    if length < SMALL_FILE {
        return Ok(());
    }
    match machine::memory_there_is().filter(|most| length > *most) {
        Some(most) => Err(too_large(format!(
            "it has {}, and there is memory for {}",
            show_size(length as f64),
            show_size(most as f64)
        ))),
        None => Ok(()),
    }
}

fn too_large(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, message)
}

/// Reads a whole file.
///
/// # Errors
/// As [`open`].
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_all(open(path)?)
}

/// Reads all of a file or a pipe. The length is not known beforehand for a pipe and for a growing file.
///
/// # Errors
/// Those of reading, and one in words if it is larger than the memory.
pub fn read_all(input: impl io::Read) -> io::Result<Vec<u8>> {
    // A growing buffer exists twice while it is moved.
    let most = machine::memory_there_is().map_or(u64::MAX, |most| most / 2);
    read_at_most(input, most)
}

/// The most bytes of a text that people write: a plan, a module, a list of variables. Reading it takes a multiple of
/// that.
const MOST_TEXT: u64 = 8 << 20;

fn read_at_most(input: impl io::Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        Err(too_large(format!(
            "there is memory for {} of it, and it has more",
            show_size(most as f64)
        )))
    } else {
        Ok(bytes)
    }
}

/// Reads a whole file that people write, text in UTF-8.
///
/// # Errors
/// As [`open`] and [`read_text`].
pub fn read_to_string(path: &Path) -> io::Result<String> {
    read_text(open(path)?)
}

/// Reads a text that people write.
///
/// # Errors
/// Those of reading, one in words if it is too long, and one of the kind `InvalidData` that says where it is not UTF-8.
pub fn read_text(input: impl io::Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    input.take(MOST_TEXT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_TEXT {
        return Err(too_large(format!(
            "it has more than {}, which is the most that such a text may have; data belongs into files of their own",
            show_size(MOST_TEXT as f64)
        )));
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + valid.iter().filter(|byte| **byte == b'\n').count();
        let problem = format!("it is not text in UTF-8, in line {line}");
        io::Error::new(io::ErrorKind::InvalidData, problem)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_does_not_fit_into_memory_is_not_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("sparse");
        let file = File::create(&path).expect("made");
        file.set_len(8 << 40).expect("it takes no room");
        let message = read(&path).expect_err("it is too large").to_string();
        assert!(
            message.starts_with("it has 8.00 TiB, and there is memory for "),
            "{message}"
        );
    }

    #[test]
    fn a_pipe_is_not_read_for_ever() {
        let message = read_at_most(io::repeat(0), 1 << 20).expect_err("it has no end");
        assert_eq!(
            message.to_string(),
            "there is memory for 1.00 MiB of it, and it has more"
        );
        let whole = read_at_most(io::repeat(7).take(1 << 20), 1 << 20);
        assert_eq!(whole.ok().map(|bytes| bytes.len()), Some(1 << 20));
    }

    #[test]
    fn only_files_are_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("file");
        std::fs::write(&file, "text").expect("written");
        assert_eq!(read_to_string(&file).ok().as_deref(), Some("text"));
        let pipe = folder.path().join("pipe");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, mode).expect("a pipe");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&pipe, &link).expect("a link");
        for (path, what) in [
            (folder.path(), "a folder"),
            (&pipe, "a pipe"),
            (&link, "a pipe"),
            (Path::new("/dev/zero"), "a device"),
            (Path::new("/dev/fd/../../../dev/zero"), "a device"),
            (Path::new("/proc/self/fd/../../../dev/zero"), "a device"),
            (Path::new("/proc/self/fd"), "a folder"),
        ] {
            let message = read(path).expect_err(what).to_string();
            assert_eq!(message, format!("it is {what}, not a file"));
        }
    }
}
