//! Files that a script sends: those beside it, read into the plan's own.

use super::shell::ShellInput;
use crate::script_variables::ScriptVariables;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// The most bytes of a file.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// The folder of a script.
#[derive(Debug)]
pub(super) struct ScriptFiles {
    folder: Option<PathBuf>,
}

impl ScriptFiles {
    /// Files beside that script; in the current folder if it lies nowhere.
    pub(super) fn beside(script: Option<&Path>) -> ScriptFiles {
        let folder = script.and_then(Path::parent);
        let folder = folder.filter(|folder| *folder != Path::new(""));
        ScriptFiles {
            folder: folder.unwrap_or(Path::new(".")).canonicalize().ok(),
        }
    }

    /// Reads a file, `-` for the input of the command. A file that cannot be read is noted.
    pub(super) fn read(
        &self,
        path: &str,
        input: Option<&ShellInput>,
        notes: &mut Vec<String>,
    ) -> Option<Vec<u8>> {
        let path = match (path, input) {
            ("-" | ".", Some(ShellInput::Text(text))) => return Some(text.clone().into_bytes()),
            ("-" | ".", Some(ShellInput::File(path))) => path.as_str(),
            ("-" | ".", None) => {
                notes.push(
                    "the body from standard input is not known, and is sent empty".to_owned(),
                );
                return None;
            }
            (path, _) => path,
        };
        let read = self.bytes(path);
        if let Err(why) = &read {
            let shown: String = path.chars().take(60).collect();
            notes.push(format!(
                "the file '{shown}' {why}: put it beside what is imported, and import again"
            ));
        }
        read.ok()
    }

    fn bytes(&self, path: &str) -> Result<Vec<u8>, String> {
        if ScriptVariables::are_in(path) {
            return Err("has a variable in its name".to_owned());
        }
        let cannot = |error: std::io::Error| format!("cannot be read ({error})");
        let folder = self.folder.as_ref().ok_or("is in no folder")?;
        let whole = folder.join(path).canonicalize().map_err(cannot)?;
        if !whole.starts_with(folder) {
            return Err("is not in the folder of what is imported".to_owned());
        }
        let file = lgoose_base::files::open(&whole).map_err(cannot)?;
        let mut bytes = Vec::new();
        file.take(MAX_FILE_BYTES + 1)
            .read_to_end(&mut bytes)
            .map_err(cannot)?;
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(format!("has more than {} MiB", MAX_FILE_BYTES >> 20));
        }
        Ok(bytes)
    }
}
