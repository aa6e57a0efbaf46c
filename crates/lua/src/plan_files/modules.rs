//! The modules that `require` finds: files beside the plan and lgoose's own. Read and compiled once per
//! process; `api::require` keeps track of which VM has run which.

use super::bytecode::compile;
use super::costly::check as check_costs;
use super::sources::Sources;
use lgoose_base::error::nearest;
use lgoose_base::files::{
    self, DataCharge, DataMemory, DataMemoryFull, FileError, NamedFile, PlanFolder,
};
use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The modules that lgoose brings, by name.
pub(crate) const BUILT_IN: [(&str, &str); 13] = [
    ("lgoose.aws", include_str!("../../lua/lgoose/aws.lua")),
    ("lgoose.drupal", include_str!("../../lua/lgoose/drupal.lua")),
    ("lgoose.fake", include_str!("../../lua/lgoose/fake.lua")),
    (
        "lgoose.graphql_ws",
        include_str!("../../lua/lgoose/graphql_ws.lua"),
    ),
    ("lgoose.jwt", include_str!("../../lua/lgoose/jwt.lua")),
    ("lgoose.llm", include_str!("../../lua/lgoose/llm.lua")),
    ("lgoose.mqtt", include_str!("../../lua/lgoose/mqtt.lua")),
    (
        "lgoose.postgres",
        include_str!("../../lua/lgoose/postgres.lua"),
    ),
    ("lgoose.redis", include_str!("../../lua/lgoose/redis.lua")),
    ("lgoose.shared", include_str!("../../lua/lgoose/shared.lua")),
    ("lgoose.smtp", include_str!("../../lua/lgoose/smtp.lua")),
    (
        "lgoose.socketio",
        include_str!("../../lua/lgoose/socketio.lua"),
    ),
    ("lgoose.totp", include_str!("../../lua/lgoose/totp.lua")),
];

/// Names parts of modules, and includes their texts from a folder.
macro_rules! parts {
    ($($module:literal in $folder:literal: $($part:literal)+;)+) => {
        &[$($((
            concat!("lgoose.", $module, ".", $part),
            include_str!(concat!("../../lua/lgoose/", $folder, "/", $part, ".lua")),
        ),)+)+]
    };
}

/// Parts of these modules, which they load when they need them.
const PARTS: &[(&str, &str)] = parts! {
    "graphql_ws" in "connection": "check" "connection" "fail" "follow" "open";
    "graphql_ws" in "graphql_ws": "client" "connect" "reasons";
    "llm" in "llm": "anthropic" "embeddings" "openai" "prompts" "requests" "responses";
    "mqtt" in "mqtt": "check" "connect" "control" "exchange" "packets" "park" "pings" "properties" "publish" "reasons" "receive" "topics" "websocket";
    "postgres" in "postgres": "authentication" "bytea" "check" "close" "connect" "errors" "messages" "notified" "parameters" "query" "transaction";
    "redis" in "redis": "commands" "connect" "pipeline" "pushed";
    "smtp" in "smtp": "connect" "exchange" "send";
    "socketio" in "connection": "check" "connection" "fail" "follow" "open";
    "socketio" in "socketio": "binary" "connect" "namespaces" "packets" "socket";
};

/// Whether a module of that name is one of lgoose's own that has parts.
pub(crate) fn has_parts(name: &[u8]) -> bool {
    let mut modules = PARTS.iter().filter_map(|(part, _)| part.rsplit_once('.'));
    modules.any(|(module, _)| module.as_bytes() == name)
}

/// The modules that have been compiled so far.
#[derive(Debug)]
pub(crate) struct Modules {
    /// The folder of the plan as it was written, for the names of its files.
    shown: PathBuf,
    /// The folder that its files are read from.
    folder: PlanFolder,
    // Held while a module is compiled, so that VMs that start together compile it once.
    compiled: Mutex<CompiledModules>,
}

/// The bytecode of modules by their names.
#[derive(Debug)]
struct CompiledModules {
    code: HashMap<String, Arc<Vec<u8>>>,
    /// The memory of their texts and of their code: a plan may have any number of files.
    memory: DataCharge,
}

/// The reason why a module cannot be loaded.
#[derive(Debug)]
pub(crate) enum ModuleError {
    /// The module does not compile: Lua's own message with file and line.
    Invalid(String),
    /// It does not exist or must not be read: a message without a location. A help may follow after a line break.
    Rejected(String),
}

impl Modules {
    /// Creates the collection for the plan with this file name.
    pub(crate) fn of_plan(plan: &str, folder: PlanFolder, memory: &DataMemory) -> Modules {
        let shown = Path::new(plan).parent().map(Path::to_owned);
        Modules {
            shown: shown.unwrap_or_default(),
            folder,
            compiled: Mutex::new(CompiledModules {
                code: HashMap::new(),
                memory: memory.charge(),
            }),
        }
    }

    /// Returns the bytecode of a module and adds its text to `sources`.
    pub(crate) fn find(&self, name: &str, sources: &Sources) -> Result<Arc<Vec<u8>>, ModuleError> {
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(code) = compiled.code.get(name) {
            return Ok(code.clone());
        }
        let mut own = BUILT_IN.iter().chain(PARTS);
        let code = match own.find(|(own, _)| *own == name) {
            // Not one of the plan's files: errors are placed at the line that called into it. Its own lines
            // would only take memory in every VM.
            Some((_, text)) => compile(&format!("={name}"), text, true),
            None => {
                let (file, text) = self.read(name).map_err(ModuleError::Rejected)?;
                let cannot = |problem: &str| {
                    ModuleError::Rejected(format!(
                        "cannot load module '{name}' from '{file}': {problem}"
                    ))
                };
                let full = |full: DataMemoryFull| cannot(&full.to_string());
                compiled.memory.take(text.len()).map_err(full)?;
                sources.add(&file, &text);
                check_costs(&text)
                    .map_err(|(problem, help)| cannot(&format!("{problem}\n{help}")))?;
                let code = compile(&format!("@{file}"), &text, false);
                let length = code.as_ref().map_or(0, Vec::len);
                compiled.memory.take(length).map_err(full)?;
                code
            }
        };
        let code = Arc::new(code.map_err(|error| ModuleError::Invalid(syntax_message(error)))?);
        compiled.code.insert(name.to_owned(), code.clone());
        Ok(code)
    }

    /// Reads the file of a module. Returns its name for messages and its text.
    fn read(&self, name: &str) -> Result<(String, String), String> {
        let path = relative_path(name)?;
        let file = path.display().to_string();
        let cannot = |error: FileError| match error {
            FileError::Io(error) if error.kind() == ErrorKind::NotFound => not_found(name, &file),
            FileError::Io(error) => format!("cannot read module '{name}' from '{file}': {error}"),
            FileError::Refused(refusal) => {
                format!(
                    "cannot read module '{name}' from '{file}': {refusal}\n{}",
                    refusal.help()
                )
            }
        };
        let opened = NamedFile::from(&path).of_plan(&self.folder).open();
        let text = files::read_text(opened.map_err(cannot)?);
        let text = text.map_err(|error| cannot(error.into()))?;
        let shown = self.shown.join(&path).display().to_string();
        Ok((shown, text.trim_start_matches('\u{feff}').to_owned()))
    }
}

/// Converts a module name to a path: `lib.forms` → `lib/forms.lua`.
fn relative_path(name: &str) -> Result<PathBuf, String> {
    let path: PathBuf = name.split('.').collect();
    let plain = !name.contains(['/', '\\', '\0'])
        && name.split('.').all(|part| !part.is_empty())
        && path
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
    if plain {
        Ok(path.with_added_extension("lua"))
    } else {
        let stripped = name.trim_end_matches(".lua").replace(['/', '\\'], ".");
        let parts: Vec<&str> = stripped
            .split('.')
            .filter(|part| !part.is_empty())
            .collect();
        let hint = if parts.is_empty() {
            "lib.forms".to_owned()
        } else {
            parts.join(".")
        };
        Err(format!(
            "'{name}' is not the name of a module\n\
                 write require \"{hint}\": names joined by dots, without '.lua', of a file in the plan's folder or below"
        ))
    }
}

fn not_found(name: &str, file: &str) -> String {
    let own: Vec<&str> = BUILT_IN.iter().map(|(own, _)| *own).collect();
    let near = nearest(name, own.iter().copied());
    let hint = near.map_or_else(String::new, |near| format!("did you mean '{near}'? "));
    format!(
        "there is no module '{name}'\n{hint}there is no file '{file}' in the plan's folder; lgoose's own modules: {}",
        own.join(", ")
    )
}

fn syntax_message(error: mlua::Error) -> String {
    match error {
        mlua::Error::SyntaxError { message, .. } => message,
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lgoose_base::files::FileReach;

    fn modules(plan: &str) -> Modules {
        let folder = Path::new(plan).parent().expect("a folder");
        let folder = PlanFolder::new(folder, FileReach::Folder);
        Modules::of_plan(plan, folder, &DataMemory::default())
    }

    #[test]
    fn dots_are_folders_and_nothing_leads_out() {
        for (name, path) in [("common", "common.lua"), ("lib.forms", "lib/forms.lua")] {
            assert_eq!(relative_path(name).ok(), Some(PathBuf::from(path)));
        }
        for name in [
            "",
            ".",
            "..",
            "../up",
            "/etc/passwd",
            "a..b",
            "a/b",
            "a\\b",
            "..a",
            "a.",
        ] {
            assert!(relative_path(name).is_err(), "{name}");
        }
        let message = relative_path("./lib/forms.lua").expect_err("a path");
        assert!(message.contains("write require \"lib.forms\""), "{message}");
    }

    #[test]
    fn lgooses_own_modules_compile_and_are_compiled_once() {
        let (modules, sources) = (modules("plan.lua"), Sources::default());
        for (name, _) in BUILT_IN.iter().chain(PARTS) {
            let first = modules.find(name, &sources).expect("it compiles");
            let second = modules.find(name, &sources).expect("it compiles");
            assert!(Arc::ptr_eq(&first, &second));
        }
        assert!(sources.all().is_empty());
    }

    #[test]
    fn a_missing_module_names_the_file_that_was_looked_for() {
        let modules = modules("plans/a.lua");
        let Err(ModuleError::Rejected(message)) = modules.find("lgoose.drupl", &Sources::default())
        else {
            panic!("there is none");
        };
        assert!(
            message.contains("did you mean 'lgoose.drupal'?"),
            "{message}"
        );
    }
}
