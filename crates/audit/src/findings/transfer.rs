//! Bytes of responses, as the run has received them and as the log has them.

use crate::event::{Hop, LoggedRequest, SentRequest};
use crate::format::LoggedBytes;
use serde::Serialize;

/// What the bytes of a log are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BytesKind {
    /// Heads and bodies, as the run counts them.
    Whole,
    /// Bodies alone, which no run has a figure of: they cannot be more than what it has received.
    Bodies,
}

/// Bytes of the requests that both sides have, redirected ones and those without a response apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BytesRow {
    /// What the log's bytes are of.
    pub kind: BytesKind,
    /// Requests that were compared.
    pub requests: u64,
    /// What the run has received for them.
    pub run: u64,
    /// What the log has of them.
    pub log: u64,
    /// Requests of which the two disagree.
    pub differing: u64,
}

/// Counts bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ByteCounts {
    requests: u64,
    run: u64,
    log: u64,
    equal: u64,
    above: u64,
    whole: u64,
    body: u64,
}

impl ByteCounts {
    /// Compares the bytes of a request; returns how they differ, if the kind of the log's bytes is known to be comparable.
    pub(super) fn add(&mut self, request: &SentRequest, line: &LoggedRequest) -> Option<String> {
        let plain = request.hop == Hop::Only && !request.is_loose && request.retries == 0;
        let logged = line.bytes.filter(|_| plain)?;
        let (run, log) = (request.bytes, logged.count());
        self.requests += 1;
        self.run = self.run.saturating_add(run);
        self.log = self.log.saturating_add(log);
        self.equal += u64::from(run == log);
        self.above += u64::from(log > run);
        let note = || Some(format!("{run} bytes here, {log} there"));
        match logged {
            LoggedBytes::Whole(_) => {
                self.whole += 1;
                note().filter(|_| run != log)
            }
            LoggedBytes::Body(_) => {
                self.body += 1;
                note().filter(|_| log > run)
            }
            LoggedBytes::Either(_) => note().filter(|_| run != log),
        }
    }

    /// Returns the figures; `None` if there is nothing to compare. Without traces, two requests at one time may have each other's
    /// lines: if the sums are equal, nothing differs.
    pub(super) fn row(&self, by_trace: bool) -> Option<BytesRow> {
        let kind = if self.whole > 0 || self.equal * 2 > self.requests && self.body == 0 {
            BytesKind::Whole
        } else {
            BytesKind::Bodies
        };
        (self.requests > 0).then_some(BytesRow {
            kind,
            requests: self.requests,
            run: self.run,
            log: self.log,
            differing: match kind {
                BytesKind::Whole if self.run == self.log && !by_trace => 0,
                BytesKind::Whole => self.requests - self.equal,
                BytesKind::Bodies => self.above,
            },
        })
    }
}
