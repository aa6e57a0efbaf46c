//! Hands requests on to the run that goes on, by the client of hyper: each over a connection of its own to the run's process
//! on this machine, which ends with the request. Measures nothing.

use super::super::metrics::none;
use super::super::responses::{ErrorResponse, WebResult};
use super::super::{commands, status};
use super::routes::ServedRuns;
use super::{ServeSite, runs};
use crate::queue::CurrentRun;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{
    ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_TYPE, HOST, HeaderName, TRANSFER_ENCODING,
};
use axum::http::{self, StatusCode};
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use lgoose_plan::config::Format;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Headers that are handed on with a request; others say nothing to a run.
const HEADERS: [HeaderName; 3] = [
    ACCEPT,
    CONTENT_TYPE,
    HeaderName::from_static("last-event-id"),
];

/// Time for a run to say where it is: it loads its plan before.
const START: Duration = Duration::from_secs(10);

/// Time for the head of a response: a little more than a run takes at most to handle a command.
const RESPONSE_LIMIT: Duration = Duration::from_secs(70);

/// Forwards `GET` and `POST` to a run.
pub(super) async fn forward(State(site): ServedRuns, request: Request) -> WebResult {
    let run = site.runs.current().ok_or_else(idle)?;
    let address = address(&run).await?;
    exchange(&run, address, request).await
}

/// `GET /api/v1/status`, which there always is.
pub(super) async fn status(State(site): ServedRuns, request: Request) -> WebResult {
    let read_only = site.access.read_only;
    let Some(run) = site.runs.current() else {
        return Ok(status::without_figures("idle", "", read_only));
    };
    let current = *run.address.borrow();
    let Some(address) = current else {
        return Ok(status::without_figures("starting", &run.plan, read_only));
    };
    let response = exchange(&run, address, request).await;
    Ok(response.unwrap_or_else(|_gone| status::without_figures("over", &run.plan, read_only)))
}

/// `GET /metrics`: none, if no run is in progress.
pub(super) async fn metrics(State(site): ServedRuns, request: Request) -> WebResult {
    if site.runs.current().is_none() {
        return Ok(none());
    }
    forward(State(site), request).await
}

/// `GET /api/v1/report.…`: if no run is in progress, that of the last one here.
pub(super) async fn report(site: Arc<ServeSite>, request: Request, format: Format) -> WebResult {
    match (site.runs.current(), site.runs.last()) {
        (None, Some(id)) => runs::send_report(&site, id, format).await,
        _ => forward(State(site), request).await,
    }
}

fn idle() -> ErrorResponse {
    ErrorResponse::new(StatusCode::CONFLICT, "no run is in progress")
        .help("start one with 'POST /api/v1/runs'; '/api/v1/runs' lists finished ones")
}

/// Returns where the interface of a run is, as soon as it is known.
async fn address(run: &CurrentRun) -> Result<SocketAddr, ErrorResponse> {
    let mut address = run.address.clone();
    let address_in_time = timeout(START, address.wait_for(Option::is_some)).await;
    match address_in_time {
        Ok(Ok(address)) => address.ok_or_else(idle),
        Ok(Err(_over)) => Err(idle()),
        Err(_late) => {
            let message = "the run is being prepared: try again";
            Err(ErrorResponse::new(StatusCode::CONFLICT, message))
        }
    }
}

/// Sends a request to a run, and returns its response.
async fn exchange(run: &CurrentRun, address: SocketAddr, request: Request) -> WebResult {
    let (head, body) = request.into_parts();
    let body = commands::whole(body).await?;
    let mut handed_on = http::Request::builder()
        .method(head.method)
        .uri(head.uri.path())
        .header(HOST, address.to_string())
        .header(CONNECTION, "close")
        .header(AUTHORIZATION, format!("Bearer {}", run.token));
    for name in HEADERS {
        for value in head.headers.get_all(&name) {
            handed_on = handed_on.header(&name, value);
        }
    }
    let gone = |_| {
        let message = "the run does not answer: it is about to end";
        ErrorResponse::new(StatusCode::CONFLICT, message).help("ask again")
    };
    let handed_on = handed_on.body(Full::new(body));
    let handed_on = handed_on
        .map_err(|error| ErrorResponse::new(StatusCode::BAD_REQUEST, error.to_string()))?;
    let exchanging = async {
        let stream = TcpStream::connect(address).await.map_err(|_| ())?;
        let _slower = stream.set_nodelay(true);
        let connected = http1::handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = connected.map_err(|_| ())?;
        // It ends with the response, or when the client has gone.
        tokio::spawn(connection);
        sender.send_request(handed_on).await.map_err(|_| ())
    };
    let response = timeout(RESPONSE_LIMIT, exchanging).await;
    let response = response.map_err(|_| {
        ErrorResponse::new(StatusCode::GATEWAY_TIMEOUT, "the run has not answered yet")
    })?;
    let mut response = response.map_err(gone)?.map(Body::new);
    for name in [CONNECTION, TRANSFER_ENCODING] {
        response.headers_mut().remove(name);
    }
    Ok(response)
}
