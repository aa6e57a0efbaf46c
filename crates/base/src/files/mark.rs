//! The mark of a file that lgoose has written because a plan named it, so that the next run may write over it. It is an
//! extended attribute of the file: nothing lies beside it, it is gone once the file is replaced or copied, and neither an
//! archive nor a repository that somebody sends can bring one along. It notes the length and the time of the last change,
//! so that a file which a person has edited since is the person's.

use super::plan_folder::{FileError, PathRefusal};
use rustix::fs::{XattrFlags, fgetxattr, fsetxattr};
use rustix::io::Errno;
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt as _;

/// The name of the attribute.
const ATTRIBUTE: &str = "user.lgoose";

/// The value while the file is written: a run that is killed leaves it.
const BEING_WRITTEN: &[u8] = b"being written";

/// The most bytes of a value.
const MAX_VALUE: usize = 64;

/// Marks a file that is about to be written.
pub(super) fn begin(file: &File) {
    set(file, BEING_WRITTEN);
}

/// Marks a file as it is now.
pub(super) fn end(file: &File) {
    if let Ok(metadata) = file.metadata() {
        set(file, state(&metadata).as_bytes());
    }
}

/// Sets the mark. Where the file system keeps none, [`check`] refuses the next run and says so.
fn set(file: &File, value: &[u8]) {
    let _no_attributes = fsetxattr(file, ATTRIBUTE, value, XattrFlags::empty());
}

fn state(metadata: &Metadata) -> String {
    let (length, seconds, nanoseconds) = (metadata.len(), metadata.mtime(), metadata.mtime_nsec());
    format!("{length} bytes, changed {seconds}.{nanoseconds:09}")
}

/// Checks that a file may be written over: it bears the mark and is as its last writing has left it.
///
/// # Errors
/// The reason why it may not, or trouble with the file system.
pub(super) fn check(file: &File) -> Result<(), FileError> {
    let metadata = file.metadata()?;
    // Its other name may be one that plans do not write to.
    if metadata.nlink() > 1 {
        return Err(PathRefusal::Linked.into());
    }
    let mut value = [0; MAX_VALUE];
    let refusal = match fgetxattr(file, ATTRIBUTE, &mut value[..]) {
        Ok(length) if value[..length] == *BEING_WRITTEN => return Ok(()),
        Ok(length) if value[..length] == *state(&metadata).as_bytes() => return Ok(()),
        Ok(_) | Err(Errno::RANGE) => PathRefusal::Changed,
        Err(Errno::OPNOTSUPP) => PathRefusal::NoMarks,
        Err(_) => PathRefusal::Foreign,
    };
    Err(refusal.into())
}
