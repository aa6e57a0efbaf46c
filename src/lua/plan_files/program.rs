//! A plan's code, compiled once per process and shared by all VMs, and what they share beside it.

use super::cache::Cache;
use super::data_files::DataFiles;
use super::digest;
use super::modules::Modules;
use super::sources::{SourceLine, Sources};
use crate::html::Selector;
use regex::bytes::Regex;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// How many patterns of one kind are kept: more than a person writes; a plan that makes a new one for
/// every request must not fill the memory.
const MOST_PATTERNS: usize = 1000;

/// Where a task's declaration and its function stand.
#[derive(Debug, Clone, Default)]
pub(in crate::lua) struct TaskLocation {
    /// The file of the declaration and the line of it.
    pub(in crate::lua) declared: SourceLine,
    /// The file of the function, its first and its last line; nothing if it is none of the plan's.
    pub(in crate::lua) function: Option<(String, usize, usize)>,
}

/// The compiled plan.
#[derive(Debug)]
pub struct Program {
    /// The file's name as messages show it.
    pub(in crate::lua) file: String,
    /// The texts of the plan's files, quoted by messages.
    pub(in crate::lua) sources: Sources,
    /// What `require` finds.
    pub(in crate::lua) modules: Modules,
    /// What `-e` and `--env-file` set.
    pub(in crate::lua) variables: BTreeMap<String, String>,
    /// The seed of the run.
    pub(in crate::lua) seed: u64,
    pub(in crate::lua) prelude: Vec<u8>,
    pub(in crate::lua) plan: Vec<u8>,
    /// The names of the tasks by index of declaration.
    pub(in crate::lua) task_names: Vec<Option<String>>,
    /// What `test_start` returned, for all users.
    pub(in crate::lua) shared: OnceLock<serde_json::Value>,
    /// Where the tasks stand, by index of declaration.
    pub(in crate::lua) task_locations: Vec<TaskLocation>,
    /// The files of data that the plan reads.
    pub(in crate::lua) data: DataFiles,
    regexes: Cache<Regex>,
    selectors: Cache<Selector>,
}

impl Program {
    /// A program without the plan's own code, which may refer to the sources when it does not compile.
    pub(in crate::lua) fn new(
        name: &str,
        source: &str,
        prelude: Vec<u8>,
        variables: BTreeMap<String, String>,
        seed: u64,
    ) -> Program {
        Program {
            file: name.to_owned(),
            prelude,
            plan: Vec::new(),
            sources: Sources::of_plan(name, source),
            modules: Modules::beside(name),
            variables,
            seed,
            task_names: Vec::new(),
            shared: OnceLock::new(),
            task_locations: Vec::new(),
            data: DataFiles::beside(name),
            regexes: Cache::new(MOST_PATTERNS),
            selectors: Cache::new(MOST_PATTERNS),
        }
    }

    /// Gives users what the `test_start` of another program returned, as if it were this one's.
    pub fn share_as(&self, other: &Program) {
        if let Some(shared) = other.shared.get() {
            // One that has its own keeps it.
            let _own = self.shared.set(shared.clone());
        }
    }

    /// SHA-256, in hexadecimal digits, over the plan's text and over each module and data file that was read so far,
    /// sorted by their paths as seen from the plan. The plan's own name and place do not matter.
    pub fn digest(&self) -> String {
        digest::of_plan(&self.file, &self.sources.all(), self.data.digests())
    }

    /// The files that it was made of so far: the plan, its modules and data.
    pub fn files(&self) -> Vec<PathBuf> {
        let sources = self.sources.all();
        let sources = sources.iter().map(|source| PathBuf::from(&source.name));
        sources.chain(self.data.paths()).collect()
    }
}

impl Program {
    /// The compiled pattern, from the process's cache.
    pub(in crate::lua) fn regex(&self, pattern: &str) -> Result<Arc<Regex>, String> {
        self.regexes.get_or_insert_with(pattern, |pattern| {
            Regex::new(pattern).map_err(|error| describe_regex_error(pattern, &error))
        })
    }

    /// The compiled CSS selector, from the process's cache.
    pub(in crate::lua) fn selector(&self, css: &str) -> Result<Arc<Selector>, String> {
        self.selectors.get_or_insert_with(css, Selector::parse)
    }

    /// The bytes of a variable: `-e` first, then the environment.
    pub(in crate::lua) fn variable(&self, name: &str) -> Option<Vec<u8>> {
        let given = self.variables.get(name);
        given
            .map(|value| value.clone().into_bytes())
            .or_else(|| std::env::var_os(name).map(OsString::into_vec))
    }
}

/// What is wrong with a pattern and at which of its characters, on one line.
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
