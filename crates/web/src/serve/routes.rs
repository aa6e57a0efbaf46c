//! Routes of `lgoose serve` beside the interface of a run, in one table: the router is made from it, and so is its part of
//! the OpenAPI document.

use super::super::access::Access;
use super::super::responses::PathParameter;
use super::super::routes::{self as of_run, guarded, openapi, with_page};
use super::super::turns::Permits;
use super::{MADE, ServeSite, forward, page, runs};
use crate::queue::Runs;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::Uri;
use axum::routing::{MethodRouter, get, post};
use lgoose_plan::config::Format;
use std::sync::Arc;

/// A route.
pub(crate) struct ServeRoute {
    pub(crate) path: String,
    pub(crate) response: ServeAction,
    /// Summary for the document.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "the document is made by a test")
    )]
    pub(crate) summary: &'static str,
}

/// Handling of a request.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum ServeAction {
    Plans,
    List,
    Start,
    Run,
    Remove,
    Report(Format),
    /// The comparison of two runs.
    Compare(Format),
    Plan,
}

/// Returns the table.
pub(crate) fn table() -> Vec<ServeRoute> {
    let route = |path: &str, response, summary| ServeRoute {
        path: path.to_owned(),
        response,
        summary,
    };
    use ServeAction::{Compare, List, Plan, Plans, Remove, Report, Run, Start};
    let reports = of_run::REPORTS.map(|(ending, format, summary)| {
        let path = format!("/api/v1/runs/{{id}}/report.{ending}");
        route(&path, Report(format), summary)
    });
    let mut routes = vec![
        route("/api/v1/plans", Plans, "The plans that may be run"),
        route(
            "/api/v1/runs",
            List,
            "All runs: running, queued and finished",
        ),
        route(
            "/api/v1/runs",
            Start,
            "Starts a run, or puts it at the end of the queue",
        ),
        route("/api/v1/runs/{id}", Run, "A run"),
        route(
            "/api/v1/runs/{id}",
            Remove,
            "Takes a run out of the queue, or removes the files of a finished one",
        ),
        route(
            "/api/v1/runs/{id}/report.json",
            Report(Format::Json),
            "The report of a run; while it runs, the report so far",
        ),
    ];
    routes.extend(reports);
    routes.extend([
        route(
            "/api/v1/runs/{id}/comparison.json",
            Compare(Format::Json),
            "The comparison of a run with one after a change",
        ),
        route(
            "/api/v1/runs/{id}/comparison.html",
            Compare(Format::Html),
            "The same comparison as a page",
        ),
        route(
            "/api/v1/runs/{id}/comparison.md",
            Compare(Format::Md),
            "The same comparison as Markdown",
        ),
        route(
            "/api/v1/runs/{id}/plan",
            Plan,
            "The text of the plan, as it was when the run began",
        ),
    ]);
    routes
}

/// Returns the router of a server.
pub(crate) fn router(runs: Arc<Runs>, access: Arc<Access>) -> Router {
    let site = ServeSite {
        runs,
        access: access.clone(),
        turns: Permits::new(MADE),
    };
    let mut router = Router::new();
    for route in of_run::table() {
        router = router.route(&route.path, handed_on(route.response));
    }
    for route in table() {
        router = router.route(&route.path, handler(route.response));
    }
    for file in &page::FILES {
        router = router.route(file.path, get(|| async { file.respond() }));
    }
    guarded(with_page(router, "/run"), access).with_state(Arc::new(site))
}

/// The runs, as a handler takes them.
pub(super) type ServedRuns = State<Arc<ServeSite>>;

/// Returns the handler that passes a request to the run that goes on.
fn handed_on(response: of_run::RouteAction) -> MethodRouter<Arc<ServeSite>> {
    use of_run::RouteAction;
    match response {
        RouteAction::OpenApi => get(openapi),
        RouteAction::Status => get(forward::status),
        RouteAction::Metrics => get(forward::metrics),
        RouteAction::Snapshot | RouteAction::Tag | RouteAction::Events => get(forward::forward),
        RouteAction::Report(format) => get(move |State(site): ServedRuns, request: Request| {
            forward::report(site, request, format)
        }),
        RouteAction::Users | RouteAction::Rate | RouteAction::Plain(_) => post(forward::forward),
    }
}

fn handler(response: ServeAction) -> MethodRouter<Arc<ServeSite>> {
    match response {
        ServeAction::Plans => get(runs::plans),
        ServeAction::List => get(runs::list),
        ServeAction::Start => post(runs::start),
        ServeAction::Run => get(runs::run),
        ServeAction::Remove => axum::routing::delete(runs::remove),
        ServeAction::Plan => get(runs::plan),
        ServeAction::Compare(format) => get(
            move |State(site): ServedRuns, PathParameter(id): PathParameter, uri: Uri| async move {
                runs::compare(site, id, format, uri).await
            },
        ),
        ServeAction::Report(format) => get(
            move |State(site): ServedRuns, PathParameter(id): PathParameter, request: Request| async move {
                runs::report(site, id, format, request).await
            },
        ),
    }
}
