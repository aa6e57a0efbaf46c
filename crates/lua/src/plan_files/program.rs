//! The compiled code of a plan and everything else that all VMs of a process share.

use super::data_files::DataFiles;
use super::digest;
use super::json_tree::JsonTree;
use super::modules::Modules;
use super::patterns::Patterns;
use super::schemas::Schemas;
use super::sources::{SourceLine, Sources};
use super::variables::{EnvVariables, PlanVariables};
use crate::diagnostics::word_line;
use lgoose_base::allotment::Reservations;
use lgoose_base::error::{Diagnostic, Error};
use lgoose_base::files::{DataMemory, PlanFolder};
use lgoose_base::tags::Tags;
use lgoose_plan::config::LoadPart;
use lgoose_plan::shared_state::{SharedLink, SharedState};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};
use tempfile::TempDir;

/// The location of a task's declaration and of its function.
#[derive(Debug, Clone, Default)]
pub(crate) struct TaskLocation {
    /// The file and line of the declaration.
    pub(crate) declared: SourceLine,
    /// The file of the function, its first and its last line; `None` if it is not in a file of the plan.
    pub(crate) function: Option<(String, usize, usize)>,
}

/// The lines of declarations that are judged once the plan is loaded.
#[derive(Debug, Default)]
pub(crate) struct DeclarationLines {
    /// The `plan {}` that has set each setting.
    pub(crate) settings: HashMap<String, SourceLine>,
    /// The declaration of each scenario.
    pub(crate) scenarios: HashMap<String, SourceLine>,
    /// The `on("report")`.
    pub(crate) report: Option<SourceLine>,
}

/// The state that the users of all processes of a run share.
#[derive(Debug, Clone)]
pub(crate) enum RunState {
    /// This process is the only one.
    Here(Arc<SharedState>),
    /// Another process has it. In the state beside the link, users of this one claim the values that one of them is to
    /// make.
    Elsewhere(SharedLink, Arc<SharedState>),
    /// The other processes cannot be reached: each runs a part of the load alone.
    Nowhere,
}

/// The compiled plan.
#[derive(Debug)]
pub struct Program {
    /// The file's name as messages show it.
    pub(crate) file: String,
    /// The texts of the plan's files, which messages quote.
    pub(crate) sources: Sources,
    /// The modules that `require` finds.
    pub(crate) modules: Modules,
    /// The variables for the plan.
    pub(crate) variables: PlanVariables,
    /// The variables of each scenario that has some, which come before the others.
    pub(crate) scenario_env: BTreeMap<String, BTreeMap<String, String>>,
    /// The seed of the run.
    pub(crate) seed: u64,
    pub(crate) prelude: Vec<u8>,
    pub(crate) plan: Vec<u8>,
    pub(crate) lines: DeclarationLines,
    /// The names of the tasks by index of declaration.
    pub(crate) task_names: Vec<Option<String>>,
    /// The tags of the tasks by index of declaration.
    pub(crate) task_tags: Vec<Tags>,
    /// The value that `test_start` returned, for all users.
    shared: OnceLock<Arc<JsonTree>>,
    /// The state that users share while they run.
    state: OnceLock<Arc<SharedState>>,
    /// The same for those of all processes of the run.
    run_state: OnceLock<RunState>,
    /// The locations of the tasks by index of declaration.
    pub(crate) task_locations: Vec<TaskLocation>,
    /// Whether the plan has a function that sees each request.
    pub(crate) observes_requests: bool,
    /// The data files that the plan reads.
    pub(crate) data: DataFiles,
    /// The folder that its modules and data were unpacked into, if they came in a bundle.
    unpacked: OnceLock<TempDir>,
    /// The patterns and CSS selectors that the plan has used.
    pub(crate) patterns: Patterns,
    /// The schemas of gRPC that it uses.
    pub(crate) schemas: Schemas,
    /// The warnings that some user's code has claimed.
    claimed: Mutex<HashSet<String>>,
}

impl Program {
    /// Returns whether the plan may overrule verdicts on its requests.
    pub fn judges(&self) -> bool {
        self.sources.judge()
    }

    /// Creates a program without the plan's own code. If that does not compile, its errors refer to the sources.
    pub(crate) fn new(
        name: &str,
        source: &str,
        prelude: Vec<u8>,
        variables: EnvVariables,
        seed: u64,
        folder: &PlanFolder,
        data_memory: &DataMemory,
    ) -> Program {
        Program {
            file: name.to_owned(),
            prelude,
            plan: Vec::new(),
            lines: DeclarationLines::default(),
            sources: Sources::of_plan(name, source),
            modules: Modules::of_plan(name, folder.clone(), data_memory),
            variables: PlanVariables::new(variables),
            scenario_env: BTreeMap::new(),
            seed,
            task_names: Vec::new(),
            task_tags: Vec::new(),
            shared: OnceLock::new(),
            state: OnceLock::new(),
            run_state: OnceLock::new(),
            task_locations: Vec::new(),
            observes_requests: false,
            data: DataFiles::new(folder.clone(), data_memory.clone()),
            unpacked: OnceLock::new(),
            patterns: Patterns::new(),
            schemas: Schemas::new(),
            claimed: Mutex::default(),
        }
    }

    /// Keeps the folder with its unpacked files for as long as the program.
    pub(crate) fn keep(&self, unpacked: TempDir) {
        // A bundle is unpacked once.
        let _twice = self.unpacked.set(unpacked);
    }

    /// Returns true for the first caller with that key, which then warns; false for all of them once there were many.
    pub fn claim_warning(&self, key: &str) -> bool {
        const MAX_WARNINGS: usize = 50;
        // Nothing that holds the lock can panic.
        let mut claimed = self.claimed.lock().unwrap_or_else(PoisonError::into_inner);
        claimed.len() < MAX_WARNINGS && !claimed.contains(key) && claimed.insert(key.to_owned())
    }

    /// Returns the state that users share while they run.
    pub(crate) fn state(&self) -> &Arc<SharedState> {
        self.state.get_or_init(Arc::default)
    }

    /// Returns the state that users of all processes of the run share.
    pub(crate) fn run_state(&self) -> &RunState {
        self.run_state.get_or_init(|| {
            if self.data.is_part() {
                RunState::Nowhere
            } else {
                RunState::Here(Arc::default())
            }
        })
    }

    /// Shares the users' state with those of other processes, over `link`. Called before any of them runs.
    pub fn share_in_run(&self, link: SharedLink) {
        // It is the same for each version of the plan.
        let _earlier = self
            .run_state
            .set(RunState::Elsewhere(link, Arc::default()));
    }

    /// Takes over the shared values of another program's users, before any user runs this one: the value that
    /// `test_start` returned, and their state.
    pub fn share_as(&self, other: &Program) {
        // No user has read it yet.
        let _own = self.state.set(other.state().clone());
        let _own = self.run_state.set(other.run_state().clone());
        if let Some(shared) = other.shared.get() {
            // A program that has a value of its own keeps it.
            let _own = self.shared.set(shared.clone());
        }
    }

    /// Returns the value that `test_start` returned, as JSON.
    pub fn shared(&self) -> Option<String> {
        let json = serde_json::to_string(&self.shared.get()?.root());
        Some(json.expect("a tree is JSON"))
    }

    /// Takes over the value that `test_start` returned elsewhere, as [`shared`](Program::shared) gave it.
    ///
    /// # Errors
    /// Trouble with a text that is not JSON.
    pub fn share(&self, json: &str) -> Result<(), Error> {
        let tree = JsonTree::read(&mut serde_json::Deserializer::from_str(json));
        let tree = tree.map_err(|error| Error::cannot("read what test_start returned", error))?;
        self.set_shared(tree);
        Ok(())
    }

    /// Keeps the value that `test_start` returned, for all users.
    pub(crate) fn set_shared(&self, value: JsonTree) {
        // A test starts once.
        let _twice = self.shared.set(Arc::new(value));
    }

    /// Returns the value that `test_start` returned, an empty object before.
    pub(crate) fn shared_value(&self) -> &Arc<JsonTree> {
        static NOTHING: LazyLock<Arc<JsonTree>> = LazyLock::new(|| Arc::new(JsonTree::empty()));
        self.shared.get().unwrap_or(&NOTHING)
    }

    /// Reads variables that the plan may use later, so that a bundle has them.
    pub fn take_up(&self, variables: &[String]) {
        for name in variables {
            // One that is not set stays so.
            let _unset = self.variables.get(name);
        }
    }

    /// Places a mistake in a setting of `plan {}` at its line.
    pub fn at_setting(&self, field: &str, mistake: Diagnostic) -> Diagnostic {
        self.at_field(self.lines.settings.get(field), field, mistake)
    }

    /// Places a mistake in a field of a scenario at its line.
    pub fn at_scenario(&self, scenario: &str, field: &str, mistake: Diagnostic) -> Diagnostic {
        self.at_field(self.lines.scenarios.get(scenario), field, mistake)
    }

    fn at_field(
        &self,
        declared: Option<&SourceLine>,
        field: &str,
        mistake: Diagnostic,
    ) -> Diagnostic {
        let Some((file, line)) = declared else {
            return mistake.at(&self.file, None, "");
        };
        let source = self.sources.text(file);
        let line = word_line(&source, *line, field).unwrap_or(*line);
        mistake.at(file, Some(line), &source)
    }

    /// Returns the file and line of `on("report")`.
    pub fn report_line(&self) -> Option<String> {
        let (file, line) = self.lines.report.as_ref()?;
        Some(format!("{file}:{line}"))
    }

    /// Computes the SHA-256, in hexadecimal digits, over the plan's text and over each module and data file that was
    /// read so far, sorted by their paths as seen from the plan. The plan's own name and folder do not matter.
    pub fn digest(&self) -> String {
        digest::of_plan(&self.file, &self.sources.all(), self.data.digests())
    }

    /// Deals out only this part's share of the rows that no two users of a whole load may both have.
    pub fn serve_part(&self, part: LoadPart) {
        self.data.serve_part(part, None);
    }

    /// Works like [`Program::serve_part`], but reserves the rows that it deals out, since another process may have to
    /// go on in its place with that version of the plan.
    pub fn serve_reserved(&self, part: LoadPart, reservations: &Arc<Reservations>, version: u64) {
        self.data
            .serve_part(part, Some((reservations.clone(), version)));
    }

    /// Returns the memory that the plan's data files may take together, and what they take now.
    pub fn data_memory(&self) -> &DataMemory {
        self.data.memory()
    }

    /// Returns the files that have been read so far: the plan, its modules and data.
    pub fn files(&self) -> Vec<PathBuf> {
        let sources = self.sources.all();
        let sources = sources.iter().map(|source| PathBuf::from(&source.name));
        sources.chain(self.data.paths()).collect()
    }
}
