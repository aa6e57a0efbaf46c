//! A file that an option names. The operator names any file, on the command line or in the environment; the paths of a
//! plan keep to the rules of its folder.

use super::mark;
use super::plan_folder::{
    FileError, FileLocation, FileReach, FileUse, PathRefusal, PlanFolder, WriteFolder,
};
use super::reading::{fits, open, open_of_any_size, read_all, regular};
use super::writing::{Marking, create, replace, replace_in};
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;
use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::PathBuf;

/// A file that an option names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedFile {
    /// The path as it was written.
    path: PathBuf,
    /// The folder of the plan that names the file; `None` if the operator does.
    folder: Option<PlanFolder>,
}

impl NamedFile {
    /// Returns the file of that path as one that a plan names.
    pub fn of_plan(self, folder: &PlanFolder) -> NamedFile {
        NamedFile {
            folder: Some(folder.clone()),
            ..self
        }
    }

    /// Returns its path as seen from the current folder, for comparing files; messages show the file itself, since a plan
    /// need not know where its folder is.
    pub fn place(&self, usage: FileUse) -> PathBuf {
        match &self.folder {
            Some(folder) => folder.join(&self.path, usage),
            None => self.path.clone(),
        }
    }

    /// Returns the plan's folder if its rules are to be kept.
    fn contained(&self) -> Option<&PlanFolder> {
        let folder = self.folder.as_ref();
        folder.filter(|folder| folder.reach == FileReach::Folder)
    }

    /// Makes the folders of a file that is written to a folder of the plan's own.
    fn make_folder(&self, usage: FileUse) -> io::Result<()> {
        match &self.folder {
            Some(folder) if usage == FileUse::Write => folder.make_own(&self.path),
            _ => Ok(()),
        }
    }

    /// Checks that the plan may read the file; returns its path without links.
    ///
    /// # Errors
    /// The reason why it may not, or the error of the file system.
    pub fn real_path(&self) -> Result<PathBuf, FileError> {
        match self.contained() {
            Some(folder) => Ok(folder.locate(&self.path, FileUse::Read)?.path),
            None => Ok(self.place(FileUse::Read).canonicalize()?),
        }
    }

    /// Opens the file to be read. It may be larger than the memory.
    ///
    /// # Errors
    /// The reason why the plan may not read it, or as `open_of_any_size`.
    pub fn open_of_any_size(&self) -> Result<File, FileError> {
        let Some(folder) = self.contained() else {
            return Ok(open_of_any_size(&self.place(FileUse::Read))?);
        };
        let location = folder.locate(&self.path, FileUse::Read)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(&location.folder, &location.name, flags, Mode::empty());
        Ok(regular(file.map_err(io::Error::from)?.into())?)
    }

    /// Opens the file to be read as a whole.
    ///
    /// # Errors
    /// As [`open_of_any_size`](NamedFile::open_of_any_size), and one in words if it is larger than the memory.
    pub fn open(&self) -> Result<File, FileError> {
        if self.contained().is_none() {
            return Ok(open(&self.place(FileUse::Read))?);
        }
        let file = self.open_of_any_size()?;
        fits(file.metadata()?.len())?;
        Ok(file)
    }

    /// Reads the whole file.
    ///
    /// # Errors
    /// As [`open`](NamedFile::open).
    pub fn read(&self) -> Result<Vec<u8>, FileError> {
        Ok(read_all(self.open()?)?)
    }

    /// Checks that a plan may use the file in that way. Makes the folders that it writes to if they are its own, and changes
    /// nothing else.
    ///
    /// # Errors
    /// The reason why the plan may not use it, or the file system's error for the file or its folder.
    pub fn check(&self, usage: FileUse) -> Result<(), FileError> {
        let Some(folder) = self.contained() else {
            return Ok(self.make_folder(usage)?);
        };
        if usage == FileUse::Read {
            return folder.locate(&self.path, usage).map(drop);
        }
        if folder.writes == WriteFolder::Nowhere {
            return Ok(self.check_words(usage)?);
        }
        own(&folder.locate(&self.path, usage)?).map(drop)
    }

    /// Checks the words of a path of a plan, without a look at the file system.
    ///
    /// # Errors
    /// The reason why the plan may not use it.
    pub fn check_words(&self, usage: FileUse) -> Result<(), PathRefusal> {
        match self.contained() {
            Some(folder) => folder.check_words(&self.path, usage),
            None => Ok(()),
        }
    }

    /// Creates the file, or truncates an existing one, without waiting: a pipe may have no reader yet, or never.
    ///
    /// # Errors
    /// The reason why the plan may not write it, or the error of the file system.
    pub fn create(&self) -> Result<CreatedFile, FileError> {
        let Some(folder) = self.contained() else {
            return Ok(CreatedFile {
                file: create(&self.place(FileUse::Write))?,
                marking: Marking::None,
            });
        };
        let location = folder.locate(&self.path, FileUse::Write)?;
        let file = match own(&location)? {
            Some(file) => file,
            None => {
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
                let mode = Mode::from_raw_mode(0o666);
                let file = openat(&location.folder, &location.name, flags, mode);
                file.map_err(io::Error::from)?.into()
            }
        };
        mark::begin(&file);
        file.set_len(0)?;
        Ok(CreatedFile {
            file,
            marking: Marking::OfPlan,
        })
    }

    /// Writes the file in one step: a reader finds the old file or the new one, even after a crash, and never a part.
    ///
    /// # Errors
    /// The reason why the plan may not write it, or the error of the file system.
    pub fn replace(&self, bytes: &[u8]) -> Result<(), FileError> {
        let Some(folder) = self.contained() else {
            self.make_folder(FileUse::Write)?;
            return Ok(replace(&self.place(FileUse::Write), bytes)?);
        };
        let location = folder.locate(&self.path, FileUse::Write)?;
        own(&location)?;
        Ok(replace_in(
            &location.folder,
            &location.name,
            bytes,
            Marking::OfPlan,
        )?)
    }
}

impl<P: Into<PathBuf>> From<P> for NamedFile {
    /// Creates a file that the operator names, or a program that embeds lgoose.
    fn from(path: P) -> NamedFile {
        NamedFile {
            path: path.into(),
            folder: None,
        }
    }
}

impl fmt::Display for NamedFile {
    /// Shows the path as it was written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.display().fmt(f)
    }
}

/// Opens the file at that location if there is one, which must be one that a plan may write over.
fn own(location: &FileLocation) -> Result<Option<File>, FileError> {
    // For reading as well: opening a pipe for writing alone fails without a reader, and says nothing of a pipe.
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match openat(&location.folder, &location.name, flags, Mode::empty()) {
        Ok(file) => {
            let file = regular(file.into())?;
            mark::check(&file)?;
            Ok(Some(file))
        }
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(io::Error::from(error).into()),
    }
}

/// A file that is being written.
#[derive(Debug)]
pub struct CreatedFile {
    file: File,
    /// Whether it has the mark of the files of plans, which records its final state once it is closed.
    marking: Marking,
}

impl Deref for CreatedFile {
    type Target = File;

    fn deref(&self) -> &File {
        &self.file
    }
}

impl Drop for CreatedFile {
    fn drop(&mut self) {
        if self.marking == Marking::OfPlan {
            mark::end(&self.file);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::{Read as _, Write as _};
    use std::os::unix::fs::symlink;
    use std::path::Path;
    use tempfile::TempDir;

    /// A folder with a plan's folder `plans`, and links in it that lead about.
    fn folders() -> (TempDir, PlanFolder) {
        let folder = tempfile::tempdir().expect("a folder");
        let plans = folder.path().join("plans");
        for made in ["plans/sub/deep", "plans/.git", "outside"] {
            fs::create_dir_all(folder.path().join(made)).expect("a folder");
        }
        for file in [
            "outside/secret.txt",
            "plans/mine.txt",
            "plans/sub/mine.txt",
            "plans/.git/config",
            "plans/other.lua",
        ] {
            fs::write(folder.path().join(file), "of a person").expect("a file");
        }
        for (target, link) in [
            ("../outside", "up"),
            ("../outside/secret.txt", "secret"),
            ("../outside/new.txt", "new"),
            ("nowhere.txt", "nowhere"),
            ("round", "round"),
            ("sub", "down"),
            ("sub/mine.txt", "inside"),
            (".git", "git"),
            (".", "here"),
            ("..", "parent"),
            ("/dev/null", "null"),
            ("/proc/self/fd/1", "stdout"),
        ] {
            symlink(target, plans.join(link)).expect("a link");
        }
        symlink(plans.join("sub"), plans.join("absolute")).expect("a link");
        let hard = fs::hard_link(folder.path().join("outside/secret.txt"), plans.join("hard"));
        hard.expect("a link");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, plans.join("pipe"), mode).expect("a pipe");
        let contained = PlanFolder::new(&plans, FileReach::Folder);
        (folder, contained)
    }

    fn refusal<T>(outcome: Result<T, FileError>) -> String {
        match outcome {
            Ok(_) => "fine".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    /// Returns every file below a folder with its bytes.
    fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            let kind = entry.file_type().expect("it is there");
            if kind.is_dir() {
                found.extend(contents(&entry.path()));
            } else if kind.is_file() {
                found.push((entry.path(), fs::read(entry.path()).expect("a file")));
            }
        }
        found.sort();
        found
    }

    const ABSOLUTE: &str = "an absolute path leads outside the plan's folder";
    const PARENT: &str = "'..' leads outside the plan's folder";
    const OUT: &str = "a symbolic link leads outside the plan's folder";
    const NO_NAME: &str = "it names no file";

    #[test]
    fn a_plan_reads_files_in_its_folder_alone() {
        let (folder, plans) = folders();
        let absolute = folder.path().join("plans/mine.txt").display().to_string();
        for (path, expected) in [
            ("mine.txt", "fine"),
            ("./mine.txt", "fine"),
            ("sub/./mine.txt", "fine"),
            ("sub//mine.txt", "fine"),
            ("down/mine.txt", "fine"),
            ("inside", "fine"),
            ("absolute/mine.txt", "fine"),
            ("here/mine.txt", "fine"),
            (".git/config", "fine"),
            (&absolute, ABSOLUTE),
            ("/etc/passwd", ABSOLUTE),
            ("//etc/passwd", ABSOLUTE),
            ("/dev/stdin", ABSOLUTE),
            ("..", PARENT),
            ("../outside/secret.txt", PARENT),
            ("sub/../mine.txt", PARENT),
            ("sub/../../outside/secret.txt", PARENT),
            ("up/secret.txt", OUT),
            ("secret", OUT),
            ("parent/outside/secret.txt", OUT),
            ("parent/plans/../outside/secret.txt", PARENT),
            ("null", OUT),
            ("", NO_NAME),
            (".", NO_NAME),
            ("./", NO_NAME),
            ("mine.txt/", NO_NAME),
            ("a\0b", "it contains a NUL character"),
            ("mine.txt\0", "it contains a NUL character"),
            ("sub", "it is a folder, not a file"),
            ("here", NO_NAME),
            ("pipe", "it is a pipe, not a file"),
            ("none.txt", "No such file or directory (os error 2)"),
            ("nowhere", "No such file or directory (os error 2)"),
            ("mine.txt/x", "Not a directory (os error 20)"),
        ] {
            let file = NamedFile::from(path).of_plan(&plans);
            assert_eq!(refusal(file.read()), expected, "{path:?}");
            assert_eq!(file.to_string(), path);
            if expected == "fine" {
                assert!(file.real_path().is_ok() && file.check(FileUse::Read).is_ok());
            }
        }
        let loop_of_links = NamedFile::from("round").of_plan(&plans).read();
        assert!(loop_of_links.is_err());
        let anywhere = PlanFolder::new(&folder.path().join("plans"), FileReach::Anywhere);
        for path in ["../outside/secret.txt", "secret", &absolute] {
            let file = NamedFile::from(path).of_plan(&anywhere);
            assert_eq!(refusal(file.read()), "fine", "{path}");
        }
    }

    #[test]
    fn a_plan_writes_new_files_in_its_folder_alone_and_none_that_is_hidden() {
        let hidden =
            |name: &str| format!("'{name}' begins with a dot, and plans write no such files");
        let (git, rc, capital, dots) = (
            hidden(".git"),
            hidden(".bashrc"),
            hidden(".GIT"),
            hidden("..."),
        );
        const FOREIGN: &str = "it is there already, and was not written for a plan";
        for (path, expected) in [
            ("new.txt", "fine"),
            ("./new.txt", "fine"),
            ("sub/deep/new.txt", "fine"),
            ("down/new.txt", "fine"),
            ("absolute/new.txt", "fine"),
            ("-", "fine"),
            ("a.b.c", "fine"),
            (".git/config", &git),
            ("./.git/config", &git),
            (".git/new", &git),
            (".git", &git),
            (".bashrc", &rc),
            ("sub/.bashrc", &rc),
            (".GIT/config", &capital),
            (".../x", &dots),
            ("git/config", &git),
            ("git/new", &git),
            ("a/../.git/config", PARENT),
            ("../new.txt", PARENT),
            ("..", PARENT),
            ("sub/../new.txt", PARENT),
            ("/etc/passwd", ABSOLUTE),
            ("/tmp/lgoose-never.txt", ABSOLUTE),
            ("/dev/stdout", ABSOLUTE),
            ("up/new.txt", OUT),
            ("secret", OUT),
            ("null", OUT),
            ("parent/new.txt", OUT),
            ("new", "a symbolic link leads nowhere"),
            ("nowhere", "a symbolic link leads nowhere"),
            ("", NO_NAME),
            (".", NO_NAME),
            ("sub/", NO_NAME),
            ("sub/.", NO_NAME),
            ("here", NO_NAME),
            ("a\0b", "it contains a NUL character"),
            ("mine.txt", FOREIGN),
            ("./sub/mine.txt", FOREIGN),
            ("inside", FOREIGN),
            ("other.lua", FOREIGN),
            (
                "hard",
                "it is there already, and has another name as well, a hard link",
            ),
            ("pipe", "it is a pipe, not a file"),
            ("sub", "Is a directory (os error 21)"),
            ("none/new.txt", "No such file or directory (os error 2)"),
            ("mine.txt/new.txt", "Not a directory (os error 20)"),
        ] {
            let (folder, plans) = folders();
            let before = contents(folder.path());
            let file = NamedFile::from(path).of_plan(&plans);
            assert_eq!(refusal(file.check(FileUse::Write)), expected, "{path:?}");
            assert_eq!(contents(folder.path()), before, "{path:?}");
            assert_eq!(refusal(file.create()), expected, "{path:?}");
            if expected == "fine" {
                let real = folder.path().join("plans").join(path).canonicalize();
                fs::remove_file(real.expect("it was created")).expect("it is there");
            }
            assert_eq!(contents(folder.path()), before, "{path:?}");
            assert_eq!(refusal(file.replace(b"new")), expected, "{path:?}");
            if expected != "fine" {
                assert_eq!(contents(folder.path()), before, "{path:?}");
            }
        }
    }

    /// Returns whether the file system of a folder keeps attributes: older ones of the memory do not.
    fn keeps_marks(folder: &Path) -> bool {
        let file = File::create(folder.join("probe")).expect("a file");
        mark::begin(&file);
        mark::check(&file).is_ok()
    }

    #[test]
    fn a_file_is_written_over_if_a_plan_wrote_it_and_as_it_left_it() {
        let (folder, plans) = folders();
        if !keeps_marks(folder.path()) {
            return;
        }
        let (file, path) = (
            NamedFile::from("sub/log.csv").of_plan(&plans),
            folder.path().join("plans/sub/log.csv"),
        );
        let text = || fs::read_to_string(&path).expect("it is there");
        let write = |line: &str| {
            let created = file.create()?;
            (&*created).write_all(line.as_bytes())?;
            Ok::<_, FileError>(())
        };
        for line in ["of the first run\n", "of the second\n", ""] {
            assert_eq!(refusal(write(line)), "fine");
            assert_eq!(text(), line);
        }
        for line in ["in one step\n", "and again\n"] {
            assert_eq!(refusal(file.replace(line.as_bytes())), "fine");
            assert_eq!(text(), line);
        }
        // A run that was killed closes nothing.
        let created = file.create().expect("it is its own");
        (&*created).write_all(b"half a li").expect("written");
        std::mem::forget(created);
        assert_eq!(refusal(write("whole\n")), "fine");
        let other_path = NamedFile::from("./down/log.csv").of_plan(&plans);
        assert_eq!(refusal(other_path.replace(b"by a link inside\n")), "fine");

        const CHANGED: &str =
            "it is there already, and has changed since it was written for a plan";
        const FOREIGN: &str = "it is there already, and was not written for a plan";
        let is_kept = |expected: &str| {
            let before = text();
            assert_eq!(refusal(file.check(FileUse::Write)), expected);
            assert_eq!(refusal(write("lost")), expected);
            assert_eq!(refusal(file.replace(b"lost")), expected);
            assert_eq!(text(), before);
        };
        let mut appending = fs::OpenOptions::new()
            .append(true)
            .open(&path)
            .expect("it is there");
        appending
            .write_all(b"notes of a person\n")
            .expect("written");
        is_kept(CHANGED);
        fs::write(&path, "all of a person").expect("written");
        is_kept(CHANGED);
        fs::remove_file(&path).expect("it is there");
        fs::write(&path, "another file of that name").expect("written");
        is_kept(FOREIGN);
        fs::remove_file(&path).expect("it is there");
        write("anew\n").expect("it is gone");
        let copy = path.with_file_name("copy.csv");
        fs::write(&copy, text()).expect("copied");
        fs::rename(&copy, &path).expect("moved");
        is_kept(FOREIGN);
        fs::remove_file(&path).expect("it is there");
        write("anew\n").expect("it is gone");
        fs::hard_link(&path, folder.path().join("outside/hard.csv")).expect("a link");
        is_kept("it is there already, and has another name as well, a hard link");
        let anywhere = PlanFolder::new(&folder.path().join("plans"), FileReach::Anywhere);
        let file = NamedFile::from("sub/log.csv").of_plan(&anywhere);
        assert_eq!(refusal(file.create()), "fine");
        assert_eq!(refusal(file.replace(b"allowed")), "fine");
        assert_eq!(text(), "allowed");
    }

    #[test]
    fn a_folder_of_its_own_takes_all_that_a_plan_writes_and_nothing_of_it_is_read() {
        let (folder, plans) = folders();
        let own = folder.path().join("runs/one/files");
        let plans = plans.writing_to(WriteFolder::Own(own.clone()));
        for (path, expected) in [
            ("mine.txt", "fine"),
            ("logs/today/log.csv", "fine"),
            ("other.lua", "fine"),
            (
                ".git/config",
                "'.git' begins with a dot, and plans write no such files",
            ),
            ("../report.json", PARENT),
            ("/etc/passwd", ABSOLUTE),
        ] {
            let file = NamedFile::from(path).of_plan(&plans);
            assert_eq!(refusal(file.replace(b"of a plan")), expected, "{path}");
            let written = fs::read(own.join(path)).ok();
            assert_eq!(
                written.is_some_and(|text| text == b"of a plan"),
                expected == "fine"
            );
        }
        let mut text = String::new();
        let file = NamedFile::from("mine.txt").of_plan(&plans);
        let read = file.open().expect("it is there").read_to_string(&mut text);
        assert!(read.is_ok() && text == "of a person");
        let nowhere = plans.writing_to(WriteFolder::Nowhere);
        for (path, expected) in [
            ("mine.txt", "fine"),
            ("none/x.csv", "fine"),
            ("../x", PARENT),
        ] {
            let checked = NamedFile::from(path)
                .of_plan(&nowhere)
                .check(FileUse::Write);
            assert_eq!(refusal(checked), expected, "{path}");
        }
        assert!(!folder.path().join("plans/none").exists());
    }

    #[test]
    fn no_link_that_takes_the_place_of_a_folder_is_followed() {
        let (folder, plans) = folders();
        let location = plans.locate(Path::new("sub/new.txt"), FileUse::Write);
        let location = location.expect("it may be written");
        fs::rename(
            folder.path().join("plans/sub"),
            folder.path().join("plans/moved"),
        )
        .expect("moved");
        symlink("../outside", folder.path().join("plans/sub")).expect("a link");
        let written = replace_in(&location.folder, &location.name, b"x", Marking::None);
        assert!(written.is_ok() && folder.path().join("plans/moved/new.txt").exists());
        assert!(!folder.path().join("outside/new.txt").exists());
        // The same for the file itself.
        let location = plans.locate(Path::new("moved/log.csv"), FileUse::Write);
        let location = location.expect("it may be written");
        symlink(
            "../../outside/secret.txt",
            folder.path().join("plans/moved/log.csv"),
        )
        .expect("a link");
        assert!(own(&location).is_err());
    }
}
