//! Reading of the rule for a pause, as a scenario or task declares it and `user:wait` takes it.

use crate::values::escape_invalid;
use lgoose_base::units;
use lgoose_plan::Wait;
use mlua::Value;
use std::time::Duration;

/// Reads seconds, a text such as "500ms", `{from, to}`, or a value from a function of `wait`.
///
/// # Errors
/// The form that the value must have.
pub(crate) fn read_wait_rule(value: &Value) -> Result<Wait, &'static str> {
    const EXPECTED: &str = "{from, to} in seconds, or made with wait.between, wait.constant, …";
    let seconds = |value: Value| match &value {
        Value::String(text) => {
            let time = units::duration(&escape_invalid(text)).ok();
            time.map(|time| time.as_secs_f64())
        }
        value => value.as_number().or(value.as_integer().map(|n| n as f64)),
    };
    let time = |value: f64| -> Result<Duration, &'static str> {
        units::seconds(value).map_err(|_| {
            if value > 0.0 {
                "at most ten years, 315360000 seconds"
            } else {
                EXPECTED
            }
        })
    };
    if let Some(constant) = seconds(value.clone()) {
        return Ok(Wait::Constant(time(constant)?));
    }
    let table = value.as_table().ok_or(EXPECTED)?;
    let at = |place: usize| seconds(table.raw_get(place).unwrap_or(Value::Nil)).ok_or(EXPECTED);
    let kind: Option<String> = table.raw_get("kind").unwrap_or_default();
    Ok(match kind.as_deref().unwrap_or("between") {
        "between" if at(2)? >= at(1)? => Wait::Uniform(time(at(1)?)?, time(at(2)?)?),
        "constant" => Wait::Constant(time(at(1)?)?),
        "normal" => Wait::Normal {
            mean: time(at(1)?)?,
            deviation: time(at(2)?)?,
        },
        "exponential" => Wait::Exponential {
            mean: time(at(1)?)?,
        },
        "pacing" => Wait::Pacing(time(at(1)?)?),
        "tick" if at(1)? > 0.0 => Wait::Throughput(1.0 / at(1)?),
        "throughput" if at(1)? > 0.0 => Wait::Throughput(at(1)?),
        _ => return Err(EXPECTED),
    })
}
