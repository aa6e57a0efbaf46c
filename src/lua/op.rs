//! What a plan's coroutine yields: the operations that the engine carries out. The prelude passes the usual
//! options as plain values; everything else is read from the options table here, and refused if unknown.

use super::Expect;
use super::values::{
    encoded_pairs, one_line, scalar, seconds, statuses, string, text, texts, wanted,
};
use crate::config::unknown_word;
use crate::http::Request;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, header};
use mlua::{LightUserData, LuaString, Table, Value};
use std::time::Duration;

/// An operation to carry out before the plan goes on.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "a request is the usual variant; boxing it would cost an allocation per request"
)]
pub enum Op {
    /// One request; answered with one response.
    Request(RequestOp),
    /// Requests side by side, six at a time per host; answered with a list.
    Fetch(Vec<RequestOp>),
    /// Do nothing for this long, or until the user is told to stop.
    Wait(Duration),
    /// End this user.
    Stop,
}

/// A request and how to count and judge it.
#[derive(Debug)]
pub struct RequestOp {
    /// What to send.
    pub request: Request,
    /// The name given in the plan.
    pub name: Option<String>,
    /// What must hold for it to succeed.
    pub expect: Expect,
    /// Whether a status of 400 or more is no failure.
    pub allow_failure: bool,
}

/// A yield: the operation and its arguments, see the prelude.
pub(super) type Yielded = (Value, Value, Value, Value, Value, Value, Value);

/// What an operation's yield begins with: a pointer that is none, which plans cannot make. Tells the
/// operation as well; requests of the usual methods have one each.
pub(super) fn mark(name: &str) -> Option<Value> {
    let place = MARKS.iter().position(|known| *known == name)?;
    Some(Value::LightUserData(LightUserData(
        std::ptr::without_provenance_mut(place + 1),
    )))
}

const MARKS: [&str; 11] = [
    "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "request", "fetch", "wait", "stop",
];

/// The name of the mark that a yield begins with, if it is an operation's.
fn marked(value: &Value) -> Option<&'static str> {
    let Value::LightUserData(LightUserData(pointer)) = value else {
        return None;
    };
    MARKS.get(pointer.addr().checked_sub(1)?).copied()
}

pub(super) const OPTIONS: [&str; 8] = [
    "name",
    "headers",
    "query",
    "form",
    "json",
    "timeout",
    "redirects",
    "expect",
];
pub(super) const ALLOWED: &str = "allow_failure";
pub(super) const EXPECT: [&str; 3] = ["status", "title", "text"];

impl Op {
    /// Reads a yield; `None` if it is the plan's own and no operation. `random` gives a number from 0 to 1
    /// for waits within a range.
    ///
    /// # Errors
    /// The message to raise at the plan's line.
    pub(super) fn read(
        yielded: Yielded,
        random: impl FnOnce() -> f64,
    ) -> Option<Result<Op, String>> {
        let (mark, a, b, c, d, e, f) = yielded;
        let op = match marked(&mark)? {
            "fetch" => fetch(a, b),
            "wait" => wait(a, b, random).map(Op::Wait),
            "stop" => Ok(Op::Stop),
            "request" => method(&f)
                .and_then(|method| {
                    RequestOp::read(method, a, b, Value::Nil, Value::Nil, Value::Nil, e)
                })
                .map(Op::Request),
            name => Method::from_bytes(name.as_bytes())
                .map_err(|error| error.to_string())
                .and_then(|method| RequestOp::read(method, a, b, c, d, e, f))
                .map(Op::Request),
        };
        Some(op)
    }
}

/// A method of the plan's own choice.
fn method(value: &Value) -> Result<Method, String> {
    match value {
        Value::String(name) => Method::from_bytes(&name.as_bytes())
            .map_err(|_| format!("'{}' is not a method", name.to_string_lossy())),
        other => Err(wanted("a method", "a string", other)),
    }
}

impl RequestOp {
    fn new(method: Method, url: String) -> Self {
        RequestOp {
            request: Request::new(method, url),
            name: None,
            expect: Expect::default(),
            allow_failure: false,
        }
    }

    fn read(
        method: Method,
        path: Value,
        body: Value,
        name: Value,
        status: Value,
        title: Value,
        rest: Value,
    ) -> Result<RequestOp, String> {
        let path = match &path {
            Value::String(path) => text(path, "the path")?,
            other => {
                let call = method.as_str().to_ascii_lowercase();
                let problem = wanted("the path", "a string", other);
                return Err(format!(
                    "{problem}; write user:{call}(\"/path\"), with a colon"
                ));
            }
        };
        let mut op = RequestOp::new(method, path);
        match &body {
            Value::Nil => {}
            Value::String(text) => op.request.body = Bytes::copy_from_slice(&text.as_bytes()),
            other => {
                let problem = wanted("the body", "a string", other);
                return Err(format!(
                    "{problem}; for a form or JSON give nil and the option 'form' or 'json'"
                ));
            }
        }
        if let Value::Table(options) = &rest {
            op.options(options)?;
            return Ok(op);
        }
        if let Value::String(name) = &name {
            op.name = Some(text(name, "option 'name'")?);
        }
        if !status.is_nil() {
            op.expect.status = statuses(&status)?;
        }
        if let Value::String(title) = &title {
            op.expect.title = Some(text(title, "'expect.title'")?);
        }
        Ok(op)
    }

    fn options(&mut self, options: &Table) -> Result<(), String> {
        for pair in options.pairs::<Value, Value>() {
            let (key, value) = pair.map_err(|error| error.to_string())?;
            let Value::String(key) = &key else {
                return Err("options are named: { name = \"front page\", timeout = 5 }".to_owned());
            };
            match &*key.as_bytes() {
                b"name" => self.name = Some(string(&value, "option 'name'")?),
                b"headers" => self.headers(&value)?,
                b"query" => self.query(&value)?,
                b"form" => {
                    let encoded = encoded_pairs(&value, "option 'form'")?;
                    self.body(encoded.into(), "application/x-www-form-urlencoded")?;
                }
                b"json" => {
                    let encoded = super::api::json::encode(&value)?;
                    self.body(encoded.into(), "application/json")?;
                }
                b"timeout" => self.request.timeout = Some(seconds(&value, "option 'timeout'")?),
                b"redirects" => match value {
                    Value::Integer(n) if (0..=100).contains(&n) => {
                        self.request.redirects = n as u32
                    }
                    other => {
                        return Err(wanted(
                            "option 'redirects'",
                            "a whole number from 0 to 100",
                            &other,
                        ));
                    }
                },
                b"expect" => self.expect(&value)?,
                b"allow_failure" => match value {
                    Value::Boolean(allow) => self.allow_failure = allow,
                    other => return Err(wanted("option 'allow_failure'", "true or false", &other)),
                },
                unknown => {
                    let word = String::from_utf8_lossy(unknown).into_owned();
                    let valid: Vec<&str> = OPTIONS.into_iter().chain([ALLOWED]).collect();
                    return Err(one_line(unknown_word("option", &word, "a request", &valid)));
                }
            }
        }
        Ok(())
    }

    fn headers(&mut self, value: &Value) -> Result<(), String> {
        let Value::Table(table) = value else {
            return Err(wanted(
                "option 'headers'",
                "a table { [\"X-Name\"] = \"value\" }",
                value,
            ));
        };
        for pair in table.pairs::<LuaString, Value>() {
            let (name, value) = pair.map_err(|_| "header names are strings".to_owned())?;
            let shown = name.to_string_lossy();
            let name = HeaderName::from_bytes(&name.as_bytes())
                .map_err(|_| format!("'{shown}' is not a header name"))?;
            let value = scalar(&value, &format!("header '{shown}'"))?;
            let value = HeaderValue::from_bytes(&value).map_err(|_| {
                format!(
                    "the value of header '{shown}' has a line break or another control character"
                )
            })?;
            self.request.headers.push((name, value));
        }
        Ok(())
    }

    fn query(&mut self, value: &Value) -> Result<(), String> {
        let encoded = encoded_pairs(value, "option 'query'")?;
        if encoded.is_empty() {
            return Ok(());
        }
        let url = &mut self.request.url;
        let fragment = url.find('#').unwrap_or(url.len());
        url.truncate(fragment);
        url.push(if url.contains('?') { '&' } else { '?' });
        url.push_str(&encoded);
        Ok(())
    }

    fn body(&mut self, body: Bytes, content_type: &'static str) -> Result<(), String> {
        if !self.request.body.is_empty() {
            return Err(
                "a request has one body: a string, or the option 'form', or 'json'".to_owned(),
            );
        }
        self.request.body = body;
        let named = self
            .request
            .headers
            .iter()
            .any(|(name, _)| name == header::CONTENT_TYPE);
        if !named {
            let value = HeaderValue::from_static(content_type);
            self.request
                .headers
                .insert(0, (header::CONTENT_TYPE, value));
        }
        Ok(())
    }

    fn expect(&mut self, value: &Value) -> Result<(), String> {
        let Value::Table(table) = value else {
            return Err(wanted(
                "option 'expect'",
                "a table such as { status = 200 }",
                value,
            ));
        };
        for pair in table.pairs::<Value, Value>() {
            let (key, value) = pair.map_err(|error| error.to_string())?;
            let key = string(&key, "a field of 'expect'")?;
            match key.as_str() {
                "status" => self.expect.status = statuses(&value)?,
                "title" => self.expect.title = Some(string(&value, "'expect.title'")?),
                "text" => self.expect.text = texts(&value)?,
                unknown => return Err(one_line(unknown_word("field", unknown, "expect", &EXPECT))),
            }
        }
        Ok(())
    }
}

fn fetch(urls: Value, options: Value) -> Result<Op, String> {
    let Value::Table(list) = &urls else {
        return Err(wanted("user:fetch", "a list of URLs", &urls));
    };
    let mut model = RequestOp::new(Method::GET, String::new());
    match &options {
        Value::Nil => {}
        Value::Table(options) => model.options(options)?,
        other => return Err(wanted("the options of user:fetch", "a table", other)),
    }
    let mut seen = std::collections::HashSet::new();
    let mut ops = Vec::with_capacity(list.raw_len());
    for url in list.sequence_values::<Value>() {
        let url = url.map_err(|error| error.to_string())?;
        let url = string(&url, "a URL of user:fetch")?;
        if seen.insert(url.clone()) {
            ops.push(RequestOp {
                request: Request {
                    url,
                    ..model.request.clone()
                },
                name: model.name.clone(),
                expect: model.expect.clone(),
                allow_failure: model.allow_failure,
            });
        }
    }
    Ok(Op::Fetch(ops))
}

fn wait(from: Value, to: Value, random: impl FnOnce() -> f64) -> Result<Duration, String> {
    let from = seconds(&from, "user:wait")?;
    if to.is_nil() {
        return Ok(from);
    }
    let to = seconds(&to, "user:wait")?;
    match to.checked_sub(from) {
        Some(span) => Ok(from + span.mul_f64(random())),
        None => Err("user:wait(from, to): 'to' is smaller than 'from'".to_owned()),
    }
}
