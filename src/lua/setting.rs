//! A value of `plan {}` as options read it: plain data, without Lua.

use super::declare::entries;
use super::values::a;
use crate::config::Value as Setting;
use mlua::{Table, Value};
use std::collections::BTreeMap;

/// Tables within tables are read so deep; no option goes deeper, and a table may contain itself.
const DEEPEST: usize = 4;

/// A field's value.
pub(super) fn setting(value: &Value) -> Setting {
    within(value, 0)
}

fn within(value: &Value, depth: usize) -> Setting {
    match value {
        Value::String(text) => Setting::Text(text.to_string_lossy()),
        Value::Integer(n) => Setting::Number(*n as f64),
        Value::Number(n) => Setting::Number(*n),
        Value::Boolean(flag) => Setting::Flag(*flag),
        Value::Table(_) if depth == DEEPEST => Setting::Other("a table in many tables"),
        Value::Table(table) => table_setting(table, depth + 1),
        other => Setting::Other(a(other)),
    }
}

fn table_setting(table: &Table, depth: usize) -> Setting {
    let texts = table.pairs::<String, String>().collect();
    if let (0, Ok(texts)) = (table.raw_len(), texts) {
        return Setting::Map(texts);
    }
    let mut list = Vec::new();
    let mut named = BTreeMap::new();
    for value in table.sequence_values::<Value>() {
        list.push(within(&value.unwrap_or(Value::Nil), depth));
    }
    for (key, value) in entries(table) {
        if let Value::String(key) = key {
            named.insert(key.to_string_lossy(), within(&value, depth));
        }
    }
    Setting::Table(list, named)
}
