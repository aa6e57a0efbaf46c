//! Conversions of Lua values to Rust values, with messages that name the expected type.

use super::limits::Budget;
use lgoose_base::error::Diagnostic;
use mlua::{FromLua, Lua, LuaString, Table, Value};
use smallvec::{SmallVec, smallvec};
use std::rc::Rc;
use std::time::Duration;
use url::form_urlencoded::byte_serialize;

/// Formats a diagnostic as one line, `message; help`, without its location.
pub(super) fn to_one_line(diagnostic: Diagnostic) -> String {
    diagnostic
        .to_string()
        .trim_start_matches("error: ")
        .replace("\n = help: ", "; ")
}

/// Returns a field of a table as it is stored, nil without it.
pub(crate) fn raw_field(table: &Table, field: &str) -> Value {
    table.raw_get(field).unwrap_or(Value::Nil)
}

/// Returns the type of a value with its article.
pub(super) fn type_phrase(value: &Value) -> &'static str {
    match value {
        Value::Nil => "nil",
        Value::Boolean(_) => "a boolean",
        Value::Integer(_) | Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Table(_) => "a table",
        Value::Function(_) => "a function",
        Value::Thread(_) => "a coroutine",
        // The only one that plans have.
        Value::LightUserData(_) => "json.null",
        other => other.type_name(),
    }
}

/// The end of a message by [`describe_mismatch`] about a value that is nil.
pub(super) const NOT_NIL: &str = ", not nil";

/// Formats the message for a value of the wrong type: `what` must be `kind`. It has the value of a number where another
/// number is expected.
pub(super) fn describe_mismatch(what: &str, kind: &str, got: &Value) -> String {
    match got {
        Value::Integer(got) if kind.contains("number") => {
            format!("{what} must be {kind}, not {got}")
        }
        Value::Number(got) if kind.contains("number") => {
            format!("{what} must be {kind}, not {got:?}")
        }
        got => format!("{what} must be {kind}, not {}", type_phrase(got)),
    }
}

/// Converts a plan's string to text that people read: names, messages, lines of a log. Strings of Lua are bytes; those
/// that are not valid UTF-8, such as the half of a character that `body:sub(1, 80)` leaves, become `\xNN`.
pub(super) fn escape_invalid(string: &LuaString) -> String {
    escape_invalid_bytes(&string.as_bytes())
}

/// The most bytes of a text that people read; the rest of a longer one becomes an ellipsis.
pub(super) const MOST_SHOWN: usize = 1 << 20;

/// Converts bytes to text as [`escape_invalid`] does.
pub(super) fn escape_invalid_bytes(bytes: &[u8]) -> String {
    if let Some(shown) = bytes.get(..MOST_SHOWN).filter(|_| bytes.len() > MOST_SHOWN) {
        return escape_invalid_bytes(shown) + "…";
    }
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}

/// Converts bytes to a name as [`escape_invalid`] does.
pub(super) fn name_of(bytes: &[u8]) -> Rc<str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => escape_invalid_bytes(bytes).into(),
    }
}

/// Cuts a text to at most 80 characters, so that a page cannot fill a message.
pub(super) fn shorten(text: &str) -> String {
    cut(text, 80)
}

/// Cuts a text to at most 1,000 characters: the reason why a request failed is whole in reports and logs, and the screen
/// cuts it to its width.
pub(super) fn shorten_reason(text: &str) -> String {
    cut(text, 1_000)
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Reads a plan's string as a URL or path. Bytes that are not UTF-8 are sent as they are, percent-encoded like all
/// others that URLs do not allow.
pub(super) fn read_url(bytes: &[u8]) -> Rc<str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return text.into();
    }
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text.into()
}

/// Returns the key of a table for display, as `tostring` converts it.
pub(super) fn shown(key: &Value) -> mlua::Result<String> {
    match key {
        Value::String(string) => Ok(escape_invalid(string)),
        key => key.to_string(),
    }
}

/// A string argument for display. Numbers are converted as Lua converts them to strings.
pub(super) struct DisplayText(pub(super) String);

impl FromLua for DisplayText {
    fn from_lua(value: Value, lua: &Lua) -> mlua::Result<Self> {
        LuaString::from_lua(value, lua).map(|string| DisplayText(escape_invalid(&string)))
    }
}

/// Reads a string that is sent or looked up as text.
///
/// # Errors
/// The value is not a string, or not UTF-8.
pub(super) fn read_string(value: &Value, what: &str) -> Result<String, String> {
    match value {
        Value::String(string) => match string.to_str() {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => Err(format!("{what} is not UTF-8")),
        },
        other => Err(describe_mismatch(what, "a string", other)),
    }
}

/// Reads a string for display; bytes that are not UTF-8 are escaped.
pub(super) fn read_name(value: &Value, what: &str) -> Result<Rc<str>, String> {
    match value {
        Value::String(string) => Ok(name_of(&string.as_bytes())),
        other => Err(describe_mismatch(what, "a string", other)),
    }
}

/// Reads a number of seconds, or a text such as "500ms".
pub(super) fn read_seconds(value: &Value, what: &str) -> Result<Duration, String> {
    let number = match value {
        Value::Integer(n) => *n as f64,
        Value::Number(n) => *n,
        Value::String(text) => {
            let time = lgoose_base::units::duration(&escape_invalid(text));
            return time.map_err(|error| format!("{what}: {error}"));
        }
        other => return Err(describe_mismatch(what, "a number of seconds", other)),
    };
    lgoose_base::units::seconds(number).map_err(|error| format!("{what}: {number} {error}"))
}

/// Reads one status or a list of them, each from 100 to 999.
pub(super) fn read_statuses(value: &Value) -> Result<SmallVec<[u16; 4]>, String> {
    const MAX_STATUSES: usize = 900;
    let one = |value: &Value| match value {
        Value::Integer(status) if (100..1000).contains(status) => Ok(*status as u16),
        Value::Integer(code @ 1000..5000) => Err(format!(
            "'expect.status': {code} is not a status; the code with which a WebSocket is closed is 'close_code'"
        )),
        Value::Integer(status) => Err(format!("'expect.status': {status} is not a status")),
        other => Err(describe_mismatch(
            "'expect.status'",
            "a number, such as 200, or a list of them",
            other,
        )),
    };
    match value {
        Value::Table(list) => {
            let statuses = list_values(list, "'expect.status'")?;
            statuses.iter().take(MAX_STATUSES).map(one).collect()
        }
        value => one(value).map(|status| smallvec![status]),
    }
}

/// Reads one string or a list of them, as bytes.
pub(super) fn read_texts(
    value: &Value,
    what: &str,
    budget: &mut Budget,
) -> Result<Vec<Vec<u8>>, String> {
    let mut one = |value: &Value| match value {
        Value::String(text) => {
            budget.take(text.as_bytes().len() + ENTRY_BYTES)?;
            Ok(text.as_bytes().to_vec())
        }
        other => Err(describe_mismatch(what, "a string or a list of them", other)),
    };
    match value {
        Value::Table(list) => list_values(list, what)?.iter().map(one).collect(),
        value => one(value).map(|text| vec![text]),
    }
}

/// Returns the length of a string in bytes, 0 for any other value.
pub(super) fn byte_length(value: &Value) -> usize {
    value.as_string().map_or(0, |text| text.as_bytes().len())
}

/// Reads a string, number or boolean as the bytes that are sent.
pub(super) fn read_scalar(value: &Value, what: &str) -> Result<Vec<u8>, String> {
    match value {
        Value::String(text) => Ok(text.as_bytes().to_vec()),
        Value::Integer(n) => Ok(n.to_string().into_bytes()),
        Value::Number(n) => Ok(n.to_string().into_bytes()),
        Value::Boolean(b) => Ok(b.to_string().into_bytes()),
        other => Err(describe_mismatch(
            what,
            "a string, a number or a boolean",
            other,
        )),
    }
}

/// Encodes `{ name = value, several = { a, b }, nested = { x = 1 } }` as `application/x-www-form-urlencoded`, sorted by
/// name so that equal tables give equal requests. A list repeats its name, and a nested name is `nested[x]`, as PHP and Rack
/// read them. A list of pairs, `{ { name, value }, … }`, stays in its order.
pub(super) fn encode_form(
    value: &Value,
    what: &str,
    budget: &mut Budget,
) -> Result<String, String> {
    let Value::Table(table) = value else {
        return Err(describe_mismatch(what, "a table { name = value }", value));
    };
    let mut pairs = Vec::new();
    if matches!(table.raw_get(1), Ok(Value::Table(_))) {
        add_pairs(table, what, budget, &mut pairs)?;
    } else {
        add_fields(table, None, what, budget, &mut pairs)?;
        pairs.sort_by(|(left, _), (right, _)| left.cmp(right));
    }
    Ok(encode_pairs(&pairs))
}

/// Adds the fields of a list of pairs.
fn add_pairs(
    list: &Table,
    what: &str,
    budget: &mut Budget,
    pairs: &mut Vec<(Vec<u8>, Vec<u8>)>,
) -> Result<(), String> {
    for (at, pair) in list_values(list, what)?.into_iter().enumerate() {
        let what = format!("{what}, field {}", at + 1);
        let values = match &pair {
            Value::Table(pair) => list_values(pair, &what)?,
            _ => Vec::new(),
        };
        let [Value::String(name), value] = values.as_slice() else {
            return Err(describe_mismatch(
                &what,
                "a pair { \"name\", value }",
                &pair,
            ));
        };
        let name = name.as_bytes().to_vec();
        budget.take(form_bytes(&name, value))?;
        pairs.push((name, read_scalar(value, &what)?));
    }
    Ok(())
}

/// The deepest nesting of the tables of a form.
const DEEPEST_FORM: usize = 16;

/// Adds the fields of a table of names; `outer` is the name of the table itself.
fn add_fields(
    table: &Table,
    outer: Option<&[u8]>,
    what: &str,
    budget: &mut Budget,
    pairs: &mut Vec<(Vec<u8>, Vec<u8>)>,
) -> Result<(), String> {
    for pair in table.pairs::<Value, Value>() {
        let (key, value) = pair.map_err(|error| error.to_string())?;
        let Value::String(key) = key else {
            return Err(format!(
                "{what}: names are strings; fields in an order are a list of pairs {{ \"name\", value }}"
            ));
        };
        let name = match outer {
            None => key.as_bytes().to_vec(),
            Some(outer) => [outer, b"[", &*key.as_bytes(), b"]"].concat(),
        };
        let field = || format!("{what}, field '{}'", shorten(&escape_invalid_bytes(&name)));
        match &value {
            Value::Table(inner) => {
                if !is_list(inner) {
                    if name.iter().filter(|byte| **byte == b'[').count() >= DEEPEST_FORM {
                        return Err(format!("{}: tables are nested too deeply", field()));
                    }
                    budget.take(name.len() + ENTRY_BYTES)?;
                    add_fields(inner, Some(&name), what, budget, pairs)?;
                    continue;
                }
                for value in list_values(inner, &field())? {
                    budget.take(form_bytes(&name, &value))?;
                    if value.is_table() {
                        return Err(format!(
                            "{}: a list has no tables; write the names whole, such as [\"{}[0][…]\"] = …",
                            field(),
                            shorten(&escape_invalid_bytes(&name))
                        ));
                    }
                    pairs.push((name.clone(), read_scalar(&value, &field())?));
                }
            }
            value => {
                budget.take(form_bytes(&name, value))?;
                pairs.push((name.clone(), read_scalar(value, &field())?));
            }
        }
    }
    Ok(())
}

/// Returns whether a table has an item, or nothing at all.
pub(super) fn is_list(table: &Table) -> bool {
    table.is_empty()
        || table
            .pairs::<Value, Value>()
            .flatten()
            .any(|(key, _)| key.is_integer())
}

/// Returns the values of a list.
///
/// # Errors
/// The table has names, too, or a hole, and values there or behind it would be lost.
pub(super) fn list_values(list: &Table, what: &str) -> Result<Vec<Value>, String> {
    let values: Vec<Value> = list
        .sequence_values::<Value>()
        .collect::<mlua::Result<_>>()
        .map_err(|error| error.to_string())?;
    let place = |key: &Value| {
        key.as_usize()
            .is_some_and(|place| (1..=values.len()).contains(&place))
    };
    let mut keys = list.pairs::<Value, Value>().flatten().map(|(key, _)| key);
    match keys.find(|key| !place(key)) {
        None => Ok(values),
        Some(Value::String(name)) => Err(format!(
            "{what} is a list and has the name '{}', too: a list has values alone",
            shorten(&escape_invalid(&name))
        )),
        Some(_) => Err(format!(
            "{what} is a list with a hole: there is no value {}",
            values.len() + 1
        )),
    }
}

/// Encodes fields as `application/x-www-form-urlencoded`, in their order.
pub(super) fn encode_pairs(pairs: &[(Vec<u8>, Vec<u8>)]) -> String {
    let encode = |bytes: &[u8]| byte_serialize(bytes).collect::<String>();
    let encoded: Vec<String> = pairs
        .iter()
        .map(|(name, value)| format!("{}={}", encode(name), encode(value)))
        .collect();
    encoded.join("&")
}

/// Returns the memory that encoding a field takes, in bytes: the field as it is, encoded, and as a part of the whole.
pub(super) fn form_bytes(name: &[u8], value: &Value) -> usize {
    const FIELD_BYTES: usize = 128;
    let encoded = |bytes: &[u8]| byte_serialize(bytes).map(str::len).sum::<usize>();
    let value = value.as_string().map_or((0, 0), |text| {
        let bytes = text.as_bytes();
        (bytes.len(), encoded(&bytes))
    });
    FIELD_BYTES + name.len() + value.0 + 2 * (encoded(name) + value.1)
}

/// Reads a boolean.
pub(super) fn read_flag(value: &Value, what: &str) -> Result<bool, String> {
    match value {
        Value::Boolean(flag) => Ok(*flag),
        other => Err(describe_mismatch(what, "true or false", other)),
    }
}

/// The memory of an entry of a list in addition to its text, in bytes.
pub(super) const ENTRY_BYTES: usize = 64;

/// Returns the entries of a table whose keys are strings, sorted by key.
pub(super) fn sorted_pairs(
    table: &Table,
    what: &str,
    budget: &mut Budget,
) -> Result<Vec<(String, Value)>, String> {
    let mut entries = Vec::new();
    for pair in table.pairs::<Value, Value>() {
        let (key, value) = pair.map_err(|error| error.to_string())?;
        budget.take(byte_length(&key) + ENTRY_BYTES)?;
        entries.push((read_string(&key, what)?, value));
    }
    entries.sort_by(|(left, _), (right, _)| left.cmp(right));
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_text_are_shown_as_such_and_percent_encoded_in_urls() {
        let lua = Lua::new();
        for (bytes, seen, sent) in [
            (&b"caf\xc3\xa9"[..], "café", "café"),
            (b"caf\xc3", "caf\\xc3", "caf%C3"),
            (b"\xff\xfe/a", "\\xff\\xfe/a", "%FF%FE/a"),
            (b"\xe2\x82 \xe2\x82\xac", "\\xe2\\x82 €", "%E2%82 €"),
            (b"", "", ""),
        ] {
            let string = lua.create_string(bytes).expect("a string");
            assert_eq!(escape_invalid(&string), seen);
            assert_eq!(&*read_url(&string.as_bytes()), sent);
        }
    }
}
