//! The path of a call: its known parts, those that other tasks bring, and those that a person has to fill in.

use super::chain::Creator;
use super::document::OpenApiDocument;
use super::operation::{CallContext, Operation};
use super::sample::{Sampler, example};
use super::styles::{ValueStyle, json_text, scalar_text};
use crate::calls::{LuaLiteral, OutlineCall};
use crate::lua_text::comment;
use crate::parts::Concatenation;
use crate::secrets::Secrets;
use serde_json::Value;

/// A part of the path of an operation.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PathPart<'a> {
    Literal(&'a str),
    /// A `{name}`.
    Parameter {
        name: &'a str,
        /// The path before it, without the slash, if the part lies between two slashes.
        collection: Option<&'a str>,
    },
}

/// Returns the parts of a path.
pub(super) fn parts(path: &str) -> Vec<PathPart<'_>> {
    let mut all = Vec::new();
    let mut at = 0;
    while let Some(start) = path[at..].find('{').map(|start| at + start) {
        let Some(end) = path[start..].find('}').map(|end| start + end) else {
            break;
        };
        all.push(PathPart::Literal(&path[at..start]));
        let tail = &path[end + 1..];
        let collection = path[..start].strip_suffix('/');
        all.push(PathPart::Parameter {
            name: &path[start + 1..end],
            collection: collection.filter(|_| tail.is_empty() || tail.starts_with('/')),
        });
        at = end + 1;
    }
    all.push(PathPart::Literal(&path[at..]));
    all
}

/// Returns the path of an operation; `before` is the text before it. Adds the call's name, where the path varies.
pub(super) fn path<'a>(
    context: &mut CallContext<'a, '_>,
    operation: &Operation<'a>,
    before: &str,
    parameters: &[&'a Value],
    call: &mut OutlineCall,
) -> Concatenation {
    let mut whole = Concatenation::default();
    whole.literal(before);
    for part in parts(operation.path) {
        let (name, collection) = match part {
            PathPart::Literal(text) => {
                whole.literal(text);
                continue;
            }
            PathPart::Parameter { name, collection } => (name, collection),
        };
        let creator = collection.and_then(|path| Creator::of(context.creators, path));
        if let Some(creator) = creator {
            let Creator { id, function, .. } = creator;
            let statement = format!("local {id} = user.data.{id} or {function}(user)");
            if !call.before.contains(&statement) {
                call.before.push(statement);
            }
            if operation.method == "DELETE" && operation.path.ends_with(&format!("/{{{name}}}")) {
                call.before.push(format!("user.data.{id} = nil"));
                call.before.extend(creator.forget(context.creators));
            }
            whole.expression(id.clone());
            continue;
        }
        let mut parameter = parameters.iter().copied();
        let parameter =
            parameter.find(|candidate| candidate["in"] == "path" && candidate["name"] == name);
        let parameter = parameter.unwrap_or(&Value::Null);
        let value = value(context, parameter, name, collection, call);
        let style = ValueStyle::read(parameter, "path", &mut call.notes);
        if style.flattens(&value) {
            call.note(nested_note(name));
        }
        let mut part = Concatenation::default();
        style.write_path(name, &value, &mut part);
        if part.is_text(&[".", ".."]) {
            let name = comment(name);
            let note =
                format!("'{name}' is sent as '.', which URLs leave out: write another value");
            call.note(note);
        }
        whole.append(part);
    }
    if !whole.is_literal() {
        let name = format!("{before}{}", operation.path);
        call.option("name", LuaLiteral::text(&name));
    }
    whole
}

/// Returns the note on nested values that a style cannot write.
pub(super) fn nested_note(name: &str) -> String {
    let name = comment(name);
    format!("'{name}' has values in values, which its style cannot write: they are sent as JSON")
}

/// Returns the value of a part of the path.
fn value<'a>(
    context: &mut CallContext<'a, '_>,
    parameter: &'a Value,
    name: &str,
    collection: Option<&str>,
    call: &mut OutlineCall,
) -> LuaLiteral {
    let document = context.document;
    let secrets = &mut context.calls.secrets;
    let Some(made) = made_value(document, secrets, parameter, name) else {
        let mut sampler = Sampler::new(document, secrets);
        let value = sampler.of_parameter(parameter, name);
        call.notes.append(&mut sampler.notes);
        return value.unwrap_or_else(|| LuaLiteral::text("1"));
    };
    if let Some(variable) = context.shared.variable(name, collection, &made) {
        return variable;
    }
    let shown = match &made {
        LuaLiteral::Scalar(value) => scalar_text(value),
        LuaLiteral::Expression(code) => code.clone(),
        composite => json_text(composite).render(0),
    };
    call.note(format!(
        "'{}' has no example, and '{}' is sent: write one that exists",
        comment(name),
        comment(&shown)
    ));
    made
}

/// Returns the value that is made up for a part of the path; `None` for one whose value the document has.
pub(super) fn made_value<'a>(
    document: &'a OpenApiDocument,
    secrets: &mut Secrets,
    parameter: &'a Value,
    name: &str,
) -> Option<LuaLiteral> {
    let content = parameter["content"].as_object();
    let content = content.and_then(|contents| contents.values().next());
    let described = content.unwrap_or(parameter);
    let schema = document.layers(&described["schema"]);
    if example(document, described).is_some() || schema.preferred_value().is_some() {
        return None;
    }
    let mut sampler = Sampler::new(document, secrets);
    let made = sampler.of_parameter(parameter, name);
    Some(made.unwrap_or_else(|| LuaLiteral::text("1")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_paths_know_what_comes_before_them() {
        let parameter = |name, collection| PathPart::Parameter { name, collection };
        let expected = [
            PathPart::Literal("/a/"),
            parameter("b", Some("/a")),
            PathPart::Literal("/c"),
            parameter("d", None),
            PathPart::Literal("/{e"),
        ];
        assert_eq!(parts("/a/{b}/c{d}/{e"), expected);
    }
}
