//! Bodies that a site sends piece by piece: server-sent events. Driven by the server.

use bytes::Bytes;
use futures_util::stream;
use http::Response;
use http::header::{CONTENT_TYPE, HeaderValue};
use http_body_util::{Either, Full, StreamBody};
use hyper::body::Frame;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

use super::sent::SendRecorder;
use super::server::SiteResponse;

/// The events of a response.
#[derive(Clone)]
pub(super) struct SiteEvents {
    /// The event with that number, from 1; `None` at the end.
    pub(super) event: Arc<dyn Fn(u32) -> Option<SiteEvent> + Send + Sync>,
    /// The log that the response enters.
    pub(super) recorder: Option<SendRecorder>,
}

/// One event of a response.
#[derive(Debug, Clone)]
pub(super) struct SiteEvent {
    /// The time from the event before until it is due; for the first, from the head.
    pub(super) after: Duration,
    /// Its lines, with the empty one at the end.
    pub(super) text: String,
    /// Whether the log has its time.
    pub(super) is_logged: bool,
}

/// A body that comes piece by piece.
type Frames = Pin<Box<dyn futures_util::Stream<Item = Result<Frame<Bytes>, Infallible>> + Send>>;

/// A body that is known, or comes piece by piece.
pub(super) type SiteBody = Either<Full<Bytes>, StreamBody<Frames>>;

impl SiteEvents {
    /// Makes the response with these events.
    pub(super) fn response(self) -> SiteResponse {
        let mut response = Response::new(Full::default());
        let kind = HeaderValue::from_static("text/event-stream");
        response.headers_mut().insert(CONTENT_TYPE, kind);
        response.extensions_mut().insert(self);
        response
    }

    fn frames(self) -> Frames {
        let event = self.event;
        let sending = self.recorder.map(SendRecorder::begin);
        // The next time is counted from the last one that was due, not from its sending: delays do not add up.
        let first = (1, Instant::now(), sending);
        let pieces = stream::unfold(first, move |(number, before, mut sending)| {
            let event = event(number);
            async move {
                let event = event?;
                let due = before + event.after;
                tokio::time::sleep_until(due).await;
                if let Some(sending) = sending.as_mut().filter(|_| event.is_logged) {
                    sending.note();
                }
                let frame = Frame::data(event.text.into());
                Some((Ok(frame), (number + 1, due, sending)))
            }
        });
        Box::pin(pieces)
    }
}

/// Puts events into the place of the body, where there are some.
pub(super) fn with_events(mut response: SiteResponse) -> Response<SiteBody> {
    match response.extensions_mut().remove::<SiteEvents>() {
        None => response.map(Either::Left),
        Some(events) => response.map(|_| Either::Right(StreamBody::new(events.frames()))),
    }
}
