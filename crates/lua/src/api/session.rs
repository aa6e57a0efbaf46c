//! Members of `user`, among them those that change its HTTP session: host, headers, credentials; and
//! `shared`, the value that `test_start` returned.

use super::cookies::cookies;
use super::function::function;
use super::json_view;
use super::lookup::{MemberValue, part};
use super::parts;
use super::tags::user_tags;
use crate::requests::{basic, bearer, convert_to_tree, header_line, marker};
use crate::sandbox::VmHost;
use crate::values::{self, DisplayText, describe_mismatch, read_scalar, shorten};
use http::{HeaderName, HeaderValue, header};
use lgoose_base::error::split_credentials;
use lgoose_http::{DigestCredentials, Session};
use mlua::{Lua, LuaString, Value};
use std::rc::Rc;

/// Returns a member of `user` and how the prelude makes it, or nil.
pub(super) fn user_member(lua: &Lua, name: &str) -> mlua::Result<MemberValue> {
    let of_operation = |name, kind| Ok((marker(name).unwrap_or(Value::Nil), Some(kind)));
    let function = match name {
        "get" => return of_operation("GET", "send"),
        "head" => return of_operation("HEAD", "send"),
        "delete" => return of_operation("DELETE", "send"),
        "options" => return of_operation("OPTIONS", "send"),
        "post" => return of_operation("POST", "send body"),
        "put" => return of_operation("PUT", "send body"),
        "patch" => return of_operation("PATCH", "send body"),
        "wait" => return of_operation("wait", "wait"),
        "fetch" | "batch" => return part(lua, &parts::LISTS),
        "request" | "submit" => return part(lua, &parts::FORMS),
        "retry" => return part(lua, &parts::RETRY),
        "events" => return part(lua, &parts::EVENTS),
        "spawn" => return part(lua, &parts::SPAWN),
        "websocket" => return part(lua, &parts::WEBSOCKET),
        "tcp" | "tls" | "udp" => return part(lua, &parts::NET),
        "timed" => return part(lua, &parts::TIMED),
        "grpc" | "grpc_stream" => return part(lua, &parts::GRPC),
        "transaction" | "stop" | "exit_iteration" | "set_host" | "log" => {
            return part(lua, &parts::ACTIONS);
        }
        "set_header" => function(lua, set_header)?,
        "basic_auth" => function(
            lua,
            |lua, (_, name, password): (Value, LuaString, LuaString)| {
                check_header_length(name.as_bytes().len() + password.as_bytes().len())?;
                let credentials = [&name.as_bytes()[..], b":", &password.as_bytes()[..]].concat();
                let value = basic(&credentials).map_err(mlua::Error::runtime)?;
                session(lua)?.set_digest(None);
                set_header_of_user(lua, &header::AUTHORIZATION, Some(value))
            },
        )?,
        "digest_auth" => function(lua, |lua, (_, user, password): (Value, String, String)| {
            const LONGEST: usize = 64 << 10;
            if user.len() + password.len() > LONGEST {
                let problem = "user:digest_auth: the name and the password are too long";
                return Err(mlua::Error::runtime(problem));
            }
            session(lua)?.set_header(&header::AUTHORIZATION, None);
            session(lua)?.set_digest(Some(DigestCredentials { user, password }));
            Ok(())
        })?,
        "bearer" => function(lua, |lua, (_, token): (Value, LuaString)| {
            check_header_length(token.as_bytes().len())?;
            let value = bearer(&token.as_bytes()).map_err(mlua::Error::runtime)?;
            set_header_of_user(lua, &header::AUTHORIZATION, Some(value))
        })?,
        "tags" => return Ok((Value::Table(user_tags(lua)?), None)),
        "cookies" => return Ok((Value::Table(cookies(lua)?), None)),
        _ => return Ok((Value::Nil, None)),
    };
    Ok((Value::Function(function), None))
}

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
pub(super) fn shared(lua: &Lua) -> mlua::Result<Value> {
    json_view::view(lua, VmHost::of(lua).program.shared_value())
}

/// Stores the value that `test_start` returned, for all users.
pub(super) fn share(lua: &Lua, value: Value) -> mlua::Result<()> {
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

fn set_header(
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
