//! Events that a site sends one after another, in the place of a body. Driven by the server.

use bytes::Bytes;
use futures_util::stream;
use http::Response;
use http::header::{CONTENT_TYPE, HeaderValue};
use http_body_util::{Either, Full, StreamBody};
use hyper::body::Frame;
use std::convert::Infallible;
use std::pin::Pin;
use std::time::Duration;

use super::server::SiteResponse;

/// The events of a response, each so long after the one before.
#[derive(Debug, Clone)]
pub(super) struct SiteEvents {
    pub(super) count: u32,
    pub(super) gap: Duration,
    /// The data of the event with that number, from 1.
    pub(super) data: fn(u32) -> String,
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
        let pieces = stream::unfold(1, move |number| {
            let SiteEvents { count, gap, data } = self;
            async move {
                if number > count {
                    return None;
                }
                tokio::time::sleep(gap).await;
                let text = format!("id: {number}\ndata: {}\n\n", data(number));
                Some((Ok(Frame::data(text.into())), number + 1))
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
