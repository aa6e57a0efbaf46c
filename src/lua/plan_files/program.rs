//! The compiled code of a plan and everything else that all VMs of a process share.

use super::cache::Cache;
use super::data_files::DataFiles;
use super::digest;
use super::modules::Modules;
use super::sources::{SourceLine, Sources};
use crate::config::Part;
use crate::html::Selector;
use regex::bytes::Regex;
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tempfile::TempDir;

/// The number of patterns of one kind that are kept: more than a person writes, but a plan that makes a new one for
/// every request must not fill the memory.
const MOST_PATTERNS: usize = 1000;

/// The location of a task's declaration and of its function.
#[derive(Debug, Clone, Default)]
pub(in crate::lua) struct TaskLocation {
    /// The file and line of the declaration.
    pub(in crate::lua) declared: SourceLine,
    /// The file of the function, its first and its last line; `None` if it is not in a file of the plan.
    pub(in crate::lua) function: Option<(String, usize, usize)>,
}

/// The compiled plan.
#[derive(Debug)]
pub struct Program {
    /// The file's name as messages show it.
    pub(in crate::lua) file: String,
    /// The texts of the plan's files, which messages quote.
    pub(in crate::lua) sources: Sources,
    /// The modules that `require` finds.
    pub(in crate::lua) modules: Modules,
    /// The variables that `-e` and `--env-file` set.
    pub(in crate::lua) variables: BTreeMap<String, String>,
    /// The seed of the run.
    pub(in crate::lua) seed: u64,
    pub(in crate::lua) prelude: Vec<u8>,
    pub(in crate::lua) plan: Vec<u8>,
    /// The names of the tasks by index of declaration.
    pub(in crate::lua) task_names: Vec<Option<String>>,
    /// The value that `test_start` returned, for all users.
    pub(in crate::lua) shared: OnceLock<serde_json::Value>,
    /// The locations of the tasks by index of declaration.
    pub(in crate::lua) task_locations: Vec<TaskLocation>,
    /// The data files that the plan reads.
    pub(in crate::lua) data: DataFiles,
    /// The variables of the environment that the plan has asked for.
    asked: Mutex<BTreeMap<String, String>>,
    /// The folder that its modules and data were unpacked into, if they came in a bundle.
    _unpacked: Option<TempDir>,
    regexes: Cache<Regex>,
    selectors: Cache<Selector>,
}

impl Program {
    /// Creates a program without the plan's own code, whose errors refer to the sources when it does not compile.
    pub(in crate::lua) fn new(
        name: &str,
        source: &str,
        prelude: Vec<u8>,
        variables: BTreeMap<String, String>,
        seed: u64,
        unpacked: Option<TempDir>,
    ) -> Program {
        let root = unpacked.as_ref().map(TempDir::path);
        Program {
            file: name.to_owned(),
            prelude,
            plan: Vec::new(),
            sources: Sources::of_plan(name, source),
            modules: Modules::beside(name, root),
            variables,
            seed,
            task_names: Vec::new(),
            shared: OnceLock::new(),
            task_locations: Vec::new(),
            data: DataFiles::beside(name, root),
            asked: Mutex::default(),
            _unpacked: unpacked,
            regexes: Cache::new(MOST_PATTERNS),
            selectors: Cache::new(MOST_PATTERNS),
        }
    }

    /// Takes over the value that `test_start` of another program returned, unless this one has its own.
    pub fn share_as(&self, other: &Program) {
        if let Some(shared) = other.shared.get() {
            // One that has its own keeps it.
            let _own = self.shared.set(shared.clone());
        }
    }

    /// Computes the SHA-256, in hexadecimal digits, over the plan's text and over each module and data file that was
    /// read so far, sorted by their paths as seen from the plan. The plan's own name and folder do not matter.
    pub fn digest(&self) -> String {
        digest::of_plan(&self.file, &self.sources.all(), self.data.digests())
    }

    /// Deals out what only one user of a whole load may have as it falls to this part.
    pub fn serve_part(&self, part: Part) {
        self.data.serve_part(part);
    }

    /// Returns the files that have been read so far: the plan, its modules and data.
    pub fn files(&self) -> Vec<PathBuf> {
        let sources = self.sources.all();
        let sources = sources.iter().map(|source| PathBuf::from(&source.name));
        sources.chain(self.data.paths()).collect()
    }

    /// Returns a compiled pattern from the process's cache.
    pub(in crate::lua) fn regex(&self, pattern: &str) -> Result<Arc<Regex>, String> {
        self.regexes.get_or_insert_with(pattern, |pattern| {
            Regex::new(pattern).map_err(|error| describe_regex_error(pattern, &error))
        })
    }

    /// Returns a compiled CSS selector from the process's cache.
    pub(in crate::lua) fn selector(&self, css: &str) -> Result<Arc<Selector>, String> {
        self.selectors.get_or_insert_with(css, Selector::parse)
    }

    /// Returns the bytes of a variable: of `-e` first, then of the environment.
    pub(in crate::lua) fn variable(&self, name: &str) -> Option<Vec<u8>> {
        if let Some(given) = self.variables.get(name) {
            return Some(given.clone().into_bytes());
        }
        let value = std::env::var_os(name)?;
        if let Some(text) = value.to_str() {
            let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
            if !asked.contains_key(name) {
                asked.insert(name.to_owned(), text.to_owned());
            }
        }
        Some(value.into_vec())
    }

    /// Returns the variables that were set, and those of the environment that the plan has asked for so far.
    pub(super) fn known_variables(&self) -> BTreeMap<String, String> {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = asked.clone();
        known.extend(self.variables.clone());
        known
    }
}

/// Describes on one line what is wrong with a pattern and at which character.
fn describe_regex_error(pattern: &str, error: &regex::Error) -> String {
    let mut parser = regex_syntax::ParserBuilder::new().utf8(false).build();
    let (kind, from) = match parser.parse(pattern) {
        Err(regex_syntax::Error::Parse(error)) => (error.kind().to_string(), error.span().start),
        Err(regex_syntax::Error::Translate(error)) => {
            (error.kind().to_string(), error.span().start)
        }
        _ => return error.to_string(),
    };
    match pattern.get(from.offset..) {
        Some(rest) if !rest.is_empty() => {
            let place = pattern[..from.offset].chars().count() + 1;
            format!("{kind} at character {place}: '{rest}'")
        }
        _ => format!("{kind} at the end of '{pattern}'"),
    }
}
