//! A value of `plan {}` as options read it: plain data, without Lua.

use super::field::entries;
use crate::config::Value as Setting;
use crate::lua::values::{a, shown};
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
        Value::String(text) => Setting::Text(shown(text)),
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
    // A list may have holes; what stands behind one counts too.
    let mut list = BTreeMap::new();
    let mut named = BTreeMap::new();
    for (key, value) in entries(table) {
        let value = within(&value, depth);
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
