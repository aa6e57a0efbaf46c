//! An operation of a user that sends requests: one, or several side by side. Its requests are kept until they are counted.

use super::kind::{ExchangeRow, sample};
use super::sender::Sender;
use bytes::Bytes;
use lgoose_http::Target;
use lgoose_lua::{Finished, RequestOp};
use lgoose_metrics::{RequestId, Sample, SampleFailure};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

/// Operation of a user, from its beginning until all of its requests are counted.
#[derive(Debug, Default)]
pub(crate) struct Operation {
    /// Rows in which its requests are counted.
    pub(super) rows: Vec<RequestId>,
    /// Delay of its start, if it has to be counted.
    pub(crate) delay: Option<Duration>,
    /// Base URL that its paths were joined to.
    pub(crate) base: Option<Rc<Target>>,
    requests: OperationRequests,
    /// Outcomes of requests that are sent side by side, at the places of their requests, until the plan gets them all.
    /// Never borrowed across an await.
    pub(crate) fetched: RefCell<Vec<Option<Finished>>>,
}

/// Requests of an operation.
#[derive(Debug, Default)]
enum OperationRequests {
    #[default]
    Nothing,
    One(Box<RequestOp>),
    Many(Vec<RequestOp>),
}

impl Operation {
    /// Keeps a request until it is counted; its body is not needed any more.
    pub(crate) fn store(&mut self, mut op: Box<RequestOp>) {
        // One that is cleared may keep its memory.
        op.request.body = Bytes::new();
        self.requests = OperationRequests::One(op);
    }

    /// Keeps requests that are to be sent side by side until they are counted.
    pub(crate) fn begin_all(&mut self, ops: Vec<RequestOp>) {
        *self.fetched.get_mut() = ops.iter().map(|_| None).collect();
        self.requests = OperationRequests::Many(ops);
    }

    /// Returns the requests that are sent side by side.
    pub(crate) fn all(&self) -> &[RequestOp] {
        match &self.requests {
            OperationRequests::Many(ops) => ops,
            OperationRequests::Nothing | OperationRequests::One(_) => &[],
        }
    }

    /// Takes the outcomes of all requests that were sent side by side; their bodies are not needed any more.
    pub(crate) fn take_all(&mut self) -> Vec<Finished> {
        if let OperationRequests::Many(ops) = &mut self.requests {
            for op in ops {
                op.request.body = Bytes::new();
            }
        }
        let outcomes = self.fetched.get_mut().drain(..);
        // All have been sent. Collected so, they stay where they are.
        outcomes.collect::<Option<_>>().unwrap_or_default()
    }

    /// Returns the row of the request at that place.
    pub(crate) fn row_at(&self, place: usize) -> ExchangeRow {
        ExchangeRow {
            id: self.rows[place],
            delay: self.delay,
        }
    }

    /// Returns the request at that place.
    pub(crate) fn request_at(&self, place: usize) -> Option<&RequestOp> {
        match &self.requests {
            OperationRequests::Nothing => None,
            OperationRequests::One(op) => (place == 0).then_some(op),
            OperationRequests::Many(ops) => ops.get(place),
        }
    }

    /// Returns the memory that its requests take, in bytes.
    pub(crate) fn held_bytes(&self) -> usize {
        match &self.requests {
            OperationRequests::Nothing => 0,
            OperationRequests::One(op) => op.held_bytes(),
            OperationRequests::Many(ops) => ops.iter().map(RequestOp::held_bytes).sum(),
        }
    }

    /// Returns whether nothing of it is left to be counted.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Forgets the operation: all of it is counted.
    pub(crate) fn clear(&mut self) {
        self.rows.clear();
        self.requests = OperationRequests::Nothing;
        self.fetched.get_mut().clear();
    }

    /// Returns the sample of its request at that place, without details, with the verdict on it as it stands.
    pub(super) fn sample<'a>(
        &self,
        place: usize,
        finished: &'a Finished,
        verdict: Option<&'a str>,
    ) -> Sample<'a> {
        let failure = verdict.map(|message| SampleFailure {
            message,
            line: finished.line().map(|line| &**line),
        });
        sample::<RequestOp>(self.row_at(place), &finished.exchange, failure)
    }

    /// Counts its request at that place, which has ended, and keeps it there for the plan.
    pub(crate) fn enter(&self, sender: &Sender, place: usize, finished: Finished) {
        let mut fetched = self.fetched.borrow_mut();
        let finished = fetched[place].insert(finished);
        let verdict = finished.verdict();
        let sample = self.sample(place, finished, verdict.as_deref());
        let recorder = &mut *sender.shared.recorder.borrow_mut();
        recorder.enter(&sample, sender.judges());
        finished.entered = Some(verdict.is_some());
    }
}
