//! The plan's expectations of a response, read from the option `expect`.

use super::expect::{Expectations, ExpectedHeader, ExpectedRedirect, TitlePattern};
use super::json;
use super::json_fields::ExpectedField;
use super::json_path::JsonPath;
use crate::limits::{Budget, Held};
use crate::plan_files::{CompiledRegex, Pattern};
use crate::values::{
    self, ENTRY_BYTES, byte_length, describe_mismatch, escape_invalid, read_seconds, read_statuses,
    read_texts, shorten, sorted_pairs, to_one_line,
};
use lgoose_plan::config::unknown_word;
use mlua::Value;
use std::sync::Arc;

pub(crate) const EXPECT: [&str; 11] = [
    "status",
    "title",
    "text",
    "no_text",
    "header",
    "redirect",
    "under",
    "json",
    "min_events",
    "last",
    "close_code",
];

/// Reads the table of expectations.
///
/// # Errors
/// The message to raise at the plan's line.
pub(super) fn read(value: &Value, budget: &mut Budget) -> Result<Expectations, String> {
    let Value::Table(table) = value else {
        return Err(describe_mismatch(
            "option 'expect'",
            "a table such as { status = 200 }",
            value,
        ));
    };
    let mut expect = Expectations::default();
    for (key, value) in sorted_pairs(table, "fields of 'expect'", budget)? {
        match key.as_str() {
            "status" => expect.status = read_statuses(&value)?,
            "title" => match pattern(&value) {
                Some(pattern) => expect.more().title = Some(TitlePattern(pattern)),
                None => expect.title = Some(title(&value)?),
            },
            "text" => expect.text = texts(&value, "'expect.text'", budget)?,
            "no_text" => expect.more().no_text = texts(&value, "'expect.no_text'", budget)?,
            "header" => expect.more().headers = expected_headers(&value, budget)?,
            "redirect" => expect.more().redirect = Some(expected_redirect(&value, budget)?),
            "under" => expect.more().under = Some(read_seconds(&value, "'expect.under'")?),
            "json" => expect.more().json = expected_json(&value, budget)?,
            "min_events" => expect.more().min_events = Some(min_events(&value)?),
            "last" => {
                let last = values::read_string(&value, "'expect.last'")?;
                budget.take(last.len())?;
                expect.more().last = Some(last.into_bytes());
            }
            "close_code" => expect.more().close_codes = close_codes(&value)?,
            unknown => {
                return Err(to_one_line(unknown_word(
                    "field",
                    &shorten(unknown),
                    "expect",
                    &EXPECT,
                )));
            }
        }
    }
    Ok(expect)
}

/// Reads a close code of a WebSocket or a list of them. 1005 is a close without a code.
fn close_codes(value: &Value) -> Result<Vec<u16>, String> {
    const KINDS: &str = "a close code, such as 4401, or a list of them";
    let one = |value: &Value| match value {
        Value::Integer(code @ 1000..=4999) => Ok(*code as u16),
        Value::Integer(code) => Err(format!("'expect.close_code': {code} is not a close code")),
        other => Err(describe_mismatch("'expect.close_code'", KINDS, other)),
    };
    match value {
        Value::Table(list) => {
            let codes = values::list_values(list, "'expect.close_code'")?;
            check_count(codes.len(), "'expect.close_code'")?;
            codes.iter().map(one).collect()
        }
        value => Ok(vec![one(value)?]),
    }
}

/// Returns the pattern if the value is one that `regex` has returned to the plan.
fn pattern(value: &Value) -> Option<Arc<CompiledRegex>> {
    let pattern = value.as_userdata()?.borrow::<Held<Pattern>>();
    Some(pattern.ok()?.compiled.clone())
}

/// The most texts, headers or fields of one request: each is looked for in the whole response, while other users wait.
const MAX_ENTRIES: usize = 100;

fn check_count(count: usize, what: &str) -> Result<(), String> {
    if count > MAX_ENTRIES {
        Err(format!(
            "{what} has {count} entries, and may have {MAX_ENTRIES}"
        ))
    } else {
        Ok(())
    }
}

fn texts(value: &Value, what: &str, budget: &mut Budget) -> Result<Vec<Vec<u8>>, String> {
    let texts = read_texts(value, what, budget)?;
    check_count(texts.len(), what)?;
    Ok(texts)
}

fn min_events(value: &Value) -> Result<u64, String> {
    match value {
        Value::Integer(least @ 1..) => Ok(*least as u64),
        other => Err(describe_mismatch(
            "'expect.min_events'",
            "a number of at least 1",
            other,
        )),
    }
}

fn title(value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(escape_invalid(text)),
        other => {
            let kind = "the beginning of the title, or regex \"…\"";
            Err(describe_mismatch("'expect.title'", kind, other))
        }
    }
}

fn expected_headers(value: &Value, budget: &mut Budget) -> Result<Vec<ExpectedHeader>, String> {
    let Value::Table(table) = value else {
        return Err(describe_mismatch(
            "'expect.header'",
            "a table { [\"x-cache\"] = \"HIT\" }",
            value,
        ));
    };
    let pairs = sorted_pairs(table, "header names", budget)?;
    check_count(pairs.len(), "'expect.header'")?;
    let one = |(name, value): (String, Value)| {
        budget.take(byte_length(&value))?;
        let value = match &value {
            Value::Boolean(true) => None,
            Value::String(text) => Some(text.as_bytes().to_vec()),
            other => {
                let what = format!("'expect.header', header '{}'", shorten(&name));
                return Err(describe_mismatch(&what, "a string", other));
            }
        };
        Ok((name.to_ascii_lowercase(), value))
    };
    pairs.into_iter().map(one).collect()
}

fn expected_redirect(value: &Value, budget: &mut Budget) -> Result<ExpectedRedirect, String> {
    match value {
        Value::Boolean(true) => Ok(ExpectedRedirect::Anywhere),
        Value::Boolean(false) => Ok(ExpectedRedirect::Nowhere),
        Value::String(path) => {
            // Each byte may become three, which are copied.
            budget.take(path.as_bytes().len().saturating_mul(6))?;
            Ok(ExpectedRedirect::To(values::read_url(&path.as_bytes())))
        }
        other => Err(describe_mismatch(
            "'expect.redirect'",
            "true, false or a path",
            other,
        )),
    }
}

/// Reads the path to an expected value. Names between dots that are no path are names nevertheless.
fn path_to_one(text: &str, budget: &mut Budget) -> Result<JsonPath, String> {
    let most_steps = text.matches(['.', '[']).count() + 1;
    budget.take(most_steps * ENTRY_BYTES)?;
    let path = JsonPath::read(text).unwrap_or_else(|_| JsonPath::of_names(text));
    if path.is_list() {
        return Err(format!(
            "'expect.json', path '{}': it leads to several values; compare them with response:json(path)",
            shorten(text)
        ));
    }
    Ok(path)
}

fn expected_json(value: &Value, budget: &mut Budget) -> Result<Vec<ExpectedField>, String> {
    let Value::Table(table) = value else {
        return Err(describe_mismatch(
            "'expect.json'",
            "a table { [\"user.name\"] = \"Ada\" }",
            value,
        ));
    };
    let pairs = sorted_pairs(table, "paths of 'expect.json'", budget)?;
    check_count(pairs.len(), "'expect.json'")?;
    let one = |(path, value): (String, Value)| {
        let value = json::convert(&value, budget)
            .map_err(|error| format!("'expect.json', field '{}': {error}", shorten(&path)))?;
        Ok(ExpectedField {
            path: path_to_one(&path, budget)?,
            text: path,
            value,
        })
    };
    pairs.into_iter().map(one).collect()
}
