//! The steps of loading a plan: its file is read, compiled, and its top level run once.

use super::declare;
use crate::diagnostics;
use crate::limits::Heartbeat;
use crate::plan_files::{Bundle, EnvVariables, Program, check_costs, compile};
use lgoose_base::error::{Diagnostic, Error, masked_address};
use lgoose_base::files::{self, DataMemory, FileReach, PlanFolder};
use lgoose_base::tags::Tags;
use lgoose_plan::config::Settings;
use lgoose_plan::{Hook, Plan};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

const PRELUDE: &str = include_str!("../../lua/prelude.lua");

/// Loads a plan: runs its top level once, checks every declaration, compiles it for the users.
///
/// `name` is the file's name as messages show it, `source` its text, `seed` that of the run.
///
/// # Errors
/// The author's mistakes as diagnostics with file and line.
pub fn load(
    name: &str,
    source: &str,
    variables: impl Into<EnvVariables>,
    seed: u64,
) -> Result<(Arc<Program>, Plan, Settings), Error> {
    let folder = Path::new(name).parent().unwrap_or(Path::new(""));
    let folder = PlanFolder::new(folder, FileReach::Folder);
    load_watched(
        name,
        source,
        variables.into(),
        seed,
        &folder,
        &DataMemory::default(),
        &Arc::default(),
    )
}

/// Loads a plan as [`load`] does, with the files of that folder, which may take that memory together; the heartbeat shows its
/// progress to a watchdog of another thread.
///
/// # Errors
/// As [`load`].
pub fn load_watched(
    name: &str,
    source: &str,
    variables: EnvVariables,
    seed: u64,
    folder: &PlanFolder,
    data_memory: &DataMemory,
    heartbeat: &Arc<Heartbeat>,
) -> Result<(Arc<Program>, Plan, Settings), Error> {
    // An editor's byte order mark and a '#!' line are no Lua.
    let source = source.trim_start_matches('\u{feff}');
    let prelude = compile("=lgoose", PRELUDE, true)
        .map_err(|error| Error::cannot("compile the prelude", error.to_string()))?;
    check_costs(source)
        .map_err(|(problem, help)| Diagnostic::new(problem).at(name, None, source).help(help))?;
    let mut program = Program::new(name, source, prelude, variables, seed, folder, data_memory);
    program.plan = compile(&format!("@{name}"), source, false)
        .map_err(|error| diagnostics::diagnose(&error, &program.sources))?;
    let program = Arc::new(program);
    let declared = declare::collect_declarations(&program, heartbeat)?;
    let mut program = Arc::into_inner(program).expect("the loading VM is gone");
    program.task_tags = tags_of_tasks(&declared.plan, declared.task_names.len());
    program.task_names = declared.task_names;
    program.lines = declared.lines;
    program.task_locations = declared.task_locations;
    program.scenario_env = declared.scenario_env;
    program.observes_requests = declared.plan.hooks.contains(&Hook::Request);
    Ok((Arc::new(program), declared.plan, declared.settings))
}

/// Loads a plan that another process has bundled, as [`load_watched`] does. The plan depends on nothing on this machine
/// but the bundle.
///
/// # Errors
/// As [`load`], and trouble with unpacking it.
pub fn load_bundle(
    bundle: &Bundle,
    data_memory: &DataMemory,
    heartbeat: &Arc<Heartbeat>,
) -> Result<(Arc<Program>, Plan, Settings), Error> {
    let unpacked = bundle.unpack()?;
    let folder = PlanFolder::new(unpacked.path(), FileReach::Folder);
    // The plan sees nothing of the environment here, which is somebody else's.
    let variables = EnvVariables {
        configured: bundle.variables.clone(),
        allowed: Some(BTreeSet::new()),
    };
    let (name, source) = (&bundle.name, &bundle.source);
    let loaded = load_watched(
        name,
        source,
        variables,
        bundle.seed,
        &folder,
        data_memory,
        heartbeat,
    )?;
    loaded.0.keep(unpacked);
    Ok(loaded)
}

/// Returns the tags of each task, by index of declaration.
fn tags_of_tasks(plan: &Plan, count: usize) -> Vec<Tags> {
    let mut all = vec![Tags::default(); count];
    for task in plan.scenarios.iter().flat_map(|scenario| &scenario.tasks) {
        if let Some(tags) = all.get_mut(task.function) {
            task.request_tags.clone_into(tags);
        }
    }
    all
}

/// Reads a plan's file, or standard input for `-`. Returns its name for messages and its text.
///
/// # Errors
/// A diagnostic that names the path and gives the remedy.
pub fn read(path: &Path) -> Result<(String, String), Error> {
    let shown = path.display().to_string();
    let (name, read) = match shown.as_str() {
        "-" => (
            "(standard input)".to_owned(),
            files::read_text(std::io::stdin()),
        ),
        _ => (shown.clone(), files::read_to_string(path)),
    };
    let text = read.map_err(|error| {
        // A name of no file may be the URL of a site without its scheme, with a password.
        let has_password = shown
            .split_once('@')
            .is_some_and(|(before, _)| before.contains(':'));
        let shown = if has_password {
            masked_address(&shown)
        } else {
            shown.as_str().into()
        };
        let mistake = Diagnostic::new(format!("cannot read the plan '{shown}': {error}"));
        match error.kind() {
            std::io::ErrorKind::NotFound => {
                mistake.help("give the path of a Lua file, or a URL with its 'http://'")
            }
            std::io::ErrorKind::InvalidData => mistake.help("a plan is Lua text in UTF-8"),
            std::io::ErrorKind::InvalidInput => {
                mistake.help("give the path of a Lua file; '-' reads standard input")
            }
            _ => mistake,
        }
    })?;
    Ok((name, text))
}
