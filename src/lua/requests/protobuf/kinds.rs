//! Numbers of a plan as whole numbers of 64 bits, and the depth of messages. What encodes and what decodes share it.

use mlua::Value;

/// The deepest nesting of messages, as other implementations have it.
pub(super) const DEEPEST: u32 = 100;

/// Returns a whole number, which texts may be, too: JSON has 64 bits so.
pub(super) fn int64_of(value: &Value) -> Option<i64> {
    match value {
        Value::Integer(number) => Some(*number),
        Value::Number(number) if number.fract() == 0.0 && number.abs() < 9.3e18 => {
            let whole = *number as i64;
            (whole as f64 == *number).then_some(whole)
        }
        Value::String(text) => text.to_str().ok()?.parse().ok(),
        _ => None,
    }
}

/// Returns a whole number of at least 0.
pub(super) fn uint64_of(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => text.to_str().ok()?.parse().ok(),
        value => u64::try_from(int64_of(value)?).ok(),
    }
}
