//! The plans that may be run: the Lua files below one folder, by their paths there. No name leads out of it.

use lgoose_base::error::{Diagnostic, Error};
use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// The most plans that are listed.
const MAX_PLANS: usize = 2_000;

/// Folders within folders that are looked into.
const DEPTH: usize = 8;

/// A folder of plans.
#[derive(Debug)]
pub struct Plans {
    /// The folder as it was given, which reports show.
    folder: PathBuf,
    /// The same without links.
    real: PathBuf,
}

impl Plans {
    /// Opens a folder.
    ///
    /// # Errors
    /// A mistake if it is not a folder that can be read.
    pub fn open(folder: &Path) -> Result<Plans, Error> {
        let real = fs::canonicalize(folder).and_then(|real| fs::read_dir(&real).map(|_| real));
        let real = real.map_err(|error| {
            let message = format!(
                "cannot read the folder of plans '{}': {error}",
                folder.display()
            );
            Diagnostic::new(message)
                .help("name a folder with plans, as in 'lgoose serve plans --data runs'")
        })?;
        Ok(Plans {
            folder: folder.to_owned(),
            real,
        })
    }

    /// Returns the paths of the plans below the folder, in order. Hidden files and folders are none of them, nor are those
    /// that cannot be read or that are no text.
    pub(crate) fn list(&self) -> Vec<String> {
        let mut found = Vec::new();
        self.look(&self.real, DEPTH, &mut found);
        found.sort_unstable();
        found
    }

    fn look(&self, folder: &Path, depth: usize, found: &mut Vec<String>) {
        let Ok(entries) = fs::read_dir(folder) else {
            return;
        };
        for entry in entries.flatten() {
            let path = entry.path();
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if is_hidden(&entry.file_name()) || found.len() >= MAX_PLANS {
                continue;
            }
            // A link to a folder may lead round in circles.
            if kind.is_dir() && depth > 0 {
                self.look(&path, depth - 1, found);
            }
            let name = path.strip_prefix(&self.real).ok().and_then(Path::to_str);
            let name = name.filter(|name| !kind.is_dir() && self.find(name).is_some());
            found.extend(name.map(str::to_owned));
        }
    }

    /// Returns the path of a plan by its name; `None` if no plan below the folder has it.
    pub(crate) fn find(&self, name: &str) -> Option<PathBuf> {
        let path = Path::new(name);
        let below = path.components().all(|part| match part {
            Component::Normal(name) => !is_hidden(name),
            _ => false,
        });
        // Other names of the same file, such as 'a//b.lua', 'a/./b.lua', are refused.
        let plain = below && path.components().collect::<PathBuf>().as_os_str() == path.as_os_str();
        let is_name = plain && name.ends_with(".lua") && !name.contains('\0');
        if !is_name {
            return None;
        }
        let real = fs::canonicalize(self.real.join(path)).ok()?;
        let is_plan = real.starts_with(&self.real) && fs::metadata(&real).ok()?.is_file();
        is_plan.then(|| self.argument(path))
    }

    /// Returns the path as an argument that is neither a flag nor a URL.
    fn argument(&self, name: &Path) -> PathBuf {
        let path = self.folder.join(name);
        let first = path.as_os_str().as_encoded_bytes();
        let is_odd = first.starts_with(b"-") || first.starts_with(b"demo:");
        if is_odd {
            Path::new(".").join(path)
        } else {
            path
        }
    }
}

fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_lua_files_below_the_folder_are_plans() {
        let scratch = tempfile::tempdir().expect("a folder");
        let folder = scratch.path().join("plans");
        fs::create_dir_all(folder.join("shop")).expect("a folder");
        fs::create_dir_all(folder.join(".hidden")).expect("a folder");
        fs::create_dir_all(folder.join("folder.lua")).expect("a folder");
        for file in [
            "plans/a.lua",
            "plans/<script>.lua",
            "plans/shop/b c.lua",
            "plans/notes.txt",
            "plans/.hidden/c.lua",
            "plans/.draft.lua",
            "outside.lua",
        ] {
            fs::write(scratch.path().join(file), "").expect("a file");
        }
        symlink("a.lua", folder.join("same.lua")).expect("a link");
        symlink("../outside.lua", folder.join("out.lua")).expect("a link");
        symlink("..", folder.join("up")).expect("a link");
        symlink("nothing", folder.join("gone.lua")).expect("a link");
        let plans = Plans::open(&folder).expect("a folder");
        let listed = ["<script>.lua", "a.lua", "same.lua", "shop/b c.lua"];
        assert_eq!(plans.list(), listed);
        for name in listed {
            assert_eq!(plans.find(name), Some(folder.join(name)));
        }
        for name in [
            "",
            "a",
            ".lua",
            ".draft.lua",
            ".hidden/c.lua",
            "notes.txt",
            "folder.lua",
            "gone.lua",
            "out.lua",
            "up/outside.lua",
            "../outside.lua",
            "shop/../a.lua",
            "./a.lua",
            "shop//b c.lua",
            "%61.lua",
            "a.lua\0",
            "a.lua\0.lua",
            "..\\outside.lua",
            &*folder.join("a.lua").display().to_string(),
        ] {
            assert_eq!(plans.find(name), None, "{name}");
        }
    }
}
