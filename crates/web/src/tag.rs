//! The requests of one tag, made on request.

use super::responses::{PathParameter, WebResult, json};
use super::site::WebState;
use axum::extract::State;
use axum::http::StatusCode;
use lgoose_report::json::JsonTag;
use std::sync::Arc;

/// `GET /api/v1/tags/{tag}`.
pub(super) async fn tag(
    State(site): State<Arc<WebState>>,
    PathParameter(tag): PathParameter,
) -> WebResult {
    let live = site.tag(&tag).await?;
    Ok(json(StatusCode::OK, &JsonTag::of(&live)))
}
