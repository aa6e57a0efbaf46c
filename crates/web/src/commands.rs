//! Commands to the run: the body of a request becomes a command, and the response reports its effect.

use super::responses::{ErrorResponse, WebResult, json};
use super::site::WebState;
use super::status::{self, Status};
use axum::body::Body;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use bytes::Bytes;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Body as _;
use lgoose_metrics::control::{Command, Done, Handle};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// Largest body, in bytes.
pub(super) const BODY: usize = 64 * 1024;

/// Time limit for a body.
const BODY_TIME: Duration = Duration::from_secs(10);

/// Time limit for the run's response: loading a plan may take long.
const RESPONSE_LIMIT: Duration = Duration::from_secs(60);

/// Time to wait for figures that show the effect of a command.
const SHOWN: Duration = Duration::from_millis(500);

/// A number of users.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Users {
    /// Number of concurrent users; in a run at a rate, the most.
    n: u64,
    /// The scenario whose own load is meant; if absent, the load that the other scenarios share.
    scenario: Option<String>,
}

/// A rate.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Rate {
    /// Iterations started per second.
    per_s: f64,
    /// The scenario whose own load is meant; if absent, the load that the other scenarios share.
    scenario: Option<String>,
}

/// Nothing, or an empty object.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EmptyBody {}

/// The effect of a command.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Obeyed"))]
pub(super) struct CommandEffect<'a> {
    /// The effect in words.
    done: String,
    /// The resulting state.
    status: Status<'a>,
}

/// `POST /api/v1/users`.
pub(super) async fn users(site: Arc<WebState>, request: Request) -> WebResult {
    let Users { n, scenario } = read(request, r#"{"n": 50}"#).await?;
    let command = match scenario {
        Some(scenario) => Command::SetUsersOf(scenario, n),
        None => Command::SetUsers(n),
    };
    execute(&site, command).await
}

/// `POST /api/v1/rate`.
pub(super) async fn rate(site: Arc<WebState>, request: Request) -> WebResult {
    let Rate { per_s, scenario } = read(request, r#"{"per_s": 20}"#).await?;
    let command = match scenario {
        Some(scenario) => Command::SetRateOf(scenario, per_s),
        None => Command::SetRate(per_s),
    };
    execute(&site, command).await
}

/// `POST` of a command without arguments.
pub(super) async fn plain(site: Arc<WebState>, request: Request, command: Command) -> WebResult {
    let EmptyBody {} = read(request, "{}").await?;
    execute(&site, command).await
}

async fn execute(site: &WebState, command: Command) -> WebResult {
    let result = timeout(RESPONSE_LIMIT, site.handle.send(command)).await;
    let late = || ErrorResponse::new(StatusCode::GATEWAY_TIMEOUT, "the run has not answered yet");
    let done = result.map_err(|_| late())??;
    if !matches!(done, Done::Aborting) {
        seen(&site.handle).await;
    }
    let status = status::of(site);
    let effect = CommandEffect {
        done: done.to_string(),
        status: match done {
            // Users who are quick have gone before the next figures.
            Done::Stopping => status.stopping(),
            _ => status,
        },
    };
    Ok(json(StatusCode::ACCEPTED, &effect))
}

/// Waits for the next figures, or until there will be none.
async fn seen(handle: &Handle) {
    let mut snapshots = handle.snapshots();
    snapshots.mark_unchanged();
    let _late = timeout(SHOWN, snapshots.changed()).await;
}

/// Reads a body as JSON; an empty body is an empty object.
pub(super) async fn read<T: DeserializeOwned>(
    request: Request,
    example: &'static str,
) -> Result<T, ErrorResponse> {
    let (head, body) = request.into_parts();
    let bytes = whole(body).await?;
    let kind = head
        .headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let is_json =
        kind.and_then(|kind| kind.split(';').next()).map(str::trim) == Some("application/json");
    if !bytes.is_empty() && !is_json {
        let message = "the 'Content-Type' of the request is not JSON";
        let failure = ErrorResponse::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message);
        return Err(failure.help("send 'Content-Type: application/json'"));
    }
    let text = if bytes.is_empty() { b"{}" } else { &bytes[..] };
    serde_json::from_slice(text).map_err(|error| {
        let message = format!("the body is not what is expected here: {error}");
        ErrorResponse::new(StatusCode::BAD_REQUEST, message).help(example)
    })
}

/// Reads a body to its end, if it comes soon enough and is not too long.
pub(super) async fn whole(body: Body) -> Result<Bytes, ErrorResponse> {
    let too_long = || {
        let message = "the body has more than 64 KiB";
        ErrorResponse::new(StatusCode::PAYLOAD_TOO_LARGE, message)
    };
    // One that says its length need not be read to be refused.
    if body.size_hint().lower() > BODY as u64 {
        return Err(too_long());
    }
    let read = timeout(BODY_TIME, Limited::new(body, BODY).collect()).await;
    let read = read.map_err(|_| {
        let message = "the body took more than 10 s";
        ErrorResponse::new(StatusCode::REQUEST_TIMEOUT, message)
    })?;
    match read {
        Ok(whole) => Ok(whole.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_long()),
        Err(error) => {
            let message = format!("the body could not be read: {error}");
            Err(ErrorResponse::new(StatusCode::BAD_REQUEST, message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::stream;
    use std::convert::Infallible;

    #[tokio::test(start_paused = true)]
    async fn a_body_that_does_not_come_is_not_waited_for() {
        let never = Body::from_stream(stream::pending::<Result<Bytes, Infallible>>());
        let failure = whole(never).await.expect_err("it does not come");
        assert_eq!(failure.status, StatusCode::REQUEST_TIMEOUT);
        let drops = stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Some((Ok::<_, Infallible>(Bytes::from_static(b"x")), ()))
        });
        let failure = whole(Body::from_stream(drops))
            .await
            .expect_err("it takes too long");
        assert_eq!(failure.status, StatusCode::REQUEST_TIMEOUT);
    }

    #[tokio::test]
    async fn a_body_is_bounded() {
        let most = whole(Body::from(vec![b'x'; BODY])).await.expect("it fits");
        assert_eq!(most.len(), BODY);
        let failure = whole(Body::from(vec![b'x'; BODY + 1]))
            .await
            .expect_err("it does not");
        assert_eq!(failure.status, StatusCode::PAYLOAD_TOO_LARGE);
    }
}
