//! An exchange that is a function of the plan: its beginning and its end, as `user:timed(name, fn, options)` yields
//! them.

use super::op::{ExchangeEnd, Op};
use super::options::named;
use super::tags::read_own_tags;
use crate::limits::Budget;
use crate::values::{escape_invalid, read_name, read_string, shorten_reason};
use lgoose_protocols::{CallOp, PlanExchange};
use mlua::Value;

/// The options of a timed function.
pub(crate) const TIMED: [&str; 2] = ["kind", "tags"];
/// The default kind of these exchanges, which stands in place of a method.
const DEFAULT_KIND: &str = "TIMED";
/// The longest kind, in bytes.
const LONGEST_KIND: usize = 20;

/// Reads its beginning.
///
/// # Errors
/// The message to raise at the plan's line.
pub(super) fn read(
    name: &Value,
    options: &Value,
    budget: &mut Budget,
) -> Result<Box<CallOp>, String> {
    let name = read_name(name, "the name of user:timed")?;
    let (mut kind, mut tags) = (DEFAULT_KIND.to_owned(), None);
    for (key, value) in named(options, "user:timed", &TIMED)? {
        match key.as_str() {
            "kind" => kind = read_kind(&value)?,
            _ => tags = Some(read_own_tags(&value, budget)?),
        }
    }
    let exchange = PlanExchange::new(&kind, name.to_string());
    Ok(Box::new(CallOp {
        name: Some(name),
        tags,
        ..CallOp::new(exchange)
    }))
}

pub(super) fn read_kind(value: &Value) -> Result<String, String> {
    let kind = read_string(value, "option 'kind'")?;
    let fits = kind.len() <= LONGEST_KIND
        && kind.starts_with(|first: char| first.is_ascii_uppercase())
        && kind
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    if fits {
        Ok(kind)
    } else {
        Err(format!(
            "option 'kind' is a word of up to {LONGEST_KIND} capital letters and digits, such as \"SMTP\""
        ))
    }
}

/// Reads its end: whether the function has succeeded, and if not, the reason.
pub(super) fn read_end(number: &Value, is_done: &Value, reason: &Value) -> Op {
    let end = match (is_done, reason) {
        (Value::Boolean(true), _) => ExchangeEnd::Done,
        (_, Value::String(reason)) => {
            let reason = shorten_reason(&escape_invalid(reason));
            ExchangeEnd::Failed(Some(reason.into()))
        }
        _ => ExchangeEnd::Failed(None),
    };
    Op::EndExchange(number.as_i64().unwrap_or_default() as u64, Box::new(end))
}
