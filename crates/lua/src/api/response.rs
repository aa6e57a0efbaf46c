//! The fields and methods of a response. Each is created at its first use.

use super::first_words::first_words;
use super::function::{Arguments, function};
use super::names::{ValueType, unknown};
use super::{elements, forms, json, page_urls, regex};
use crate::diagnostics::plan_line;
use crate::limits::Held;
use crate::requests::{Finished, ResponseAddress, encoding};
use crate::sandbox::VmHost;
use crate::values::{DisplayText, escape_invalid, shorten};
use bytes::Bytes;
use lgoose_base::error::{NOT_AS_EXPECTED, cut, masked_url};
use lgoose_html::{Document, ReferrerPolicy};
use memchr::memmem;
use mlua::{IntoLua as _, Lua, LuaString, MultiValue, Table, Value};
use std::borrow::Cow;
use std::rc::Rc;

/// A response as a plan holds it.
pub(crate) const RESPONSE: ValueType = ValueType {
    noun: "a response",
    fields: &[
        "status",
        "ok",
        "error",
        "url",
        "headers",
        "cookies",
        "body",
        "time",
        "timings",
        "size",
        "redirects",
        "cached",
    ],
    methods: &[
        "json", "title", "text", "attr", "css", "form", "links", "assets", "match", "matches",
        "contains", "fail", "pass", "ensure", "header",
    ],
};

/// Returns the method with that name, or nil.
pub(super) fn method(lua: &Lua, name: &str) -> mlua::Result<Value> {
    let method = match name {
        "json" => function(lua, |lua, (this, path): (CalledResponse, Value)| {
            let path = json::path(&path)?;
            let body = this.body_text(lua)?;
            json::decode_at(lua, &body, path.as_ref())
                .map_err(|error| this.explain_no_json(lua, &body, error))
        })?,
        "title" => function(lua, |lua, this: CalledResponse| {
            Ok(lgoose_html::title(&this.body_text(lua)?))
        })?,
        "text" => function(lua, text)?,
        "attr" => function(lua, attr)?,
        "css" => function(lua, css)?,
        "form" => function(lua, form)?,
        "links" => function(lua, |lua, (this, filter): (CalledResponse, Value)| {
            urls(lua, this, filter, lgoose_html::links_within)
        })?,
        "assets" => function(lua, |lua, (this, filter): (CalledResponse, Value)| {
            urls(lua, this, filter, lgoose_html::assets_within)
        })?,
        "match" => function(lua, first_match)?,
        "matches" => function(lua, |lua, (this, pattern): (CalledResponse, Value)| {
            regex::pattern(lua, &pattern)?.all(lua, &this.body_text(lua)?)
        })?,
        "contains" => function(lua, |lua, (this, text): (CalledResponse, LuaString)| {
            let body = this.body_text(lua)?;
            Ok(memmem::find(&body, &text.as_bytes()).is_some())
        })?,
        "fail" => function(
            lua,
            |lua, (this, DisplayText(reason)): (CalledResponse, DisplayText)| {
                this.overrule(lua, Some(reason))
            },
        )?,
        "pass" => function(lua, |lua, this: CalledResponse| this.overrule(lua, None))?,
        "ensure" => function(lua, ensure)?,
        "header" => function(
            lua,
            |lua, (this, DisplayText(name)): (CalledResponse, DisplayText)| {
                this.read(lua, |finished| header(finished, &name))?
                    .into_lua(lua)
            },
        )?,
        _ => return Ok(Value::Nil),
    };
    method.into_lua(lua)
}

/// The response that a method is called on.
struct CalledResponse {
    table: Table,
}

impl mlua::FromLua for CalledResponse {
    fn from_lua(value: Value, _: &Lua) -> mlua::Result<Self> {
        match value {
            Value::Table(table)
                if table
                    .raw_get::<Value>("slot")
                    .is_ok_and(|slot| slot.is_integer()) =>
            {
                Ok(CalledResponse { table })
            }
            other => Err(mlua::Error::runtime(format!(
                "expected a response here, not {}; write response:method(…) with a colon",
                crate::values::type_phrase(&other)
            ))),
        }
    }
}

impl Arguments for CalledResponse {
    const MOST: usize = 1;
}

impl CalledResponse {
    fn address(&self) -> mlua::Result<ResponseAddress> {
        ResponseAddress::of(&self.table)
    }

    fn read<R>(&self, lua: &Lua, read: impl FnOnce(&Finished) -> R) -> mlua::Result<R> {
        let host = VmHost::of(lua);
        let responses = host.responses.borrow();
        responses.get(self.address()?).map(read).ok_or_else(gone)
    }

    /// Adds to the error of reading JSON which response it is, and what it has instead.
    fn explain_no_json(&self, lua: &Lua, body: &[u8], error: mlua::Error) -> mlua::Error {
        let mlua::Error::RuntimeError(problem) = &error else {
            return error;
        };
        let described = self.read(lua, |finished| {
            let response = finished.response();
            let url =
                response.map_or_else(String::new, |response| response.target.text().to_string());
            (finished.status(), url)
        });
        let Ok((status, url)) = described else {
            return error;
        };
        let url = url.split(['?', '#']).next().unwrap_or_default();
        let place = format!("status {status}, {}", masked_url(url));
        let start = first_words(body);
        let is_page = body.trim_ascii_start().first() == Some(&b'<');
        let text = match (is_page, lgoose_html::title(body)) {
            _ if body.trim_ascii().is_empty() => {
                format!("the response is empty, and no JSON ({place})")
            }
            (true, Some(title)) => format!(
                "the response is a page, and no JSON: '{}', which begins '{start}' ({place})",
                shorten(&title)
            ),
            (true, None) => {
                format!("the response is a page, and no JSON: it begins '{start}' ({place})")
            }
            _ => format!("{problem}; the response begins '{start}' ({place})"),
        };
        mlua::Error::runtime(text)
    }

    fn body_text(&self, lua: &Lua) -> mlua::Result<Bytes> {
        VmHost::of(lua).text(lua, self.address()?)
    }

    fn document(&self, lua: &Lua) -> mlua::Result<Rc<Held<Document>>> {
        let host = VmHost::of(lua);
        let address = self.address()?;
        let parsed = self.read(lua, |finished| finished.document().cloned())?;
        if let Some(document) = parsed {
            return Ok(document);
        }
        let encoding = self.read(lua, |finished| finished.response().map(encoding))?;
        let document = host.document(lua, &host.text(lua, address)?, encoding)?;
        let stored = document.clone();
        let mut responses = host.responses.borrow_mut();
        let set = responses.change(address, |finished| finished.keep_document(stored));
        set.map(|()| document).ok_or_else(gone)
    }

    /// Sets the verdict, as long as it has not been counted.
    fn overrule(&self, lua: &Lua, failure: Option<String>) -> mlua::Result<()> {
        let host = VmHost::of(lua);
        let mut responses = host.responses.borrow_mut();
        let address = self.address()?;
        if !responses.is_open(address) {
            return Err(mlua::Error::runtime(
                "this response has been counted: call fail and pass before its task ends",
            ));
        }
        let line = failure.as_ref().and_then(|_| line(lua));
        let overruled = responses.change(address, |finished| {
            if failure.is_some() && finished.exchange.outcome.is_err() {
                // The reason for the lack of a response says more than a page that lacks something.
                return;
            }
            finished.overrule(failure.map(|why| cut(why).into_boxed_str()), line);
        });
        overruled.ok_or_else(gone)
    }
}

fn gone() -> mlua::Error {
    mlua::Error::runtime("this is not a response")
}

pub(super) fn line(lua: &Lua) -> Option<Rc<str>> {
    plan_line(lua).map(|(file, line)| format!("{file}:{line}").into())
}

/// Notes the plan's line on the failed responses of the latest operation.
pub(super) fn note_line(lua: &Lua, (): ()) -> mlua::Result<()> {
    let line = line(lua);
    let host = VmHost::of(lua);
    for finished in host.responses.borrow_mut().open() {
        finished.note_line(line.clone());
    }
    Ok(())
}

/// Returns a field of a response; raises for an unknown name.
pub(crate) fn field(
    lua: &Lua,
    (slot, DisplayText(name)): (i64, DisplayText),
) -> mlua::Result<Value> {
    let host = VmHost::of(lua);
    let address = ResponseAddress::from_lua(slot);
    if name == "body" {
        return lua.create_string(host.body(lua, address)?)?.into_lua(lua);
    }
    let responses = host.responses.borrow();
    let finished = responses.get(address).ok_or_else(gone)?;
    let exchange = &finished.exchange;
    match name.as_str() {
        "status" => finished.status().into_lua(lua),
        "ok" => finished.verdict().is_none().into_lua(lua),
        "error" => finished.verdict().as_deref().into_lua(lua),
        "time" => exchange.latency.as_secs_f64().into_lua(lua),
        "size" => exchange.transfer.received.into_lua(lua),
        "redirects" => exchange.transfer.redirects.into_lua(lua),
        "cached" => (exchange.cache() != lgoose_http::CacheUse::Nothing).into_lua(lua),
        "url" => match &exchange.outcome {
            Ok(response) => response.target.text().into_lua(lua),
            Err(_) => Ok(Value::Nil),
        },
        "headers" => headers(lua, finished)?.into_lua(lua),
        "cookies" => cookies_set(lua, finished)?.into_lua(lua),
        "timings" => {
            let timings = exchange.timings;
            let table = lua.create_table()?;
            for (name, time) in [
                ("dns", timings.dns),
                ("connect", timings.connect),
                ("tls", timings.tls),
                ("send", timings.send),
                ("first_byte", timings.first_byte),
                ("receive", timings.receive),
                ("total", exchange.latency),
            ] {
                table.raw_set(name, time.as_secs_f64())?;
            }
            table.into_lua(lua)
        }
        _ => {
            let names = [RESPONSE.fields, RESPONSE.methods].concat();
            let message = unknown(&format!("response.{name}"), RESPONSE.noun, &name, &names);
            Err(mlua::Error::runtime(message))
        }
    }
}

fn header_lines(finished: &Finished) -> Vec<(String, Vec<u8>)> {
    finished
        .exchange
        .outcome
        .as_ref()
        .map_or_else(|_| Vec::new(), lgoose_http::Response::headers)
}

/// Returns the value of a header, repeated ones joined as RFC 9110, section 5.3 allows.
fn header(finished: &Finished, name: &str) -> Option<String> {
    let name = name.to_ascii_lowercase();
    let lines = header_lines(finished);
    let values: Vec<_> = lines
        .iter()
        .filter(|(line, _)| *line == name)
        .map(|(_, value)| String::from_utf8_lossy(value))
        .collect();
    (!values.is_empty()).then(|| values.join(", "))
}

/// Returns the headers as a table with lower-case names that also finds `X-Cache`; repeated ones are joined.
fn headers(lua: &Lua, finished: &Finished) -> mlua::Result<Table> {
    header_table(lua, header_lines(finished))
}

/// Makes the table of the headers of a response: the values of a name are joined, and names are found in any case.
pub(super) fn header_table(lua: &Lua, lines: Vec<(String, Vec<u8>)>) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    for (name, value) in lines {
        let value = String::from_utf8_lossy(&value);
        let joined = match table.raw_get::<Option<String>>(name.as_str())? {
            Some(before) => format!("{before}, {value}"),
            None => value.into_owned(),
        };
        table.raw_set(name, joined)?;
    }
    let metatable = lua.create_table()?;
    let find = lua.create_function(|_, (table, name): (Table, Value)| match name {
        Value::String(name) => table.raw_get::<Value>(escape_invalid(&name).to_ascii_lowercase()),
        _ => Ok(Value::Nil),
    })?;
    metatable.raw_set("__index", find)?;
    metatable.raw_set("__metatable", false)?;
    table.set_metatable(Some(metatable))?;
    Ok(table)
}

/// Returns the names and values of the cookies that came with a response and the redirects before it; the last of a name
/// counts.
fn cookies_set(lua: &Lua, finished: &Finished) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    let response = finished.exchange.outcome.as_ref();
    let lines = response.map_or_else(|_| Vec::new(), lgoose_http::Response::set_cookie_lines);
    for cookie in lines
        .iter()
        .filter_map(|line| lgoose_http::SetCookie::parse(line))
    {
        table.raw_set(
            lua.create_string(cookie.name)?,
            lua.create_string(cookie.value)?,
        )?;
    }
    Ok(table)
}

fn css(lua: &Lua, (this, css): (CalledResponse, Value)) -> mlua::Result<Table> {
    let selector = elements::selector(lua, &css)?;
    elements::select(lua, &this.document(lua)?, &selector, None)
}

fn text(lua: &Lua, (this, css): (CalledResponse, Value)) -> mlua::Result<Option<String>> {
    elements::text(lua, &*this.document(lua)?, &css)
}

fn attr(
    lua: &Lua,
    (this, css, DisplayText(name)): (CalledResponse, Value, DisplayText),
) -> mlua::Result<Option<String>> {
    elements::attr(lua, &*this.document(lua)?, &css, &name)
}

fn form(lua: &Lua, (this, css): (CalledResponse, Value)) -> mlua::Result<Option<Table>> {
    match this.read(lua, page_url)? {
        Some(page) => {
            let policy = this.read(lua, referrer_policy)?;
            forms::form(lua, &*this.document(lua)?, &css, &page, policy)
        }
        None => {
            let why = this.read(lua, |finished| finished.verdict().map(Cow::into_owned))?;
            forms::note_failed_page(lua, why.as_deref().unwrap_or("there was no response"));
            Ok(None)
        }
    }
}

fn page_url(finished: &Finished) -> Option<url::Url> {
    finished
        .exchange
        .outcome
        .as_ref()
        .ok()
        .map(|response| response.target.url())
}

/// Returns the referrer policy that the head of a page sets.
fn referrer_policy(finished: &Finished) -> Option<ReferrerPolicy> {
    ReferrerPolicy::of_header(&header(finished, "referrer-policy")?)
}

fn page_address(finished: &Finished) -> Option<lgoose_html::PageAddress> {
    let response = finished.exchange.outcome.as_ref().ok()?;
    let target = &response.target;
    Some(lgoose_html::PageAddress::new(
        &target.origin.text,
        &target.path,
    ))
}

fn first_match(lua: &Lua, (this, pattern): (CalledResponse, Value)) -> mlua::Result<MultiValue> {
    regex::pattern(lua, &pattern)?.first(lua, &this.body_text(lua)?)
}

fn ensure(lua: &Lua, this: CalledResponse) -> mlua::Result<Table> {
    match this.read(lua, |finished| finished.verdict().map(Cow::into_owned))? {
        None => Ok(this.table),
        Some(failure) => Err(mlua::Error::runtime(format!("{NOT_AS_EXPECTED}{failure}"))),
    }
}

/// Returns the URLs of a page that pass the filter.
fn urls(
    lua: &Lua,
    this: CalledResponse,
    filter: Value,
    find: page_urls::UrlFinder,
) -> mlua::Result<Table> {
    match this.read(lua, page_address)? {
        Some(page) => {
            let policy = this.read(lua, referrer_policy)?.unwrap_or_default();
            page_urls::list(lua, &page, policy, &this.body_text(lua)?, filter, find)
        }
        None => lua.create_table(),
    }
}
