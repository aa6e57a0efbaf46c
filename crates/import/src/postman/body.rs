//! Bodies of the requests of a collection.

use super::request::BodyMaker;
use super::variables::{ValueSource, VariableExpression, has_variables};
use crate::body::TABLE_BYTES;
use crate::calls::{LuaLiteral, OutlineCall};
use serde_json::Value;

/// The mark of a variable without quotation marks, while JSON is read.
const MARK: char = '\u{f8ff}';
/// The deepest tables that are written.
const MAX_DEPTH: usize = 50;
/// The most fields of a list: each is compared with those before it.
const MAX_FIELDS: usize = 2_000;

/// Adds the body to a call. `content_type` is the value of the request's own header.
pub(super) fn add_body(
    maker: &mut BodyMaker<'_>,
    body: &Value,
    content_type: Option<&str>,
    call: &mut OutlineCall,
) {
    if body["disabled"] == true {
        return;
    }
    let mode = body["mode"].as_str().unwrap_or_default();
    match mode {
        "raw" => raw(maker, body, content_type, call),
        "urlencoded" => {
            // Without a field, nothing is sent.
            if enabled(&body["urlencoded"]).next().is_none() {
                return;
            }
            let fields = enabled(&body["urlencoded"]).map(|field| {
                let name = maker.variables.expanded(&text_of(&field["key"]));
                let value = maker.field(&name, &text_of(&field["value"]));
                (name, value)
            });
            call.option("form", LuaLiteral::fields(fields.collect()));
        }
        "formdata" => {
            let mut parts = Vec::new();
            for field in enabled(&body["formdata"]) {
                match &field["src"] {
                    Value::Array(sources) if field["type"] == "file" && !sources.is_empty() => {
                        let each = sources.iter().map(text_of);
                        parts.extend(each.map(|source| part(maker, field, &source, call)));
                    }
                    source => parts.push(part(maker, field, &text_of(source), call)),
                }
            }
            if !parts.is_empty() {
                call.option("multipart", LuaLiteral::List(parts));
            }
        }
        "graphql" => {
            let graphql = &body["graphql"];
            let mut fields = vec![(
                "query".to_owned(),
                LuaLiteral::Expression(
                    maker
                        .variables
                        .text(&text_of(&graphql["query"]), maker.calls),
                ),
            )];
            let variables = match &graphql["variables"] {
                Value::String(text) if text.trim().is_empty() => None,
                Value::String(text) => json(maker, text),
                Value::Object(_) => Some(LuaLiteral::json(&graphql["variables"])),
                _ => None,
            };
            fields.extend(variables.map(|variables| ("variables".to_owned(), variables)));
            let operation = graphql["operationName"]
                .as_str()
                .filter(|name| !name.is_empty());
            fields
                .extend(operation.map(|name| ("operationName".to_owned(), LuaLiteral::text(name))));
            call.option("json", LuaLiteral::Table(fields));
        }
        "file" => match body["file"]["content"].as_str() {
            Some(content) => call.body = Some(maker.files.store(content.to_owned(), "txt")),
            None => {
                let source = text_of(&body["file"]["src"]);
                let (content, note) = maker.files.stand_in(&source, content_type);
                call.body = Some(content);
                call.note(note);
            }
        },
        _ => {}
    }
}

fn raw(
    maker: &mut BodyMaker<'_>,
    body: &Value,
    content_type: Option<&str>,
    call: &mut OutlineCall,
) {
    let text = text_of(&body["raw"]);
    if text.is_empty() {
        return;
    }
    let language = body["options"]["raw"]["language"]
        .as_str()
        .unwrap_or("text");
    let media = match (content_type, language) {
        (Some(kind), _) => kind.to_owned(),
        (None, "json") => "application/json".to_owned(),
        (None, "xml") => "application/xml".to_owned(),
        (None, "html") => "text/html".to_owned(),
        (None, "javascript") => "application/javascript".to_owned(),
        // Some collections do not state the type: a body that reads as JSON is JSON.
        (None, _) if text.trim_start().starts_with(['{', '[']) && json(maker, &text).is_some() => {
            "application/json".to_owned()
        }
        (None, _) => "text/plain".to_owned(),
    };
    let is_json = crate::exchange::is_json(&crate::exchange::media_of(&media));
    let json = if is_json && text.len() <= TABLE_BYTES {
        json(maker, &text).filter(|json| json.depth() <= MAX_DEPTH)
    } else {
        None
    };
    let is_plain = json.is_some() && crate::exchange::media_of(&media) == "application/json";
    if !is_plain && content_type.is_none() {
        call.set("headers", "content-type", LuaLiteral::text(&media));
    }
    match json {
        Some(json) => call.option("json", json),
        None if has_variables(&text) => {
            call.body = Some(maker.variables.text(&text, maker.calls));
        }
        None => {
            let ending = if is_json { "json" } else { "txt" };
            call.body = Some(maker.files.store(text, ending));
        }
    }
}

/// Returns a part of a body; one that is a file is read from `source`.
fn part(
    maker: &mut BodyMaker<'_>,
    field: &Value,
    source: &str,
    call: &mut OutlineCall,
) -> LuaLiteral {
    let name = maker.variables.expanded(&text_of(&field["key"]));
    let mut part = vec![("name".to_owned(), LuaLiteral::text(&name))];
    let kind = field["contentType"]
        .as_str()
        .filter(|kind| kind.contains('/'));
    part.extend(kind.map(|kind| ("type".to_owned(), LuaLiteral::text(kind))));
    let data = if field["type"] == "file" {
        let base = source.rsplit(['/', '\\']).next().unwrap_or_default();
        let base = if base.is_empty() { "file" } else { base };
        part.push(("filename".to_owned(), LuaLiteral::text(base)));
        let (data, note) = maker.files.stand_in(base, kind);
        call.note(note);
        LuaLiteral::Expression(data)
    } else {
        maker.field(&name, &text_of(&field["value"]))
    };
    part.push(("data".to_owned(), data));
    LuaLiteral::Table(part)
}

/// Reads JSON with variables in and between its texts, and with comments.
fn json(maker: &mut BodyMaker<'_>, text: &str) -> Option<LuaLiteral> {
    let marked = marked(text);
    let value: Value = serde_json::from_str(&marked).ok()?;
    tree(maker, &value, "")
}

fn tree(maker: &mut BodyMaker<'_>, value: &Value, name: &str) -> Option<LuaLiteral> {
    match value {
        Value::Array(items) => {
            let items: Option<Vec<LuaLiteral>> =
                items.iter().map(|item| tree(maker, item, name)).collect();
            items.map(LuaLiteral::List)
        }
        Value::Object(fields) => {
            let mut table = Vec::new();
            for (name, value) in fields {
                if has_variables(name) || name.contains(MARK) {
                    return None;
                }
                table.push((name.clone(), tree(maker, value, name)?));
            }
            Some(LuaLiteral::Table(table))
        }
        Value::String(text) => {
            let bare = text
                .strip_prefix(MARK)
                .and_then(|text| text.strip_suffix(MARK));
            Some(match bare {
                Some(name) => maker.variables.bare(name, maker.calls),
                None => as_text(maker.field_expression(name, text)),
            })
        }
        // Lua's integers have 64 bits with a sign: a larger one would lose digits.
        Value::Number(number) if number.is_u64() && !number.is_i64() => None,
        scalar => Some(LuaLiteral::json(scalar)),
    }
}

/// Returns the value of a text between quotation marks: of a variable that may be a number, its text.
fn as_text(value: VariableExpression) -> LuaLiteral {
    let VariableExpression { code, source } = value;
    LuaLiteral::Expression(match source {
        ValueSource::User | ValueSource::Number => format!("tostring({code})"),
        ValueSource::Fixed | ValueSource::Text => code,
    })
}

/// Returns the fields that are not switched off.
pub(super) fn enabled(list: &Value) -> impl Iterator<Item = &Value> {
    let fields = list.as_array().into_iter().flatten();
    let fields = fields.filter(|field| field["disabled"] != true);
    fields.take(MAX_FIELDS)
}

pub(super) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Makes JSON of a text with variables between its texts, and leaves out comments.
fn marked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let (mut in_text, mut escaped) = (false, false);
    while let Some(c) = rest.chars().next() {
        if in_text {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => in_text = false,
                _ => {}
            }
        } else if c == '"' {
            in_text = true;
        } else if rest.starts_with("//") {
            rest = rest.find('\n').map_or("", |end| &rest[end..]);
            continue;
        } else if rest.starts_with("/*") {
            rest = rest.find("*/").map_or("", |end| &rest[end + 2..]);
            continue;
        } else if rest.starts_with("{{")
            && let Some(end) = rest[2..].find(['{', '}']).map(|end| end + 2)
            && rest[end..].starts_with("}}")
            && let name = rest[2..end].trim()
            && !name.is_empty()
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "_-.$".contains(c))
        {
            out.extend(['"', MARK]);
            out.push_str(name);
            out.extend([MARK, '"']);
            rest = &rest[end + 2..];
            continue;
        }
        out.push(c);
        rest = &rest[c.len_utf8()..];
    }
    out
}
