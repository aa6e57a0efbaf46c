//! What operations carry: examples, or values that the schema allows.

use super::document::EACH;
use super::operation::CallMaker;
use super::sample::{Sampler, example};
use crate::import::calls::{LuaLiteral, OutlineCall};
use crate::import::exchange::{is_json, media_of};
use crate::import::lua_text::quoted;
use serde_json::Value;

/// What is sent where a file is wanted.
const FILE: &str = "a file";
/// The deepest tables that are written.
const DEEPEST: usize = 50;

/// Adds the body of an operation to its call.
pub(super) fn add_body<'a>(maker: &mut CallMaker<'a, '_>, body: &'a Value, call: &mut OutlineCall) {
    let contents = body["content"].as_object().into_iter().flatten().take(EACH);
    let rank = |media: &str| {
        let media = media_of(media);
        match media.as_str() {
            "application/json" => 0,
            media if is_json(media) => 1,
            "application/x-www-form-urlencoded" => 2,
            "multipart/form-data" => 3,
            media if media.starts_with("text/") => 4,
            _ => 5,
        }
    };
    let Some((content_type, content)) = contents.min_by_key(|(media, _)| rank(media)) else {
        return;
    };
    let media = media_of(content_type);
    let mut sampler = Sampler::new(maker.document, &mut maker.calls.secrets);
    let value = match media.as_str() {
        "multipart/form-data" | "application/octet-stream" => None,
        _ => sampler.of_content(content, ""),
    };
    let notes = std::mem::take(&mut sampler.notes);
    call.notes.extend(notes);
    let kind = if content_type.contains('*') || !media.contains('/') {
        "application/octet-stream"
    } else {
        content_type
    };
    match (media.as_str(), value) {
        (media, Some(value)) if is_json(media) || content_type == "*/*" => {
            if is_json(media) && media != "application/json" {
                call.set("headers", "content-type", LuaLiteral::text(kind));
            }
            if value.depth() <= DEEPEST {
                call.options.push(("json".to_owned(), value))
            } else {
                call.notes
                    .push("the body is nested too deeply to be written here: write it".to_owned())
            }
        }
        ("application/x-www-form-urlencoded", Some(LuaLiteral::Table(fields))) => {
            let fields = fields
                .into_iter()
                .filter(|(_, value)| !matches!(value, LuaLiteral::Table(_)));
            call.options
                .push(("form".to_owned(), LuaLiteral::Table(fields.collect())));
        }
        ("multipart/form-data", _) => multipart(maker, content, call),
        (media, value) => {
            let text = match example(maker.document, content).or(content["schema"].get("example")) {
                Some(Value::String(text)) => maker.files.store(text.clone(), "txt"),
                _ => match value {
                    Some(LuaLiteral::Expression(text)) if media.starts_with("text/") => text,
                    _ => {
                        call.notes.push(format!(
                            "the body is '{FILE}': write what it is to be, or file(\"NAME\")"
                        ));
                        quoted(FILE)
                    }
                },
            };
            call.body = Some(text);
            call.set("headers", "content-type", LuaLiteral::text(kind));
        }
    }
}

fn multipart<'a>(maker: &mut CallMaker<'a, '_>, content: &'a Value, call: &mut OutlineCall) {
    let layers = maker.document.layers(&content["schema"]);
    let properties = maker.document.properties(&layers);
    let required = maker.document.required(&layers);
    let any = properties.iter().any(|(name, _)| required.contains(name));
    let mut sampler = Sampler::new(maker.document, &mut maker.calls.secrets);
    let mut parts = Vec::new();
    for (name, schema) in properties
        .iter()
        .filter(|(name, _)| !any || required.contains(name))
        .take(EACH)
    {
        let inner = maker.document.layers(schema);
        let items = inner.get("items").map(|items| maker.document.layers(items));
        let is_file = [Some(&inner), items.as_ref()]
            .into_iter()
            .flatten()
            .any(|layers| {
                layers.text("format") == Some("binary") || layers.get("contentMediaType").is_some()
            });
        let mut part = vec![("name".to_owned(), LuaLiteral::text(name))];
        if is_file {
            let media = &content["encoding"][*name]["contentType"];
            let media = media.as_str().and_then(|media| media.split(',').next());
            let (data, note) = maker.files.stand_in(name, media);
            let ending = crate::import::stand_in::stand_in(name, media).1;
            let file = LuaLiteral::text(&format!("file.{ending}"));
            part.push(("filename".to_owned(), file));
            part.push(("data".to_owned(), LuaLiteral::Expression(data)));
            call.notes.push(note);
        } else {
            let Some(value) = sampler.of_schema(schema, name) else {
                continue;
            };
            let value = match value {
                value @ LuaLiteral::Expression(_) => value,
                value => LuaLiteral::Expression(format!("json.encode({})", value.render(8))),
            };
            part.push(("data".to_owned(), value));
        }
        parts.push(LuaLiteral::Table(part));
    }
    call.options
        .push(("multipart".to_owned(), LuaLiteral::List(parts)));
}
