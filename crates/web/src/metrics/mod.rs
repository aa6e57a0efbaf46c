//! Metrics for Prometheus, made on request from the report so far: as OpenMetrics text or, for clients that want native
//! histograms, in Prometheus' own protobuf. `telemetry` defines the metrics, `text` and `protobuf` write them.

mod encoding;
mod protobuf;
#[cfg(test)]
mod tests;
mod text;

use super::responses::WebResult;
use super::scrapes::Scrapes;
use super::site::WebState;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};
use encoding::Encoding;
use lgoose_metrics::Detail;
use lgoose_report::telemetry::families;
use std::sync::Arc;
use tokio::time::Instant;

/// Returns the response when there are no metrics.
pub(super) fn none() -> Response {
    let kind = Encoding::Text.content_type();
    ([(CONTENT_TYPE, kind)], "# EOF\n").into_response()
}

/// `GET /metrics`.
pub(super) async fn metrics(State(site): State<Arc<WebState>>, headers: HeaderMap) -> WebResult {
    let accepted = headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|accept| accept.to_str().ok());
    let encoding = Encoding::negotiate(accepted);
    site.scrapes
        .send_modify(|scrapes| scrapes.record(Instant::now()));
    let is_final = site.is_over();
    let shown = site.clone();
    let written = site.render(Detail::Totals, move |report| {
        let now = shown.snapshot().unwrap_or_default();
        Ok(encoding.write(&families(&report, &now)))
    });
    let bytes = written.await?;
    if is_final {
        site.scrapes.send_modify(Scrapes::record_final);
    }
    Ok(([(CONTENT_TYPE, encoding.content_type())], bytes).into_response())
}
