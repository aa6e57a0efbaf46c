//! All routes in one table: the router is made from it, and so is the OpenAPI document.

use super::access::Access;
use super::responses::ErrorResponse;
use super::site::WebState;
use super::{access, commands, events, metrics, page, reports, status, tag};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, StatusCode, Uri};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodRouter, get, post};
use lgoose_metrics::control::Command;
use lgoose_plan::config::Format;
use std::sync::Arc;

/// The OpenAPI document, which is made from the table below.
const OPENAPI: &str = include_str!("../openapi.json");

/// Formats of a report beside JSON: the ending of each, and its summary for the document.
pub(super) const REPORTS: [(&str, Format, &str); 5] = [
    ("yaml", Format::Yaml, "The report as YAML"),
    ("csv", Format::Csv, "The rows of the report as CSV"),
    ("html", Format::Html, "The report as a page"),
    ("md", Format::Md, "The report as Markdown"),
    ("hdr", Format::Hdr, "The latencies as a log of HdrHistogram"),
];

/// A route.
pub(super) struct WebRoute {
    pub(super) path: String,
    pub(super) response: RouteAction,
    /// Summary for the document.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "the document is made by a test")
    )]
    pub(super) summary: &'static str,
}

/// Handling of a request.
#[derive(Clone, PartialEq)]
pub(super) enum RouteAction {
    Status,
    Snapshot,
    Report(Format),
    Tag,
    Events,
    Users,
    Rate,
    Plain(Command),
    Metrics,
    OpenApi,
}

/// Returns the table.
pub(super) fn table() -> Vec<WebRoute> {
    let route = |path: &str, response, summary| WebRoute {
        path: path.to_owned(),
        response,
        summary,
    };
    use RouteAction::{
        Events, Metrics, OpenApi, Plain, Rate, Report, Snapshot, Status, Tag, Users,
    };
    let reports = REPORTS.map(|(ending, format, summary)| {
        route(&format!("/api/v1/report.{ending}"), Report(format), summary)
    });
    let mut routes = vec![
        route(
            "/api/v1/status",
            Status,
            "Phase, plan, host, users and current figures",
        ),
        route(
            "/api/v1/snapshot",
            Snapshot,
            "Everything that the live view shows now",
        ),
        route(
            "/api/v1/report.json",
            Report(Format::Json),
            "The report so far, or the final one once the run is over",
        ),
    ];
    routes.extend(reports);
    routes.extend([
        route(
            "/api/v1/tags/{tag}",
            Tag,
            "The requests so far with that tag, as 'region=eu' or 'scenario=buyers'",
        ),
        route(
            "/api/v1/events",
            Events,
            "Figures every second, log and thresholds, as server-sent events",
        ),
        route("/api/v1/users", Users, "Sets the number of users"),
        route(
            "/api/v1/rate",
            Rate,
            "Sets the iterations started per second, in a run at a rate",
        ),
        route(
            "/api/v1/pause",
            Plain(Command::Pause),
            "Starts no new task until the run is resumed",
        ),
        route(
            "/api/v1/resume",
            Plain(Command::Resume),
            "Resumes after a pause",
        ),
        route(
            "/api/v1/reset",
            Plain(Command::ResetStatistics),
            "Resets the statistics",
        ),
        route("/api/v1/reload", Plain(Command::Reload), "Reloads the plan"),
        route(
            "/api/v1/stop",
            Plain(Command::Stop),
            "Lets running tasks finish and ends the run",
        ),
        route(
            "/api/v1/abort",
            Plain(Command::Abort),
            "Ends the run at once",
        ),
        route("/api/v1/openapi.json", OpenApi, "This document"),
        route("/metrics", Metrics, "Metrics for Prometheus"),
    ]);
    routes
}

/// Returns the router of a server.
pub(super) fn router(site: Arc<WebState>) -> Router {
    let mut router = Router::new();
    for route in table() {
        router = router.route(&route.path, handler(route.response));
    }
    let access = site.access.clone();
    guarded(with_page(router, "/"), access).with_state(site)
}

/// Adds the files of the page of a run, which is found at `place`.
pub(super) fn with_page<S>(mut router: Router<S>, place: &'static str) -> Router<S>
where
    S: Clone + Send + Sync + 'static,
{
    for file in &page::FILES {
        let path = match file.path {
            "/" => place,
            path => path,
        };
        router = router.route(path, get(|| async { file.respond() }));
    }
    router
}

/// Adds the responses to unknown paths and methods, and the access control before all.
pub(super) fn guarded<S>(router: Router<S>, access: Arc<Access>) -> Router<S>
where
    S: Clone + Send + Sync + 'static,
{
    router
        .method_not_allowed_fallback(not_allowed)
        .fallback(not_found)
        .layer(from_fn_with_state(access, access::guard))
}

fn handler(response: RouteAction) -> MethodRouter<Arc<WebState>> {
    type WebSite = State<Arc<WebState>>;
    match response {
        RouteAction::Status => get(status::status),
        RouteAction::Snapshot => get(status::snapshot),
        RouteAction::Report(format) => {
            get(move |State(site): WebSite| reports::report(site, format))
        }
        RouteAction::Tag => get(tag::tag),
        RouteAction::Events => get(events::events),
        RouteAction::Metrics => get(metrics::metrics),
        RouteAction::OpenApi => get(openapi),
        RouteAction::Users => {
            post(|State(site): WebSite, request: Request| commands::users(site, request))
        }
        RouteAction::Rate => {
            post(|State(site): WebSite, request: Request| commands::rate(site, request))
        }
        RouteAction::Plain(command) => post(move |State(site): WebSite, request: Request| {
            commands::plain(site, request, command)
        }),
    }
}

/// `GET /api/v1/openapi.json`.
pub(super) async fn openapi() -> Response {
    ([(CONTENT_TYPE, "application/json")], OPENAPI).into_response()
}

async fn not_found(uri: Uri) -> ErrorResponse {
    let message = format!("there is no '{}' here", uri.path());
    ErrorResponse::new(StatusCode::NOT_FOUND, message)
        .help("'/api/v1/openapi.json' lists all there are")
}

async fn not_allowed(method: Method, uri: Uri) -> ErrorResponse {
    let message = format!("'{}' does not take {method}", uri.path());
    ErrorResponse::new(StatusCode::METHOD_NOT_ALLOWED, message)
        .help("use GET to read, and POST or DELETE to change")
}
