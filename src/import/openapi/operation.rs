//! One operation as a call.

use super::body::add_body;
use super::chain::{Creator, first_success};
use super::document::{EACH, OpenApiDocument};
use super::sample::{Sampler, example};
use super::security::secure;
use crate::import::calls::{LuaLiteral, OutlineCall, PlanOutline};
use crate::import::lua_text::comment;
use crate::import::parts::{Concatenation, is_token};
use crate::import::request::PlanAttachments;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

/// An operation of a document.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operation<'a> {
    /// In upper case.
    pub(super) method: &'a str,
    /// With `{names}`.
    pub(super) path: &'a str,
    /// What all operations of the path have.
    pub(super) item: &'a Value,
    pub(super) definition: &'a Value,
}

impl Operation<'_> {
    /// Returns method and path.
    pub(super) fn name(&self) -> String {
        comment(&format!("{} {}", self.method, self.path))
    }
}

/// What calls are made with.
pub(super) struct CallMaker<'a, 'b> {
    pub(super) document: &'a OpenApiDocument,
    pub(super) creators: &'b [Creator],
    pub(super) calls: &'b mut PlanOutline,
    pub(super) files: &'b mut PlanAttachments,
}

impl<'a> CallMaker<'a, '_> {
    /// Returns the call of an operation; `before` is what comes before its path.
    pub(super) fn call(&mut self, operation: &Operation<'a>, before: &str) -> OutlineCall {
        let mut call = OutlineCall {
            method: operation.method.to_owned(),
            ..OutlineCall::default()
        };
        let parameters = self.parameters(operation);
        self.path(operation, before, &parameters, &mut call);
        for parameter in &parameters {
            self.parameter(parameter, &mut call);
        }
        secure(
            self.document,
            operation.definition,
            &mut self.calls.secrets,
            &mut call,
        );
        let body = self.document.resolve(&operation.definition["requestBody"]);
        add_body(self, body, &mut call);
        if let Some((status, _)) = first_success(self.document, operation.definition) {
            call.set(
                "expect",
                "status",
                LuaLiteral::Expression(status.to_string()),
            );
            if status >= 300 {
                call.options.push((
                    "max_redirects".to_owned(),
                    LuaLiteral::Expression("0".to_owned()),
                ));
            }
        }
        let name = operation.name();
        for note in &mut call.notes {
            *note = format!("{name}: {note}");
        }
        call
    }

    /// Returns the parameters of an operation; its own go before those of the path.
    fn parameters(&self, operation: &Operation<'a>) -> Vec<&'a Value> {
        let lists = [
            &operation.definition["parameters"],
            &operation.item["parameters"],
        ];
        let mut all: Vec<&Value> = Vec::new();
        for parameter in lists
            .into_iter()
            .filter_map(Value::as_array)
            .flatten()
            .take(EACH)
        {
            let parameter = self.document.resolve(parameter);
            let same = |other: &&Value| {
                other["name"] == parameter["name"] && other["in"] == parameter["in"]
            };
            if !all.iter().any(same) {
                all.push(parameter);
            }
        }
        all
    }

    fn path(
        &mut self,
        operation: &Operation<'a>,
        before: &str,
        parameters: &[&'a Value],
        call: &mut OutlineCall,
    ) {
        let mut whole = Concatenation::default();
        whole.literal(before);
        let (mut rest, mut done, mut varies) = (operation.path, String::new(), false);
        while let Some((literal, tail)) = rest.split_once('{') {
            let Some((name, tail)) = tail.split_once('}') else {
                break;
            };
            whole.literal(literal);
            done.push_str(literal);
            let collection = done
                .strip_suffix('/')
                .filter(|_| tail.is_empty() || tail.starts_with('/'));
            let creator = self
                .creators
                .iter()
                .find(|creator| Some(creator.path.trim_end_matches('/')) == collection);
            match creator {
                Some(creator) => {
                    let Creator { id, function, .. } = creator;
                    call.before
                        .push(format!("local {id} = user.data.{id} or {function}(user)"));
                    if operation.method == "DELETE" && tail.is_empty() {
                        call.before.push(format!("user.data.{id} = nil"));
                        call.before.extend(self.forget(creator));
                    }
                    whole.expression(id.clone());
                    varies = true;
                }
                None => {
                    let parameter = parameters.iter();
                    let mut parameter = parameter
                        .filter(|candidate| candidate["in"] == "path" && candidate["name"] == name);
                    let value = self.path_value(parameter.next().copied(), name, call);
                    match value {
                        Ok(literal) => {
                            whole.literal(
                                &utf8_percent_encode(&literal, NON_ALPHANUMERIC)
                                    .to_string()
                                    .replace("%2D", "-")
                                    .replace("%5F", "_")
                                    .replace("%2E", "."),
                            );
                        }
                        Err(expression) => {
                            whole.expression(expression);
                            varies = true;
                        }
                    }
                }
            }
            done.push_str(&format!("{{{name}}}"));
            rest = tail;
        }
        whole.literal(rest);
        call.path = whole.finish();
        if varies {
            call.options.push((
                "name".to_owned(),
                LuaLiteral::text(&format!("{before}{}", operation.path)),
            ));
        }
    }

    /// Returns the statements by which ids are forgotten that lie below what is gone.
    pub(super) fn forget(&self, gone: &Creator) -> Vec<String> {
        let prefix = format!("{}/{{", gone.path.trim_end_matches('/'));
        let below = self
            .creators
            .iter()
            .filter(|creator| creator.path.starts_with(&prefix));
        below
            .map(|creator| format!("user.data.{} = nil", creator.id))
            .collect()
    }

    /// Returns the text of a part of the path, or the expression that makes one.
    fn path_value(
        &mut self,
        parameter: Option<&'a Value>,
        name: &str,
        call: &mut OutlineCall,
    ) -> Result<String, String> {
        let parameter = parameter.unwrap_or(&Value::Null);
        let layers = self.document.layers(&parameter["schema"]);
        let example_value = example(self.document, parameter).or(layers.preferred_value());
        let example_value = example_value.and_then(|value| self.document.affordable(value));
        if let Some(value) = example_value {
            return Ok(match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            });
        }
        let mut sampler = Sampler::new(self.document, &mut self.calls.secrets);
        let made = sampler.of_schema(&parameter["schema"], name);
        let made = match made {
            Some(LuaLiteral::Expression(text)) => text,
            _ => "1".to_owned(),
        };
        let inner = made
            .strip_prefix('"')
            .and_then(|text| text.strip_suffix('"'));
        let literal = inner.filter(|text| !text.contains('\\')).map(str::to_owned);
        let literal = literal.or_else(|| made.parse::<f64>().ok().map(|_| made.clone()));
        let shown = literal.clone().unwrap_or_else(|| made.clone());
        call.notes.push(format!(
            "'{}' has no example, and '{}' is sent: write one that exists",
            comment(name),
            comment(&shown)
        ));
        literal.ok_or(made)
    }

    fn parameter(&mut self, parameter: &'a Value, call: &mut OutlineCall) {
        let name = parameter["name"].as_str().unwrap_or_default();
        let place = parameter["in"].as_str().unwrap_or_default();
        let layers = self.document.layers(&parameter["schema"]);
        let has_example = example(self.document, parameter).is_some()
            || layers.get("example").is_some()
            || layers.get("examples").is_some();
        let is_sent = parameter["required"] == true || has_example;
        let lower = name.to_ascii_lowercase();
        let is_own = place == "header"
            && (matches!(
                lower.as_str(),
                "accept" | "content-type" | "authorization" | "content-length" | "host"
            ) || !is_token(name));
        if name.is_empty() || !is_sent || is_own || place == "path" {
            return;
        }
        let mut sampler = Sampler::new(self.document, &mut self.calls.secrets);
        let content = parameter["content"]
            .as_object()
            .and_then(|contents| contents.values().next());
        let value = match content {
            Some(content) => sampler
                .of_content(content, name)
                .map(|value| LuaLiteral::Expression(format!("json.encode({})", value.render(8)))),
            None => sampler.of_content(parameter, name),
        };
        let notes = std::mem::take(&mut sampler.notes);
        call.notes.extend(notes);
        let Some(value) = value else { return };
        let explodes = parameter["explode"] != false
            && !matches!(
                parameter["style"].as_str(),
                Some("spaceDelimited" | "pipeDelimited")
            );
        match (place, value) {
            ("query", LuaLiteral::List(items)) if explodes => {
                items
                    .into_iter()
                    .for_each(|item| call.add("query", name, item));
            }
            ("query", LuaLiteral::Table(fields)) => {
                let deep = parameter["style"] == "deepObject";
                for (key, value) in fields {
                    let key = if deep { format!("{name}[{key}]") } else { key };
                    call.add("query", &key, value);
                }
            }
            ("query", value) => call.add("query", name, joined(value)),
            ("header", value) => call.set("headers", name, joined(value)),
            ("cookie", value) if is_token(name) => call.set("cookies", name, joined(value)),
            _ => {}
        }
    }
}

/// Returns a list as one text.
fn joined(value: LuaLiteral) -> LuaLiteral {
    match value {
        LuaLiteral::List(items) => {
            let items: Vec<String> = items
                .into_iter()
                .filter_map(|item| match item {
                    LuaLiteral::Expression(text) => Some(text),
                    _ => None,
                })
                .collect();
            if items.is_empty() {
                LuaLiteral::text("")
            } else {
                LuaLiteral::Expression(items.join(" .. \",\" .. "))
            }
        }
        LuaLiteral::Table(_) => LuaLiteral::text(""),
        value => value,
    }
}
