//! The requests of one tag, made when somebody asks for them.

use super::answers::{Failure, Named, json};
use super::site::Site;
use crate::output::json::OneTag;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use std::sync::Arc;

/// `GET /api/v1/tags/{tag}`.
pub(super) async fn tag(
    State(site): State<Arc<Site>>,
    Named(tag): Named,
) -> Result<Response, Failure> {
    let live = site.tag(&tag).await?;
    Ok(json(StatusCode::OK, &OneTag::of(&live)))
}
