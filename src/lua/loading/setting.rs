//! Conversion of the values in `plan {}` to plain data, from which options are read.

use crate::config::Value as Setting;
use crate::lua::values::{escape_invalid, type_phrase};
use mlua::{Table, Value};
use std::collections::BTreeMap;

/// The depth to which nested tables are read; no option needs more, and a table may contain itself.
const DEEPEST: usize = 4;

/// Converts the value of a field.
pub(super) fn read_setting(value: &Value) -> Setting {
    read_nested(value, 0)
}

fn read_nested(value: &Value, depth: usize) -> Setting {
    match value {
        Value::String(text) => Setting::Text(escape_invalid(text)),
        Value::Integer(n) => Setting::Number(*n as f64),
        Value::Number(n) => Setting::Number(*n),
        Value::Boolean(flag) => Setting::Flag(*flag),
        Value::Table(_) if depth == DEEPEST => Setting::Other("a table in many tables"),
        Value::Table(table) => read_table(table, depth + 1),
        other => Setting::Other(type_phrase(other)),
    }
}

fn read_table(table: &Table, depth: usize) -> Setting {
    let texts = table.pairs::<String, String>().collect();
    if let (0, Ok(texts)) = (table.raw_len(), texts) {
        return Setting::Map(texts);
    }
    // A list may have holes; entries after one count too.
    let mut list = BTreeMap::new();
    let mut named = BTreeMap::new();
    for (key, value) in entries(table) {
        let value = read_nested(&value, depth);
        match key {
            Value::Integer(place) => list.insert(place, value).is_some(),
            key => named
                .insert(key.to_string().unwrap_or_default(), value)
                .is_some(),
        };
    }
    let list: Vec<Setting> = list.into_values().collect();
    let texts = list.iter().map(|value| match value {
        Setting::Text(text) => Some(text.clone()),
        _ => None,
    });
    match texts.collect() {
        Some(texts) if named.is_empty() => Setting::List(texts),
        _ => Setting::Table(list, named),
    }
}

/// Returns the entries of a table in an order that is always the same.
pub(super) fn entries(table: &Table) -> Vec<(Value, Value)> {
    let mut entries: Vec<(Value, Value)> = table.pairs().filter_map(Result::ok).collect();
    // Lua's order of fields changes from run to run; messages must not.
    entries.sort_by_key(|(key, _)| key.to_string().unwrap_or_default());
    entries
}
