//! Where the files of a run are: the logs that a plan names stay in its folder, and no output overwrites an input or
//! another output. Checked before the first request; opens nothing.

use crate::config::{Format, LocalConfig, LogFile, Output, Settings};
use crate::error::Diagnostic;
use crate::lua::Program;
use crate::output::csv::series_path;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

/// The most links in a row that Linux follows.
const MOST_LINKS: usize = 40;

/// A file of a run, with a description of what it is.
#[derive(Debug, Clone)]
pub(super) struct RunFile {
    what: String,
    path: PathBuf,
}

impl RunFile {
    pub(super) fn new(what: impl Into<String>, path: &Path) -> RunFile {
        RunFile {
            what: what.into(),
            path: path.to_owned(),
        }
    }
}

/// The identity of a file: two paths may lead to the same one.
#[derive(Debug, PartialEq)]
enum FileIdentity {
    Inode(u64, u64),
    /// A file that does not exist yet: its folder and its name.
    New(PathBuf),
}

/// Checks that the logs that the plan names, and that no flag replaces, are in or below the plan's folder.
///
/// # Errors
/// Returns a [`Diagnostic`] that names the option and the file.
pub(super) fn beside_plan(
    planned: &Settings,
    typed: &Settings,
    folder: &Path,
) -> Result<(), Diagnostic> {
    for (option, planned, typed) in [
        ("request_log", &planned.request_log, &typed.request_log),
        ("task_log", &planned.task_log, &typed.task_log),
        ("error_log", &planned.error_log, &typed.error_log),
        ("debug_log", &planned.debug_log, &typed.debug_log),
    ] {
        let Some(LogFile { path, .. }) = planned.as_ref().filter(|_| typed.is_none()) else {
            continue;
        };
        if leads_out(folder, path) {
            let message = format!(
                "'{option}' of the plan names '{}', which is not in the plan's folder",
                path.display()
            );
            return Err(Diagnostic::new(message).help(format!(
                "name a file beside the plan or below, or give '--{}' on the command line; '--allow-files' lets the \
                 plan write anywhere",
                option.replace('_', "-")
            )));
        }
    }
    Ok(())
}

/// Returns whether a path that should be in a folder is not, because of its components or a symbolic link.
pub(super) fn leads_out(folder: &Path, path: &Path) -> bool {
    let mut depth = 0_usize;
    for part in path.components() {
        match part {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir if depth > 0 => depth -= 1,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return true,
        }
    }
    let Ok(root) = fs::canonicalize(or_here(folder)) else {
        return false;
    };
    let target = folder.join(path);
    let real = match fs::symlink_metadata(&target) {
        Ok(_) => fs::canonicalize(&target),
        // If the folder does not exist, opening the log reports it.
        Err(_) => match fs::canonicalize(or_here(target.parent().unwrap_or(folder))) {
            Ok(parent) => Ok(parent),
            Err(_) => return false,
        },
    };
    // A link that leads nowhere would still be followed when the file is created.
    real.map_or(true, |real| !real.starts_with(root))
}

/// Returns the folder, the current one for an empty path.
pub(super) fn or_here(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    }
}

/// Returns the plan and the files that it has read.
pub(super) fn files_of(program: &Program) -> Vec<RunFile> {
    let files = program.files();
    let what = ["the plan"]
        .into_iter()
        .chain(std::iter::repeat("a file that the plan reads"));
    let places = what
        .zip(&files)
        .map(|(what, path)| RunFile::new(what, path));
    places.collect()
}

/// Returns the files that a plan and the options of its run have read.
pub(super) fn read_by(program: &Program, local: &LocalConfig) -> Vec<RunFile> {
    let mut places = files_of(program);
    for (flag, path) in [
        ("'--ca'", &local.ca),
        ("'--cert'", &local.cert),
        ("'--key'", &local.key),
    ] {
        places.extend(path.iter().map(|path| RunFile::new(flag, path)));
    }
    places
}

/// Returns the logs that a run writes.
pub(super) fn written_by(local: &LocalConfig) -> Vec<RunFile> {
    let logs = local.logs.files();
    logs.map(|(word, log)| RunFile::new(format!("the {word} log"), &log.path))
        .collect()
}

/// Returns the files that reports are written to.
pub(super) fn reports(outputs: &[Output]) -> Vec<RunFile> {
    let mut places = Vec::new();
    for output in outputs {
        let Some(path) = &output.path else {
            continue;
        };
        let word = output.format.word();
        places.push(RunFile::new(format!("the report of '-o {word}'"), path));
        if output.format == Format::Csv {
            places.push(RunFile::new("the series of '-o csv'", &series_path(path)));
        }
    }
    places
}

/// Checks that no file is both read and written, or written twice.
///
/// # Errors
/// Returns a [`Diagnostic`] that names both files.
pub(super) fn apart(read: &[RunFile], written: &[RunFile]) -> Result<(), Diagnostic> {
    for (nth, place) in written.iter().enumerate() {
        let Some(identity) = identity(&place.path) else {
            continue;
        };
        let mut others = read.iter().chain(&written[..nth]);
        let same = |other: &&RunFile| self::identity(&other.path).as_ref() == Some(&identity);
        if let Some(other) = others.find(same) {
            let message = format!(
                "{} would be written over {}: '{}' and '{}' are one file",
                place.what,
                other.what,
                place.path.display(),
                other.path.display()
            );
            return Err(Diagnostic::new(message).help("give each a file of its own"));
        }
    }
    Ok(())
}

/// Returns what a path leads to; `None` for a pipe or a device, which cannot be overwritten.
fn identity(path: &Path) -> Option<FileIdentity> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() => Some(FileIdentity::Inode(found.dev(), found.ino())),
        Ok(_) => None,
        Err(_) => {
            let path = made_by(path);
            let folder = fs::canonicalize(or_here(path.parent()?)).ok()?;
            Some(FileIdentity::New(folder.join(path.file_name()?)))
        }
    }
}

/// Returns the file that comes into being when this one, which is not there, is written: a link that leads nowhere makes
/// the file that it points to.
pub(super) fn made_by(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(target) = fs::read_link(&path) else {
            break;
        };
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_path_leads_out_of_a_folder_by_its_words_or_by_links() {
        let folder = tempfile::tempdir().expect("a folder");
        let plans = folder.path().join("plans");
        fs::create_dir_all(plans.join("logs")).expect("a folder");
        fs::write(folder.path().join("outside.csv"), "").expect("a file");
        symlink(folder.path(), plans.join("up")).expect("a link");
        symlink("../outside.csv", plans.join("link.csv")).expect("a link");
        symlink("../nothing.csv", plans.join("dangling.csv")).expect("a link");
        symlink("logs", plans.join("down")).expect("a link");
        for (path, out) in [
            ("a.csv", false),
            ("./logs/a.csv", false),
            ("logs/../a.csv", false),
            ("down/a.csv", false),
            ("missing/a.csv", false),
            ("/tmp/a.csv", true),
            ("../a.csv", true),
            ("logs/../../a.csv", true),
            ("up/a.csv", true),
            ("link.csv", true),
            ("dangling.csv", true),
        ] {
            assert_eq!(leads_out(&plans, Path::new(path)), out, "{path}");
        }
    }

    #[test]
    fn one_file_is_one_by_whatever_path() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::write(at("plan.lua"), "").expect("a file");
        fs::hard_link(at("plan.lua"), at("hard.csv")).expect("a link");
        symlink(at("plan.lua"), at("soft.csv")).expect("a link");
        let read = [RunFile::new("the plan", &at("plan.lua"))];
        fs::create_dir(at("logs")).expect("a folder");
        for (target, link) in [
            ("new.log", "nowhere.csv"),
            ("../nowhere.csv", "logs/nowhere.csv"),
            ("round.csv", "round.csv"),
        ] {
            symlink(target, at(link)).expect("a link");
        }
        for (paths, fits) in [
            (["a.csv", "b.csv"], true),
            (["a.csv", "a.csv"], false),
            (["a.csv", "./a.csv"], false),
            (["a.csv", "hard.csv"], false),
            (["a.csv", "soft.csv"], false),
            (["nowhere.csv", "b.csv"], true),
            (["nowhere.csv", "new.log"], false),
            (["./new.log", "logs/nowhere.csv"], false),
            (["round.csv", "a.csv"], true),
        ] {
            let written = paths.map(|path| RunFile::new(path, &at(path)));
            let outcome = apart(&read, &written);
            assert_eq!(outcome.is_ok(), fits, "{outcome:?}");
        }
        let null = [1, 2].map(|_| RunFile::new("a log", Path::new("/dev/null")));
        assert_eq!(apart(&read, &null), Ok(()));
    }
}
