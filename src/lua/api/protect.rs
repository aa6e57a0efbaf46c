//! `pcall` and `xpcall`: what Rust raised reaches the plan as text with its line, like any error of Lua's.

use super::super::fault;
use super::super::host::Host;
use super::super::sandbox;
use crate::error::Diagnostic;
use mlua::{IntoLua as _, Lua, Table, Value};

const PROTECTED: &str = r#"
local pcall, xpcall, type, told = ...
local function plain(ok, ...)
  if ok or type(...) ~= "userdata" then return ok, ... end
  return ok, told(...)
end
return {
  pcall = function(...) return plain(pcall(...)) end,
  xpcall = function(fn, handler, ...)
    return xpcall(fn, function(problem)
      if type(problem) == "userdata" then problem = told(problem) end
      return handler(problem)
    end, ...)
  end,
}"#;

/// The protected call of that name.
pub(super) fn protected(lua: &Lua, name: &str) -> mlua::Result<Value> {
    let parts = (
        sandbox::standard(lua, "pcall")?,
        sandbox::standard(lua, "xpcall")?,
        sandbox::standard(lua, "type")?,
        lua.create_function(told)?,
    );
    let both: Table = lua.load(PROTECTED).set_name("=lgoose").call(parts)?;
    both.raw_get(name)
}

/// An error of lgoose's as text; other values as they are.
pub(super) fn told(lua: &Lua, problem: Value) -> mlua::Result<Value> {
    let Value::Error(error) = &problem else {
        return Ok(problem);
    };
    if let Some(diagnostic) = error.downcast_ref::<Diagnostic>() {
        return diagnostic.message().into_lua(lua);
    }
    let raised = fault::raised(error, &Host::of(lua).program.sources);
    match raised.line {
        Some(line) => format!("{line}: {}", raised.message).into_lua(lua),
        None => raised.message.into_lua(lua),
    }
}
