//! Links of responses: which part of which path a field of the response's body fills.

use super::document::{EACH, OpenApiDocument};
use super::responses::successes;
use crate::lua_text::{comment, field};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// A field of a response that is a part of paths.
#[derive(Debug)]
pub(super) struct LinkedField {
    /// The path before that part: `/orders` of `/orders/{id}`.
    pub(super) collection: String,
    /// The access to the field, as Lua after `:json()`.
    pub(super) steps: String,
}

/// The links of all operations.
#[derive(Debug)]
pub(super) struct ResponseLinks<'a> {
    document: &'a OpenApiDocument,
    paths: &'a Map<String, Value>,
    /// The paths of operations by their `operationId`.
    by_id: HashMap<&'a str, &'a str>,
}

impl<'a> ResponseLinks<'a> {
    pub(super) fn new(document: &'a OpenApiDocument, paths: &'a Map<String, Value>) -> Self {
        let mut by_id = HashMap::new();
        for (path, item) in paths {
            let item = document.resolve(item);
            for operation in item
                .as_object()
                .into_iter()
                .flatten()
                .map(|(_, value)| value)
            {
                if let Some(id) = operation["operationId"].as_str() {
                    by_id.insert(id, path.as_str());
                }
            }
        }
        ResponseLinks {
            document,
            paths,
            by_id,
        }
    }

    /// Returns the fields that the links of an operation's responses fill; links that fill none are noted.
    pub(super) fn of(&self, definition: &'a Value) -> Vec<LinkedField> {
        let mut found = Vec::new();
        for response in successes(self.document, definition) {
            let links = response["links"].as_object().into_iter().flatten();
            for (name, link) in links.take(EACH / 10) {
                let link = self.document.resolve(link);
                let before = found.len();
                if let Some(path) = self.target(link) {
                    let parameters = link["parameters"].as_object().into_iter().flatten();
                    found.extend(
                        parameters
                            .take(EACH / 10)
                            .filter_map(|(parameter, value)| linked(path, parameter, value)),
                    );
                }
                if found.len() == before {
                    self.document.notes().add(format!(
                        "left out the link '{}' of a response, which fills no part of a path with a field of its body",
                        comment(name)
                    ));
                }
            }
        }
        found
    }

    /// Returns the path that a link leads to.
    fn target(&self, link: &Value) -> Option<&str> {
        if let Some(id) = link["operationId"].as_str() {
            return self.by_id.get(id).copied();
        }
        let reference = link["operationRef"].as_str()?;
        let decoded = percent_encoding::percent_decode_str(reference.strip_prefix("#/paths/")?);
        let decoded = decoded.decode_utf8_lossy();
        let path = decoded
            .split('/')
            .next()?
            .replace("~1", "/")
            .replace("~0", "~");
        self.paths
            .get_key_value(&path)
            .map(|(path, _)| path.as_str())
    }
}

fn linked(path: &str, parameter: &str, value: &Value) -> Option<LinkedField> {
    let pointer = value.as_str()?.strip_prefix("$response.body#/")?;
    let name = parameter.strip_prefix("path.").unwrap_or(parameter);
    let (collection, rest) = path.split_once(&format!("/{{{name}}}"))?;
    if !rest.is_empty() && !rest.starts_with('/') {
        return None;
    }
    let steps = pointer.split('/').map(|token| {
        let token = token.replace("~1", "/").replace("~0", "~");
        match token.parse::<u32>() {
            Ok(place) => format!("[{}]", u64::from(place) + 1),
            Err(_) => field(&token),
        }
    });
    Some(LinkedField {
        collection: collection.to_owned(),
        steps: steps.collect(),
    })
}
