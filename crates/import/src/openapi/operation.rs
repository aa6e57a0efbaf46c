//! The operations of a document, and the context in which their calls are made.

use super::chain::Creator;
use super::document::{EACH, OpenApiDocument};
use super::shared::SharedParameters;
use crate::calls::PlanOutline;
use crate::lua_text::comment;
use crate::parts::is_token;
use crate::request::PlanAttachments;
use serde_json::{Map, Value};
use std::collections::HashMap;

/// The fields of a path that are operations, with their methods.
const METHODS: [(&str, &str); 9] = [
    ("get", "GET"),
    ("head", "HEAD"),
    ("options", "OPTIONS"),
    ("trace", "TRACE"),
    ("query", "QUERY"),
    ("post", "POST"),
    ("put", "PUT"),
    ("patch", "PATCH"),
    ("delete", "DELETE"),
];
/// The longest path.
const MAX_PATH_BYTES: usize = 8 << 10;

/// An operation of a document.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operation<'a> {
    /// The method as it is sent: in upper case but for methods of the document's own.
    pub(super) method: &'a str,
    /// With `{names}`.
    pub(super) path: &'a str,
    /// The fields that all operations of the path share.
    pub(super) item: &'a Value,
    pub(super) definition: &'a Value,
}

impl<'a> Operation<'a> {
    /// Returns method and path.
    pub(super) fn name(&self) -> String {
        comment(&format!("{} {}", self.method, self.path))
    }

    /// Returns the first tag.
    pub(super) fn tag(&self) -> Option<&'a str> {
        self.definition["tags"].as_array()?.first()?.as_str()
    }

    /// Returns the parameters; its own go before those of the path.
    pub(super) fn parameters(&self, document: &'a OpenApiDocument) -> Vec<&'a Value> {
        let lists = [&self.definition["parameters"], &self.item["parameters"]];
        let mut all: Vec<&Value> = Vec::new();
        let parameters = lists.into_iter().filter_map(Value::as_array).flatten();
        for (nth, parameter) in parameters.enumerate() {
            if nth == EACH {
                let note = format!("has more than {EACH} parameters, and the others are left out");
                document.notes().add(note);
                break;
            }
            let parameter = document.resolve(parameter);
            let same = |other: &&Value| {
                other["name"] == parameter["name"] && other["in"] == parameter["in"]
            };
            if !all.iter().any(same) {
                all.push(parameter);
            }
        }
        all
    }
}

/// The context in which calls are made.
pub(super) struct CallContext<'a, 'b> {
    pub(super) document: &'a OpenApiDocument,
    /// The operations that may be called for ids.
    pub(super) creators: &'b [Creator],
    pub(super) shared: &'b SharedParameters,
    pub(super) calls: &'b mut PlanOutline,
    pub(super) files: &'b mut PlanAttachments,
}

/// Returns all operations, by their first tags.
pub(super) fn operations<'a>(
    document: &'a OpenApiDocument,
    paths: &'a Map<String, Value>,
) -> Vec<Operation<'a>> {
    let mut found = Vec::new();
    for (path, item) in paths {
        if !path.starts_with('/') || path.len() > MAX_PATH_BYTES {
            if !path.starts_with("x-") {
                let note = format!("left out '{}', which is no path", comment(path));
                document.notes().add(note);
            }
            continue;
        }
        let item = document.resolve(item);
        let standard = METHODS.iter();
        let standard = standard.map(|(key, method)| (*method, &item[*key]));
        let additional = item["additionalOperations"].as_object();
        let additional = additional.into_iter().flatten().take(EACH);
        let additional = additional.map(|(method, definition)| (method.as_str(), definition));
        for (method, definition) in standard.chain(additional) {
            if !definition.is_object() {
                continue;
            }
            if !is_token(method) {
                let note = format!("left out '{}', which is no method", comment(method));
                document.notes().add(note);
                continue;
            }
            found.push(Operation {
                method,
                path,
                item,
                definition,
            });
        }
    }
    let tags = document.root()["tags"].as_array().into_iter().flatten();
    let tags: Vec<&str> = tags.filter_map(|tag| tag["name"].as_str()).collect();
    let mut places = HashMap::new();
    for tag in tags
        .into_iter()
        .chain(found.iter().filter_map(Operation::tag))
    {
        let next = places.len();
        places.entry(tag).or_insert(next);
    }
    // Those without a tag come last.
    found.sort_by_key(|operation| {
        let place = operation.tag().and_then(|tag| places.get(tag));
        (place.is_none(), place.copied())
    });
    found
}
