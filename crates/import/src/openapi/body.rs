//! Bodies of operations: examples, or values that the schema allows.

use super::document::EACH;
use super::form::{add_form, add_multipart};
use super::operation::CallContext;
use super::sample::{Sampler, example};
use crate::calls::{LuaLiteral, OutlineCall};
use crate::exchange::{is_json, media_of};
use crate::lua_text::quoted;
use serde_json::Value;

/// The content that is sent for a file.
const FILE: &str = "a file";
/// The deepest tables that are written.
const MAX_DEPTH: usize = 50;

/// Adds the body of an operation to its call.
pub(super) fn add_body<'a>(
    context: &mut CallContext<'a, '_>,
    body: &'a Value,
    call: &mut OutlineCall,
) {
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
    let content = context.document.resolve(content);
    let media = media_of(content_type);
    let mut sampler = Sampler::new(context.document, &mut context.calls.secrets);
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
    let schema = context.document.layers(&content["schema"]);
    match (media.as_str(), value) {
        // The author's text is the body as it is sent.
        (media, Some(LuaLiteral::Scalar(Value::String(text))))
            if is_json(media) && matches!(schema.known_kind(), Some("object" | "array")) =>
        {
            call.note("the example of the body is a text that is no JSON, and sent as it is: write one that is");
            call.body = Some(context.files.store(text, "txt"));
            call.set("headers", "content-type", LuaLiteral::text(kind));
        }
        (media, Some(value)) if is_json(media) || content_type == "*/*" => {
            if is_json(media) && media != "application/json" {
                call.set("headers", "content-type", LuaLiteral::text(kind));
            }
            if value.depth() <= MAX_DEPTH {
                call.option("json", value)
            } else {
                call.note("the body is nested too deeply to be written here: write it")
            }
        }
        ("application/x-www-form-urlencoded", Some(LuaLiteral::Table(fields))) => {
            add_form(context.document, content, &fields, call);
        }
        ("multipart/form-data", _) => add_multipart(context, content, call),
        (media, value) => {
            let text = match example(context.document, content).or(content["schema"].get("example"))
            {
                Some(Value::String(text)) => context.files.store(text.clone(), "txt"),
                _ => match value {
                    Some(LuaLiteral::Scalar(Value::String(text))) if media.starts_with("text/") => {
                        quoted(&text)
                    }
                    Some(LuaLiteral::Expression(code)) if media.starts_with("text/") => code,
                    _ => {
                        call.note(format!(
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
