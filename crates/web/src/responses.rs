//! Responses in JSON: an error is always `{"error": …, "help": …}`.

use axum::extract::{FromRequestParts, Path};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use std::borrow::Cow;

/// A response, or the refusal of a request.
pub(super) type WebResult = Result<Response, ErrorResponse>;

/// The reason why a request failed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Failure"))]
pub(super) struct ErrorResponse {
    #[serde(skip)]
    pub(super) status: StatusCode,
    /// What is wrong.
    error: Cow<'static, str>,
    /// What to do about it.
    help: Option<Cow<'static, str>>,
}

impl ErrorResponse {
    pub(super) fn new(status: StatusCode, error: impl Into<Cow<'static, str>>) -> ErrorResponse {
        ErrorResponse {
            status,
            error: error.into(),
            help: None,
        }
    }

    /// Returns what is wrong.
    pub(super) fn message(&self) -> &str {
        &self.error
    }

    pub(super) fn help(mut self, help: impl Into<Cow<'static, str>>) -> ErrorResponse {
        self.help = Some(help.into());
        self
    }
}

impl IntoResponse for ErrorResponse {
    fn into_response(self) -> Response {
        json(self.status, &self)
    }
}

/// The text in the place of the only parameter of a path.
pub(super) struct PathParameter(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for PathParameter {
    type Rejection = ErrorResponse;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &S,
    ) -> Result<PathParameter, ErrorResponse> {
        match Path::from_request_parts(parts, state).await {
            Ok(Path(text)) => Ok(PathParameter(text)),
            // axum's own response is plain text.
            Err(_) => Err(ErrorResponse::new(
                StatusCode::NOT_FOUND,
                "the path names nothing: it is not UTF-8",
            )),
        }
    }
}

/// Responds with a value as JSON.
pub(super) fn json(status: StatusCode, value: &impl Serialize) -> Response {
    // Plain data: it has no keys that are no texts.
    let text = serde_json::to_vec(value).unwrap_or_default();
    (status, [(CONTENT_TYPE, "application/json")], text).into_response()
}
