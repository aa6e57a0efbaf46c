//! `lgoose import`: reads a recording, prints its plan, writes the files that go with it, and tells what is left to do.

use super::screen::{aside, put};
use crate::cli;
use crate::error::{Diagnostic, Error, Trouble, exit};
use crate::files;
use crate::import::{self, Choices};
use std::fs::OpenOptions;
use std::io::{BufReader, ErrorKind, Write as _};
use std::path::Path;

/// Imports what the flags name.
///
/// # Errors
/// What cannot be read, or a file that cannot be written or is there already.
pub(super) fn import(flags: &cli::Import) -> Result<u8, Error> {
    let choices = Choices {
        hosts: flags.hosts.clone(),
        files: flags.to.is_some(),
    };
    let imported = match flags.file.as_os_str() == "-" {
        true => import::import("standard input", std::io::stdin().lock(), &choices)?,
        false => {
            let name = flags.file.display().to_string();
            let file = files::open(&flags.file).map_err(|error| {
                Diagnostic::new(format!("cannot read '{name}': {error}")).help(
                    "name a HAR file or a file with a curl command line, or '-' for standard input",
                )
            })?;
            import::import(
                &format!("'{name}'"),
                BufReader::with_capacity(1 << 16, file),
                &choices,
            )?
        }
    };
    if let Some(folder) = &flags.to {
        for (name, content) in &imported.files {
            write(folder, name, content)?;
        }
    }
    put(imported.plan.into_bytes())?;
    for note in &imported.notes {
        aside(&format!("note: {note}"));
    }
    Ok(exit::OK)
}

/// Writes a file over nothing but itself.
fn write(folder: &Path, name: &str, content: &[u8]) -> Result<(), Error> {
    let path = folder.join(name);
    std::fs::create_dir_all(folder)
        .map_err(|error| Trouble::cannot("make").with_path(folder).because(error))?;
    let opened = OpenOptions::new().write(true).create_new(true).open(&path);
    let mut file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            if files::read(&path).is_ok_and(|found| found == content) {
                return Ok(());
            }
            let told = format!("'{}' is there already, with other contents", path.display());
            return Err(Diagnostic::new(told)
                .help("name another folder with '--to', or remove the file")
                .into());
        }
        Err(error) => {
            return Err(Trouble::cannot("write")
                .with_path(&path)
                .because(error)
                .into());
        }
    };
    file.write_all(content).map_err(|error| {
        Trouble::cannot("write")
            .with_path(&path)
            .because(error)
            .into()
    })
}
