//! `plan { load = function(t) … end }`: asks the function for the load of each second before the run.

use super::setting::read_setting;
use crate::limits::{self, VmLimits};
use crate::plan_files::SourceLine;
use crate::sandbox::VmHost;
use crate::values::type_phrase;
use lgoose_base::error::Diagnostic;
use lgoose_plan::config::{Goal, LoadSamples, Value as Setting};
use mlua::{Function, Lua, Value};
use std::time::Duration;

/// A load function, with the place of its `plan {}`.
#[derive(Debug)]
pub(super) struct LoadFunction {
    pub(super) function: Function,
    pub(super) place: SourceLine,
}

impl LoadFunction {
    /// Locates a mistake at the plan's declaration.
    pub(super) fn located(&self, lua: &Lua, mistake: Diagnostic) -> mlua::Error {
        let (file, line) = &self.place;
        let source = VmHost::of(lua).program.sources.text(file);
        mlua::Error::external(mistake.at(file, Some(*line), &source))
    }
}

/// Calls the function for every second until it returns nil. Where the plan has a run time, an error in a later second ends
/// the load.
///
/// # Errors
/// An error in the function, or a [`Diagnostic`] for a value that is no load.
pub(super) fn sample(
    lua: &Lua,
    limits: &VmLimits,
    load: &LoadFunction,
    run_time: Option<Duration>,
) -> mlua::Result<LoadSamples> {
    let run_time = run_time.map_or(u64::MAX, |time| time.as_secs());
    let mut goals = Vec::new();
    for second in 0..LoadSamples::MOST_SECONDS {
        match limits::call::<Value>(lua, limits, &load.function, second) {
            Ok(Value::Nil) => break,
            Ok(value) => goals.push(goal(&value, second).map_err(|why| load.located(lua, why))?),
            Err(_) if second > run_time => break,
            Err(error) => return Err(error),
        }
    }
    LoadSamples::new(goals).map_err(|why| load.located(lua, why))
}

/// Reads what the function returned for a second: a number of users, rounded, or a rate as text.
fn goal(value: &Value, second: u64) -> Result<Goal, Diagnostic> {
    let problem = match read_setting(value) {
        Setting::Number(users) => match Goal::of_number(users) {
            Some(goal) => return Ok(goal),
            None => format!("{users}"),
        },
        Setting::Text(text) => match Goal::of_rate(&text) {
            Some(goal) => return Ok(goal),
            None => format!("'{text}'"),
        },
        _ => type_phrase(value).to_owned(),
    };
    let message = format!("'load' returns {problem} for t = {second}");
    let help = "it returns the number of users at that second, a rate such as \"20/s\", or nil when the load is over";
    Err(Diagnostic::new(message).help(help))
}
