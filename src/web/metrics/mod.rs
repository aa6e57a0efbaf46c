//! Metrics for Prometheus, made from the report of now when somebody asks: as OpenMetrics text, or, for whoever wants native
//! histograms, in Prometheus' own protobuf. What is told is in `families`, how it is written in `encoding`.

mod distribution;
mod encoding;
mod families;
mod family;
mod machines;
mod plan;

use super::answers::Failure;
use super::site::Site;
use axum::extract::State;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use encoding::Encoding;
use std::sync::Arc;

/// `GET /metrics`.
pub(super) async fn metrics(
    State(site): State<Arc<Site>>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let trouble = |error: String| Failure::new(StatusCode::INTERNAL_SERVER_ERROR, error);
    let _turn = site
        .rendering
        .acquire()
        .await
        .map_err(|error| trouble(error.to_string()))?;
    let report = site.report().await?;
    let snapshot = match site.is_over() {
        true => site.feed.latest(),
        false => site.handle.snapshot(),
    };
    let accepted = headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|accept| accept.to_str().ok());
    let encoding = Encoding::wanted(accepted);
    let written = tokio::task::spawn_blocking(move || {
        encoding.write(families::of(&report, &snapshot.unwrap_or_default()))
    });
    let written = written.await.map_err(|error| trouble(error.to_string()))?;
    let bytes = written.map_err(|error| trouble(format!("cannot write the metrics: {error}")))?;
    Ok(([(CONTENT_TYPE, encoding.content_type())], bytes).into_response())
}
