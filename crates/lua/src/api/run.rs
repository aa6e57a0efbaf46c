//! `run`: facts about the run, and requests to change it.

use super::function::function;
use crate::requests::marker;
use crate::run_view::RunView;
use crate::sandbox::{VmHost, error_at_plan_line, yield_function};
use crate::values::{describe_mismatch, escape_invalid};
use lgoose_base::error::Diagnostic;
use mlua::{Function, Lua, Table, Value};
use std::rc::Rc;

/// The code of `run.ready`. Only Lua can yield.
const READY: &str = r#"
local check, ready, yield = ...
return function()
  check()
  yield(ready)
end"#;

/// Creates `run`.
pub(super) fn library(lua: &Lua) -> mlua::Result<Table> {
    let library = lua.create_table()?;
    let stop = function(lua, move |lua, why: Value| {
        view(lua, "stop")?.stop(&reason(lua, "stop", &why)?);
        Ok(())
    })?;
    let fail = function(lua, |lua, why: Value| {
        view(lua, "fail")?.fail(&reason(lua, "fail", &why)?);
        Ok(())
    })?;
    let elapsed = function(lua, |lua, ()| {
        Ok(view(lua, "elapsed")?.elapsed().as_secs_f64())
    })?;
    let users = function(lua, |lua, ()| Ok(view(lua, "users")?.users()))?;
    let parts = (
        function(lua, may_wait)?,
        marker("ready"),
        yield_function(lua)?,
    );
    let ready: Function = lua.load(READY).set_name("=lgoose").call(parts)?;
    library.raw_set("stop", stop)?;
    library.raw_set("fail", fail)?;
    library.raw_set("elapsed", elapsed)?;
    library.raw_set("users", users)?;
    library.raw_set("ready", ready)?;
    Ok(library)
}

/// Returns the run, which exists while a task or an event's function runs.
fn view(lua: &Lua, call: &str) -> mlua::Result<Rc<dyn RunView>> {
    let host = VmHost::of(lua);
    match &host.run {
        Some(run) if !host.limits.is_loading() => Ok(run.clone()),
        _ => {
            let message =
                format!("run.{call} belongs inside a task, not at the top level of the file");
            let help = "there is no run yet while the file is loaded";
            Err(error_at_plan_line(lua, Diagnostic::new(message).help(help)))
        }
    }
}

fn reason(lua: &Lua, call: &str, why: &Value) -> mlua::Result<String> {
    match why {
        Value::String(why) => Ok(lgoose_base::error::printable(&escape_invalid(why)).into_owned()),
        other => {
            let message =
                describe_mismatch(&format!("the reason of run.{call}"), "a string", other);
            let help = format!("write run.{call} \"why\": the verdict says it");
            Err(error_at_plan_line(lua, Diagnostic::new(message).help(help)))
        }
    }
}

/// Refuses to wait for users where none runs.
fn may_wait(lua: &Lua, (): ()) -> mlua::Result<()> {
    view(lua, "ready")?;
    match VmHost::of(lua).user {
        0 => Err(mlua::Error::runtime(
            "run.ready waits until all users run, and no user runs during test_start and test_stop",
        )),
        _ => Ok(()),
    }
}
