//! The functions of a plan that are given facts and no user: `on("request")` sees each request of its user's VM, and
//! `on("report")` the report, in a VM of its own.

use crate::api::{percentile, start_prelude};
use crate::diagnostics::{self, RaisedError};
use crate::limits::{self, Heartbeat, VmLimits};
use crate::plan_files::{Program, Sources};
use crate::sandbox::{self, VmHost};
use crate::values::{describe_mismatch, escape_invalid};
use lgoose_base::error::{Error, cut};
use lgoose_base::tags::Tags;
use lgoose_base::units::show_size;
use lgoose_plan::Hook;
use mlua::serde::SerializeOptions;
use mlua::{Function, Lua, LuaSerdeExt as _, LuaString, Table, Value};
use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// A request that has been counted, as `on("request")` sees it.
#[derive(Debug, Default)]
pub struct HookRequest<'a> {
    /// The method.
    pub method: &'a str,
    /// The name of its row, without the method.
    pub name: Cow<'a, str>,
    /// The name of the user's scenario.
    pub scenario: &'a str,
    /// The name of the task.
    pub task: &'a str,
    /// The last status; 0 without a response.
    pub status: u16,
    /// The latency.
    pub time: Duration,
    /// The bytes that were received.
    pub bytes: u64,
    /// The number of redirects that were followed.
    pub redirects: u32,
    /// Its tags, including the declared ones.
    pub tags: Tags,
    /// The reason for which it failed.
    pub error: Option<&'a str>,
}

impl HookRequest<'_> {
    /// Makes the table that a plan is given.
    pub(crate) fn facts(&self, lua: &Lua) -> mlua::Result<Table> {
        let facts = lua.create_table_with_capacity(0, 11)?;
        facts.raw_set("method", self.method)?;
        facts.raw_set("name", &*self.name)?;
        facts.raw_set("scenario", self.scenario)?;
        facts.raw_set("task", self.task)?;
        facts.raw_set("status", self.status)?;
        facts.raw_set("ok", self.error.is_none())?;
        facts.raw_set("error", self.error)?;
        facts.raw_set("time", self.time.as_secs_f64())?;
        facts.raw_set("size", self.bytes)?;
        facts.raw_set("redirects", self.redirects)?;
        facts.raw_set("tags", lua.create_table_from(self.tags.pairs())?)?;
        Ok(facts)
    }
}

/// Returns the error of a function without a user.
pub(crate) fn raised(error: &mlua::Error, sources: &Sources) -> RaisedError {
    let mut raised = diagnostics::to_raised(error, sources);
    if diagnostics::is_of_yield(error) {
        raised.message = "it has no user: it cannot send requests nor wait".to_owned();
    }
    raised
}

/// Warns of an error in the function of `on("request")`, each once in a run.
pub(crate) fn warn(host: &VmHost, raised: &RaisedError) {
    let message = describe_raised(Hook::Request, raised);
    if !host.program.claim_warning(&message) {
        return;
    }
    let (user, scenario) = (host.user, host.scenario.as_str());
    tracing::warn!(target: "plan", user, scenario, "{message}");
    if let Some(recorder) = host.recorder.get() {
        recorder.borrow_mut().warn(message);
    }
}

fn describe_raised(hook: Hook, raised: &RaisedError) -> String {
    let name = hook.name();
    let line = raised.line.as_deref();
    let place = line.map_or_else(String::new, |line| format!(" ({line})"));
    let message = &raised.message;
    format!("on(\"{name}\") raised: {message}{place}")
}

/// The output of the function of `on("report")`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Written {
    /// A text for whoever started the run.
    Text(Vec<u8>),
    /// A file: its path as the plan names it, not checked for where it leads, and its contents.
    File(String, Vec<u8>),
}

/// Calls the plan's function for the report, which is given as JSON, in a VM of its own. The heartbeat shows how long it
/// has been running.
///
/// # Errors
/// Trouble that names the error of the function, or the returned value that cannot be written.
pub fn report(
    program: &Arc<Program>,
    report: &serde_json::Value,
    heartbeat: &Arc<Heartbeat>,
) -> Result<Vec<Written>, Error> {
    let trouble = |error: mlua::Error| {
        Error::trouble(describe_raised(
            Hook::Report,
            &raised(&error, &program.sources),
        ))
    };
    let written = call(program, report, heartbeat).map_err(trouble)?;
    written.map_err(|problem| Error::trouble(format!("on(\"report\"): {problem}")))
}

/// Calls the function, and reads its return value.
fn call(
    program: &Arc<Program>,
    report: &serde_json::Value,
    heartbeat: &Arc<Heartbeat>,
) -> mlua::Result<Result<Vec<Written>, String>> {
    let limits = VmLimits::of_report(heartbeat.clone());
    let host = Rc::new(VmHost::new(program.clone(), 0, "report", None, limits));
    let lua = sandbox::new_state()?;
    lua.set_app_data(host.clone());
    let facts = lua.create_table()?;
    let prelude = start_prelude(&lua, program, facts)?;
    let load = lua
        .load(program.plan.as_slice())
        .set_mode(mlua::chunk::ChunkMode::Binary)
        .set_environment(prelude.env)
        .into_function()?;
    host.limits.enforce(&lua)?;
    heartbeat.enter(0, None);
    limits::call::<()>(&lua, &host.limits, &load, ())?;
    heartbeat.leave();
    host.limits.reraise()?;
    host.limits.finish_loading();
    prelude.seal.call::<()>(true)?;
    let handlers = prelude.handlers;
    let handler: Function = handlers.raw_get(Hook::Report.name())?;
    // Absent values are nil, so that a plan can test for them.
    let plain = SerializeOptions::new()
        .serialize_none_to_null(false)
        .serialize_unit_to_null(false);
    let report = lua.to_value_with(report, plain)?;
    heartbeat.enter(0, None);
    let returned = limits::call::<Value>(&lua, &host.limits, &handler, (report, percentile(&lua)?));
    heartbeat.leave();
    host.limits.reraise()?;
    Ok(read(&host.without_views(&lua, returned?)?))
}

/// The most files that the function may return.
const MOST_FILES: usize = 100;

/// The most bytes that they may have together.
const MOST_BYTES: usize = 64 << 20;

/// Reads the function's return value: nothing, a text, or files by their names.
fn read(returned: &Value) -> Result<Vec<Written>, String> {
    let mut left = MOST_BYTES;
    let mut bytes = |text: &LuaString| {
        let text = text.as_bytes();
        left = left
            .checked_sub(text.len())
            .ok_or_else(|| format!("it returns more than {}", show_size(MOST_BYTES as f64)))?;
        Ok::<_, String>(text.to_vec())
    };
    let files = match returned {
        Value::Nil => return Ok(Vec::new()),
        Value::String(text) => return Ok(vec![Written::Text(bytes(text)?)]),
        Value::Table(files) => files,
        other => {
            let expected = "a text, or a table of files { [\"summary.txt\"] = text }";
            return Err(describe_mismatch("its return value", expected, other));
        }
    };
    let mut written = Vec::new();
    for pair in files.pairs::<Value, Value>() {
        let (name, text) = pair.map_err(|error| error.to_string())?;
        if written.len() == MOST_FILES {
            return Err(format!("it returns more than {MOST_FILES} files"));
        }
        let Value::String(name) = &name else {
            return Err(describe_mismatch("the name of a file", "a string", &name));
        };
        let name = cut(escape_invalid(name));
        let Value::String(text) = &text else {
            return Err(describe_mismatch(
                &format!("the file '{name}'"),
                "a string",
                &text,
            ));
        };
        written.push(Written::File(name, bytes(text)?));
    }
    written.sort_by(|left, right| match (left, right) {
        (Written::File(left, _), Written::File(right, _)) => left.cmp(right),
        _ => std::cmp::Ordering::Equal,
    });
    Ok(written)
}
