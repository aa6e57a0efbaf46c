//! Bodies of forms: their fields, written by the `encoding` of a body.
//!
//! <https://spec.openapis.org/oas/v3.1.1.html#encoding-object>

use super::document::{EACH, OpenApiDocument};
use super::encoding::TextEncoding;
use super::operation::CallContext;
use super::sample::{Sampler, example};
use super::styles::{FieldValue, ValueStyle, add_brackets, is_composite, json_text, loses_empty};
use crate::calls::{LuaLiteral, OutlineCall};
use crate::exchange::{is_json, media_of};
use crate::lua_text::comment;
use crate::request::PlanAttachments;
use crate::stand_in::stand_in;
use serde_json::Value;

/// Adds a URL-encoded form.
pub(super) fn add_form(
    document: &OpenApiDocument,
    content: &Value,
    fields: &[(String, LuaLiteral)],
    call: &mut OutlineCall,
) {
    let at = call.options.len();
    for (name, value) in fields {
        let encoding = &content["encoding"][name];
        let written = written(name, value, encoding, &mut call.notes);
        if loses_empty(value) && !is_whole_json(encoding) {
            document.notes().add(empty_note(name));
        }
        for (name, value) in written {
            call.add("form", &name, value);
        }
    }
    if call.options.len() == at {
        call.option("form", LuaLiteral::Table(Vec::new()));
    }
}

/// Returns the fields that a value is: by its style if it has one, as JSON if its content type says so, else those of
/// objects by bracket names.
fn written(
    name: &str,
    value: &LuaLiteral,
    encoding: &Value,
    notes: &mut Vec<String>,
) -> Vec<(String, LuaLiteral)> {
    if is_composite(value) && is_whole_json(encoding) {
        return vec![(name.to_owned(), json_text(value))];
    }
    let fields = if !is_styled(encoding) && matches!(value, LuaLiteral::Table(_)) {
        let mut fields = Vec::new();
        add_brackets(name, value, TextEncoding::Plain, &mut fields);
        fields
    } else {
        let style = ValueStyle::read(encoding, "form field", notes);
        if style.flattens(value) {
            notes.push(super::path::nested_note(name));
        }
        style.fields(name, value, TextEncoding::Plain)
    };
    let fields = fields.into_iter().map(|(name, value)| match value {
        FieldValue::Scalar(value) => (name, value),
        FieldValue::Text(text) => (name, LuaLiteral::Expression(text.finish())),
    });
    fields.collect()
}

fn is_styled(encoding: &Value) -> bool {
    ["style", "explode", "allowReserved"]
        .iter()
        .any(|field| encoding.get(field).is_some())
}

/// Returns whether a field is sent as JSON.
fn is_whole_json(encoding: &Value) -> bool {
    !is_styled(encoding) && encoding["contentType"].as_str().is_some_and(is_json_type)
}

fn is_json_type(content_type: &str) -> bool {
    is_json(&media_of(
        content_type.split(',').next().unwrap_or_default(),
    ))
}

/// Adds a form of parts: those that are required, all if none is, and those that the example has.
pub(super) fn add_multipart<'a>(
    context: &mut CallContext<'a, '_>,
    content: &'a Value,
    call: &mut OutlineCall,
) {
    let layers = context.document.layers(&content["schema"]);
    let example = example(context.document, content).or(layers.get("example"));
    let example = example.and_then(|example| context.document.affordable(example));
    let example = example.and_then(Value::as_object);
    let properties = context.document.properties(&layers);
    let required = context.document.required(&layers);
    let any = properties.iter().any(|(name, _)| required.contains(name));
    let document = context.document;
    let mut writer = PartWriter {
        sampler: Sampler::new(document, &mut context.calls.secrets),
        files: context.files,
        parts: Vec::new(),
        notes: Vec::new(),
    };
    let nothing = &Value::Null;
    let further = example.into_iter().flatten().map(|(name, _)| name.as_str());
    let further = further.filter(|name| layers.property(name).is_none());
    let further = further.map(|name| (name, nothing));
    let all: Vec<(&str, &Value)> = properties.into_iter().chain(further).collect();
    for (nth, (name, schema)) in all.into_iter().enumerate() {
        if nth == EACH {
            let note = format!("has more than {EACH} parts, and the others are left out");
            document.notes().add(note);
            break;
        }
        let shown = example.and_then(|example| example.get(name));
        if shown.is_none() && any && !required.contains(name) {
            continue;
        }
        let encoding = &content["encoding"][name];
        if encoding["headers"]
            .as_object()
            .is_some_and(|headers| !headers.is_empty())
        {
            let note = format!(
                "left out the headers of the part '{}': a part has its type alone",
                comment(name)
            );
            writer.notes.push(note);
        }
        let layers = document.layers(schema);
        let items = layers.get("items").map(|items| document.layers(items));
        let binary = [Some(&layers), items.as_ref()]
            .into_iter()
            .flatten()
            .find(|layers| {
                layers.text("format") == Some("binary") || layers.get("contentMediaType").is_some()
            });
        let part = BodyPart {
            name,
            encoding,
            media: encoding["contentType"]
                .as_str()
                .and_then(|media| media.split(',').next())
                .map(str::trim),
        };
        if let Some(binary) = binary {
            writer.add_file(&part, binary.text("contentMediaType"));
            continue;
        }
        let value = match shown {
            Some(value) => Some(LuaLiteral::json(value)),
            None => writer.sampler.of_schema(schema, name),
        };
        match value {
            Some(value) => writer.add(&part, value),
            None => writer.notes.push(format!(
                "left out the part '{}', whose schema is one of itself without end, or too much",
                comment(name)
            )),
        }
    }
    call.notes.append(&mut writer.sampler.notes);
    call.notes.append(&mut writer.notes);
    call.option("multipart", LuaLiteral::List(writer.parts));
}

/// The encoding of a part of a body, as the document has it.
struct BodyPart<'b> {
    name: &'b str,
    encoding: &'b Value,
    /// The first of its content types.
    media: Option<&'b str>,
}

/// Writes the parts of one body.
struct PartWriter<'a, 'b> {
    sampler: Sampler<'a, 'b>,
    files: &'b mut PlanAttachments,
    parts: Vec<LuaLiteral>,
    notes: Vec<String>,
}

impl PartWriter<'_, '_> {
    fn add_file(&mut self, part: &BodyPart<'_>, own: Option<&str>) {
        let media = part.media.or(own).filter(|media| !media.contains('*'));
        let (data, note) = self.files.stand_in(part.name, media);
        let ending = stand_in(part.name, media).1;
        let text = |name: &str, text: &str| (name.to_owned(), LuaLiteral::text(text));
        self.parts.push(LuaLiteral::Table(vec![
            text("name", part.name),
            text("filename", &format!("file.{ending}")),
            text("type", media.unwrap_or("application/octet-stream")),
            ("data".to_owned(), LuaLiteral::Expression(data)),
        ]));
        self.notes.push(note);
    }

    /// Adds a value: by its style if it has one, else each item of a list as a part, unless the list as a whole is JSON.
    fn add(&mut self, part: &BodyPart<'_>, value: LuaLiteral) {
        let BodyPart { name, encoding, .. } = *part;
        if is_styled(encoding) && is_composite(&value) {
            for (name, value) in written(name, &value, encoding, &mut self.notes) {
                self.push(&name, None, value);
            }
            return;
        }
        let media = part.media.filter(|media| !media.contains('*'));
        let is_whole = media.is_some_and(is_json_type);
        let values = match value {
            LuaLiteral::List(items) if !is_whole => items,
            value => vec![value],
        };
        if values.is_empty() {
            self.notes.push(empty_note(name));
        }
        for value in values {
            if is_composite(&value) || is_whole {
                self.push(name, media.or(Some("application/json")), json_text(&value))
            } else {
                self.push(name, media, value)
            }
        }
    }

    fn push(&mut self, name: &str, kind: Option<&str>, value: LuaLiteral) {
        let data = match value {
            LuaLiteral::Scalar(Value::Null) => LuaLiteral::text(""),
            value => value,
        };
        let kind = kind.map(|kind| ("type".to_owned(), LuaLiteral::text(kind)));
        let mut fields = vec![("name".to_owned(), LuaLiteral::text(name))];
        fields.extend(kind);
        fields.push(("data".to_owned(), data));
        self.parts.push(LuaLiteral::Table(fields));
    }
}

fn empty_note(name: &str) -> String {
    let name = comment(name);
    format!("'{name}' is empty or has what is, which a form cannot say: that is not sent")
}
