//! `user.cookies`: the jar of a user, read and changed by its plan.

use crate::api::function::function;
use crate::sandbox::VmHost;
use crate::values::{DisplayText, describe_mismatch, read_flag, read_string, shorten, to_one_line};
use lgoose_http::{CookieScope, StoredCookie};
use lgoose_plan::config::unknown_word;
use mlua::{IntoLua as _, Lua, Table, Value};

/// The fields of a cookie's scope.
pub(crate) const SCOPE: [&str; 3] = ["domain", "path", "secure"];

/// The fields of a cookie in the list.
pub(crate) const COOKIE: [&str; 8] = [
    "name",
    "value",
    "domain",
    "path",
    "host_only",
    "secure",
    "http_only",
    "expires",
];

/// Creates `user.cookies`.
pub(crate) fn cookies(lua: &Lua) -> mlua::Result<Table> {
    let cookies = lua.create_table()?;
    let get = |lua: &Lua, (_, DisplayText(name)): (Value, DisplayText)| {
        let value = VmHost::user_session(lua)?.cookie(name.as_bytes());
        value.map(|value| lua.create_string(value)).transpose()
    };
    cookies.raw_set("get", function(lua, get)?)?;
    cookies.raw_set("set", function(lua, set)?)?;
    cookies.raw_set("list", function(lua, list)?)?;
    let delete = |lua: &Lua, (_, DisplayText(name), scope): (Value, DisplayText, Value)| {
        Ok(VmHost::user_session(lua)?.delete_cookie(&name, &read_scope(&scope)?))
    };
    cookies.raw_set("delete", function(lua, delete)?)?;
    let clear = |lua: &Lua, _: Value| {
        VmHost::user_session(lua)?.clear_cookies();
        Ok(())
    };
    cookies.raw_set("clear", function(lua, clear)?)?;
    Ok(cookies)
}

fn set(lua: &Lua, (_, name, value, scope): (Value, String, String, Value)) -> mlua::Result<()> {
    let scope = read_scope(&scope)?;
    if VmHost::user_session(lua)?.set_cookie(&name, &value, &scope) {
        Ok(())
    } else {
        let mut shown = format!("{name}={value}");
        for (field, set) in [("path", &scope.path), ("domain", &scope.domain)] {
            if let Some(set) = set {
                shown += &format!("; {field}={set}");
            }
        }
        Err(mlua::Error::runtime(format!(
            "'{}' cannot be a cookie: it has no line break, no ';' and at most 4096 bytes, its path begins with '/' \
                 and has at most 1024, and its domain is a host's",
            shorten(&shown)
        )))
    }
}

fn list(lua: &Lua, _: Value) -> mlua::Result<Table> {
    let cookies = VmHost::user_session(lua)?.stored_cookies();
    let bytes = |cookie: &StoredCookie| {
        let texts = cookie.domain.len() + cookie.path.len();
        512 + cookie.name.len() + cookie.value.len() + texts
    };
    let mut budget = VmHost::of(lua).budget(lua);
    budget
        .take(cookies.iter().map(bytes).sum())
        .map_err(mlua::Error::runtime)?;
    let list = lua.create_table_with_capacity(cookies.len(), 0)?;
    for cookie in cookies {
        let values = [
            Value::String(lua.create_string(&cookie.name)?),
            Value::String(lua.create_string(&cookie.value)?),
            cookie.domain.into_lua(lua)?,
            cookie.path.into_lua(lua)?,
            cookie.host_only.into_lua(lua)?,
            cookie.secure.into_lua(lua)?,
            cookie.http_only.into_lua(lua)?,
            cookie.expires.map(|end| end.as_second()).into_lua(lua)?,
        ];
        let table = lua.create_table_from(COOKIE.into_iter().zip(values))?;
        list.raw_push(table)?;
    }
    Ok(list)
}

/// Reads the scope of a cookie.
fn read_scope(value: &Value) -> mlua::Result<CookieScope> {
    let mut scope = CookieScope::default();
    let table = match value {
        Value::Nil => return Ok(scope),
        Value::Table(table) => table,
        other => {
            let kind = "a table such as { path = \"/admin\" }";
            let problem = describe_mismatch("where a cookie belongs", kind, other);
            return Err(mlua::Error::runtime(problem));
        }
    };
    for pair in table.pairs::<String, Value>() {
        let (field, value) = pair?;
        let what = format!("'{field}' of a cookie");
        let read = match field.as_str() {
            "domain" => read_string(&value, &what).map(|text| scope.domain = Some(text)),
            "path" => read_string(&value, &what).map(|text| scope.path = Some(text)),
            "secure" => read_flag(&value, &what).map(|flag| scope.secure = flag),
            unknown => Err(to_one_line(unknown_word(
                "field", unknown, "a cookie", &SCOPE,
            ))),
        };
        read.map_err(mlua::Error::runtime)?;
    }
    Ok(scope)
}
