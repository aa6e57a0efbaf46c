//! Members of `user` that change its HTTP session: host, headers, credentials; and `shared`, the value that `test_start`
//! returned.

use crate::api::json_view;
use crate::diagnostics::argument_text;
use crate::requests::{basic, bearer, convert_to_tree, header_line};
use crate::sandbox::VmHost;
use crate::values::{
    self, DisplayText, describe_mismatch, escape_invalid, read_scalar, shorten, type_phrase,
};
use http::{HeaderName, HeaderValue, header};
use lgoose_base::error::split_credentials;
use lgoose_http::{DigestCredentials, Session};
use mlua::{Lua, LuaString, Value};
use std::rc::Rc;

/// Sets the URL that paths are joined to from now on, and returns it.
pub(super) fn set_host(lua: &Lua, url: Value) -> mlua::Result<String> {
    let Value::String(url) = &url else {
        return Err(mlua::Error::runtime(describe_mismatch(
            "user:set_host",
            "a URL",
            &url,
        )));
    };
    const LONGEST: usize = 64 << 10;
    if url.as_bytes().len() > LONGEST {
        let problem = format!("user:set_host: a URL may have {LONGEST} bytes");
        return Err(mlua::Error::runtime(problem));
    }
    let url = values::read_url(&url.as_bytes());
    session(lua)?
        .set_base(&url)
        .map_err(|failure| mlua::Error::runtime(failure.to_string()))?;
    // Its credentials stay with the session.
    Ok(match split_credentials(&url) {
        Some((scheme, _, rest)) => format!("{scheme}{rest}"),
        None => url.to_string(),
    })
}

/// Returns the value that `test_start` returned, for this VM.
pub(crate) fn shared(lua: &Lua) -> mlua::Result<Value> {
    json_view::view(lua, VmHost::of(lua).program.shared_value())
}

/// Stores the value that `test_start` returned, for all users.
pub(crate) fn share(lua: &Lua, value: Value) -> mlua::Result<()> {
    let mut budget = VmHost::of(lua).budget(lua);
    let shared = convert_to_tree(&value, &mut budget).map_err(|error| {
        mlua::Error::runtime(format!(
            "the return value of test_start must consist of strings, numbers, booleans and tables of them: {error}"
        ))
    })?;
    VmHost::of(lua).program.set_shared(shared);
    Ok(())
}

fn session(lua: &Lua) -> mlua::Result<Rc<Session>> {
    VmHost::user_session(lua)
}

/// Returns a credential, given its role and its place among the arguments of a method.
///
/// # Errors
/// It is no text: the message has what stands in the plan.
fn credential(
    lua: &Lua,
    value: &Value,
    role: &str,
    (method, place): (&str, usize),
) -> mlua::Result<LuaString> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(_) | Value::Number(_) => lua
            .coerce_string(value.clone())?
            .ok_or_else(|| mlua::Error::runtime("a number is no text")),
        other => {
            let what = format!("{role} of user:{method}");
            let problem = describe_mismatch(&what, "a string", other);
            let written = argument_text(lua, method, place);
            let written = written.map_or_else(String::new, |text| {
                format!("; '{text}' is {}", type_phrase(other))
            });
            Err(mlua::Error::runtime(format!("{problem}{written}")))
        }
    }
}

/// `user:basic_auth(name, password)`.
pub(super) fn basic_auth(
    lua: &Lua,
    (_, name, password): (Value, Value, Value),
) -> mlua::Result<()> {
    let name = credential(lua, &name, "the name", ("basic_auth", 0))?;
    let password = credential(lua, &password, "the password", ("basic_auth", 1))?;
    check_header_length(name.as_bytes().len() + password.as_bytes().len())?;
    let credentials = [&name.as_bytes()[..], b":", &password.as_bytes()[..]].concat();
    let value = basic(&credentials).map_err(mlua::Error::runtime)?;
    session(lua)?.set_digest(None);
    set_header_of_user(lua, &header::AUTHORIZATION, Some(value))
}

/// `user:digest_auth(name, password)`.
pub(super) fn digest_auth(
    lua: &Lua,
    (_, user, password): (Value, Value, Value),
) -> mlua::Result<()> {
    let user = credential(lua, &user, "the name", ("digest_auth", 0))?;
    let password = credential(lua, &password, "the password", ("digest_auth", 1))?;
    let (user, password) = (escape_invalid(&user), escape_invalid(&password));
    const LONGEST: usize = 64 << 10;
    if user.len() + password.len() > LONGEST {
        let problem = "user:digest_auth: the name and the password are too long";
        return Err(mlua::Error::runtime(problem));
    }
    session(lua)?.set_header(&header::AUTHORIZATION, None);
    session(lua)?.set_digest(Some(DigestCredentials { user, password }));
    Ok(())
}

/// `user:bearer(token)`.
pub(super) fn bearer_auth(lua: &Lua, (_, token): (Value, Value)) -> mlua::Result<()> {
    let token = credential(lua, &token, "the token", ("bearer", 0))?;
    check_header_length(token.as_bytes().len())?;
    let value = bearer(&token.as_bytes()).map_err(mlua::Error::runtime)?;
    set_header_of_user(lua, &header::AUTHORIZATION, Some(value))
}

/// `user:set_header(name, value)`.
pub(super) fn set_header(
    lua: &Lua,
    (_, DisplayText(name), value): (Value, DisplayText, Value),
) -> mlua::Result<()> {
    check_header_length(values::byte_length(&value))?;
    let bytes = match &value {
        Value::Nil => Vec::new(),
        value => read_scalar(value, &format!("header '{}'", shorten(&name)))
            .map_err(mlua::Error::runtime)?,
    };
    let (header, bytes) = header_line(&name, &bytes).map_err(mlua::Error::runtime)?;
    set_header_of_user(lua, &header, (!value.is_nil()).then_some(bytes))
}

/// The most bytes of all headers that a user has set.
const MOST_BYTES: usize = 1 << 20;

/// Checks that a value may be that of a header, before it is copied.
fn check_header_length(bytes: usize) -> mlua::Result<()> {
    if bytes > MOST_BYTES {
        Err(too_long(bytes))
    } else {
        Ok(())
    }
}

fn too_long(bytes: usize) -> mlua::Error {
    mlua::Error::runtime(format!(
        "the headers of a user may have {MOST_BYTES} bytes in all; this one has {bytes}"
    ))
}

/// Sets a header of all requests from now on.
///
/// # Errors
/// The user's headers would take more memory than the request line and headers of any server may have.
fn set_header_of_user(
    lua: &Lua,
    name: &HeaderName,
    value: Option<HeaderValue>,
) -> mlua::Result<()> {
    let session = session(lua)?;
    let added = value
        .as_ref()
        .map_or(0, |value| name.as_str().len() + value.len());
    if added > 0 && session.header_bytes() + added > MOST_BYTES {
        return Err(too_long(added));
    }
    session.set_header(name, value);
    Ok(())
}
