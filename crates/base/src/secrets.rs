//! Files that this user alone may read from their creation on: plans with their data and variables, keys, tokens.

use crate::error::{Error, Trouble};
use std::fs::{DirBuilder, OpenOptions, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use tempfile::TempDir;

/// Makes a temporary folder, which is removed when the result is dropped.
///
/// # Errors
/// Trouble with the folder of temporary files.
pub fn temporary_folder() -> Result<TempDir, Error> {
    tempfile::Builder::new()
        .permissions(Permissions::from_mode(0o700))
        .tempdir()
        .map_err(|error| Error::cannot("make a folder", error))
}

/// Writes a new file, in folders that are made if they are missing.
///
/// # Errors
/// Trouble that names the file.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let write = || {
        if let Some(folder) = path.parent() {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder)?;
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        options.open(path)?.write_all(bytes)
    };
    write().map_err(|error| {
        Trouble::cannot("write")
            .with_path(path)
            .because(error)
            .into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_else_may_read_what_is_written() {
        let folder = temporary_folder().expect("a folder");
        let file = folder.path().join("deeper/key.pem");
        write(&file, b"secret").expect("it is written");
        assert_eq!(std::fs::read(&file).expect("it is there"), b"secret");
        let modes = [folder.path(), file.parent().expect("a folder"), &file].map(|path| {
            let metadata = path.metadata().expect("it is there");
            metadata.permissions().mode() & 0o777
        });
        assert_eq!(modes, [0o700, 0o700, 0o600]);
        assert!(write(&file, b"again").is_err(), "it is there already");
    }
}
