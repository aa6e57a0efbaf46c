//! `require`: runs a module once per VM, in the plan's environment, and keeps its value.

use super::super::host::{self, Host};
use super::super::modules::Missing;
use mlua::{Function, Lua, Table, Value};

/// The registry's name for the environment of the plan's files.
pub(in super::super) const ENVIRONMENT: &str = "lgoose.environment";

/// Lua, since a module may yield and its errors keep their stack. A module that ended with an error may be
/// required again, which the closed variable sees to; nil counts as true, as in Lua's own `require`.
const REQUIRE: &str = r#"
local find, cycle = ...
local loaded, loading, error, setmetatable = {}, {}, error, setmetatable
return function(name)
  local value = loaded[name]
  if value ~= nil then return value end
  local chunk, problem = find(name)
  if not chunk then error(problem, 0) end
  for i = 1, #loading do
    if loading[i] == name then error(cycle(loading, name), 0) end
  end
  local depth = #loading + 1
  loading[depth] = name
  local done <close> = setmetatable({}, { __close = function() loading[depth] = nil end })
  value = chunk(name)
  if value == nil then value = true end
  loaded[name] = value
  return value
end"#;

pub(super) fn function(lua: &Lua) -> mlua::Result<Function> {
    lua.load(REQUIRE)
        .set_name("=lgoose")
        .call((lua.create_function(find)?, lua.create_function(cycle)?))
}

/// The module as a function, or nil and the message with its place.
fn find(lua: &Lua, name: Value) -> mlua::Result<(Option<Function>, Option<String>)> {
    let Value::String(name) = &name else {
        let told = format!(
            "require takes the name of a module, not {}",
            name.type_name()
        );
        return Ok((None, Some(here(lua) + &told)));
    };
    let program = &Host::of(lua).program;
    match program
        .modules
        .find(&name.to_string_lossy(), &program.sources)
    {
        Ok(code) => {
            let module = lua
                .load(code.as_slice())
                .set_mode(mlua::chunk::ChunkMode::Binary)
                .set_environment(lua.named_registry_value(ENVIRONMENT)?)
                .into_function()?;
            Ok((Some(module), None))
        }
        Err(Missing::Broken(told)) => Ok((None, Some(told))),
        Err(Missing::Refused(told)) => Ok((None, Some(here(lua) + &told))),
    }
}

/// The message of a circle: `a → b → a`.
fn cycle(lua: &Lua, (loading, name): (Table, String)) -> mlua::Result<String> {
    let loading: Vec<String> = loading.sequence_values().collect::<mlua::Result<_>>()?;
    let circle: Vec<&str> = loading
        .iter()
        .chain([&name])
        .map(String::as_str)
        .skip_while(|module| *module != name)
        .collect();
    Ok(format!(
        "{}modules require each other in a circle: {}\nmove what they share into a module of its own",
        here(lua),
        circle.join(" → ")
    ))
}

fn here(lua: &Lua) -> String {
    host::plan_line(lua).map_or_else(String::new, |(file, line)| format!("{file}:{line}: "))
}
