//! Requests of a user's latest operation: under way, or answered and still to be judged by the plan. Their facts
//! for logs and exemplars are put together here, once they are counted.

use crate::user::role::ScenarioContext;
use bytes::Bytes;
use lgoose_base::error::masked_url;
use lgoose_base::tags::Tags;
use lgoose_base::trace::Trace;
use lgoose_http::{ErrorClass, Session, Target, absolute};
use lgoose_lua::{Finished, Parked, RequestOp};
use lgoose_metrics::{
    Context, ExchangeDetails, RequestId, Sample, SampleFailure, SampleResponse, Traffic,
};
use std::cell::RefCell;
use std::num::NonZeroU64;
use std::rc::Rc;
use std::time::Duration;

/// Latest operation of a user.
#[derive(Debug, Default)]
pub(crate) struct LatestOperation {
    /// Rows in which its requests are counted.
    pub(crate) rows: Vec<RequestId>,
    /// Delay of its start, if it has to be counted.
    pub(crate) delay: Option<Duration>,
    /// Base URL that its paths were joined to.
    pub(crate) base: Option<Rc<Target>>,
    requests: OperationRequests,
    /// Outcomes of requests that are sent side by side, at the places of their requests, until the plan gets them all.
    /// Never borrowed across an await.
    pub(crate) fetched: RefCell<Vec<Option<Finished>>>,
}

/// Operation whose verdicts are still open though another has begun.
#[derive(Debug)]
pub(crate) struct EarlierOperation {
    pub(crate) responses: Parked,
    pub(crate) operation: LatestOperation,
}

/// Requests of an operation.
#[derive(Debug, Default)]
enum OperationRequests {
    #[default]
    Nothing,
    One(Box<RequestOp>),
    Many(Vec<RequestOp>),
}

impl LatestOperation {
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

    /// Returns the sample of its request at that place, which has ended, with the verdict on it as it stands.
    pub(crate) fn sample<'a>(
        &self,
        place: usize,
        finished: &'a Finished,
        verdict: Option<&'a str>,
    ) -> Sample<'a> {
        let exchange = &finished.exchange;
        Sample {
            request: self.rows[place],
            start: exchange.start.into_std(),
            latency: exchange.latency,
            delay: self.delay,
            phases: exchange.timings,
            response: SampleResponse::of_status(finished.status_of_site()),
            redirects: exchange.transfer.redirects,
            retries: exchange.transfer.retries,
            traffic: Traffic::without_messages(exchange.transfer.received, exchange.transfer.sent),
            failure: verdict.map(|message| SampleFailure {
                message,
                line: finished.line.as_deref(),
            }),
            context: None,
        }
    }

    /// Returns the facts about its request at that place, which has ended, for logs and exemplars.
    pub(crate) fn outcome<'a>(
        &'a self,
        place: usize,
        finished: &'a Finished,
        session: &'a Session,
    ) -> Option<RequestOutcome<'a>> {
        Some(RequestOutcome {
            session,
            base: self.base.as_deref(),
            op: self.request_at(place)?,
            finished: Some(finished),
            trace: finished.exchange.trace.as_deref(),
        })
    }
}

/// Who makes a request, for logs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestOrigin<'a> {
    user: u64,
    scenario: &'a str,
    task: &'a str,
}

impl<'a> RequestOrigin<'a> {
    pub(crate) fn of(
        user: u64,
        role: &'a ScenarioContext,
        task: Option<usize>,
    ) -> RequestOrigin<'a> {
        RequestOrigin {
            user,
            scenario: &role.scenario.name,
            task: task.map_or("", |index| &role.tasks[index].1),
        }
    }

    /// Returns the name of its task; empty in an event.
    pub(crate) fn task(self) -> &'a str {
        self.task
    }

    /// Returns the context of one of its requests, which that connection has carried.
    pub(crate) fn context(
        self,
        connection: Option<NonZeroU64>,
        outcome: &'a RequestOutcome<'a>,
    ) -> Context<'a> {
        self.context_of(connection, outcome.trace, outcome)
    }

    /// Returns the context of a request or call with these details.
    pub(crate) fn context_of(
        self,
        connection: Option<NonZeroU64>,
        trace: Option<&'a Trace>,
        details: &'a dyn ExchangeDetails,
    ) -> Context<'a> {
        Context {
            user: self.user,
            scenario: self.scenario,
            task: self.task,
            connection,
            trace,
            details,
        }
    }
}

/// Request and its result.
#[derive(Debug)]
pub(crate) struct RequestOutcome<'a> {
    pub(crate) session: &'a Session,
    pub(crate) base: Option<&'a Target>,
    pub(crate) op: &'a RequestOp,
    /// Result of the request; `None` if it was cut off.
    pub(crate) finished: Option<&'a Finished>,
    /// Its trace, if it has one.
    pub(crate) trace: Option<&'a Trace>,
}

impl ExchangeDetails for RequestOutcome<'_> {
    fn method(&self) -> &str {
        self.op.request.method.as_str()
    }

    fn tags(&self) -> Option<&Tags> {
        self.op.tags.as_deref()
    }

    fn url(&self, put: &mut dyn FnMut(&str, &str)) {
        // A request that was not redirected has the URL of its response.
        let exchange = self.finished.map(|finished| &finished.exchange);
        match exchange.map(|exchange| (exchange.transfer.redirects, &exchange.outcome)) {
            Some((0, Ok(response))) => put(&response.target.origin.text, &response.target.path),
            _ => {
                let path = &self.op.request.url;
                match self.base {
                    Some(base) => put(&absolute(base, path), ""),
                    None => put(&masked_url(path), ""),
                }
            }
        }
    }

    fn final_url(&self) -> String {
        match self.finished.map(|finished| &finished.exchange.outcome) {
            Some(Ok(response)) => response.target.text(),
            _ => String::new(),
        }
    }

    fn class(&self) -> &str {
        match self.finished.map(|finished| &finished.exchange.outcome) {
            Some(Ok(_)) => "",
            Some(Err(failure)) => failure.class.name(),
            None => ErrorClass::Aborted.name(),
        }
    }

    fn messages(&self) -> Option<[u64; 2]> {
        self.op.request.stream().map(|body| body.messages())
    }

    fn request_headers(&self) -> Vec<(String, Vec<u8>)> {
        self.base.map_or_else(Vec::new, |base| {
            self.session.headers_of(base, &self.op.request, self.trace)
        })
    }

    fn response_headers(&self) -> Vec<(String, Vec<u8>)> {
        match self.finished.map(|finished| &finished.exchange.outcome) {
            Some(Ok(response)) => response.headers(),
            _ => Vec::new(),
        }
    }

    fn page_says(&self) -> Option<String> {
        self.finished?.page_message()
    }

    fn body(&self) -> &[u8] {
        match self.finished.map(|finished| &finished.exchange.outcome) {
            Some(Ok(response)) => response.body_at_hand(),
            _ => &[],
        }
    }
}
