//! Kinds of exchange, behind one trait: a request of HTTP, and a call of another protocol. Knows the name of each,
//! its measurements and its details for logs; knows nothing of the order in which exchanges run.

use lgoose_base::error::masked_url;
use lgoose_base::tags::Tags;
use lgoose_http::{
    CacheUse, Exchange, Phases, Response, Session, Target, Transfer, TransferMeter, absolute,
};
use lgoose_lua::{RequestOp, page_message};
use lgoose_metrics::{ExchangeDetails, RequestId, Sample, SampleFailure, SampleResponse, Traffic};
use lgoose_plan::config::RequestNames;
use lgoose_plan::{path_of, without_ids};
use lgoose_protocols::{CallOp, CallValue, Meter};
use std::borrow::Cow;
use std::fmt::Debug;
use std::time::Duration;

/// Operation that is one exchange.
pub(crate) trait ExchangeOp: Debug + Sized {
    /// Value that the plan gets if it succeeds.
    type Value: Debug;
    /// Traffic, as an exchange that has ended keeps it.
    type Flow: Flow;
    /// Meter of an exchange under way.
    type Meter: Debug;

    /// Returns the method or, with another protocol, the kind: `TCP`.
    fn method(&self) -> &str;

    /// Returns the name given in the plan.
    fn own_name(&self) -> Option<&str>;

    /// Returns its tags beside those of its task.
    fn tags(&self) -> Option<&Tags>;

    /// Returns the URL without its credentials or, with another protocol, the target.
    fn target(&self) -> Cow<'_, str>;

    /// Returns the name of its row if neither the plan nor a task names it.
    fn name_of_target(&self, names: RequestNames) -> Cow<'_, str>;

    /// Returns the phases and the traffic measured so far.
    fn so_far(meter: &Self::Meter) -> (Phases, Self::Flow);

    /// Returns the response for figures.
    fn response(ended: &Ended<Self>) -> SampleResponse;

    /// Returns details for logs and exemplars.
    fn details<'a>(facts: &'a Facts<'_, Self>) -> &'a dyn ExchangeDetails;

    /// Returns the name of its row without the method: its own, else that of its task or of its target.
    fn row_name<'a>(&'a self, task: &'a str, names: RequestNames) -> Cow<'a, str> {
        match (self.own_name(), names) {
            (Some(name), _) => name.into(),
            (None, RequestNames::Task) if !task.is_empty() => task.into(),
            (None, names) => self.name_of_target(names),
        }
    }
}

/// Exchange that has ended.
pub(crate) type Ended<O> = Exchange<<O as ExchangeOp>::Value, <O as ExchangeOp>::Flow>;

/// Traffic of an exchange, as figures count it.
pub(crate) trait Flow: Debug {
    /// Returns bytes and messages.
    fn traffic(&self) -> Traffic;

    /// Returns how many redirects were followed, and how often it was sent again.
    fn redirects_and_retries(&self) -> (u32, u32) {
        (0, 0)
    }
}

/// Row that an exchange is counted in, and the delay of its start if that is counted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExchangeRow {
    pub(crate) id: RequestId,
    pub(crate) delay: Option<Duration>,
}

/// Operation and exchange, from which logs and exemplars take their details.
#[derive(Debug)]
pub(crate) struct Facts<'a, O: ExchangeOp> {
    pub(crate) op: &'a O,
    pub(crate) ended: &'a Ended<O>,
    pub(crate) session: &'a Session,
    /// Base URL that the path of a request was joined to.
    pub(crate) base: Option<&'a Target>,
}

/// Returns the sample of an exchange, without details.
pub(crate) fn sample<'a, O: ExchangeOp>(
    row: ExchangeRow,
    ended: &Ended<O>,
    failure: Option<SampleFailure<'a>>,
) -> Sample<'a> {
    let (redirects, retries) = ended.transfer.redirects_and_retries();
    Sample {
        request: row.id,
        start: ended.start.into_std(),
        latency: ended.latency,
        delay: row.delay,
        phases: ended.timings,
        response: O::response(ended),
        redirects,
        retries,
        traffic: ended.transfer.traffic(),
        failure,
        context: None,
    }
}

impl ExchangeOp for RequestOp {
    type Value = Response;
    type Flow = Transfer;
    type Meter = TransferMeter;

    fn method(&self) -> &str {
        self.request.method.as_str()
    }

    fn own_name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    fn tags(&self) -> Option<&Tags> {
        self.tags.as_deref()
    }

    fn target(&self) -> Cow<'_, str> {
        masked_url(&self.request.url)
    }

    fn name_of_target(&self, names: RequestNames) -> Cow<'_, str> {
        let path = path_of(&self.request.url);
        match names {
            RequestNames::Task => path.into(),
            RequestNames::Path => without_ids(path),
        }
    }

    fn so_far(meter: &TransferMeter) -> (Phases, Transfer) {
        (Phases::default(), meter.so_far())
    }

    fn response(ended: &Exchange) -> SampleResponse {
        match &ended.outcome {
            // The site's own status; the plan sees that of the cached response.
            Ok(_) if ended.cache() == CacheUse::NotModified => SampleResponse::Status(304),
            Ok(response) => SampleResponse::of_status(response.status),
            Err(_) => SampleResponse::Missing,
        }
    }

    fn details<'a>(facts: &'a Facts<'_, RequestOp>) -> &'a dyn ExchangeDetails {
        facts
    }
}

impl Flow for Transfer {
    fn traffic(&self) -> Traffic {
        Traffic::without_messages(self.received, self.sent)
    }

    fn redirects_and_retries(&self) -> (u32, u32) {
        (self.redirects, self.retries)
    }
}

impl ExchangeDetails for Facts<'_, RequestOp> {
    fn method(&self) -> &str {
        self.op.method()
    }

    fn tags(&self) -> Option<&Tags> {
        self.op.tags()
    }

    fn url(&self, put: &mut dyn FnMut(&str, &str)) {
        // A request that was not redirected has the URL of its response.
        match (self.ended.transfer.redirects, &self.ended.outcome) {
            (0, Ok(response)) => put(&response.target.origin.text, &response.target.path),
            _ => match self.base {
                Some(base) => put(&absolute(base, &self.op.request.url), ""),
                None => put(&self.op.target(), ""),
            },
        }
    }

    fn final_url(&self) -> String {
        let response = self.ended.outcome.as_ref();
        response.map_or_else(|_| String::new(), |response| response.target.text())
    }

    fn class(&self) -> &str {
        class(self.ended)
    }

    fn messages(&self) -> Option<[u64; 2]> {
        self.op.request.stream().map(|body| body.messages())
    }

    fn request_headers(&self) -> Vec<(String, Vec<u8>)> {
        let trace = self.ended.trace.as_deref();
        self.base.map_or_else(Vec::new, |base| {
            self.session.headers_of(base, &self.op.request, trace)
        })
    }

    fn response_headers(&self) -> Vec<(String, Vec<u8>)> {
        let response = self.ended.outcome.as_ref();
        response.map_or_else(|_| Vec::new(), Response::headers)
    }

    fn page_says(&self) -> Option<String> {
        page_message(self.ended)
    }

    fn body(&self) -> &[u8] {
        let response = self.ended.outcome.as_ref();
        response.map_or(&[], Response::body_at_hand)
    }
}

impl ExchangeOp for CallOp {
    type Value = CallValue;
    type Flow = Traffic;
    type Meter = Meter;

    fn method(&self) -> &str {
        self.call.kind()
    }

    fn own_name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    fn tags(&self) -> Option<&Tags> {
        self.tags.as_deref()
    }

    fn target(&self) -> Cow<'_, str> {
        self.call.target().into()
    }

    fn name_of_target(&self, _: RequestNames) -> Cow<'_, str> {
        self.target()
    }

    fn so_far(meter: &Meter) -> (Phases, Traffic) {
        (meter.phases(), meter.traffic())
    }

    fn response(ended: &Ended<CallOp>) -> SampleResponse {
        match ended.outcome {
            Ok(_) => SampleResponse::WithoutStatus,
            Err(_) => SampleResponse::Missing,
        }
    }

    fn details<'a>(facts: &'a Facts<'_, CallOp>) -> &'a dyn ExchangeDetails {
        facts
    }
}

impl Flow for Traffic {
    fn traffic(&self) -> Traffic {
        *self
    }
}

impl ExchangeDetails for Facts<'_, CallOp> {
    fn method(&self) -> &str {
        self.op.method()
    }

    fn tags(&self) -> Option<&Tags> {
        self.op.tags()
    }

    fn url(&self, put: &mut dyn FnMut(&str, &str)) {
        put(self.op.call.target(), "");
    }

    fn class(&self) -> &str {
        class(self.ended)
    }
}

/// Returns the class of a failure without a response; else empty.
fn class<T, F>(ended: &Exchange<T, F>) -> &str {
    let failure = ended.outcome.as_ref().err();
    failure.map_or("", |failure| failure.class.name())
}
