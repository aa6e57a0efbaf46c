//! Reading of the rule for a pause, as a scenario or task declares it and `user:wait` takes it.

use crate::values::escape_invalid;
use lgoose_base::units;
use lgoose_plan::Wait;
use mlua::Value;
use std::time::Duration;

/// A value that is no rule for a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitMistake {
    /// The form that the value must have.
    Form(&'static str),
    /// A table with more values than the rule has.
    Surplus(&'static str),
    /// A field of the table that no rule has.
    Named,
    /// The longer pause comes first.
    Backwards,
}

impl WaitMistake {
    /// Returns what the value must be, and what is wrong about it where its type does not say it.
    pub(crate) fn expected(self) -> (&'static str, Option<&'static str>) {
        const PAUSE: &str = "{from, to} in seconds";
        match self {
            WaitMistake::Form(expected) => (expected, None),
            WaitMistake::Surplus(values) => (values, Some("more values than that")),
            WaitMistake::Named => (PAUSE, Some("a table with other fields")),
            WaitMistake::Backwards => (
                "{from, to} with the shorter pause first",
                Some("a 'from' that is longer than 'to'"),
            ),
        }
    }
}

/// Reads seconds, a text such as "500ms", `{from, to}`, or a value from a function of `wait`.
///
/// # Errors
/// What is wrong about the value.
pub(crate) fn read_wait_rule(value: &Value) -> Result<Wait, WaitMistake> {
    use WaitMistake::{Backwards, Form, Named, Surplus};
    const EXPECTED: &str = "{from, to} in seconds, or made with wait.between, wait.constant, …";
    let seconds = |value: Value| match &value {
        Value::String(text) => {
            let time = units::duration(&escape_invalid(text)).ok();
            time.map(|time| time.as_secs_f64())
        }
        value => value.as_number().or(value.as_integer().map(|n| n as f64)),
    };
    let time = |value: f64| -> Result<Duration, WaitMistake> {
        units::seconds(value).map_err(|_| {
            Form(if value > 0.0 {
                "at most ten years, 315360000 seconds"
            } else {
                EXPECTED
            })
        })
    };
    if let Some(constant) = seconds(value.clone()) {
        return Ok(Wait::Constant(time(constant)?));
    }
    let table = value.as_table().ok_or(Form(EXPECTED))?;
    let at =
        |place: usize| seconds(table.raw_get(place).unwrap_or(Value::Nil)).ok_or(Form(EXPECTED));
    let kind: Option<String> = table.raw_get("kind").unwrap_or_default();
    let kind = kind.as_deref().unwrap_or("between");
    let named = table.pairs::<Value, Value>().filter_map(Result::ok);
    let mut named = named.filter_map(|(key, _)| key.as_string().map(|key| *key == "kind"));
    if named.any(|is_kind| !is_kind) {
        return Err(Named);
    }
    let (most, surplus) = match kind {
        "between" => (2, "{from, to} in seconds, two values"),
        "normal" => (2, "wait.normal(mean, deviation), two values"),
        _ => (1, "one value"),
    };
    if table.raw_len() > most {
        return Err(Surplus(surplus));
    }
    Ok(match kind {
        "between" if at(2)? < at(1)? => return Err(Backwards),
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
        _ => return Err(Form(EXPECTED)),
    })
}
