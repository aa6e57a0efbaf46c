//! The progress of a request under way. Every transport updates it; the session turns it into an [`Exchange`].

use super::failure::{ErrorClass, Failure};
use super::message::{self, Exchange, Response};
use super::stopwatch::Stopwatch;
use super::target::Target;
use super::transfer::TransferMeter;
use lgoose_base::trace::Trace;
use std::num::NonZeroU64;
use tokio::time::Instant;

/// The progress of a request, kept outside its future so that a timeout does not lose it.
#[derive(Debug)]
pub(super) struct RequestProgress<'a> {
    pub(super) stopwatch: Stopwatch,
    pub(super) meter: &'a TransferMeter,
    /// Whether a connection is being opened.
    pub(super) connecting: bool,
    /// Whether the latest response came over HTTP/2, if reqwest sent the request.
    #[cfg(feature = "reqwest")]
    pub(super) is_http2: bool,
    /// The connection that the latest hop was sent over.
    pub(super) connection: Option<NonZeroU64>,
    /// The trace that it belongs to.
    pub(super) trace: Option<Box<Trace>>,
}

impl<'a> RequestProgress<'a> {
    /// The progress of a request that begins at `start` as part of `trace`; `meter` counts the bytes transferred for
    /// it.
    pub(super) fn starting(
        start: Instant,
        trace: Option<Box<Trace>>,
        meter: &'a TransferMeter,
    ) -> Self {
        RequestProgress {
            stopwatch: Stopwatch::started_at(start),
            meter,
            connecting: false,
            #[cfg(feature = "reqwest")]
            is_http2: false,
            connection: None,
            trace,
        }
    }

    /// Shows the status, the URL and the headers of a response that redirects.
    pub(super) fn show_hop(&self, status: u16, from: &Target, head: &[u8]) {
        let mut text = format!("redirected\n  < {status} from {}", from.text());
        for (name, value) in message::headers(head) {
            text += &format!("\n  < {name}: {}", String::from_utf8_lossy(&value));
        }
        tracing::info!(target: "http", "{}", lgoose_base::error::printable(&text));
    }

    /// The exchange that ended with `outcome`; `None` if it timed out.
    pub(super) fn exchange(
        mut self,
        start: Instant,
        outcome: Option<Result<Response, Failure>>,
    ) -> Box<Exchange> {
        let timeout = if self.connecting {
            ErrorClass::ConnectTimeout
        } else {
            ErrorClass::Timeout
        };
        // A failure may come after the last phase was stamped; a response comes with a stamp.
        let end = match &outcome {
            Some(Ok(_)) => self.stopwatch.last(),
            Some(Err(_)) => Instant::now(),
            None => {
                let end = Instant::now();
                self.stopwatch.interrupt_at(end);
                end
            }
        };
        Box::new(Exchange {
            start,
            connection: self.connection,
            latency: end - start,
            timings: self.stopwatch.phases(),
            transfer: self.meter.so_far(),
            trace: self.trace,
            outcome: outcome.unwrap_or_else(|| Err(Failure::new(timeout, ""))),
        })
    }
}
