//! The OpenAPI document, made from the table of routes and from the types of their bodies and responses. It is checked in:
//! `BLESS=1 cargo test --lib -p lgoose-web` writes it anew.

use super::commands::{CommandEffect, Rate, Users};
use super::reports;
use super::responses::ErrorResponse;
use super::routes::{RouteAction, table};
use super::serve::{self, PlanList, RunList};
use super::status::Status;
use crate::queue::{RunRequest, RunRow};
use lgoose_metrics::Report;
use lgoose_metrics::compare::Comparison;
use lgoose_plan::config::Format;
use lgoose_report::fixture;
use lgoose_report::json::{JsonSnapshot, JsonTag};
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

/// Statuses with which any request may be refused.
const REFUSALS: [(&str, &str); 2] = [
    ("401", "no token, or a wrong one"),
    (
        "403",
        "another 'Host' or 'Origin', or the run may only be watched",
    ),
];

/// Statuses with which a command may be refused.
const COMMAND_REFUSALS: [(&str, &str); 5] = [
    ("400", "the body is not what is expected"),
    ("408", "the body took too long"),
    ("409", "the command makes no sense now"),
    ("413", "the body is too long"),
    ("415", "the body is not JSON"),
];

/// Statuses with which a report may be refused.
const REPORT_REFUSALS: [(&str, &str); 1] = [("503", "the run has come to no report")];

/// Statuses with which the requests of a tag may be refused.
const TAG_REFUSALS: [(&str, &str); 2] = [
    ("404", "no request has that tag"),
    ("503", "the run has come to no report"),
];

/// Statuses with which something about a run of `lgoose serve` may be refused.
const SERVE_REFUSALS: [(&str, &str); 4] = [
    ("404", "there is no such plan, run or file"),
    ("409", "it makes no sense now"),
    (
        "422",
        "the plan, an option's value or the report has a mistake",
    ),
    ("507", "the folder of runs does not take it"),
];

/// Renders the document.
fn document() -> String {
    let settings = SchemaSettings::draft2020_12()
        .for_serialize()
        .with(|settings| {
            settings.definitions_path = "/components/schemas".into();
            settings.meta_schema = None;
        });
    let mut types = settings.into_generator();
    let mut paths = Map::new();
    for route in table() {
        let (method, mut operation) = operation(route.response, route.summary, &mut types);
        if route.path.contains("{tag}") {
            operation["parameters"] = in_path("tag");
        }
        paths.insert(route.path.to_owned(), json!({ method: operation }));
    }
    for route in serve::table() {
        let (method, mut operation) = operation_of_serve(route.response, route.summary, &mut types);
        operation["tags"] = json!(["serve"]);
        if route.path.contains("{id}") {
            operation["parameters"] = in_path("id");
        }
        if matches!(route.response, serve::ServeAction::Compare(_)) {
            let schema = json!({ "type": "string" });
            let after =
                json!({ "name": "after", "in": "query", "required": true, "schema": schema });
            let parameters = operation["parameters"].as_array_mut();
            parameters.expect("it has one").push(after);
        }
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[method] = operation;
    }
    let document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "lgoose",
            "summary": "A run over HTTP",
            "description": "What '--web' serves, and 'lgoose serve' beside (tag 'serve'). docs/web.md describes the events.",
            "version": "1",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "tags": [{ "name": "serve", "description": "Only of 'lgoose serve'" }],
        "security": [{ "token": [] }, { "cookie": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer" },
                "cookie": { "type": "apiKey", "in": "cookie", "name": "lgoose_7400" },
            },
            "schemas": types.take_definitions(true),
        },
    });
    format!("{document:#}\n")
}

/// Returns the method and the description of a request.
fn operation(
    response: RouteAction,
    summary: &str,
    types: &mut SchemaGenerator,
) -> (&'static str, Value) {
    let text = |kind: &str| content(kind, json!({ "type": "string" }));
    let (status, found, body) = match response {
        RouteAction::Status => ("200", content_of(types.subschema_for::<Status<'_>>()), None),
        RouteAction::Snapshot => (
            "200",
            content_of(types.subschema_for::<JsonSnapshot<'_>>()),
            None,
        ),
        RouteAction::Tag => (
            "200",
            content_of(types.subschema_for::<JsonTag<'_>>()),
            None,
        ),
        RouteAction::Report(Format::Json) => {
            ("200", content_of(types.subschema_for::<Report>()), None)
        }
        RouteAction::Report(format) => ("200", text(reports::file(format).1), None),
        RouteAction::Events => ("200", text("text/event-stream"), None),
        RouteAction::Metrics => ("200", text("application/openmetrics-text"), None),
        RouteAction::OpenApi => (
            "200",
            content("application/json", json!({ "type": "object" })),
            None,
        ),
        RouteAction::Users => (
            "202",
            content_of_effect(types),
            Some(types.subschema_for::<Users>()),
        ),
        RouteAction::Rate => (
            "202",
            content_of_effect(types),
            Some(types.subschema_for::<Rate>()),
        ),
        RouteAction::Plain(_) => ("202", content_of_effect(types), None),
    };
    let mut responses = Map::new();
    responses.insert(
        status.to_owned(),
        json!({ "description": summary, "content": found }),
    );
    let command: &[_] = match status {
        "202" => &COMMAND_REFUSALS,
        _ if response == RouteAction::Tag => &TAG_REFUSALS,
        _ if matches!(response, RouteAction::Report(_) | RouteAction::Metrics) => &REPORT_REFUSALS,
        _ => &[],
    };
    for (status, why) in REFUSALS.iter().chain(command) {
        let failure = content_of(types.subschema_for::<ErrorResponse>());
        let refused = json!({ "description": why, "content": failure });
        responses.insert((*status).to_owned(), refused);
    }
    let mut operation = json!({ "summary": summary, "responses": responses });
    if let Some(schema) = body {
        operation["requestBody"] = json!({ "required": true, "content": content_of(schema) });
    }
    (if status == "202" { "post" } else { "get" }, operation)
}

/// The same for a route of `lgoose serve`.
fn operation_of_serve(
    response: serve::ServeAction,
    summary: &str,
    types: &mut SchemaGenerator,
) -> (&'static str, Value) {
    use serve::ServeAction;
    let text = |kind: &str| content(kind, json!({ "type": "string" }));
    let (method, status, found) = match response {
        ServeAction::Plans => ("get", "200", content_of(types.subschema_for::<PlanList>())),
        ServeAction::List => ("get", "200", content_of(types.subschema_for::<RunList>())),
        ServeAction::Run => ("get", "200", content_of(types.subschema_for::<RunRow>())),
        ServeAction::Start => ("post", "201", content_of(types.subschema_for::<RunRow>())),
        ServeAction::Remove => ("delete", "204", Value::Null),
        ServeAction::Plan => ("get", "200", text("text/plain; charset=utf-8")),
        ServeAction::Report(Format::Json) => {
            ("get", "200", content_of(types.subschema_for::<Report>()))
        }
        ServeAction::Report(format) => ("get", "200", text(reports::file(format).1)),
        ServeAction::Compare(Format::Json) => (
            "get",
            "200",
            content_of(types.subschema_for::<Comparison>()),
        ),
        ServeAction::Compare(format) => ("get", "200", text(reports::file(format).1)),
    };
    let mut responses = Map::new();
    responses.insert(status.to_owned(), json!({ "description": summary }));
    if !found.is_null() {
        responses[status]["content"] = found;
    }
    let refusals: &[_] = match response {
        ServeAction::Plans | ServeAction::List => &[],
        ServeAction::Run => &SERVE_REFUSALS[..1],
        ServeAction::Plan => &SERVE_REFUSALS[..2],
        ServeAction::Report(_) | ServeAction::Compare(_) => &SERVE_REFUSALS[..3],
        ServeAction::Remove | ServeAction::Start => &SERVE_REFUSALS,
    };
    let bodies: &[_] = match response {
        ServeAction::Start => &COMMAND_REFUSALS,
        _ => &[],
    };
    for (status, why) in REFUSALS.iter().chain(bodies).chain(refusals) {
        let failure = content_of(types.subschema_for::<ErrorResponse>());
        let refused = json!({ "description": why, "content": failure });
        responses.insert((*status).to_owned(), refused);
    }
    let mut operation = json!({ "summary": summary, "responses": responses });
    if response == ServeAction::Start {
        let schema = types.subschema_for::<RunRequest>();
        operation["requestBody"] = json!({ "required": true, "content": content_of(schema) });
    }
    (method, operation)
}

/// Returns the parameters of a path that has one.
fn in_path(name: &str) -> Value {
    let schema = json!({ "type": "string" });
    json!([{ "name": name, "in": "path", "required": true, "schema": schema }])
}

fn content_of_effect(types: &mut SchemaGenerator) -> Value {
    content_of(types.subschema_for::<CommandEffect<'_>>())
}

fn content_of(schema: schemars::Schema) -> Value {
    content("application/json", schema.into())
}

fn content(kind: &str, schema: Value) -> Value {
    json!({ kind: { "schema": schema } })
}

#[test]
fn the_document_that_is_checked_in_is_that_of_the_types() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("openapi.json");
    fixture::compare(&path, &document());
}
