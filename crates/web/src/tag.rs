//! The requests of one tag, made on request.

use super::responses::{ErrorResponse, PathParameter, json};
use super::site::WebState;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use lgoose_report::json::JsonTag;
use std::sync::Arc;

/// `GET /api/v1/tags/{tag}`.
pub(super) async fn tag(
    State(site): State<Arc<WebState>>,
    PathParameter(tag): PathParameter,
) -> Result<Response, ErrorResponse> {
    let live = site.tag(&tag).await?;
    Ok(json(StatusCode::OK, &JsonTag::of(&live)))
}
