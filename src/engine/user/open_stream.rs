//! A request whose response the plan reads while it comes: it goes on beside the user until its end, whatever the user does
//! meanwhile, and is counted when the plan has read the end or closes it, or the user ends.

use crate::engine::user::in_flight::Flight;
use crate::engine::user::open_requests::LatestOperation;
use crate::engine::user::shared::ShardState;
use crate::http::{
    ErrorClass, Exchange, Failure, Phases, Request, Response, Session, TransferMeter,
};
use crate::lua::ResponseStream;
use crate::trace::Trace;
use std::cell::RefCell;
use std::rc::Rc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// A request under way whose response the plan reads.
#[derive(Debug)]
pub(super) struct OpenStream {
    pub(super) stream: Rc<ResponseStream>,
    /// The operation that it is counted with, whose only request it is.
    pub(super) operation: LatestOperation,
    /// Index of the task that sent it, and its name.
    pub(super) task: Option<usize>,
    pub(super) task_name: String,
    sending: Rc<Sending>,
    going_on: JoinHandle<()>,
    method: http::Method,
    session: Rc<Session>,
}

/// What the request itself and whoever waits for it know.
#[derive(Debug)]
struct Sending {
    meter: TransferMeter,
    // Not borrowed across an await.
    flight: RefCell<Flight<Rc<ShardState>>>,
    exchange: RefCell<Option<Exchange>>,
}

impl OpenStream {
    /// Sends a request as a task of its own; nothing if its response is to be kept.
    pub(super) fn send(
        (shared, session): (&Rc<ShardState>, &Rc<Session>),
        request: Request,
        trace: Option<Box<Trace>>,
        operation: LatestOperation,
        (task, task_name): (Option<usize>, &str),
    ) -> Option<OpenStream> {
        let start = Instant::now();
        let body = request.stream()?.clone();
        let sending = Rc::new(Sending {
            meter: TransferMeter::default(),
            flight: RefCell::new(Flight::new(shared.clone(), start)),
            exchange: RefCell::default(),
        });
        let (method, stream) = (request.method.clone(), ResponseStream::new(body, start));
        let going_on = tokio::task::spawn_local({
            let (sending, session, body) = (sending.clone(), session.clone(), stream.body.clone());
            async move {
                let sent = session.send(&request, start, trace, &sending.meter);
                let mut exchange = sent.await;
                sending.flight.borrow_mut().end_exchange(&mut exchange);
                let response = exchange.outcome.as_ref().ok();
                body.end(response.map(|response| (response.status, response.head())));
                sending.exchange.replace(Some(exchange));
            }
        });
        Some(OpenStream {
            stream: Rc::new(stream),
            operation,
            task,
            task_name: task_name.to_owned(),
            sending,
            going_on,
            method,
            session: session.clone(),
        })
    }

    /// Returns its exchange, with the messages that the plan has taken. One that is still under way ends here, as if the
    /// plan had closed it, or as aborted with the run.
    pub(super) fn end(&mut self, is_aborted: bool) -> Exchange {
        self.going_on.abort();
        let exchange = self.sending.exchange.take();
        self.operation.messages = self.stream.messages.get();
        exchange.unwrap_or_else(|| self.cut_off(is_aborted))
    }

    /// Whether it has ended by itself.
    pub(super) fn has_ended(&self) -> bool {
        self.stream.body.has_ended()
    }

    fn cut_off(&self, is_aborted: bool) -> Exchange {
        let cut_off = self.sending.flight.borrow_mut().cut_off();
        let (start, latency) =
            cut_off.unwrap_or_else(|| (self.stream.start, self.stream.start.elapsed()));
        let target = (*self.session.base_target()).clone();
        let response = Response::of_stream(&self.stream.body, &self.method, target);
        Exchange {
            start,
            connection: None,
            latency,
            timings: Phases::default(),
            transfer: self.sending.meter.so_far(),
            trace: None,
            outcome: response
                .filter(|_| !is_aborted)
                .ok_or_else(|| Failure::new(ErrorClass::Aborted, "")),
        }
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.going_on.abort();
    }
}
