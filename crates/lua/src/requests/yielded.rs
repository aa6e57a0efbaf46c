//! The values that a plan passes with an operation.

use crate::limits::YieldedValues;
use mlua::Value;

/// Returns a value with copies of the values that it views.
pub(super) type SeeThrough<'a> = dyn Fn(Value) -> mlua::Result<Value> + 'a;

/// Returns the four values that follow a marker.
pub(super) fn values_of(
    yielded: YieldedValues<'_>,
    see: &SeeThrough<'_>,
) -> Result<[Value; 4], String> {
    let values = yielded.into_values::<(Value, Value, Value, Value, Value)>();
    let seen = values.and_then(|(_, a, b, c, d)| Ok([see(a)?, see(b)?, see(c)?, see(d)?]));
    seen.map_err(|error| error.to_string())
}
