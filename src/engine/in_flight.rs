//! Requests under way when a run is aborted are counted too: their guard records them when it is dropped
//! before they came to an end.

use crate::http::ErrorClass;
use crate::metrics::{Failure, Phases, Recorder, RequestId, Sample};
use std::cell::RefCell;
use std::time::Duration;
use tokio::time::Instant;

pub(super) struct InFlight<'a> {
    recorder: &'a RefCell<Recorder>,
    requests: &'a [RequestId],
    begin: Instant,
    delay: Option<Duration>,
    ended: bool,
}

impl<'a> InFlight<'a> {
    pub(super) fn new(
        recorder: &'a RefCell<Recorder>,
        requests: &'a [RequestId],
        begin: Instant,
        delay: Option<Duration>,
    ) -> Self {
        InFlight {
            recorder,
            requests,
            begin,
            delay,
            ended: false,
        }
    }

    pub(super) fn end(mut self) {
        self.ended = true;
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let mut recorder = self.recorder.borrow_mut();
        for request in self.requests {
            recorder.record(&Sample {
                request: *request,
                latency: self.begin.elapsed(),
                delay: self.delay,
                phases: Phases::default(),
                status: 0,
                redirects: 0,
                retries: 0,
                bytes: 0,
                failure: Some(Failure {
                    message: ErrorClass::Aborted.name(),
                    line: None,
                }),
            });
        }
    }
}
