//! Server-sent events (<https://html.spec.whatwg.org/multipage/server-sent-events.html>): hands the events of the feed to
//! one reader, when its connection takes them.

use super::feed::FeedPosition;
use super::site::WebState;
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream::{Stream, unfold};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Time after which a reader gets a sign of life, which also finds out whether it is there.
const QUIET: Duration = Duration::from_secs(15);

/// The beginning of the response: how soon to come back when the connection is lost, in milliseconds.
const PREAMBLE: &str = "retry: 1000\n\n";

/// One reader of events.
struct EventReader {
    site: Arc<WebState>,
    place: FeedPosition,
    news: watch::Receiver<()>,
    closing: watch::Receiver<bool>,
    started: bool,
}

/// `GET /api/v1/events`.
pub(super) async fn events(State(site): State<Arc<WebState>>, headers: HeaderMap) -> Response {
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let place = last.and_then(|id| id.parse().ok()).unwrap_or_default();
    let body = Body::from_stream(stream(site, place));
    let headers = [
        (CONTENT_TYPE, "text/event-stream"),
        // Some proxies keep responses back until they are whole.
        (
            axum::http::HeaderName::from_static("x-accel-buffering"),
            "no",
        ),
    ];
    (headers, body).into_response()
}

fn stream(
    site: Arc<WebState>,
    place: FeedPosition,
) -> impl Stream<Item = Result<Bytes, Infallible>> {
    site.readers.send_modify(|readers| *readers += 1);
    let reader = EventReader {
        news: site.feed.news(),
        closing: site.closing.clone(),
        site,
        place,
        started: false,
    };
    unfold(reader, |mut reader| async {
        let text = reader.next().await?;
        Some((Ok(text.into()), reader))
    })
}

impl Drop for EventReader {
    fn drop(&mut self) {
        self.site.readers.send_modify(|readers| *readers -= 1);
    }
}

impl EventReader {
    /// Waits for the next event; `None` when the process is about to end and the reader has all.
    async fn next(&mut self) -> Option<String> {
        if !self.started {
            self.started = true;
            return Some(PREAMBLE.to_owned());
        }
        loop {
            self.news.mark_unchanged();
            if let Some(event) = self.site.feed.next(&mut self.place) {
                return Some(event);
            }
            if *self.closing.borrow() && self.place.has_end() {
                return None;
            }
            tokio::select! {
                _ = self.news.changed() => {}
                _ = self.closing.changed() => {}
                () = tokio::time::sleep(QUIET) => return Some(":\n\n".to_owned()),
            }
        }
    }
}
