//! Conversion of the values in `plan {}` to plain data, from which options are read.

use crate::values::{escape_invalid, shorten, type_phrase};
use lgoose_base::error::Diagnostic;
use lgoose_base::units::show_size;
use lgoose_plan::config::Value as Setting;
use mlua::{Table, Value};
use std::collections::BTreeMap;

/// The depth to which nested tables are read; no option needs more, and a table may contain itself.
const MAX_DEPTH: usize = 4;

/// The most entries of a field, those of tables in it included.
const MOST_ENTRIES: usize = 1_000;

/// The most bytes of the texts of a field.
const MOST_BYTES: usize = 1 << 20;

/// Refuses the value of a declared field that is larger than anybody writes: declarations are copied, compared and
/// shown.
///
/// # Errors
/// The message with the limit.
pub(super) fn check_size(field: &str, owner: &str, value: &Value) -> Result<(), Diagnostic> {
    let (mut entries, mut bytes) = (0, 0);
    let length = |value: &Value| value.as_string().map_or(0, |text| text.as_bytes().len());
    let mut fits = length(value) <= MOST_BYTES;
    let mut tables = Vec::from_iter(value.as_table().cloned());
    while let Some(table) = tables.pop() {
        for (key, value) in table.pairs::<Value, Value>().filter_map(Result::ok) {
            entries += 1;
            bytes += length(&key) + length(&value);
            fits = fits && entries <= MOST_ENTRIES && bytes <= MOST_BYTES;
            if !fits {
                break;
            }
            tables.extend(value.as_table().cloned());
        }
    }
    if fits {
        return Ok(());
    }
    let message = format!(
        "field '{}' of {owner} is too large: it may have {MOST_ENTRIES} entries and {} of text",
        shorten(field),
        show_size(MOST_BYTES as f64)
    );
    Err(Diagnostic::new(message).help("read longer values from a file, with 'data' or 'file'"))
}

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
        Value::Table(_) if depth == MAX_DEPTH => Setting::Other("a table in many tables"),
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
