//! OpenAPI documents, 3.0 to 3.2, and those of Swagger 2.0, as JSON and YAML, with the files beside them: a task per
//! operation.
//!
//! <https://spec.openapis.org/oas/v3.1.1.html>

mod beside;
mod body;
mod call;
mod chain;
mod choice;
mod document;
mod encoding;
mod form;
mod links;
mod notes;
mod operation;
mod parameters;
mod path;
mod pattern;
mod references;
mod responses;
mod sample;
mod security;
mod servers;
mod shared;
mod styles;
mod swagger;

use super::calls::{self, OutlineFunction, OutlineScenario, OutlineStep, OutlineTask, PlanOutline};
use super::imported::Imported;
use super::lua_text::{comment, quoted};
use super::names;
use super::request::PlanAttachments;
use super::site::{ImportOptions, counted_hosts, is_host_named};
use super::visit::MAX_REQUESTS;
use document::OpenApiDocument;
use lgoose_base::error::Diagnostic;
use operation::{CallContext, Operation};
use serde_json::{Map, Value};
use servers::{server, server_of};
use shared::SharedParameters;
use std::collections::{BTreeMap, HashMap};

/// The tag of operations that change or remove resources.
const CHANGES: &str = "changes";

/// Returns whether a file is of OpenAPI, in any version.
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

/// Writes the plan of a document.
///
/// # Errors
/// Another version, or a document without operations.
pub(super) fn import(
    name: &str,
    file: Map<String, Value>,
    choices: &ImportOptions,
) -> Result<Imported, Diagnostic> {
    let version = |key: &str| {
        file.get(key).map(|version| match version {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        })
    };
    let is_swagger = match (version("openapi"), version("swagger")) {
        (Some(version), _) if version.starts_with("3.") || version == "3" => false,
        (None, Some(version)) if version.starts_with("2.") || version == "2" => true,
        (version, swagger) => {
            let version = version.or(swagger).unwrap_or_default();
            let message = format!(
                "{name} is of OpenAPI {}, which is not known",
                comment(&version)
            );
            return Err(Diagnostic::new(message)
                .help("documents of Swagger 2.0 and of OpenAPI 3.0, 3.1 and 3.2 are imported"));
        }
    };
    let mut document = OpenApiDocument::new(Value::Object(file), choices.path.as_deref());
    if is_swagger {
        let converted = swagger::converted(&document);
        document.replace_root(converted);
    }
    let nothing = Map::new();
    let paths = document.resolve(&document.root()["paths"]);
    let paths = paths.as_object().unwrap_or(&nothing);
    let mut operations = operation::operations(&document, paths);
    if operations.is_empty() {
        let message = format!("{name} has no operation: nothing under 'paths' can be asked for");
        let help = document.notes().lines().into_iter().next();
        let help = help.unwrap_or("give the whole document".to_owned());
        return Err(Diagnostic::new(message).help(help));
    }
    let title = document.root()["info"]["title"]
        .as_str()
        .unwrap_or_default();
    let title = names::title(title, "API");
    let mut calls = PlanOutline {
        title: format!("The API '{title}'"),
        scenarios: vec![OutlineScenario {
            name: title.clone(),
            ..OutlineScenario::default()
        }],
        ..PlanOutline::default()
    };
    if operations.len() > MAX_REQUESTS {
        let more = operations.len() - MAX_REQUESTS;
        calls.note(format!(
            "left out the last {more} operations, from {} on: a plan has {MAX_REQUESTS} at most",
            operations[MAX_REQUESTS].name()
        ));
        operations.truncate(MAX_REQUESTS);
    }
    let mut files = PlanAttachments::new(choices.files);
    leave_out(&document, &operations, &mut calls);
    fill(
        &document,
        paths,
        &operations,
        choices,
        &mut calls,
        &mut files,
    );
    let notes = document.notes().lines();
    calls.notes.splice(0..0, notes);
    Ok(calls::write(calls, files))
}

/// Notes the parts of a document that are no requests of a client, and the credentials that no operation uses.
fn leave_out(document: &OpenApiDocument, operations: &[Operation<'_>], calls: &mut PlanOutline) {
    let count = |value: &Value| value.as_object().map_or(0, Map::len);
    let webhooks = count(&document.root()["webhooks"]);
    let callbacks = operations.iter();
    let callbacks: usize = callbacks
        .map(|operation| count(&operation.definition["callbacks"]))
        .sum();
    for (count, what) in [(webhooks, "webhook"), (callbacks, "callback")] {
        if count > 0 {
            let s = if count == 1 { "" } else { "s" };
            calls.note(format!(
                "left out {count} {what}{s}: those are requests that the API sends"
            ));
        }
    }
    let definitions = operations.iter().map(|operation| operation.definition);
    let unused = security::unused(document, definitions);
    if unused.is_empty() {
        return;
    }
    let all: Vec<&str> = unused.iter().map(|scheme| scheme.what.as_str()).collect();
    calls.note(format!(
        "no request has credentials: the document defines {}, and no operation asks for one; if the site does, set it in 'plan' as the comment there shows, or in the options of requests",
        all.join(", ")
    ));
    if let Some(field) = unused.into_iter().find_map(|scheme| scheme.field) {
        let remark = "No operation asks for the credentials that the document defines. If the site does, add to the plan above:";
        calls
            .remarks
            .extend([remark.to_owned(), format!("  {field}")]);
    }
}

fn fill<'a>(
    document: &'a OpenApiDocument,
    paths: &'a Map<String, Value>,
    operations: &[Operation<'a>],
    choices: &ImportOptions,
    calls: &mut PlanOutline,
    files: &mut PlanAttachments,
) {
    let site = server(&document.root()["servers"][0]).0;
    let site = site.or_else(|| {
        operations
            .iter()
            .find_map(|operation| server_of(document, operation).0)
    });
    calls.host = site.as_deref().map(quoted);
    if site.is_none() {
        calls.note("say the host with '-H http://…': the document names no server with an address");
    }
    let creators = chain::creators(document, paths, &mut calls.names);
    let shared = SharedParameters::find(document, operations, &creators);
    shared.write(calls);
    let numbers: HashMap<&str, usize> = creators
        .iter()
        .enumerate()
        .map(|(number, creator)| (creator.path.as_str(), number))
        .collect();
    let mut others: BTreeMap<String, usize> = BTreeMap::new();
    let mut changes = Vec::new();
    let mut functions = Vec::new();
    for operation in operations {
        let (origin, prefix) = server_of(document, operation);
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
        document.notes().begin(operation.name());
        let number = numbers.get(operation.path).copied();
        let number = number.filter(|_| operation.method == "POST");
        let mut context = CallContext {
            document,
            // A function calls those above it.
            creators: &creators[..number.unwrap_or(creators.len())],
            shared: &shared,
            calls,
            files,
        };
        let mut call = call::call(&mut context, operation, &before);
        let step = match number.map(|number| &creators[number]) {
            Some(creator) => {
                let id = &creator.id;
                call.after
                    .push(format!("user.data.{id} = answer:json(){}", creator.steps));
                call.after.extend(creator.forget(&creators));
                let function = OutlineFunction {
                    comment: format!(
                        "Makes a new {}, which those tasks use that come next.",
                        creator.noun
                    ),
                    name: creator.function.clone(),
                    call,
                    end: format!("return user.data.{id}"),
                };
                functions.push((number, function));
                OutlineStep::Statement(format!("{}(user)", creator.function))
            }
            None => OutlineStep::Call(Box::new(call)),
        };
        let tag = operation.tag().map(comment);
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
        calls.tasks().push(task);
    }
    document.notes().begin(String::new());
    functions.sort_by_key(|(number, _)| *number);
    calls.functions = functions
        .into_iter()
        .map(|(_, function)| function)
        .collect();
    if !changes.is_empty() {
        let shown: Vec<&str> = changes.iter().take(6).map(String::as_str).collect();
        let more = if changes.len() > 6 { ", …" } else { "" };
        calls.note(format!(
            "{} of the tasks change or remove what is there ({}{more}): run the plan where they may, or with '--exclude-tags {CHANGES}'",
            changes.len(),
            shown.join(", ")
        ));
    }
    if !others.is_empty() {
        let shown = counted_hosts(&others);
        let first = others.keys().next().cloned().unwrap_or_default();
        calls.note(format!(
            "left out what other servers have: {shown}; '--hosts {first}' keeps those of one"
        ));
    }
}
