//! Encoding of Lua values as JSON text.

use crate::lua::limits::{Budget, NOT_ENOUGH};
use crate::lua::values::{escape_invalid, shorten, unwrap_view};
use mlua::Value;

/// The deepest nesting of tables. Deeper ones would overflow the thread's stack; decoding has the same limit.
const DEEPEST: u32 = 127;

/// Encodes a Lua value as JSON text, fields sorted by name so that equal tables give equal texts.
///
/// # Errors
/// The reason why the value cannot be encoded.
pub(in crate::lua) fn encode(value: &Value, budget: &mut Budget) -> Result<String, String> {
    /// What a comma, a colon, brackets or a number take.
    const EACH: usize = 16;
    let value = &behind_view(value);
    fits(value, EACH, DEEPEST, budget).map_err(cannot)?;
    let sorted = value
        .to_serializable()
        .sort_keys(true)
        .deny_recursive_tables(true);
    serde_json::to_string(&sorted).map_err(|error| cannot(error.to_string()))
}

/// Converts a Lua value to one of JSON.
///
/// # Errors
/// The reason why it cannot be converted.
pub(in crate::lua) fn convert(
    value: &Value,
    budget: &mut Budget,
) -> Result<serde_json::Value, String> {
    /// What a value and its place in a list or map take.
    const EACH: usize = 128;
    let value = &behind_view(value);
    fits(value, EACH, DEEPEST, budget)?;
    serde_json::to_value(value).map_err(|error| error.to_string())
}

fn cannot(problem: String) -> String {
    match problem.starts_with(NOT_ENOUGH) {
        true => problem,
        false => format!("cannot encode this as JSON: {problem}"),
    }
}

fn behind_view(value: &Value) -> Value {
    match value {
        Value::Table(table) => Value::Table(unwrap_view(table)),
        other => other.clone(),
    }
}

/// Checks that no table is nested too deeply, that the result stays within the budget, with `each` bytes in addition
/// to the text of every value, and that every string is UTF-8: one that is not would become a list of numbers. A
/// value in which one table or text occurs many times may be small in Lua and endless as JSON, and a list may have
/// few values although its length is 2^62.
///
/// # Errors
/// The reason why the value cannot be encoded.
fn fits(value: &Value, each: usize, deepest: u32, budget: &mut Budget) -> Result<(), String> {
    let text = value.as_string();
    if let Some(text) = text.filter(|text| text.to_str().is_err()) {
        return Err(format!("'{}' is not UTF-8", shorten(&escape_invalid(text))));
    }
    budget.take(each + text.map_or(0, |text| escaped_length(&text.as_bytes())))?;
    let Value::Table(table) = value else {
        return Ok(());
    };
    if deepest == 0 {
        return Err("tables are nested too deeply".to_owned());
    }
    let mut entries = 0;
    for (key, value) in table.pairs::<Value, Value>().filter_map(Result::ok) {
        entries += 1;
        let key = key.as_string();
        budget.take(key.map_or(0, |key| escaped_length(&key.as_bytes())))?;
        fits(&value, each, deepest - 1, budget)?;
    }
    // Each value that a list leaves out is written as null.
    budget.take(table.raw_len().saturating_sub(entries).saturating_mul(each))
}

/// Returns the length of a text in JSON without its quotes, in bytes.
fn escaped_length(text: &[u8]) -> usize {
    let more = |byte: &u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 8 | 12 => 1,
        0..0x20 => 5,
        _ => 0,
    };
    text.len() + text.iter().map(more).sum::<usize>()
}
