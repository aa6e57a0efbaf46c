//! A plan's code, compiled once per process and shared by all VMs, and what they share beside it.

use super::data::Library;
use super::modules::Modules;
use super::review::Span;
use super::sources::Sources;
use super::stock::Stock;
use super::{declare, fault, sandbox};
use crate::config::Settings;
use crate::error::{Diagnostic, Error};
use crate::html::Selector;
use crate::plan::Plan;
use mlua::Lua;
use regex::bytes::Regex;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

const PRELUDE: &str = include_str!("../../lua/prelude.lua");

/// How many patterns of one kind are kept: more than a person writes; a plan that makes a new one for
/// every request must not fill the memory.
const MOST_PATTERNS: usize = 1000;

/// The compiled plan.
#[derive(Debug)]
pub struct Program {
    /// The file's name as messages show it.
    pub(super) file: String,
    /// The texts of the plan's files, quoted by messages.
    pub(super) sources: Sources,
    /// What `require` finds.
    pub(super) modules: Modules,
    /// What `-e` and `--env-file` set.
    pub(super) variables: BTreeMap<String, String>,
    /// The seed of the run.
    pub(super) seed: u64,
    pub(super) prelude: Vec<u8>,
    pub(super) plan: Vec<u8>,
    /// The names of the tasks by index of declaration.
    pub(super) task_names: Vec<Option<String>>,
    /// What `test_start` returned, for all users.
    pub(super) shared: OnceLock<serde_json::Value>,
    /// Where the tasks stand, by index of declaration.
    pub(super) spans: Vec<Span>,
    /// The files of data that the plan reads.
    pub(super) data: Library,
    regexes: Stock<Regex>,
    selectors: Stock<Selector>,
}

impl Program {
    /// Gives users what the `test_start` of another program returned, as if it were this one's.
    pub fn share_as(&self, other: &Program) {
        if let Some(shared) = other.shared.get() {
            // One that has its own keeps it.
            let _own = self.shared.set(shared.clone());
        }
    }

    /// The files that it was made of so far: the plan, its modules and data.
    pub fn files(&self) -> Vec<PathBuf> {
        let sources = self.sources.all();
        let sources = sources.iter().map(|source| PathBuf::from(&source.name));
        sources.chain(self.data.paths()).collect()
    }
}

/// Loads a plan: runs its top level once, checks every declaration, compiles it for the users.
///
/// `name` is the file's name as messages show it, `source` its text, `seed` that of the run.
///
/// # Errors
/// The author's mistakes as diagnostics with file and line.
pub fn load(
    name: &str,
    source: &str,
    variables: BTreeMap<String, String>,
    seed: u64,
) -> Result<(Arc<Program>, Plan, Settings), Error> {
    // An editor's byte order mark and a '#!' line are no Lua.
    let source = source.trim_start_matches('\u{feff}');
    let mut program = Program {
        file: name.to_owned(),
        prelude: compile("=lgoose", PRELUDE, true)
            .map_err(|error| Error::Trouble(error.to_string()))?,
        plan: Vec::new(),
        sources: Sources::of_plan(name, source),
        modules: Modules::beside(name),
        variables,
        seed,
        task_names: Vec::new(),
        shared: OnceLock::new(),
        spans: Vec::new(),
        data: Library::beside(name),
        regexes: Stock::new(MOST_PATTERNS),
        selectors: Stock::new(MOST_PATTERNS),
    };
    program.plan = compile(&format!("@{name}"), source, false)
        .map_err(|error| fault::diagnose(&error, &program.sources))?;
    let program = Arc::new(program);
    let declared = declare::declarations(&program)?;
    let mut program = Arc::into_inner(program).expect("the loading VM is gone");
    program.task_names = declared.task_names;
    program.spans = declared.spans;
    Ok((Arc::new(program), declared.plan, declared.settings))
}

/// The bytecode of a text; `name` as Lua takes it, with '@' or '=' before it.
pub(super) fn compile(name: &str, source: &str, strip: bool) -> mlua::Result<Vec<u8>> {
    let lua = Lua::new_with(sandbox::libraries(), mlua::LuaOptions::new())?;
    let function = lua
        .load(source)
        .set_name(name)
        .set_mode(mlua::chunk::ChunkMode::Text)
        .into_function()?;
    Ok(function.dump(strip))
}

impl Program {
    /// The compiled pattern, from the process's stock.
    pub(super) fn regex(&self, pattern: &str) -> Result<Arc<Regex>, String> {
        self.regexes.get(pattern, |pattern| {
            Regex::new(pattern).map_err(|error| reason(pattern, &error))
        })
    }

    /// The compiled CSS selector, from the process's stock.
    pub(super) fn selector(&self, css: &str) -> Result<Arc<Selector>, String> {
        self.selectors.get(css, Selector::parse)
    }

    /// The bytes of a variable: `-e` first, then the environment.
    pub(super) fn variable(&self, name: &str) -> Option<Vec<u8>> {
        let given = self.variables.get(name);
        given
            .map(|value| value.clone().into_bytes())
            .or_else(|| std::env::var_os(name).map(OsString::into_vec))
    }
}

/// What is wrong with a pattern and at which of its characters, on one line.
fn reason(pattern: &str, error: &regex::Error) -> String {
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

/// Reads a plan's file, `-` from standard input, and gives its name for messages and its text.
///
/// # Errors
/// A diagnostic that names the path and says what to do.
pub fn read(path: &Path) -> Result<(String, String), Error> {
    let shown = path.display().to_string();
    let (name, read) = match shown.as_str() {
        "-" => (
            "(standard input)".to_owned(),
            std::io::read_to_string(std::io::stdin()),
        ),
        _ => (shown.clone(), std::fs::read_to_string(path)),
    };
    let text = read.map_err(|error| {
        let mistake = Diagnostic::new(format!("cannot read the plan '{shown}': {error}"));
        match error.kind() {
            std::io::ErrorKind::NotFound => {
                mistake.help("give the path of a Lua file, such as plans/drupal.lua, or a URL with its 'http://'")
            }
            std::io::ErrorKind::InvalidData => mistake.help("a plan is Lua text in UTF-8"),
            _ => mistake,
        }
    })?;
    Ok((name, text))
}
