//! The list of plans and runs: plans that can be run, the queue, and finished runs.

use super::super::responses::{ErrorResponse, PathParameter, WebResult, json};
use super::super::{commands, reports};
use super::routes::ServedRuns;
use super::{ServeSite, forward};
use crate::queue::{RunRefusal, RunRequest, RunRow, Runs};
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_TYPE, HeaderValue, LOCATION};
use axum::http::{StatusCode, Uri};
use axum::response::IntoResponse as _;
use lgoose_metrics::Report;
use lgoose_metrics::compare::{self, NamedReport};
use lgoose_plan::config::Format;
use serde::Serialize;
use std::sync::Arc;
use url::form_urlencoded;

/// An example of a body that starts a run.
const EXAMPLE: &str = r#"{"plan": "drupal.lua", "options": {"users": 20, "run_time": "10m"}}"#;

/// The plans that can be run.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PlanList {
    /// Paths of the plans below the folder of plans, sorted.
    plans: Vec<String>,
}

/// All runs.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RunList {
    /// The current run, then the queued ones in order, then the finished ones, the latest first.
    runs: Vec<RunRow>,
    /// Why runs are missing from the list; `null` if none are.
    error: Option<String>,
    /// Whether starting runs is disabled.
    read_only: bool,
}

/// `GET /api/v1/plans`.
pub(super) async fn plans(State(site): ServedRuns) -> WebResult {
    let runs = site.runs.clone();
    let plans = site.make(move || Ok(runs.plans.list())).await?;
    Ok(json(StatusCode::OK, &PlanList { plans }))
}

/// `GET /api/v1/runs`.
pub(super) async fn list(State(site): ServedRuns) -> WebResult {
    let runs = site.runs.clone();
    let (runs, error) = site.make(move || Ok(runs.rows())).await?;
    let list = RunList {
        runs,
        error,
        read_only: site.access.read_only,
    };
    Ok(json(StatusCode::OK, &list))
}

/// `POST /api/v1/runs`.
pub(super) async fn start(State(site): ServedRuns, request: Request) -> WebResult {
    let submission: RunRequest = commands::read(request, EXAMPLE).await?;
    let row = site.runs.add(submission).await?;
    let mut response = json(StatusCode::CREATED, &row);
    if let Ok(place) = HeaderValue::from_str(&format!("/api/v1/runs/{}", row.id)) {
        response.headers_mut().insert(LOCATION, place);
    }
    Ok(response)
}

/// `GET /api/v1/runs/{id}`.
pub(super) async fn run(State(site): ServedRuns, PathParameter(id): PathParameter) -> WebResult {
    let runs = site.runs.clone();
    let row = site.make(move || Ok(runs.row(&id)?)).await?;
    Ok(json(StatusCode::OK, &row))
}

/// `DELETE /api/v1/runs/{id}`.
pub(super) async fn remove(State(site): ServedRuns, PathParameter(id): PathParameter) -> WebResult {
    let runs = site.runs.clone();
    site.make(move || Ok(runs.remove(&id)?)).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// `GET /api/v1/runs/{id}/plan`.
pub(super) async fn plan(State(site): ServedRuns, PathParameter(id): PathParameter) -> WebResult {
    let runs = site.runs.clone();
    let text = site.make(move || Ok(runs.plan(&id)?)).await?;
    Ok(([(CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response())
}

/// `GET /api/v1/runs/{id}/report.…`.
pub(super) async fn report(
    site: Arc<ServeSite>,
    id: String,
    format: Format,
    mut request: Request,
) -> WebResult {
    if site.runs.current().is_some_and(|run| run.id == id) {
        // Its own interface knows it as the only one.
        let path = format!("/api/v1/report.{}", reports::file(format).0);
        *request.uri_mut() = Uri::try_from(path).unwrap_or_default();
        return forward::forward(State(site), request).await;
    }
    send_report(&site, id, format).await
}

/// Responds with the report of a finished run.
pub(super) async fn send_report(site: &ServeSite, id: String, format: Format) -> WebResult {
    let runs = site.runs.clone();
    let bytes = site.make(move || {
        let (text, report) = read(&runs, &id)?;
        if format == Format::Json {
            return Ok(text.into_bytes());
        }
        let rendered = lgoose_report::render(&reports::judged(Arc::new(report)), format);
        rendered.map_err(|error| broken(error.text()))
    });
    Ok(reports::respond("report", format, bytes.await?))
}

/// `GET /api/v1/runs/{id}/comparison.…?after=ID`: the run before a change with the one after it.
pub(super) async fn compare(
    site: Arc<ServeSite>,
    id: String,
    format: Format,
    uri: Uri,
) -> WebResult {
    let query = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    let mut after = query.filter(|(name, _)| name == "after").map(|(_, id)| id);
    let Some(after) = after.next().map(|id| id.into_owned()) else {
        let missing = "which run comes after the change?".to_owned();
        return Err(ErrorResponse::new(StatusCode::BAD_REQUEST, missing)
            .help("name it: comparison.html?after=ID"));
    };
    let runs = site.runs.clone();
    let text = site.make(move || {
        if id == after {
            let message = "a run cannot be compared with itself".to_owned();
            return Err(RunRefusal::Mistake(message).into());
        }
        let named = |id: String| {
            let (_, report) = read(&runs, &id)?;
            Ok::<_, ErrorResponse>(NamedReport { file: id, report })
        };
        let comparison = compare::compare(&[named(id)?], &[named(after)?], Vec::new());
        let rendered = lgoose_report::render_comparison(&comparison, format);
        rendered.map_err(|error| broken(error.text()))
    });
    Ok(reports::respond(
        "comparison",
        format,
        text.await?.into_bytes(),
    ))
}

/// Reads the report of a finished run.
fn read(runs: &Runs, id: &str) -> Result<(String, Report), ErrorResponse> {
    let text = String::from_utf8(runs.report(id)?)
        .map_err(|_| broken("'report.json' is not a report of lgoose: no UTF-8".to_owned()))?;
    let report = lgoose_report::json::from_json(&text, "report.json");
    let report = report.map_err(|error| broken(error.text()))?;
    Ok((text, report))
}

/// Returns that a report has a mistake.
fn broken(message: String) -> ErrorResponse {
    RunRefusal::Mistake(message).into()
}

impl ServeSite {
    /// Makes something that may take long, on a blocking thread, few at a time.
    async fn make<T: Send + 'static>(
        &self,
        make: impl FnOnce() -> Result<T, ErrorResponse> + Send + 'static,
    ) -> Result<T, ErrorResponse> {
        self.turns.take().await?.make(make).await
    }
}

impl From<RunRefusal> for ErrorResponse {
    fn from(refusal: RunRefusal) -> ErrorResponse {
        match refusal {
            RunRefusal::Absent(message) => ErrorResponse::new(StatusCode::NOT_FOUND, message)
                .help("'/api/v1/plans' and '/api/v1/runs' list all there are"),
            RunRefusal::Wrong(message) => {
                ErrorResponse::new(StatusCode::BAD_REQUEST, message).help(EXAMPLE)
            }
            RunRefusal::Mistake(message) => {
                ErrorResponse::new(StatusCode::UNPROCESSABLE_ENTITY, message)
            }
            RunRefusal::Conflict(message) => ErrorResponse::new(StatusCode::CONFLICT, message),
            RunRefusal::Trouble(message) => {
                ErrorResponse::new(StatusCode::INSUFFICIENT_STORAGE, message)
                    .help("make room in the folder of '--data', or let lgoose write there")
            }
        }
    }
}
