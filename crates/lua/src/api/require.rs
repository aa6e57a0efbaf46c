//! `require`: runs a module once per VM, in the plan's environment, and keeps its value.

use super::shared;
use crate::diagnostics::here;
use crate::plan_files::{ModuleError, compile, has_parts};
use crate::sandbox::{ENVIRONMENT, VmHost};
use crate::values::escape_invalid;
use mlua::{Function, Lua, Table, Value};
use std::sync::LazyLock;

/// The code of `require`. It is Lua, since a module may yield and its errors keep their stack. A module that ended with
/// an error may be required again, by way of the variable to be closed; nil counts as true, as in Lua's own `require`.
/// A module of lgoose's own that has parts gets a table for what they share, whose `load` loads a part for now, and `keep` for as
/// long as the VM lives.
const REQUIRE: &str = r#"
local find, cycle = ...
local loaded, loading, error, setmetatable, type = {}, {}, error, setmetatable, type

local function core_of(part)
  local core, kept = {}, {}
  function core.load(name) return part(name)(core) end
  function core.keep(name)
    local value = kept[name] or core.load(name)
    kept[name] = value
    return value
  end
  return core
end

return function(name)
  local value = loaded[name]
  if value ~= nil then return value end
  local chunk, problem, library = find(name)
  if not chunk then error(problem, 0) end
  for i = 1, #loading do
    if loading[i] == name then error(cycle(loading, name), 0) end
  end
  local depth = #loading + 1
  loading[depth] = name
  local done <close> = setmetatable({}, { __close = function() loading[depth] = nil end })
  if type(library) == "function" then library = core_of(library) end
  value = chunk(name, library)
  if value == nil then value = true end
  loaded[name] = value
  return value
end"#;

// Compiled once: most plans of several files need it in every VM.
static COMPILED: LazyLock<Vec<u8>> =
    LazyLock::new(|| compile("=lgoose", REQUIRE, true).expect("it is Lua"));

/// Creates `require`.
pub(super) fn function(lua: &Lua) -> mlua::Result<Function> {
    lua.load(COMPILED.as_slice())
        .set_mode(mlua::chunk::ChunkMode::Binary)
        .call((lua.create_function(find)?, lua.create_function(cycle)?))
}

/// A module as a function, or the message with its location; and what a module of lgoose's own gets: its part in Rust, or a
/// function that loads one of its parts.
type LocatedModule = (Option<Function>, Option<String>, Value);

/// Finds a module.
fn find(lua: &Lua, name: Value) -> mlua::Result<LocatedModule> {
    let Value::String(name) = &name else {
        let message = format!(
            "require takes the name of a module, not {}",
            name.type_name()
        );
        return Ok((None, Some(here(lua) + &message), Value::Nil));
    };
    let program = &VmHost::of(lua).program;
    match program
        .modules
        .find(&escape_invalid(name), &program.sources)
    {
        Ok(code) => {
            let library = match &*name.as_bytes() {
                b"lgoose.shared" => Value::Table(shared::library(lua)?),
                own if has_parts(own) => {
                    let module = escape_invalid(name);
                    let part = lua.create_function(move |lua, part: String| {
                        find_part(lua, &format!("{module}.{part}"))
                    })?;
                    Value::Function(part)
                }
                _ => Value::Nil,
            };
            Ok((Some(compiled(lua, &code)?), None, library))
        }
        Err(ModuleError::Invalid(message)) => Ok((None, Some(message), Value::Nil)),
        Err(ModuleError::Rejected(message)) => Ok((None, Some(here(lua) + &message), Value::Nil)),
    }
}

/// Makes a function of compiled code, in the plan's environment.
fn compiled(lua: &Lua, code: &[u8]) -> mlua::Result<Function> {
    lua.load(code)
        .set_mode(mlua::chunk::ChunkMode::Binary)
        .set_environment(lua.named_registry_value(ENVIRONMENT)?)
        .into_function()
}

/// Finds a part of a module of lgoose's own, as a function. The VM keeps it no longer than the module does: what a user needs once,
/// such as a login, is memory for that time only.
fn find_part(lua: &Lua, name: &str) -> mlua::Result<Function> {
    let host = VmHost::of(lua);
    let program = &host.program;
    let code = program.modules.find(name, &program.sources);
    let code = code.map_err(|_| mlua::Error::runtime(format!("there is no part '{name}'")))?;
    host.parts.add(code.len());
    compiled(lua, &code)
}

/// Formats the message for a circle: `a → b → a`.
fn cycle(lua: &Lua, (loading, name): (Table, String)) -> mlua::Result<String> {
    let loading: Vec<String> = loading.sequence_values().collect::<mlua::Result<_>>()?;
    let circle: Vec<&str> = loading
        .iter()
        .chain([&name])
        .map(String::as_str)
        .skip_while(|module| *module != name)
        .collect();
    Ok(format!(
        "{}modules require each other in a circle: {}\nmove the code that they share into another module",
        here(lua),
        circle.join(" → ")
    ))
}

#[cfg(test)]
mod tests {
    use crate::fixture::{recorder, setup};
    use crate::{Program, Step, Vm, load};
    use std::collections::BTreeMap;
    use std::path::PathBuf;
    use std::sync::Arc;

    /// A folder with these files, removed at the end.
    struct ModuleFolder(PathBuf);

    impl ModuleFolder {
        fn of(name: &str, files: &[(&str, &str)]) -> ModuleFolder {
            let folder = format!("lgoose-require-{name}-{}", std::process::id());
            let folder = std::env::temp_dir().join(folder);
            for (file, text) in files {
                let path = folder.join(file);
                std::fs::create_dir_all(path.parent().expect("it is in the folder"))
                    .expect("a folder can be made");
                std::fs::write(path, text).expect("the folder takes a file");
            }
            ModuleFolder(folder)
        }

        /// Loads a plan in this folder. The error is returned without the folder's path.
        fn load(&self, plan: &str) -> Result<Arc<Program>, String> {
            let name = self.0.join("plan.lua").display().to_string();
            load(&name, plan, BTreeMap::new(), 0)
                .map(|(program, ..)| program)
                .map_err(|error| self.short(&error.to_string()))
        }

        fn short(&self, text: &str) -> String {
            text.replace(&format!("{}/", self.0.display()), "")
        }
    }

    impl Drop for ModuleFolder {
        fn drop(&mut self) {
            // A folder that is left among the temporary files does no harm.
            let _removed = std::fs::remove_dir_all(&self.0);
        }
    }

    fn vm(program: &Arc<Program>) -> Vm {
        Vm::new(program, setup(1, &recorder(), &Arc::default())).expect("the plan loads")
    }

    #[test]
    fn a_module_runs_once_per_vm_and_its_tasks_count() {
        let folder = ModuleFolder::of(
            "once",
            &[
                (
                    "lib/tasks.lua",
                    "task { 'theirs', function() end }\nreturn { n = 1 }",
                ),
                ("bare.lua", "local _ = 1"),
            ],
        );
        let plan = "local a, b = require 'lib.tasks', require 'lib.tasks'
            assert(rawequal(a, b) and require 'bare' == true)
            task { 'ours', function() assert(require 'lib.tasks'.n == 1) end }";
        let program = folder.load(plan).expect("the plan is fine");
        let names = program.task_names.iter().map(Option::as_deref);
        assert_eq!(names.collect::<Vec<_>>(), [Some("theirs"), Some("ours")]);
        assert!(matches!(vm(&program).start(1, 1), Step::Done));
    }

    #[test]
    fn a_mistake_in_a_module_is_reported_with_its_own_line() {
        let folder = ModuleFolder::of(
            "mistakes",
            &[
                ("syntax.lua", "local x = 1\nx = = 2"),
                (
                    "field.lua",
                    "\ntask { 'front', wieght = 2, function() end }",
                ),
                ("raises.lua", "local x\n\nx.y = 1"),
                ("deep/inner.lua", "return require 'raises'"),
                ("a.lua", "local b = require 'b'\nreturn b"),
                ("b.lua", "\nlocal a = require 'a'\nreturn a"),
            ],
        );
        for (plan, place, words) in [
            ("require 'syntax'", "syntax.lua:2\n", "unexpected symbol"),
            ("require 'field'", "field.lua:2\n", "unknown field 'wieght'"),
            (
                "require 'raises'",
                "raises.lua:3\n",
                "attempt to index a nil",
            ),
            (
                "require 'deep.inner'",
                "raises.lua:3\n",
                "attempt to index a nil",
            ),
            ("require 'a'", "b.lua:2\n", "in a circle: a → b → a"),
            ("\nrequire 'nowhere'", "plan.lua:2\n", "no module 'nowhere'"),
            (
                "require '../up'",
                "plan.lua:1\n",
                "is not the name of a module",
            ),
            (
                "require(nil)",
                "plan.lua:1\n",
                "takes the name of a module, not nil",
            ),
        ] {
            let message = folder.load(plan).expect_err(plan);
            assert!(
                message.contains(&format!("--> {place}")),
                "{plan}: {message}"
            );
            assert!(message.contains(words), "{plan}: {message}");
        }
    }

    #[test]
    fn a_module_that_failed_may_be_required_again() {
        let folder = ModuleFolder::of("again", &[("raises.lua", "error 'boom'")]);
        let plan = "for _ = 1, 2 do
              local ok, problem = pcall(require, 'raises')
              assert(not ok and problem:find 'boom', problem)
            end
            task { function() end }";
        folder
            .load(plan)
            .expect("the mistake is the same both times");
    }

    #[cfg(unix)]
    #[test]
    fn a_symbolic_link_out_of_the_folder_is_refused_and_one_within_is_not() {
        let outside = ModuleFolder::of("outside", &[("secret.lua", "return 1")]);
        let folder = ModuleFolder::of("links", &[("real.lua", "return 2")]);
        let link = |to: PathBuf, name: &str| {
            std::os::unix::fs::symlink(to, folder.0.join(name)).expect("a link can be made");
        };
        link(outside.0.join("secret.lua"), "file.lua");
        link(outside.0.clone(), "folder");
        link("real.lua".into(), "inside.lua");
        for module in ["file", "folder.secret"] {
            let message = folder
                .load(&format!("require '{module}'"))
                .expect_err(module);
            assert!(message.contains("outside the plan's folder"), "{message}");
        }
        let fine = "assert(require 'inside' == 2) task { function() end }";
        folder.load(fine).expect("it stays within");
    }

    #[test]
    fn what_a_task_raises_in_a_module_names_the_modules_line() {
        let folder = ModuleFolder::of(
            "raised",
            &[(
                "deep.lua",
                "return function(user)\n  local x\n  x.y = user.id\nend",
            )],
        );
        let plan = "local deep = require 'deep'\ntask { function(user) deep(user) end }\n\
            task { function(user)\n require 'lgoose.drupal'.form(nil, '#x')\nend }";
        let program = folder.load(plan).expect("the plan is fine");
        for (task, place) in [(0, "deep.lua:3"), (1, "plan.lua:4")] {
            let Step::Raised(raised) = vm(&program).start(task, 1) else {
                panic!("it raises");
            };
            let line = raised.line.map(|line| folder.short(&line));
            assert_eq!(line.as_deref(), Some(place));
            assert!(
                raised.message.starts_with("attempt to index"),
                "{}",
                raised.message
            );
        }
    }
}
