//! What Rust raised, caught by `pcall` or `xpcall`, reaches the plan as text with its line, like any error of Lua's.

use super::super::fault;
use super::super::host::Host;
use crate::error::Diagnostic;
use mlua::{IntoLua as _, Lua, Value};

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
