//! The parameters of a call in its query, headers and cookies.

use super::document::OpenApiDocument;
use super::encoding::{TextEncoding, percent_encoded};
use super::operation::CallContext;
use super::path::nested_note;
use super::sample::{Sampler, example};
use super::styles::{FieldValue, ValueStyle, is_composite, loses_empty};
use crate::calls::{LuaLiteral, OutlineCall};
use crate::exchange::media_of;
use crate::lua_text::comment;
use crate::parts::{Concatenation, is_token};
use serde_json::Value;

/// The effects of parameters on a request.
pub(super) struct ParameterWriter<'b> {
    pub(super) call: &'b mut OutlineCall,
    /// The path, with the part of the query that the client must not encode again.
    pub(super) target: Concatenation,
    has_query: bool,
    cookies: Vec<(String, Concatenation)>,
}

impl<'b> ParameterWriter<'b> {
    pub(super) fn new(call: &'b mut OutlineCall, path: Concatenation) -> Self {
        ParameterWriter {
            call,
            target: path,
            has_query: false,
            cookies: Vec::new(),
        }
    }

    /// Adds a parameter that is no part of the path: one that is required, or has an example.
    pub(super) fn add<'a>(&mut self, context: &mut CallContext<'a, '_>, parameter: &'a Value) {
        let name = parameter["name"].as_str().unwrap_or_default();
        let place = parameter["in"].as_str().unwrap_or_default();
        if place == "path" || !is_sent(context.document, parameter) {
            return;
        }
        let shown = comment(name);
        let lower = name.to_ascii_lowercase();
        let left_out = match (place, lower.as_str()) {
            ("header", "accept" | "content-type" | "authorization") => {
                format!(
                    "'{shown}': OpenAPI takes that header from the body, the responses or 'security' instead"
                )
            }
            ("header", "content-length" | "host" | "connection" | "transfer-encoding") => {
                format!("'{shown}', which the client sends by itself")
            }
            ("header" | "cookie", _) if !is_token(name) => {
                format!("'{shown}', which cannot be the name of a {place}")
            }
            ("query" | "header" | "cookie" | "querystring", _) => String::new(),
            _ => format!("'{shown}' in '{}', which is not known", comment(place)),
        };
        if !left_out.is_empty() {
            let note = format!("left out the parameter {left_out}");
            return context.document.notes().add(note);
        }
        let mut sampler = Sampler::new(context.document, &mut context.calls.secrets);
        let value = match place {
            "querystring" => sampler.of_first_content(parameter, name),
            _ => sampler.of_parameter(parameter, name),
        };
        self.call.notes.append(&mut sampler.notes);
        let Some(value) = value else {
            let note = format!(
                "left out the parameter '{shown}', whose schema is one of itself without end"
            );
            return self.call.note(note);
        };
        match place {
            "querystring" => self.add_query_string(parameter, &value),
            place => self.add_styled(parameter, name, place, &value),
        }
    }

    fn add_styled(&mut self, parameter: &Value, name: &str, place: &str, value: &LuaLiteral) {
        let style = ValueStyle::read(parameter, place, &mut self.call.notes);
        if style.flattens(value) {
            self.call.note(nested_note(name));
        }
        if place == "header" {
            return self.add_header(name, style.header(value));
        }
        let encoding = match place {
            "cookie" => TextEncoding::Cookie,
            _ => style.query_encoding(),
        };
        let mut fields = style.fields(name, value, encoding);
        if !fields.is_empty() && loses_empty(value) {
            let note = format!(
                "'{}' has an empty list or object, and that is not sent",
                comment(name)
            );
            self.call.note(note);
        }
        if fields.is_empty() {
            if parameter["required"] != true {
                let note = format!("'{}' is empty, and not sent", comment(name));
                return self.call.note(note);
            }
            let empty = FieldValue::Text(Concatenation::default());
            fields.push((name.to_owned(), empty));
        }
        for (name, value) in fields {
            match (place, value) {
                ("cookie", FieldValue::Text(text)) if is_token(&name) => {
                    self.cookies.push((name, text));
                }
                ("cookie", _) => {
                    let note = format!(
                        "left out '{}', which cannot be the name of a cookie",
                        comment(&name)
                    );
                    self.call.note(note);
                }
                (_, FieldValue::Scalar(value)) => self.call.add("query", &name, value),
                (_, FieldValue::Text(text)) => {
                    self.target.literal(if self.has_query { "&" } else { "?" });
                    self.target.literal(&percent_encoded(&name));
                    self.target.literal("=");
                    self.target.append(text);
                    self.has_query = true;
                }
            }
        }
    }

    fn add_header(&mut self, name: &str, mut value: Concatenation) {
        if value.replace_controls() {
            let note = format!(
                "'{}' has line breaks, which a header cannot have: they are blanks",
                comment(name)
            );
            self.call.note(note);
        }
        let value = LuaLiteral::Expression(value.finish());
        self.call.set("headers", name, value);
    }

    /// Adds a parameter that is the whole query.
    fn add_query_string(&mut self, parameter: &Value, value: &LuaLiteral) {
        let content = parameter["content"].as_object();
        let media = content.and_then(|content| content.keys().next());
        match media.map(|media| media_of(media)).as_deref() {
            Some("application/x-www-form-urlencoded") if is_composite(value) => {
                let form = ValueStyle::read(&Value::Null, "query", &mut self.call.notes);
                for (name, value) in form.fields("", value, TextEncoding::Percent) {
                    if let FieldValue::Scalar(value) = value {
                        self.call.add("query", &name, value);
                    }
                }
            }
            _ => {
                let note = format!(
                    "left out the query '{}', which is no form",
                    comment(parameter["name"].as_str().unwrap_or_default())
                );
                self.call.note(note);
            }
        }
    }

    /// Sets the path and the cookies of the call.
    pub(super) fn finish(self) {
        self.call.path = self.target.finish();
        let mut names: Vec<&str> = self.cookies.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        let several = names.windows(2).any(|pair| pair[0] == pair[1]);
        if several {
            let mut header = Concatenation::default();
            for (nth, (name, value)) in self.cookies.into_iter().enumerate() {
                header.literal(if nth == 0 { "" } else { "; " });
                header.literal(&format!("{name}="));
                header.append(value);
            }
            let header = LuaLiteral::Expression(header.finish());
            return self.call.set("headers", "Cookie", header);
        }
        for (name, value) in self.cookies {
            let value = LuaLiteral::Expression(value.finish());
            self.call.set("cookies", &name, value);
        }
    }
}

/// Returns whether a parameter is sent: if it has to be, or if the author shows one.
fn is_sent(document: &OpenApiDocument, parameter: &Value) -> bool {
    let schema = document.layers(&parameter["schema"]);
    let content = parameter["content"].as_object();
    let content = content.and_then(|content| content.values().next());
    parameter["required"] == true
        || example(document, parameter).is_some()
        || content.is_some_and(|content| example(document, content).is_some())
        || schema.get("example").is_some()
        || schema.get("examples").is_some()
}
