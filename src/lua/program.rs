//! A plan's code, compiled once per process and shared by all VMs, and what they share beside it.

use super::{declare, fault, sandbox};
use crate::config::Settings;
use crate::error::{Diagnostic, Error};
use crate::plan::Plan;
use mlua::Lua;
use regex::bytes::Regex;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex};

const PRELUDE: &str = include_str!("../../lua/prelude.lua");

/// The compiled plan.
#[derive(Debug)]
pub struct Program {
    /// The file's name as messages show it.
    pub(super) file: String,
    /// The file's text, quoted by messages.
    pub(super) source: String,
    /// What `-e` and `--env-file` set.
    pub(super) variables: BTreeMap<String, String>,
    /// The seed of the run.
    pub(super) seed: u64,
    pub(super) prelude: Vec<u8>,
    pub(super) plan: Vec<u8>,
    /// The names of the tasks by index of declaration.
    pub(super) task_names: Vec<Option<String>>,
    // Locked while a plan's file is loaded or a new pattern is met, not per match.
    regexes: Mutex<HashMap<String, Arc<Regex>>>,
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
    let source = source.trim_start_matches('\u{feff}').to_owned();
    let mut program = Program {
        file: name.to_owned(),
        prelude: compile("=lgoose", PRELUDE, true)
            .map_err(|error| Error::Trouble(error.to_string()))?,
        plan: Vec::new(),
        source,
        variables,
        seed,
        task_names: Vec::new(),
        regexes: Mutex::default(),
    };
    program.plan = compile(&format!("@{name}"), &program.source, false)
        .map_err(|error| fault::diagnose(&error, &program.file, &program.source))?;
    let program = Arc::new(program);
    let declared = declare::declarations(&program)?;
    let mut program = Arc::into_inner(program).expect("the loading VM is gone");
    program.task_names = declared.task_names;
    Ok((Arc::new(program), declared.plan, declared.settings))
}

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
        let mut known = self
            .regexes
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(regex) = known.get(pattern) {
            return Ok(regex.clone());
        }
        let regex = Arc::new(Regex::new(pattern).map_err(|error| error.to_string())?);
        known.insert(pattern.to_owned(), regex.clone());
        Ok(regex)
    }

    /// The value of a variable: `-e` first, then the environment.
    pub(super) fn variable(&self, name: &str) -> Option<String> {
        self.variables
            .get(name)
            .cloned()
            .or_else(|| std::env::var(name).ok())
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
                mistake.help("give the path of a Lua file, such as plans/drupal.lua")
            }
            std::io::ErrorKind::InvalidData => mistake.help("a plan is Lua text in UTF-8"),
            _ => mistake,
        }
    })?;
    Ok((name, text))
}
