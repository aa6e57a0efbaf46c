//! OpenAPI documents, 3.0 and 3.1, as JSON and YAML, with the files beside them: a task per operation.
//!
//! <https://spec.openapis.org/oas/v3.1.1.html>

mod beside;
mod body;
mod chain;
mod document;
mod operation;
mod pattern;
mod references;
mod sample;
mod security;
mod yaml;

use super::calls::{self, OutlineFunction, OutlineStep, OutlineTask, PlanOutline};
use super::imported::{Imported, KINDS};
use super::lua_text::comment;
use super::request::PlanAttachments;
use super::site::{Choices, is_host_named};
use super::visit::MOST;
use crate::error::Diagnostic;
use document::OpenApiDocument;
use operation::{CallMaker, Operation};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};
use url::Url;

const METHODS: [&str; 7] = ["get", "head", "options", "post", "put", "patch", "delete"];
/// The tag of what changes or removes what is there.
const CHANGES: &str = "changes";
/// The longest address of a server, and the longest path.
const LONGEST: usize = 8 << 10;

/// Returns whether a file is of OpenAPI, whatever its version.
pub(super) fn is_openapi(file: &Map<String, Value>) -> bool {
    ["openapi", "swagger"]
        .iter()
        .any(|key| file.contains_key(*key))
}

/// Returns whether a text is a document in YAML.
pub(super) fn is_yaml(text: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim_start_matches(['\u{feff}', '"', '\'']);
        line.starts_with("openapi") && line.contains(':')
            || line.starts_with("swagger") && line.contains(':')
    })
}

/// Reads a document in YAML.
///
/// # Errors
/// What is wrong with it, and where.
pub(super) fn read_yaml(name: &str, text: &str) -> Result<Map<String, Value>, Diagnostic> {
    match yaml::parse(text) {
        Ok(Value::Object(file)) => Ok(file),
        Ok(_) => {
            let message = format!("{name} is YAML, and no OpenAPI document");
            Err(Diagnostic::new(message).help(KINDS))
        }
        Err(fault) => {
            let message = format!("{name} is no YAML: {}", fault.what);
            Err(Diagnostic::new(message).help("mend it there, or save the document as JSON"))
        }
    }
}

/// Writes the plan of a document.
///
/// # Errors
/// Another version, or a document without operations.
pub(super) fn import(
    name: &str,
    file: Map<String, Value>,
    choices: &Choices,
) -> Result<Imported, Diagnostic> {
    let version = |key: &str| {
        file.get(key).map(|version| match version {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        })
    };
    match (version("openapi"), version("swagger")) {
        (Some(version), _) if version.starts_with("3.") || version == "3" => {}
        (None, Some(_)) => {
            let message = format!("{name} is a Swagger 2 document");
            return Err(Diagnostic::new(message).help("convert it to OpenAPI 3 first, as https://converter.swagger.io/ and 'swagger2openapi' do"));
        }
        (version, _) => {
            let message = format!(
                "{name} is of OpenAPI {}, which is not known",
                comment(&version.unwrap_or_default())
            );
            return Err(
                Diagnostic::new(message).help("documents of OpenAPI 3.0 and 3.1 are imported")
            );
        }
    }
    let (document, remarks) = beside::gather(file, choices.path.as_deref());
    let nothing = Map::new();
    let paths = document.resolve(&document.root()["paths"]);
    let paths = paths.as_object().unwrap_or(&nothing);
    let mut operations = operations(&document, paths);
    if operations.is_empty() {
        let message = format!("{name} has no operation: nothing under 'paths' can be asked for");
        let help = remarks.into_iter().next();
        let help = help.unwrap_or("give the whole document".to_owned());
        return Err(Diagnostic::new(message).help(help));
    }
    let title = document.root()["info"]["title"]
        .as_str()
        .unwrap_or_default();
    let title: String = title.chars().filter(|c| !c.is_control()).take(60).collect();
    let title = if title.trim().is_empty() {
        "API"
    } else {
        title.trim()
    };
    let mut calls = PlanOutline {
        title: format!("The API '{title}'"),
        scenario: title.to_owned(),
        notes: remarks,
        ..PlanOutline::default()
    };
    if operations.len() > MOST {
        let more = operations.len() - MOST;
        calls.notes.push(format!(
            "left out the last {more} operations: a plan has {MOST} at most"
        ));
        operations.truncate(MOST);
    }
    let mut files = PlanAttachments {
        enabled: choices.files,
        ..PlanAttachments::default()
    };
    fill(
        &document,
        paths,
        &operations,
        choices,
        &mut calls,
        &mut files,
    );
    Ok(calls::write(calls, files))
}

/// Returns all operations, by their first tags.
fn operations<'a>(
    document: &'a OpenApiDocument,
    paths: &'a Map<String, Value>,
) -> Vec<Operation<'a>> {
    const UPPER: [&str; 7] = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"];
    let mut found = Vec::new();
    for (path, item) in paths {
        let item = document.resolve(item);
        for (method, key) in UPPER.into_iter().zip(METHODS) {
            if item[key].is_object() && path.starts_with('/') && path.len() <= LONGEST {
                found.push(Operation {
                    method,
                    path,
                    item,
                    definition: &item[key],
                });
            }
        }
    }
    let tags = document.root()["tags"].as_array().into_iter().flatten();
    let tags: Vec<&str> = tags.filter_map(|tag| tag["name"].as_str()).collect();
    let mut places = HashMap::new();
    for tag in tags.into_iter().chain(found.iter().filter_map(tag)) {
        let next = places.len();
        places.entry(tag).or_insert(next);
    }
    // Those without a tag come last.
    let place = |operation: &Operation<'_>| {
        let place = tag(operation).and_then(|tag| places.get(tag));
        (place.is_none(), place.copied())
    };
    found.sort_by_key(place);
    found
}

fn tag<'a>(operation: &Operation<'a>) -> Option<&'a str> {
    operation.definition["tags"].as_array()?.first()?.as_str()
}

fn fill<'a>(
    document: &'a OpenApiDocument,
    paths: &Map<String, Value>,
    operations: &[Operation<'a>],
    choices: &Choices,
    calls: &mut PlanOutline,
    files: &mut PlanAttachments,
) {
    let servers = |operation: &Operation<'_>| {
        let lists = [
            &operation.definition["servers"],
            &operation.item["servers"],
            &document.root()["servers"],
        ];
        let list = lists
            .into_iter()
            .find(|list| list.as_array().is_some_and(|list| !list.is_empty()));
        server(list.map_or(&Value::Null, |list| &list[0]))
    };
    let site = server(&document.root()["servers"][0]).0;
    let site = site.or_else(|| operations.iter().find_map(|operation| servers(operation).0));
    calls.host = site.clone();
    if site.is_none() {
        let note = "say the host with '-H http://…': the document names no server with an address";
        calls.notes.push(note.to_owned());
    }
    let creators = chain::creators(document, paths, &mut calls.names);
    let mut others: BTreeMap<String, usize> = BTreeMap::new();
    let mut changes = Vec::new();
    let mut functions = Vec::new();
    for operation in operations {
        let (origin, prefix) = servers(operation);
        let before = match origin {
            Some(origin) if Some(&origin) != site.as_ref() => {
                if !choices
                    .hosts
                    .iter()
                    .any(|host| is_host_named(&origin, host))
                {
                    let host = origin.split("://").last().unwrap_or_default().to_owned();
                    *others.entry(host).or_default() += 1;
                    continue;
                }
                format!("{origin}{prefix}")
            }
            _ => prefix,
        };
        let mut maker = CallMaker {
            document,
            creators: &creators,
            calls,
            files,
        };
        let mut call = maker.call(operation, &before);
        let creator = creators.iter().filter(|_| operation.method == "POST");
        let creator = creator
            .into_iter()
            .find(|creator| creator.path == operation.path);
        let step = match creator {
            Some(creator) => {
                let id = &creator.id;
                call.after
                    .push(format!("user.data.{id} = answer:json(){}", creator.steps));
                call.after.extend(maker.forget(creator));
                functions.push(OutlineFunction {
                    comment: format!(
                        "Makes a new {}, which those tasks use that come next.",
                        creator.noun
                    ),
                    name: creator.function.clone(),
                    call,
                    end: format!("return user.data.{id}"),
                });
                OutlineStep::Statement(format!("{}(user)", creator.function))
            }
            None => OutlineStep::Call(Box::new(call)),
        };
        let tag = tag(operation).map(comment);
        let mut tags: Vec<String> = tag.clone().into_iter().collect();
        if matches!(operation.method, "PUT" | "PATCH" | "DELETE") {
            changes.push(operation.name());
            tags.push(CHANGES.to_owned());
        }
        let task = OutlineTask {
            name: operation.name(),
            group: tag,
            tags,
            steps: vec![step],
        };
        calls.tasks.push(task);
    }
    // A function calls those above it.
    functions.sort_by_key(|function: &OutlineFunction| {
        creators
            .iter()
            .position(|creator| creator.function == function.name)
    });
    calls.functions = functions;
    if !changes.is_empty() {
        let shown: Vec<&str> = changes.iter().take(6).map(String::as_str).collect();
        let more = if changes.len() > 6 { ", …" } else { "" };
        calls.notes.push(format!(
            "{} of the tasks change or remove what is there ({}{more}): run the plan where they may, or with '--exclude-tags {CHANGES}'",
            changes.len(),
            shown.join(", ")
        ));
    }
    if !others.is_empty() {
        let shown: Vec<String> = others
            .iter()
            .take(8)
            .map(|(host, count)| format!("{host} ({count})"))
            .collect();
        let first = others.keys().next().cloned().unwrap_or_default();
        calls.notes.push(format!(
            "left out what other servers have: {}; '--hosts {first}' keeps those of one",
            shown.join(", ")
        ));
    }
}

/// Returns origin and path of a server; without an origin it is where the document comes from.
fn server(server: &Value) -> (Option<String>, String) {
    let text = address(server).unwrap_or_default();
    let path = |path: &str| path.trim_end_matches('/').to_owned();
    match Url::parse(&text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => {
            (Some(url.origin().ascii_serialization()), path(url.path()))
        }
        _ if text.starts_with('/') && !text.starts_with("//") => (None, path(&text)),
        _ => (None, String::new()),
    }
}

/// Returns the address of a server with the values of its variables, which are not looked through for more of them;
/// `None` if it is too long.
fn address(server: &Value) -> Option<String> {
    let mut rest = server["url"].as_str().filter(|url| url.len() <= LONGEST)?;
    let mut text = String::new();
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let substituted = after.find(['{', '}']).and_then(|end| {
            let (name, after) = (&after[..end], after[end..].strip_prefix('}')?);
            let variable = server["variables"].get(name)?;
            let value = variable["default"].as_str();
            let value = value.or(variable["enum"][0].as_str());
            Some((value.unwrap_or_default(), after))
        });
        let value;
        (value, rest) = substituted.unwrap_or(("{", after));
        text.push_str(value);
        if text.len() > LONGEST {
            return None;
        }
    }
    text.push_str(rest);
    (text.len() <= LONGEST).then_some(text)
}
