//! The body of a request, as options of its call.

use super::exchange::{Body, RecordedPart, is_json, media_of};
use super::forms::is_form;
use super::lua_text::{self, is_shallow, key, list, quoted, table};
use super::parts::{Concatenation, encoded};
use super::request::CallWriter;
use super::resolve::ValuePosition;
use serde_json::Value;
use std::collections::HashMap;

/// The longest JSON that is written as a table.
pub(super) const TABLE_BYTES: usize = 64 << 10;

/// Returns the body as an argument, or adds the option that it is.
pub(super) fn body(
    call: &mut CallWriter<'_, '_>,
    options: &mut Vec<(String, String)>,
) -> Option<String> {
    let exchange = call.exchange();
    match exchange.body.as_ref()? {
        Body::Form(fields) => {
            let mut all: Vec<(String, Vec<String>)> = Vec::new();
            let mut places: HashMap<&str, usize> = HashMap::new();
            for (name, value) in fields {
                let value = text(call, name, value);
                let place = *places.entry(name).or_insert(all.len());
                match all.get_mut(place) {
                    Some((_, values)) => values.push(value),
                    None => all.push((key(name), vec![value])),
                }
            }
            let fields = all
                .into_iter()
                .map(|(name, mut values)| match values.len() {
                    1 => (name, values.swap_remove(0)),
                    _ => (name, list(&values, call.indent + 4)),
                });
            options.push((
                "form".to_owned(),
                table(&fields.collect::<Vec<_>>(), call.indent + 2),
            ));
            None
        }
        Body::Multipart(parts) => {
            let mut items = Vec::new();
            for part in parts {
                let mut fields = vec![("name".to_owned(), quoted(&part.name))];
                fields.extend(part_fields(call, part));
                items.push(table(&fields, call.indent + 4));
            }
            options.push(("multipart".to_owned(), list(&items, call.indent + 2)));
            None
        }
        Body::Json(json) if is_shallow(json) && json.to_string().len() <= TABLE_BYTES => {
            let text = lua_text::json(
                json,
                &mut Vec::new(),
                call.indent + 2,
                &mut |keys, value| scalar(call, keys, value),
            );
            options.push(("json".to_owned(), text));
            None
        }
        Body::Json(json) => Some(long(call, json.to_string(), "json")),
        Body::Bytes(bytes) => Some(call.files.bytes("body", bytes.clone(), "bin")),
        Body::Text(text) => {
            if let Some(spliced) = with_values(call, text) {
                return Some(spliced);
            }
            let kind = exchange
                .header("content-type")
                .map(media_of)
                .unwrap_or_default();
            Some(long(
                call,
                text.clone(),
                if is_json(&kind) { "json" } else { "txt" },
            ))
        }
    }
}

/// Returns the expression for a text as it is, with variables of a script and, in a form, with values that are not as they
/// were recorded; `None` if it has neither.
fn with_values(call: &mut CallWriter<'_, '_>, text: &str) -> Option<String> {
    if !is_form(call.exchange()) {
        return call.spliced(text);
    }
    let mut whole = Concatenation::default();
    let mut is_plain = true;
    for (nth, pair) in text.split('&').enumerate() {
        whole.literal(if nth == 0 { "" } else { "&" });
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let decoded = |text: &str| {
            let spaced = text.replace('+', " ");
            percent_encoding::percent_decode_str(&spaced)
                .decode_utf8_lossy()
                .into_owned()
        };
        let (known, meant) = (decoded(name), decoded(value));
        match call.spliced(name) {
            Some(expression) => {
                is_plain = false;
                whole.expression(expression);
            }
            None => whole.literal(name),
        }
        if pair.contains('=') {
            whole.literal("=");
        }
        // A script puts its variables in as they are.
        let raw = call.spliced(value);
        let expression = raw.or_else(|| {
            let found = call.expression(ValuePosition::Field(&known), &meant);
            found.map(|expression| encoded(&expression, &meant))
        });
        match expression {
            Some(expression) => {
                is_plain = false;
                whole.expression(expression);
            }
            None => whole.literal(value),
        }
    }
    (!is_plain).then(|| whole.finish())
}

fn scalar(call: &mut CallWriter<'_, '_>, keys: &[String], value: &Value) -> Option<String> {
    let name = keys.last().map_or("", String::as_str);
    match value {
        Value::String(text) => call.expression(ValuePosition::Field(name), text),
        Value::Number(number) => call.expression(ValuePosition::Field(name), &number.to_string()),
        _ => None,
    }
}

/// Returns the value of a field of a form.
fn text(call: &mut CallWriter<'_, '_>, name: &str, value: &str) -> String {
    call.expression(ValuePosition::Field(name), value)
        .unwrap_or_else(|| quoted(value))
}

pub(super) fn part_value(call: &mut CallWriter<'_, '_>, part: &RecordedPart) -> String {
    match (&part.filename, &part.data) {
        (None, Some(data)) => text(call, &part.name, data),
        _ => table(&part_fields(call, part), call.indent + 2),
    }
}

fn part_fields(call: &mut CallWriter<'_, '_>, part: &RecordedPart) -> Vec<(String, String)> {
    let mut fields = Vec::new();
    fields.extend(
        part.filename
            .as_ref()
            .map(|name| ("filename".to_owned(), quoted(name))),
    );
    fields.extend(
        part.media
            .as_ref()
            .filter(|media| media.contains('/'))
            .map(|media| ("type".to_owned(), quoted(media))),
    );
    let data = match (&part.data, &part.filename) {
        (Some(data), None) => text(call, &part.name, data),
        (Some(data), Some(_)) => long(call, data.clone(), "txt"),
        (None, _) if part.content.is_some() => {
            let ending = part
                .filename
                .as_deref()
                .and_then(|name| name.rsplit_once('.'));
            let ending = ending
                .map_or("bin", |(_, ending)| ending)
                .to_ascii_lowercase();
            let is_plain =
                ending.len() <= 5 && ending.bytes().all(|byte| byte.is_ascii_alphanumeric());
            let ending = if is_plain { ending.as_str() } else { "bin" };
            call.files
                .bytes("upload", part.content.clone().unwrap_or_default(), ending)
        }
        (None, _) => {
            let name = part.filename.as_deref().unwrap_or(&part.name);
            let (data, note) = call.files.stand_in(name, part.media.as_deref());
            call.notes.push(note.into());
            data
        }
    };
    fields.push(("data".to_owned(), data));
    fields
}

/// Returns a text, which is kept in a file if it is long.
fn long(call: &mut CallWriter<'_, '_>, text: String, ending: &str) -> String {
    call.files.store(text, ending)
}
