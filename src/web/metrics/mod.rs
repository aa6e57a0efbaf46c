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
use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};
use encoding::Encoding;
use std::sync::Arc;

/// `GET /metrics`.
pub(super) async fn metrics(
    State(site): State<Arc<Site>>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let accepted = headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|accept| accept.to_str().ok());
    let encoding = Encoding::wanted(accepted);
    let shown = site.clone();
    let written = site.render(move |report| {
        let now = shown.snapshot().unwrap_or_default();
        let written = encoding.write(families::of(&report, &now));
        written.map_err(|error| format!("cannot write the metrics: {error}"))
    });
    let bytes = written.await?;
    Ok(([(CONTENT_TYPE, encoding.content_type())], bytes).into_response())
}
