//! Where the files of a run are: those that a plan names keep to the rules of its folder, and no output overwrites an input
//! or another output. Checked before the first request; changes nothing.

use lgoose_base::error::Diagnostic;
use lgoose_base::files::{FileError, FileUse, NamedFile, PlanFolder, or_here};
use lgoose_lua::Program;
use lgoose_plan::config::{Format, LocalConfig, LogFile, Output, SettingFile, Settings};
use lgoose_report::csv::series_path;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The most links in a row that Linux follows.
const MAX_LINKS: usize = 40;

/// A file of a run, with its description.
#[derive(Debug, Clone)]
pub(super) struct RunFile {
    what: String,
    path: PathBuf,
    /// Its path in messages.
    shown: String,
}

impl RunFile {
    pub(super) fn new(what: impl Into<String>, path: &Path) -> RunFile {
        RunFile {
            what: what.into(),
            path: path.to_owned(),
            shown: path.display().to_string(),
        }
    }

    /// Describes a file that an option or a plan names.
    pub(super) fn named(what: impl Into<String>, file: &NamedFile, usage: FileUse) -> RunFile {
        RunFile {
            what: what.into(),
            path: file.place(usage),
            shown: file.to_string(),
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

/// Keeps the files that the plan's settings name to the rules of its folder, and checks them, but for those that a flag
/// replaces.
///
/// # Errors
/// Returns a [`Diagnostic`] that names the setting and the file.
pub(super) fn contain_plan_files(
    program: &Program,
    planned: &mut Settings,
    typed: &mut Settings,
    folder: &PlanFolder,
) -> Result<(), Diagnostic> {
    let typed: Vec<_> = typed.files().iter().map(|typed| typed.field).collect();
    for SettingFile { field, usage, file } in planned.files() {
        *file = file.clone().of_plan(folder);
        if typed.contains(&field) {
            continue;
        }
        if let Err(error) = file.check(usage) {
            let verb = match usage {
                FileUse::Read => "read",
                FileUse::Write => "write",
            };
            let message = format!("cannot {verb} '{file}', the '{field}' of the plan: {error}");
            let flag = field.replace('_', "-");
            let help = match &error {
                FileError::Refused(refusal) => format!(
                    "{}; '--{flag} FILE' on the command line may be any file",
                    refusal.help()
                ),
                FileError::Io(_) => {
                    "make the folder or the file, or name another file beside the plan or below"
                        .to_owned()
                }
            };
            return Err(program.at_setting(field, Diagnostic::new(message).help(help)));
        }
    }
    Ok(())
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
    for (flag, file) in [
        ("'--ca'", &local.ca),
        ("'--cert'", &local.cert),
        ("'--key'", &local.key),
    ] {
        places.extend(
            file.iter()
                .map(|file| RunFile::named(flag, file, FileUse::Read)),
        );
    }
    places
}

/// Returns the logs that a run writes.
pub(super) fn written_by(local: &LocalConfig) -> Vec<RunFile> {
    let logs = local.logs.files();
    let file = |(word, log): (&str, &LogFile)| {
        RunFile::named(format!("the {word} log"), &log.file, FileUse::Write)
    };
    logs.map(file).collect()
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
                place.what, other.what, place.shown, other.shown
            );
            return Err(Diagnostic::new(message).help("give each a file of its own"));
        }
    }
    Ok(())
}

/// Returns the identity of the file at a path; `None` for a pipe or a device, which cannot be overwritten.
fn identity(path: &Path) -> Option<FileIdentity> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() => Some(FileIdentity::Inode(found.dev(), found.ino())),
        Ok(_) => None,
        Err(_) => {
            let path = made_by(path);
            let folder = or_here(path.parent()?).canonicalize().ok()?;
            Some(FileIdentity::New(folder.join(path.file_name()?)))
        }
    }
}

/// Returns the file that comes into being when this one, which is not there, is written: a link that leads nowhere makes
/// the file that it points to.
pub(super) fn made_by(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
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
