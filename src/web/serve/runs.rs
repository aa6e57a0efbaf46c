//! The list of plans and runs: plans that can be run, the queue, and finished runs.

use super::super::answers::{Failure, Named, json};
use super::super::{commands, reports};
use super::{ServeSite, forward};
use crate::config::Format;
use crate::output;
use crate::serve::{Refusal, RunRow, Wanted};
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_TYPE, HeaderValue, LOCATION};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;
use std::sync::Arc;

/// An example of a body that starts a run.
const EXAMPLE: &str = r#"{"plan": "drupal.lua", "options": {"users": 20, "run_time": "10m"}}"#;

/// The plans that can be run.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::web) struct PlanList {
    /// Paths of the plans below the folder of plans, sorted.
    plans: Vec<String>,
}

/// All runs.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::web) struct RunList {
    /// The current run, then the queued ones in order, then the finished ones, the latest first.
    runs: Vec<RunRow>,
    /// Why runs are missing from the list; `null` if none are.
    error: Option<String>,
    /// Whether starting runs is disabled.
    read_only: bool,
}

/// `GET /api/v1/plans`.
pub(super) async fn plans(State(site): State<Arc<ServeSite>>) -> Result<Response, Failure> {
    let runs = site.runs.clone();
    let plans = site.make(move || Ok(runs.plans.list())).await?;
    Ok(json(StatusCode::OK, &PlanList { plans }))
}

/// `GET /api/v1/runs`.
pub(super) async fn list(State(site): State<Arc<ServeSite>>) -> Result<Response, Failure> {
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
pub(super) async fn start(
    State(site): State<Arc<ServeSite>>,
    request: Request,
) -> Result<Response, Failure> {
    let wanted: Wanted = commands::read(request, EXAMPLE).await?;
    let row = site.runs.add(wanted).await?;
    let mut answer = json(StatusCode::CREATED, &row);
    if let Ok(place) = HeaderValue::from_str(&format!("/api/v1/runs/{}", row.id)) {
        answer.headers_mut().insert(LOCATION, place);
    }
    Ok(answer)
}

/// `GET /api/v1/runs/{id}`.
pub(super) async fn run(
    State(site): State<Arc<ServeSite>>,
    Named(id): Named,
) -> Result<Response, Failure> {
    let runs = site.runs.clone();
    let row = site.make(move || Ok(runs.row(&id)?)).await?;
    Ok(json(StatusCode::OK, &row))
}

/// `DELETE /api/v1/runs/{id}`.
pub(super) async fn remove(
    State(site): State<Arc<ServeSite>>,
    Named(id): Named,
) -> Result<Response, Failure> {
    let runs = site.runs.clone();
    site.make(move || Ok(runs.remove(&id)?)).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// `GET /api/v1/runs/{id}/plan`.
pub(super) async fn plan(
    State(site): State<Arc<ServeSite>>,
    Named(id): Named,
) -> Result<Response, Failure> {
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
) -> Result<Response, Failure> {
    if site.runs.current().is_some_and(|run| run.id == id) {
        // Its own interface knows it as the only one.
        let path = format!("/api/v1/{}", reports::file(format).0);
        *request.uri_mut() = Uri::try_from(path).unwrap_or_default();
        return forward::forward(State(site), request).await;
    }
    kept(&site, id, format).await
}

/// Responds with the report of a finished run.
pub(super) async fn kept(
    site: &ServeSite,
    id: String,
    format: Format,
) -> Result<Response, Failure> {
    let runs = site.runs.clone();
    let bytes = site.make(move || {
        let bytes = runs.report(&id)?;
        let broken = |told: String| Failure::from(Refusal::Mistake(told));
        let text = String::from_utf8(bytes)
            .map_err(|_| broken("'report.json' is not a report of lgoose: no UTF-8".to_owned()))?;
        let report = output::json::from_json(&text, "report.json");
        let report = report.map_err(|error| broken(error.text()))?;
        if format == Format::Json {
            return Ok(text.into_bytes());
        }
        let rendered = output::render(&reports::judged(Arc::new(report)), format);
        rendered.map_err(|error| broken(error.text()))
    });
    Ok(reports::answer(format, bytes.await?))
}

impl ServeSite {
    /// Makes something that may take long, on a blocking thread, few at a time.
    async fn make<T: Send + 'static>(
        &self,
        make: impl FnOnce() -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        self.turns.take().await?.make(make).await
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Failure {
        match refusal {
            Refusal::Absent(told) => Failure::new(StatusCode::NOT_FOUND, told)
                .help("'/api/v1/plans' and '/api/v1/runs' list all there are"),
            Refusal::Wrong(told) => Failure::new(StatusCode::BAD_REQUEST, told).help(EXAMPLE),
            Refusal::Mistake(told) => Failure::new(StatusCode::UNPROCESSABLE_ENTITY, told),
            Refusal::Conflict(told) => Failure::new(StatusCode::CONFLICT, told),
            Refusal::Trouble(told) => Failure::new(StatusCode::INSUFFICIENT_STORAGE, told)
                .help("make room in the folder of '--data', or let lgoose write there"),
        }
    }
}
