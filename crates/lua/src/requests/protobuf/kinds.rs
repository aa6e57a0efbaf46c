//! The common ground of encoding and decoding: kinds of fields on the wire, numbers of a plan as whole numbers of 64
//! bits, and the depth of messages.

use super::wire::WireType;
use mlua::Value;
use prost_reflect::Kind;

/// The deepest nesting of messages, as other implementations have it.
pub(super) const DEEPEST: u32 = 100;

/// Returns a whole number, also of a text, the form of 64 bits in JSON.
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

/// Returns a number, also of a text, the form of what JSON has no number for.
pub(super) fn float_of(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(number) => Some(*number as f64),
        Value::Number(number) => Some(*number),
        Value::String(text) => match &*text.to_str().ok()? {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            text => text.parse().ok().filter(|number: &f64| number.is_finite()),
        },
        _ => None,
    }
}

/// Returns the wire type of a kind's values; for a message, that of one that is not a group.
pub(super) fn wire_type_of(kind: &Kind) -> WireType {
    match kind {
        Kind::Double | Kind::Fixed64 | Kind::Sfixed64 => WireType::Fixed64,
        Kind::Float | Kind::Fixed32 | Kind::Sfixed32 => WireType::Fixed32,
        Kind::String | Kind::Bytes | Kind::Message(_) => WireType::Bytes,
        _ => WireType::Varint,
    }
}
