//! Views of a JSON value that a process has once: tables that read it, and that a plan cannot change. `shared` and
//! `data.json` return them.

use super::parts::{PreludePart, prelude_part};
use crate::plan_files::{JsonNode, JsonTree, JsonValue};
use crate::sandbox::{VmHost, null, view_marker, viewed};
use crate::values::DisplayText;
use mlua::{FromLua as _, Function, IntoLua as _, Lua, LuaSerdeExt as _, Table, Value};
use std::sync::Arc;

/// The most values of a list or an object that its view keeps in Lua. Of a larger one, it keeps only the views that the
/// plan holds itself.
const MOST_KEPT: usize = 64;

static VIEWS: PreludePart = prelude_part!("json_view");

/// Returns a value that the process has once: a view of a list or an object, anything else as it is.
pub(super) fn view(lua: &Lua, tree: &Arc<JsonTree>) -> mlua::Result<Value> {
    let host = VmHost::of(lua);
    let number = host.views.number(tree);
    if !is_table(tree.root()) {
        return scalar(lua, tree.root());
    }
    let make = match host.views.make.get() {
        Some(make) => make,
        None => {
            let make = maker(lua)?;
            host.views.make.get_or_init(|| make)
        }
    };
    make.call(node_of(number, tree.root()))
}

/// Creates the function that makes a view of a value by its number.
fn maker(lua: &Lua) -> mlua::Result<Function> {
    VIEWS.load(lua)?.call((
        view_marker(),
        lua.create_function(read)?,
        lua.create_function(child)?,
        lua.create_function(whole)?,
        lua.create_function(length)?,
        lua.create_function(iterate)?,
        lua.create_function(refuse)?,
    ))
}

/// `json.copy(value)`: a copy that the plan may change.
pub(super) fn copy(lua: &Lua, value: Value) -> mlua::Result<Value> {
    /// A table may contain itself.
    const MAX_DEPTH: usize = 127;
    match &value {
        Value::Table(table) => copy_table(lua, table, MAX_DEPTH).map(Value::Table),
        _ => Ok(value),
    }
}

fn copy_table(lua: &Lua, table: &Table, deepest: usize) -> mlua::Result<Table> {
    if let Some(node) = viewed(table) {
        return whole(lua, node);
    }
    if deepest == 0 {
        let message = "json.copy(value): tables are nested too deeply";
        return Err(mlua::Error::runtime(message));
    }
    let limits = &VmHost::of(lua).limits;
    let copy = lua.create_table()?;
    for pair in table.pairs::<Value, Value>() {
        limits.spend(lua, 64)?;
        let (key, value) = pair?;
        let value = match &value {
            Value::Table(inner) => Value::Table(copy_table(lua, inner, deepest - 1)?),
            _ => value,
        };
        copy.raw_set(key, value)?;
    }
    if table.metatable() == Some(lua.array_metatable()) {
        copy.set_metatable(Some(lua.array_metatable()))?;
    }
    Ok(copy)
}

/// Creates `next(table, key)`, which also iterates views.
pub(super) fn next(lua: &Lua) -> mlua::Result<Function> {
    let base = |name: &str| lua.globals().raw_get::<Function>(name);
    let next = base("next")?;
    let hidden = lua.create_function({
        let next = next.clone();
        move |lua, (table, key): (Value, Value)| match &table {
            Value::Table(view) if viewed(view).is_some() => following(lua, (view.clone(), key)),
            _ => next.call::<(Value, Value)>((table, key)),
        }
    })?;
    // Most tables have no metatable, and a call of Lua's own costs a tenth of one of Rust.
    lua.load(
        "local next, getmetatable, hidden = ...
        return function(table, key)
          if getmetatable(table) == false then return hidden(table, key) end
          return next(table, key)
        end",
    )
    .set_name("=lgoose")
    .call((next, base("getmetatable")?, hidden))
}

/// Returns the number of a value in all that a VM views.
fn node_of(tree: usize, node: JsonNode<'_>) -> i64 {
    // A plan has few files, each with fewer than 2^32 values.
    ((tree as i64) << 32) | i64::from(node.place())
}

/// Calls a function with the value of that number, and with the number of its tree.
fn with<R>(lua: &Lua, node: i64, look: impl FnOnce(usize, JsonNode<'_>) -> R) -> R {
    let number = (node >> 32) as usize;
    let tree = VmHost::of(lua).views.tree(number);
    look(number, tree.at(node as u32))
}

fn is_table(node: JsonNode<'_>) -> bool {
    matches!(node.value(), JsonValue::List(_) | JsonValue::Object(_))
}

fn scalar(lua: &Lua, node: JsonNode<'_>) -> mlua::Result<Value> {
    match node.value() {
        JsonValue::Null => null(lua),
        JsonValue::Flag(flag) => Ok(Value::Boolean(flag)),
        JsonValue::Integer(number) => Ok(Value::Integer(number)),
        JsonValue::Number(number) => Ok(Value::Number(number)),
        JsonValue::Text(text) => text.into_lua(lua),
        JsonValue::List(_) | JsonValue::Object(_) => Ok(Value::Nil),
    }
}

/// Returns a table of the values that the view keeps, and the `__mode` for those that it reads later; nil if there are
/// none.
fn read(lua: &Lua, node: i64) -> mlua::Result<(Table, Option<&'static str>)> {
    with(lua, node, |_, node| {
        let (JsonValue::List(count) | JsonValue::Object(count)) = node.value() else {
            return Err(mlua::Error::runtime("a view is one of a list or an object"));
        };
        if count > MOST_KEPT {
            return Ok((lua.create_table()?, Some("v")));
        }
        let known = lua.create_table()?;
        let mut inner = None;
        let mut keep = |key: Value, value: JsonNode<'_>| {
            if is_table(value) {
                inner = Some("");
                return Ok(());
            }
            known.raw_set(key, scalar(lua, value)?)
        };
        for (place, value) in (1..).zip(node.elements()) {
            keep(Value::Integer(place), value)?;
        }
        for (name, value) in node.members() {
            keep(name.into_lua(lua)?, value)?;
        }
        Ok((known, inner))
    })
}

/// Returns the value under a key, or the number of a table.
fn child(lua: &Lua, (node, key): (i64, Value)) -> mlua::Result<(Value, Option<i64>)> {
    with(lua, node, |tree, node| {
        let found = match &key {
            Value::String(name) => match name.to_str() {
                Ok(name) => node.member(&name).map(|(_, value)| value),
                Err(_) => None,
            },
            key => place_of(key).and_then(|place| node.element(place.checked_sub(1)?)),
        };
        match found {
            Some(value) if is_table(value) => Ok((Value::Nil, Some(node_of(tree, value)))),
            Some(value) => Ok((scalar(lua, value)?, None)),
            None => Ok((Value::Nil, None)),
        }
    })
}

/// Returns the place that a key names in a list: a whole number, also one that Lua has as a float.
fn place_of(key: &Value) -> Option<usize> {
    match key {
        Value::Number(number) if number.fract() == 0.0 && *number >= 0.0 => Some(*number as usize),
        key => key.as_usize(),
    }
}

/// Makes a value of Lua that the plan may change.
pub(super) fn to_lua(lua: &Lua, node: JsonNode<'_>) -> mlua::Result<Value> {
    // It may contain nulls.
    null(lua)?;
    lua.to_value(&node)
}

/// Makes a table of all of a value.
fn whole(lua: &Lua, node: i64) -> mlua::Result<Table> {
    with(lua, node, |_, node| {
        Table::from_lua(to_lua(lua, node)?, lua)
    })
}

fn length(lua: &Lua, view: Table) -> mlua::Result<usize> {
    let node = node(&view)?;
    with(lua, node, |_, node| match node.value() {
        JsonValue::List(count) => Ok(count),
        _ => Ok(0),
    })
}

/// Returns the number of the value that a view is of.
fn node(view: &Table) -> mlua::Result<i64> {
    viewed(view).ok_or_else(|| mlua::Error::runtime("this is no view of a value"))
}

/// The iterator of `pairs`: the next key and value, in the order of a list or of names.
fn following(lua: &Lua, (view, key): (Table, Value)) -> mlua::Result<(Value, Value)> {
    let node = node(&view)?;
    let next = with(lua, node, |_, node| -> mlua::Result<Value> {
        let number = match &key {
            Value::Nil => Some(0),
            Value::String(name) => match name.to_str() {
                Ok(name) => node.member(&name).map(|(number, _)| number + 1),
                Err(_) => None,
            },
            key => place_of(key),
        };
        let Some(number) = number else {
            return Err(mlua::Error::runtime("invalid key to 'next'"));
        };
        if let Some((name, _)) = node.members().nth(number) {
            return name.into_lua(lua);
        }
        match node.element(number) {
            Some(_) => (number + 1).into_lua(lua),
            None => Ok(Value::Nil),
        }
    })?;
    let value = match &next {
        Value::Nil => Value::Nil,
        next => view.get(next)?,
    };
    Ok((next, value))
}

/// `__pairs`.
fn iterate(lua: &Lua, view: Table) -> mlua::Result<(Function, Table)> {
    Ok((lua.create_function(following)?, view))
}

/// `__newindex`.
fn refuse(_: &Lua, (_, DisplayText(key), _): (Value, DisplayText, Value)) -> mlua::Result<()> {
    Err(mlua::Error::runtime(format!(
        "cannot set '{key}': this value is the same for all users; keep what belongs to one in user.data, or change a \
         copy: json.copy(value)"
    )))
}
