//! An exchange that the plan has measured, as `user:record` yields it: a push that another user has sent, a job that a
//! server has carried out.

use super::op::MeasuredExchange;
use super::options::named;
use super::tags::read_own_tags;
use super::timed::read_kind;
use crate::limits::Budget;
use crate::values::{describe_mismatch, read_name, read_seconds, read_string, shorten_reason};
use lgoose_protocols::{CallOp, PlanExchange};
use mlua::Value;

/// The fields of such an exchange.
pub(crate) const RECORD: [&str; 7] = ["kind", "name", "time", "ok", "error", "bytes", "tags"];
/// The default kind, which stands in place of a method.
const DEFAULT_KIND: &str = "RECORD";
/// The failure of one that has no other.
const FAILED: &str = "the plan says that it failed";

/// Reads the fields of the exchange.
///
/// # Errors
/// The message to raise at the plan's line.
pub(super) fn read(row: &Value, budget: &mut Budget) -> Result<Box<MeasuredExchange>, String> {
    let (mut kind, mut name, mut time) = (DEFAULT_KIND.to_owned(), None, None);
    let (mut ok, mut error, mut bytes, mut tags) = (None, None, 0, None);
    for (key, value) in named(row, "user:record", &RECORD)? {
        match key.as_str() {
            "kind" => kind = read_kind(&value)?,
            "name" => name = Some(read_name(&value, "option 'name'")?),
            "time" => time = Some(read_seconds(&value, "option 'time'")?),
            "ok" => match value {
                Value::Boolean(is_ok) => ok = Some(is_ok),
                other => return Err(describe_mismatch("option 'ok'", "true or false", &other)),
            },
            "error" => {
                let text = read_string(&value, "option 'error'")?;
                error = Some(shorten_reason(&text));
            }
            "bytes" => bytes = read_bytes(&value)?,
            _ => tags = Some(read_own_tags(&value, budget)?),
        }
    }
    let lacking = |field| {
        format!("user:record needs {field}: user:record {{ name = \"delivered\", time = seconds }}")
    };
    let name = name.ok_or_else(|| lacking("a 'name'"))?;
    let time = time.ok_or_else(|| lacking("a 'time'"))?;
    if ok == Some(true) && error.is_some() {
        return Err("user:record has an 'error', and 'ok' says that there is none".to_owned());
    }
    let failed = ok == Some(false) || error.is_some();
    let failure = failed.then(|| error.unwrap_or_else(|| FAILED.to_owned()).into());
    let exchange = PlanExchange::new(&kind, name.to_string());
    Ok(Box::new(MeasuredExchange {
        op: CallOp {
            name: Some(name),
            tags,
            ..CallOp::new(exchange)
        },
        time,
        bytes,
        failure,
    }))
}

fn read_bytes(value: &Value) -> Result<u64, String> {
    let bytes = match value {
        Value::Integer(bytes) => u64::try_from(*bytes).ok(),
        // An exact number, such as 1e6.
        Value::Number(bytes) if bytes.fract() == 0.0 && (0.0..=1e15).contains(bytes) => {
            Some(*bytes as u64)
        }
        Value::Number(_) => None,
        other => {
            return Err(describe_mismatch(
                "option 'bytes'",
                "a number of bytes",
                other,
            ));
        }
    };
    bytes.ok_or_else(|| "option 'bytes' is a whole number from 0 on".to_owned())
}
