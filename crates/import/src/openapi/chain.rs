//! Relations between operations: `POST /orders` brings the id that `GET /orders/{id}` needs.

use super::document::{EACH, OpenApiDocument};
use super::links::ResponseLinks;
use super::responses::successes;
use crate::lua_text::{comment, field, is_name};
use crate::names::UsedNames;
use crate::origin::singular;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// The most functions of a plan: each is a local, of which Lua takes 200.
const MAX_FUNCTIONS: usize = 60;

/// An operation that creates something.
#[derive(Debug)]
pub(super) struct Creator {
    /// Its path.
    pub(super) path: String,
    /// The paths, without a slash at their ends, below which its id is the next part: its own, and those that its links name.
    pub(super) collections: Vec<String>,
    /// The steps to the id in its response, as Lua after `:json()`.
    pub(super) steps: String,
    /// The name of the id in the plan, and of the function that makes one.
    pub(super) id: String,
    pub(super) function: String,
    pub(super) noun: String,
}

impl Creator {
    /// Returns the one whose id comes after a path.
    pub(super) fn of<'a>(all: &'a [Creator], collection: &str) -> Option<&'a Creator> {
        let own = |creator: &&Creator| creator.collections[0] == collection;
        let linked = |creator: &&Creator| creator.collections.iter().any(|path| path == collection);
        all.iter().find(own).or_else(|| all.iter().find(linked))
    }

    /// Returns the statements that forget the ids below a resource that is gone.
    pub(super) fn forget<'a>(&'a self, all: &'a [Creator]) -> impl Iterator<Item = String> + 'a {
        let prefix = format!("{}/{{", self.collections[0]);
        let below = all
            .iter()
            .filter(move |creator| creator.path.starts_with(&prefix));
        below.map(|creator| format!("user.data.{} = nil", creator.id))
    }
}

/// Finds all of them; those that others need come before these.
pub(super) fn creators<'a>(
    document: &'a OpenApiDocument,
    paths: &'a Map<String, Value>,
    names: &mut UsedNames,
) -> Vec<Creator> {
    let links = ResponseLinks::new(document, paths);
    let mut found: Vec<Creator> = Vec::new();
    let paths_in_order: BTreeSet<&str> = paths.keys().map(String::as_str).collect();
    let mut sorted: Vec<&String> = paths.keys().collect();
    sorted.sort_by_key(|path| (path.matches('/').count(), path.as_str()));
    for path in sorted {
        let operation = &document.resolve(&paths[path])["post"];
        if operation.is_null() {
            continue;
        }
        document.notes().begin(comment(&format!("POST {path}")));
        let own = path.trim_end_matches('/').to_owned();
        let prefix = format!("{own}/{{");
        let mut below = paths_in_order
            .range(prefix.as_str()..)
            .map_while(|path_below| path_below.strip_prefix(prefix.as_str()));
        let parameter = below.find_map(|rest| {
            let (name, rest) = rest.split_once('}')?;
            (rest.is_empty() || rest.starts_with('/')).then_some(name)
        });
        let linked = links.of(operation);
        let noun = own.rsplit('/').next().unwrap_or_default();
        let noun = noun.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
        let noun = match singular(&noun) {
            noun if is_name(&noun) => noun,
            _ => "item".to_owned(),
        };
        let of_own = linked.iter().find(|field| field.collection == own);
        let steps = of_own.or(linked.first()).map(|field| field.steps.clone());
        let steps = steps.or_else(|| id_of(document, operation, parameter?, &noun));
        if found.len() >= MAX_FUNCTIONS && steps.is_some() {
            let note = format!(
                "makes nothing that other tasks use: a plan has {MAX_FUNCTIONS} functions for that"
            );
            document.notes().add(note);
        } else if let Some(steps) = steps {
            let mut collections = vec![own];
            let linked = linked.into_iter().filter(|field| field.steps == steps);
            collections.extend(linked.map(|field| field.collection).take(MAX_FUNCTIONS));
            found.push(Creator {
                path: path.clone(),
                collections,
                steps,
                id: names.unique(&format!("{noun}_id")),
                function: names.unique(&format!("new_{noun}")),
                noun,
            });
        }
    }
    document.notes().begin(String::new());
    found
}

/// Returns the steps to the id of the created resource in the response of an operation.
fn id_of(
    document: &OpenApiDocument,
    operation: &Value,
    parameter: &str,
    noun: &str,
) -> Option<String> {
    successes(document, operation)
        .find_map(|response| id_in(document, response, &candidates(parameter, noun), noun))
}

/// Returns the names that the id of a thing has, without separators, the best first: that of the parameter, with and
/// without the name of the thing (`slug` for `team_slug`), then the usual ones.
fn candidates(parameter: &str, noun: &str) -> Vec<String> {
    let own = flat(parameter);
    let bare = own.strip_prefix(&flat(noun)).unwrap_or_default().to_owned();
    let last = parameter.rfind(['_', '-']).map(|at| &parameter[at + 1..]);
    let last = last.or_else(|| {
        let capital = parameter.rfind(|c: char| c.is_ascii_uppercase())?;
        Some(&parameter[capital..])
    });
    let last = flat(last.unwrap_or_default());
    let usual = [
        "id".to_owned(),
        flat(&format!("{noun}_id")),
        "uuid".to_owned(),
    ];
    let all = [own, bare, last].into_iter().chain(usual);
    all.filter(|name| !name.is_empty()).collect()
}

fn flat(name: &str) -> String {
    name.replace(['_', '-'], "").to_ascii_lowercase()
}

/// Returns where a response has one of these names.
fn id_in(
    document: &OpenApiDocument,
    response: &Value,
    candidates: &[String],
    noun: &str,
) -> Option<String> {
    let contents = response["content"].as_object()?;
    let mut contents = contents.iter().take(EACH);
    let (_, content) =
        contents.find(|(media, _)| crate::exchange::is_json(&crate::exchange::media_of(media)))?;
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
    // A created resource often lies within a wrapper that all responses have.
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
