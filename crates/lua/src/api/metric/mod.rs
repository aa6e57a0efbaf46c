//! Measurements of a plan's own: `check`, `metric`, and the time of `user:transaction`. They go straight to the
//! recorder of the user's shard.

use super::function::{function, refuse_more};
use crate::diagnostics::{self, here};
use crate::limits::{HeapSize, Held};
use crate::requests::read_tags;
use crate::sandbox::VmHost;
use crate::values::{describe_mismatch, escape_invalid};
use lgoose_base::error::bounded_name;
use lgoose_base::tags::{SCENARIO, Tags};
use lgoose_metrics::{MetricKind, Recorder, SampleFailure, TaskContext, TaskRun};
use mlua::{Lua, LuaString, MultiValue, Table, UserData, UserDataMethods, Value};
use std::time::Duration;
use tokio::time::Instant;

/// A metric as a plan holds it.
#[derive(Debug)]
pub(super) struct Metric {
    kind: MetricKind,
    name: String,
}

/// Creates `metric` with a function for each kind. Metrics may be made at the top level of a plan; only users may add
/// values.
pub(super) fn library(lua: &Lua) -> mlua::Result<Table> {
    let library = lua.create_table()?;
    for (word, kind) in [
        ("counter", MetricKind::Counter),
        ("gauge", MetricKind::Gauge),
        ("rate", MetricKind::Rate),
        ("trend", MetricKind::Trend),
    ] {
        let make = function(lua, move |lua, name: Value| match name {
            Value::String(name) => {
                let name = escape_invalid(&name);
                if kind == MetricKind::Counter {
                    VmHost::of(lua).declare_counter(&name);
                }
                let name = bounded_name(&name).into_owned();
                VmHost::of(lua).held(lua, Metric { kind, name })
            }
            other => {
                let problem = describe_mismatch("the name of a metric", "a string", &other);
                let problem = format!("{problem}; write metric.{word} \"name\"");
                Err(problem_here(lua, &problem))
            }
        })?;
        library.raw_set(word, make)?;
    }
    Ok(library)
}

/// Implements `check(value, "name")`: counts whether the value is anything but false and nil, and returns it.
pub(super) fn check(lua: &Lua, (value, name): (Value, Value)) -> mlua::Result<Value> {
    let Value::String(name) = name else {
        let problem = describe_mismatch("the name of a check", "a string", &name);
        let problem = format!("{problem}; write check(value, \"name\")");
        return Err(problem_here(lua, &problem));
    };
    let passed = is_true(&value);
    record(lua, "check", |recorder| {
        recorder.check(&escape_invalid(&name), passed);
    })?;
    Ok(value)
}

impl HeapSize for Metric {
    fn heap_bytes(&self) -> usize {
        self.name.len()
    }
}

impl UserData for Held<Metric> {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method("add", |lua, metric, values: MultiValue| {
            metric.add(lua, &values)
        });
    }
}

impl Metric {
    /// Implements `metric:add(v, tags)`. A counter counts one when it is called without a value.
    fn add(&self, lua: &Lua, values: &MultiValue) -> mlua::Result<()> {
        refuse_more(values.iter().skip(2))?;
        let value = values.front().unwrap_or(&Value::Nil);
        let tags = match values.get(1) {
            None | Some(Value::Nil) => Tags::default(),
            Some(tags) => {
                let what = format!("the tags of a value of metric '{}'", self.name);
                read_tags(tags, &what).map_err(|problem| problem_here(lua, &problem))?
            }
        };
        if self.kind == MetricKind::Rate {
            // A plan that counts with 1 and 0 means true and false.
            let held = is_true(value) && number(value) != Some(0.0);
            return record_tagged(lua, "add", tags, |recorder| {
                recorder.rate(&self.name, held);
            });
        }
        let value = match number(value) {
            None if self.kind == MetricKind::Counter && values.is_empty() => 1.0,
            Some(number) if number.is_finite() => number,
            Some(number) => {
                let problem = format!("metric '{}' takes numbers, not {number}", self.name);
                return Err(problem_here(lua, &problem));
            }
            None => {
                let problem = describe_mismatch(
                    &format!("a value of metric '{}'", self.name),
                    "a number",
                    value,
                );
                return Err(problem_here(lua, &problem));
            }
        };
        record_tagged(lua, "add", tags, |recorder| match self.kind {
            MetricKind::Gauge => recorder.gauge(&self.name, value, Instant::now().into_std()),
            MetricKind::Trend => recorder.trend(&self.name, value),
            MetricKind::Counter | MetricKind::Rate => recorder.counter(&self.name, value),
        })
    }
}

/// Returns the time since the VM was made in nanoseconds, without that in which lgoose made the user wait, for the start
/// of a transaction.
pub(super) fn clock(lua: &Lua, (): ()) -> mlua::Result<i64> {
    Ok(worked(&VmHost::of(lua)))
}

fn worked(host: &VmHost) -> i64 {
    nanoseconds(host.start.elapsed().saturating_sub(host.held_up.get()))
}

/// Counts a transaction that began at `begin`, a time of [`clock`], and has ended now, successfully or with an error.
pub(super) fn end_transaction(
    lua: &Lua,
    (name, start, ok, problem): (LuaString, i64, bool, Value),
) -> mlua::Result<()> {
    let host = VmHost::of(lua);
    let took = worked(&host).saturating_sub(start).max(0);
    let raised = (!ok).then(|| {
        let error = match problem {
            Value::Error(error) => *error,
            Value::String(text) => mlua::Error::RuntimeError(escape_invalid(&text)),
            // Without its address, which would make every error a different one.
            other => mlua::Error::RuntimeError(format!(
                "an error that is a {} was raised",
                other.type_name()
            )),
        };
        diagnostics::to_raised(&error, &host.program.sources)
    });
    let (ended, latency) = (Instant::now(), Duration::from_nanos(took as u64));
    let name = escape_invalid(&name);
    let tasks = &host.program.task_names;
    record(lua, "user:transaction", |recorder| {
        if tasks.iter().flatten().any(|task| *task == name) {
            recorder.warn(format!(
                "the transaction '{name}' has the name of a task: within one scenario both count in one row; \
                 give it a name of its own"
            ));
        }
        let row = recorder.task(&host.scenario, &name);
        let failure = raised.as_ref().map(|raised| SampleFailure {
            message: &raised.message,
            line: raised.line.as_deref(),
        });
        recorder.record_task(&TaskRun {
            task: row,
            start: ended.checked_sub(latency).unwrap_or(host.start).into_std(),
            latency,
            failure,
            context: Some(TaskContext {
                user: host.user,
                scenario: &host.scenario,
                name: &name,
                transaction: true,
                // The error goes on to the task, which has it.
                stack: None,
            }),
        });
    })
}

fn nanoseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

fn is_true(value: &Value) -> bool {
    !matches!(value, Value::Nil | Value::Boolean(false))
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(number) => Some(*number as f64),
        Value::Number(number) => Some(*number),
        _ => None,
    }
}

/// Counts an attempt of `user:retry` that is repeated.
pub(super) fn repeated(lua: &Lua, (): ()) -> mlua::Result<()> {
    record(lua, "user:retry", |recorder| {
        recorder.counter("retry: repeated attempts", 1.0);
    })
}

/// Records a measurement of a user.
///
/// # Errors
/// A plan is being loaded, so there is no user.
fn record(lua: &Lua, what: &str, record: impl FnOnce(&mut Recorder)) -> mlua::Result<()> {
    record_tagged(lua, what, Tags::default(), record)
}

/// Records a measurement of a user whose value has tags of its own.
fn record_tagged(
    lua: &Lua,
    what: &str,
    tags: Tags,
    record: impl FnOnce(&mut Recorder),
) -> mlua::Result<()> {
    let host = VmHost::of(lua);
    let Some(recorder) = host.recorder.get() else {
        let problem = format!("'{what}' measures what users do; call it inside a task");
        return Err(problem_here(lua, &problem));
    };
    let recorder = &mut *recorder.borrow_mut();
    if recorder.selects_measures_by_tags() {
        let mut all = tags_of(&host);
        all.add(&tags);
        recorder.tag_measures(all);
    }
    let is_tagged = !tags.is_empty();
    if is_tagged {
        recorder.tag_values(tags);
    }
    record(recorder);
    if is_tagged {
        recorder.tag_values(Tags::default());
    }
    Ok(())
}

/// Returns the tags of the user's current measurements: those of its requests.
fn tags_of(host: &VmHost) -> Tags {
    let task = host.task.get();
    let mut tags = task
        .and_then(|task| host.program.task_tags.get(task))
        .cloned()
        .unwrap_or_default();
    tags.put(SCENARIO, &host.scenario);
    match &mut *host.tags.borrow_mut() {
        Some(own) => tags.with(&own.all()),
        None => tags,
    }
}

/// Creates an error at the plan's line.
fn problem_here(lua: &Lua, problem: &str) -> mlua::Error {
    mlua::Error::runtime(here(lua) + problem)
}

#[cfg(test)]
mod tests;
