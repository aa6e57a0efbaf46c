//! Encoding of Lua values as JSON text.

use crate::lua::values::{escape_invalid, shorten, unwrap_view};
use mlua::Value;

/// Encodes a Lua value as JSON text, fields sorted by name so that equal tables give equal texts.
///
/// # Errors
/// The reason why the value cannot be encoded.
pub(in crate::lua) fn encode(value: &Value) -> Result<String, String> {
    // Deeper ones would overflow the thread's stack; decoding has the same limit. And a value in which one
    // table or text occurs many times may be small in Lua and endless as JSON.
    const DEEPEST: u32 = 127;
    let value = &match value {
        Value::Table(table) => Value::Table(unwrap_view(table)),
        other => other.clone(),
    };
    let mut budget = 256 << 20;
    fits(value, DEEPEST, &mut budget)
        .map_err(|problem| format!("cannot encode this as JSON: {problem}"))?;
    let sorted = value
        .to_serializable()
        .sort_keys(true)
        .deny_recursive_tables(true);
    serde_json::to_string(&sorted).map_err(|error| format!("cannot encode this as JSON: {error}"))
}

/// Checks that no table is nested too deeply, that the text stays within `budget` bytes, and that every string is
/// UTF-8: one that is not would become a list of numbers.
///
/// # Errors
/// The reason why the value cannot be encoded.
fn fits(value: &Value, deepest: u32, budget: &mut usize) -> Result<(), String> {
    const EACH: usize = 16;
    let text = value.as_string();
    if let Some(text) = text.filter(|text| text.to_str().is_err()) {
        return Err(format!("'{}' is not UTF-8", shorten(&escape_invalid(text))));
    }
    let size = EACH + text.map_or(0, |text| text.as_bytes().len());
    *budget = budget.checked_sub(size).ok_or("it is too much")?;
    let Value::Table(table) = value else {
        return Ok(());
    };
    if deepest == 0 {
        return Err("tables are nested too deeply".to_owned());
    }
    let mut entries = table.pairs::<Value, Value>().filter_map(Result::ok);
    entries.try_for_each(|(_, value)| fits(&value, deepest - 1, budget))
}
