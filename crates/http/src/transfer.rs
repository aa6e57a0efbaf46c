//! Bytes and hops of a request, counted outside of its future, so that they survive a request that is cut off. Every
//! transport adds to it; it knows nothing of names or figures.

use std::cell::Cell;

/// The bytes and hops of a request, all hops together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Transfer {
    /// Redirects followed.
    pub redirects: u32,
    /// The number of times that it was sent again: a kept-alive connection was closed, the server refused its stream,
    /// or the site required digest authentication.
    pub retries: u32,
    /// Bytes received: heads and bodies of all hops, without TLS. Over HTTP/2, the frames that carry them (HEADERS,
    /// CONTINUATION and DATA) with their own heads and padding; with reqwest, heads as HTTP/1.1 has them.
    pub received: u64,
    /// Bytes sent, likewise.
    pub sent: u64,
}

/// Meter of the transfer of a request under way.
#[derive(Debug, Default)]
pub struct TransferMeter(Cell<Transfer>);

impl TransferMeter {
    /// Returns the transfer so far.
    pub fn so_far(&self) -> Transfer {
        self.0.get()
    }

    /// Counts a redirect that is followed.
    pub(super) fn count_redirect(&self) {
        self.change(|transfer| transfer.redirects += 1);
    }

    /// Counts that the request, or one hop of it, is sent again.
    pub(super) fn count_retry(&self) {
        self.change(|transfer| transfer.retries += 1);
    }

    /// Counts bytes received.
    pub(super) fn count_received(&self, bytes: u64) {
        self.change(|transfer| transfer.received += bytes);
    }

    /// Counts bytes sent.
    pub(super) fn count_sent(&self, bytes: u64) {
        self.change(|transfer| transfer.sent += bytes);
    }

    fn change(&self, count: impl FnOnce(&mut Transfer)) {
        let mut transfer = self.0.get();
        count(&mut transfer);
        self.0.set(transfer);
    }
}
