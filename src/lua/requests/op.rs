//! The operations that a plan's coroutine yields and the engine carries out. The prelude passes the usual
//! options as plain values; everything else is read from the options table here, and refused if unknown.

use super::options::{self, REQUEST};
use super::request::RequestOp;
use super::submit;
use crate::http::Request;
use crate::lua::limits::Budget;
use crate::lua::state::{Making, Queue, SharedQueue};
use crate::lua::values::{
    self, ENTRY_BYTES, describe_mismatch, escape_invalid, read_seconds, read_statuses, unwrap_view,
};
use crate::tags::Tags;
use http::Method;
use mlua::{LightUserData, Value};
use std::sync::Arc;
use std::time::Duration;

/// An operation to carry out before the plan goes on.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "a request is the usual variant; boxing it would cost an allocation per request"
)]
pub enum Op {
    /// Sends one request; answered with one response.
    Request(RequestOp),
    /// Sends requests side by side, six at a time per host; answered with a list.
    Fetch(Vec<RequestOp>),
    /// Waits for this long; ends the task where a stop leaves no time for it.
    Wait(Duration),
    /// Takes a value from a queue that users share, and waits for one at most this long; answered with the value.
    Take(Arc<Queue>, Duration),
    /// Waits until another user has made a value that they share.
    Await(Making),
    /// Waits until all users of the run are at work.
    Ready,
    /// Ends this iteration of the user.
    ExitIteration,
    /// Ends this user.
    Stop,
}

/// The values of a yield: the operation's marker and its arguments, see the prelude.
pub(in crate::lua) type Yielded = (Value, Value, Value, Value, Value, Value, Value);

/// Returns the marker that the yield of an operation begins with: a light userdata, which plans cannot make. It also
/// names the operation; requests of the usual methods have one each.
pub(in crate::lua) fn marker(name: &str) -> Option<Value> {
    let place = MARKERS.iter().position(|known| *known == name)?;
    Some(marker_at(place))
}

/// Returns the markers of all operations.
pub(in crate::lua) fn markers() -> impl Iterator<Item = Value> {
    (0..MARKERS.len()).map(marker_at)
}

fn marker_at(place: usize) -> Value {
    Value::LightUserData(LightUserData(std::ptr::without_provenance_mut(place + 1)))
}

const MARKERS: [&str; 17] = [
    "GET",
    "HEAD",
    "POST",
    "PUT",
    "PATCH",
    "DELETE",
    "OPTIONS",
    "request",
    "fetch",
    "wait",
    "stop",
    "batch",
    "submit",
    "take",
    "await",
    "ready",
    "exit_iteration",
];

/// Returns the name of the operation if the value is a marker.
fn marker_name(value: &Value) -> Option<&'static str> {
    let Value::LightUserData(LightUserData(pointer)) = value else {
        return None;
    };
    MARKERS.get(pointer.addr().checked_sub(1)?).copied()
}

impl Op {
    /// Reads a yield; `None` if it is the plan's own and no operation. `random` returns a number from 0 to 1
    /// for waits within a range.
    ///
    /// # Errors
    /// The message to raise at the plan's line.
    pub(in crate::lua) fn read(
        yielded: Yielded,
        budget: &mut Budget,
        random: impl FnOnce() -> f64,
    ) -> Option<Result<Op, String>> {
        let (marker, a, b, c, d, e, f) = yielded;
        let op = match marker_name(&marker)? {
            "fetch" => read_fetch(a, b, budget),
            "batch" => read_batch(a, budget),
            "wait" => read_wait(a, b, random).map(Op::Wait),
            "stop" => Ok(Op::Stop),
            "ready" => Ok(Op::Ready),
            "exit_iteration" => Ok(Op::ExitIteration),
            "take" => read_take(&a, &b),
            "await" => read_making(&a).map(Op::Await),
            "submit" => submit::read(&a, &b, &c, budget).map(Op::Request),
            "request" => read_described(&a, budget).map(Op::Request),
            name => Method::from_bytes(name.as_bytes())
                .map_err(|error| error.to_string())
                .and_then(|method| RequestOp::read(method, (a, b), (c, d, e, f), budget))
                .map(Op::Request),
        };
        Some(op)
    }
}

impl Op {
    /// Returns its requests.
    pub(super) fn requests_mut(&mut self) -> &mut [RequestOp] {
        match self {
            Op::Request(op) => std::slice::from_mut(op),
            Op::Fetch(ops) => ops,
            _ => &mut [],
        }
    }

    /// Adds tags to its requests, whose own win.
    pub(in crate::lua) fn tag(&mut self, tags: &Tags) {
        for op in self.requests_mut() {
            let all = match &op.tags {
                Some(own) => tags.with(own),
                None => tags.clone(),
            };
            op.tags = Some(Box::new(all));
        }
    }
}

/// Reads a method that the plan names.
fn read_method(value: &Value) -> Result<Method, String> {
    match value {
        Value::String(name) => Method::from_bytes(&name.as_bytes())
            .map_err(|_| format!("'{}' is not a method", escape_invalid(name))),
        other => Err(describe_mismatch("a method", "a string", other)),
    }
}

impl RequestOp {
    fn read(
        method: Method,
        (path, body): (Value, Value),
        (name, status, title, rest): (Value, Value, Value, Value),
        budget: &mut Budget,
    ) -> Result<RequestOp, String> {
        let mut op = RequestOp::bare(method, &path, &body, budget)?;
        if let Value::Table(options) = &rest {
            options::read(&mut op, options, &[], budget)?;
            return Ok(op);
        }
        if let Value::String(name) = &name {
            op.name = Some(escape_invalid(name));
        }
        if !status.is_nil() {
            op.expect.status = read_statuses(&status)?;
        }
        if let Value::String(title) = &title {
            op.expect.title = Some(escape_invalid(title));
        }
        Ok(op)
    }
}

fn read_fetch(urls: Value, options: Value, budget: &mut Budget) -> Result<Op, String> {
    let Value::Table(list) = &urls else {
        return Err(describe_mismatch("user:fetch", "a list of URLs", &urls));
    };
    let mut model = RequestOp::new(Method::GET, String::new());
    match &options {
        Value::Nil => {}
        Value::Table(table) => options::read(&mut model, table, &[], budget)?,
        other => {
            return Err(describe_mismatch(
                "the options of user:fetch",
                "a table",
                other,
            ));
        }
    }
    let mut seen = foldhash::HashSet::default();
    let mut ops = Vec::new();
    let copy = model.copy_bytes() + ENTRY_BYTES;
    for url in unwrap_view(list).sequence_values::<Value>() {
        let url = url.map_err(|error| error.to_string())?;
        let url = match &url {
            Value::String(text) => {
                budget.take(copy + text.as_bytes().len().saturating_mul(2))?;
                values::read_url(text)
            }
            other => return Err(describe_mismatch("a URL of user:fetch", "a string", other)),
        };
        if seen.insert(url.clone()) {
            ops.push(RequestOp {
                request: Request {
                    url,
                    ..model.request.clone()
                },
                name: model.name.clone(),
                expect: model.expect.clone(),
                allow_failure: model.allow_failure,
                tags: model.tags.clone(),
            });
        }
    }
    Ok(Op::Fetch(ops))
}

fn read_wait(from: Value, to: Value, random: impl FnOnce() -> f64) -> Result<Duration, String> {
    let from = read_seconds(&from, "user:wait")?;
    if to.is_nil() {
        return Ok(from);
    }
    let to = read_seconds(&to, "user:wait")?;
    match to.checked_sub(from) {
        Some(span) => Ok(from + span.mul_f64(random())),
        None => Err("user:wait(from, to): 'to' is smaller than 'from'".to_owned()),
    }
}

fn read_take(queue: &Value, wait: &Value) -> Result<Op, String> {
    let wait = read_seconds(wait, "queue:take")?;
    let held = queue.as_userdata();
    let held = held.and_then(|held| held.borrow::<SharedQueue>().ok());
    let queue = held
        .ok_or("queue:take is called with a colon")?
        .queue
        .clone();
    Ok(Op::Take(queue, wait))
}

fn read_making(making: &Value) -> Result<Making, String> {
    let held = making.as_userdata();
    let held = held.and_then(|held| held.borrow::<Making>().ok());
    Ok(held.ok_or("there is nothing to wait for")?.clone())
}

/// Reads a request that a table describes, as `user:request` takes it.
fn read_described(entry: &Value, budget: &mut Budget) -> Result<RequestOp, String> {
    let Value::Table(entry) = entry else {
        let kind = "a table { method = \"GET\", path = \"/\" }";
        return Err(describe_mismatch("a request", kind, entry));
    };
    let field = |name: &str| entry.raw_get::<Value>(name).unwrap_or(Value::Nil);
    let method = match field("method") {
        Value::Nil => Method::GET,
        name => read_method(&name)?,
    };
    let mut op = RequestOp::bare(method, &field("path"), &field("body"), budget)?;
    options::read(&mut op, entry, &REQUEST, budget)?;
    Ok(op)
}

/// Reads a list of different requests that are sent side by side.
fn read_batch(list: Value, budget: &mut Budget) -> Result<Op, String> {
    let Value::Table(list) = &list else {
        return Err(describe_mismatch("user:batch", "a list of requests", &list));
    };
    let one = |entry: mlua::Result<Value>| {
        budget.take(size_of::<RequestOp>())?;
        read_described(&entry.map_err(|error| error.to_string())?, budget)
    };
    list.sequence_values::<Value>()
        .map(one)
        .collect::<Result<_, _>>()
        .map(Op::Fetch)
}
