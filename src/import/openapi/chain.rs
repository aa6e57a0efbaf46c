//! What operations have to do with each other: `POST /orders` brings the id that `GET /orders/{id}` needs.

use super::document::{EACH, OpenApiDocument};
use crate::import::lua_text::{field, is_name};
use crate::import::names::UsedNames;
use crate::import::origin::singular;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// The most functions of a plan: each is a local, of which Lua takes 200.
const MOST: usize = 60;

/// An operation that creates something.
#[derive(Debug)]
pub(super) struct Creator {
    /// Its path.
    pub(super) path: String,
    /// Where the id is in its answer, as Lua after `:json()`.
    pub(super) steps: String,
    /// The name of the id in the plan, and of the function that makes one.
    pub(super) id: String,
    pub(super) function: String,
    pub(super) noun: String,
}

/// Finds all of them; those that others need come before these.
pub(super) fn creators(
    document: &OpenApiDocument,
    paths: &Map<String, Value>,
    names: &mut UsedNames,
) -> Vec<Creator> {
    let mut found: Vec<Creator> = Vec::new();
    let paths_in_order: BTreeSet<&str> = paths.keys().map(String::as_str).collect();
    let mut sorted: Vec<&String> = paths.keys().collect();
    sorted.sort_by_key(|path| (path.matches('/').count(), path.as_str()));
    for path in sorted {
        let operation = &document.resolve(&paths[path])["post"];
        if operation.is_null() || found.len() >= MOST {
            continue;
        }
        let prefix = format!("{}/{{", path.trim_end_matches('/'));
        let mut below = paths_in_order
            .range(prefix.as_str()..)
            .map_while(|path_below| path_below.strip_prefix(prefix.as_str()));
        let parameter = below.find_map(|rest| {
            let (name, rest) = rest.split_once('}')?;
            (rest.is_empty() || rest.starts_with('/')).then_some(name)
        });
        let Some(parameter) = parameter else { continue };
        let noun = path
            .trim_end_matches('/')
            .rsplit('/')
            .next()
            .unwrap_or_default();
        let noun = noun.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
        let noun = match singular(&noun) {
            noun if is_name(&noun) => noun,
            _ => "item".to_owned(),
        };
        if let Some(steps) = id_of(document, operation, parameter, &noun) {
            found.push(Creator {
                path: path.clone(),
                steps,
                id: names.unique(&format!("{noun}_id")),
                function: names.unique(&format!("new_{noun}")),
                noun,
            });
        }
    }
    found
}

/// Returns where the answer of an operation has the id of what it has created.
fn id_of(
    document: &OpenApiDocument,
    operation: &Value,
    parameter: &str,
    noun: &str,
) -> Option<String> {
    let (_, response) = first_success(document, operation)?;
    let contents = response["content"].as_object()?;
    let mut contents = contents.iter().take(EACH);
    let (_, content) = contents.find(|(media, _)| {
        crate::import::exchange::is_json(&crate::import::exchange::media_of(media))
    })?;
    let flat = |name: &str| name.replace(['_', '-'], "").to_ascii_lowercase();
    let candidates = [
        flat(parameter),
        "id".to_owned(),
        flat(&format!("{noun}_id")),
        "uuid".to_owned(),
    ];
    let choose = |names: &[String]| {
        let mut candidates = candidates.iter();
        candidates.find_map(|candidate| names.iter().find(|name| flat(name) == *candidate).cloned())
    };
    let layers = document.layers(&content["schema"]);
    let example = super::sample::example(document, content).or(layers.get("example"));
    let example = example.and_then(|example| document.affordable(example));
    let of_example = |value: &Value| -> Vec<String> {
        value
            .as_object()
            .map(|fields| fields.keys().cloned().collect())
            .unwrap_or_default()
    };
    let properties = document.properties(&layers);
    let mut names: Vec<String> = properties
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .collect();
    names.extend(example.map(of_example).unwrap_or_default());
    if let Some(name) = choose(&names) {
        return Some(field(&name));
    }
    // What was made often lies within something that is the same for all answers.
    for wrapper in ["data", noun, "result", "item"] {
        let schema = properties.iter().find(|(name, _)| *name == wrapper);
        let inner = schema
            .map(|(_, schema)| document.properties(&document.layers(schema)))
            .unwrap_or_default();
        let mut names: Vec<String> = inner.iter().map(|(name, _)| (*name).to_owned()).collect();
        names.extend(
            example
                .map(|example| of_example(&example[wrapper]))
                .unwrap_or_default(),
        );
        if let Some(name) = choose(&names) {
            return Some(format!("{}{}", field(wrapper), field(&name)));
        }
    }
    None
}

/// Returns the first status of an operation that is a success, and its answer.
pub(super) fn first_success<'a>(
    document: &'a OpenApiDocument,
    operation: &'a Value,
) -> Option<(u16, &'a Value)> {
    let responses = operation["responses"].as_object()?;
    let mut found: Vec<(u16, &Value)> = responses
        .iter()
        .take(EACH)
        .filter_map(|(status, response)| Some((status.parse().ok()?, response)))
        .filter(|(status, _)| (200..400).contains(status))
        .collect();
    found.sort_by_key(|(status, _)| *status);
    let (status, response) = found.first()?;
    Some((*status, document.resolve(response)))
}
