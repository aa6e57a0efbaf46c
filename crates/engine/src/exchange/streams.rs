//! Requests whose responses the plan reads while they come: each goes on beside the user until its end, whatever the user does
//! meanwhile, and is counted when the plan has read the end or closes it, or the user ends.

use super::flight::{Flight, aborted};
use super::operation::Operation;
use super::sender::Sender;
use crate::user::ShardState;
use lgoose_http::{Exchange, Phases, Session, TransferMeter};
use lgoose_lua::{RequestOp, ResponseStream};
use std::cell::RefCell;
use std::fmt::{self, Debug, Formatter};
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;
use tokio::time::Instant;

/// A request under way whose response the plan reads.
#[derive(Debug)]
pub(super) struct OpenStream {
    pub(super) stream: Rc<ResponseStream>,
    /// The operation that it is counted with, whose only request it is.
    pub(super) operation: Operation,
    /// Index of the task that sent it.
    pub(super) task: Option<usize>,
    sending: Rc<Sending>,
    // Never borrowed across an await. Dropped as soon as the stream is cut off, so that all that it received is counted.
    request: Rc<RefCell<Option<SendingFuture>>>,
    /// Of the user that has sent it.
    session: Rc<Session>,
}

/// The streams that a user has open, which its task and its jobs share.
#[derive(Debug, Clone, Default)]
pub(crate) struct OpenStreams(Rc<RefCell<Vec<OpenStream>>>);

/// The request on its way, as long as it is.
struct SendingFuture(Pin<Box<dyn Future<Output = ()>>>);

impl Debug for SendingFuture {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("SendingFuture")
    }
}

/// State of a request that its sending and those that wait for it share.
#[derive(Debug)]
struct Sending {
    meter: TransferMeter,
    // Not borrowed across an await.
    flight: RefCell<Flight<Rc<ShardState>>>,
    exchange: RefCell<Option<Box<Exchange>>>,
}

impl OpenStream {
    /// Opens a request, which [`OpenStream::sending`] sends; nothing if its response is to be kept. The row is that of
    /// `operation`.
    pub(super) fn open(
        sender: &Sender,
        op: Box<RequestOp>,
        mut operation: Operation,
        after_stop: bool,
    ) -> Option<OpenStream> {
        let start = Instant::now();
        let request = op.request.clone();
        let body = request.stream()?.clone();
        let trace = sender.session.start_trace(&request);
        let stream = ResponseStream::new(body, &op.request.url, &op.expect, start, after_stop);
        operation.store(op);
        let flight = Flight::new(sender.shared.clone(), start, operation.row_at(0));
        let sending = Rc::new(Sending {
            meter: TransferMeter::default(),
            flight: RefCell::new(flight),
            exchange: RefCell::default(),
        });
        let sent = Box::pin({
            let (sending, session, body) =
                (sending.clone(), sender.session.clone(), stream.body.clone());
            async move {
                let sent = session.send(&request, start, trace, &sending.meter);
                let mut exchange = sent.await;
                sending.flight.borrow_mut().end_exchange(&mut exchange);
                let response = exchange.outcome.as_ref().ok();
                if response.is_none() {
                    body.fail();
                }
                body.end(response.map(|response| (response.status, response.head())));
                body.conclude_call(exchange.outcome.as_ref().err());
                sending.exchange.replace(Some(exchange));
            }
        });
        let request_under_way = Rc::new(RefCell::new(Some(SendingFuture(sent))));
        Some(OpenStream {
            stream: Rc::new(stream),
            operation,
            task: sender.task,
            sending,
            request: request_under_way,
            session: sender.session.clone(),
        })
    }

    /// Sends the request, and ends with it, or when it is cut off.
    pub(super) fn sending(&self) -> impl Future<Output = ()> + use<> {
        go_on(self.request.clone())
    }

    /// Notes that the head of the response has come: nobody waits for a response any more, however long the stream goes on.
    pub(super) fn responded(&self) {
        self.sending.flight.borrow_mut().end_at_head();
    }

    /// Returns its exchange, with the messages that the plan has taken. One that is still under way is cut off here.
    pub(super) fn end(&mut self) -> Box<Exchange> {
        drop(self.request.take());
        let exchange = self.sending.exchange.take();
        let mut exchange = exchange.unwrap_or_else(|| Box::new(self.cut_off()));
        // Its connection may have failed before its reader came to its last message.
        if self.stream.body.completed_at().is_some()
            && let Some(op) = self.operation.request_at(0)
        {
            self.session.settle_stream(&op.request, &mut exchange);
        }
        // The latency of a WebSocket is that of its opening; one that has failed since then took until it failed.
        if let (Some(_), Some(head_at)) = (self.stream.body.socket(), self.stream.body.head_at())
            && exchange.outcome.is_ok()
        {
            exchange.latency = head_at.saturating_duration_since(exchange.start);
        }
        exchange
    }

    /// Whether it has ended by itself.
    fn has_ended(&self) -> bool {
        self.stream.body.has_ended()
    }

    fn cut_off(&self) -> Exchange {
        let flown = self.sending.flight.borrow_mut().cut_off();
        let (start, latency) = flown.map_or_else(
            || (self.stream.start, self.stream.start.elapsed()),
            |flown| (flown.start, flown.latency),
        );
        Exchange {
            start,
            connection: None,
            latency,
            timings: Phases::default(),
            transfer: self.sending.meter.so_far(),
            trace: None,
            outcome: aborted(),
        }
    }
}

impl OpenStreams {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.borrow().len()
    }

    pub(super) fn add(&self, open: OpenStream) {
        self.0.borrow_mut().push(open);
    }

    /// Returns all.
    pub(crate) fn all(&self) -> Vec<Rc<ResponseStream>> {
        let streams = self.0.borrow();
        streams.iter().map(|open| open.stream.clone()).collect()
    }

    /// Shows the open request of a stream, if it is not counted yet.
    pub(super) fn look_at(&self, stream: &Rc<ResponseStream>, look: impl FnOnce(&OpenStream)) {
        let streams = self.0.borrow();
        let open = streams.iter().find(|open| Rc::ptr_eq(&open.stream, stream));
        if let Some(open) = open {
            look(open);
        }
    }

    /// Takes the open request of a stream, to count it.
    pub(super) fn take(&self, stream: &Rc<ResponseStream>) -> Option<OpenStream> {
        let mut streams = self.0.borrow_mut();
        let place = streams
            .iter()
            .position(|open| Rc::ptr_eq(&open.stream, stream));
        place.map(|place| streams.swap_remove(place))
    }

    /// Takes those that have ended by themselves, or all of them.
    pub(super) fn take_due(&self, all: bool) -> Vec<OpenStream> {
        let mut streams = self.0.borrow_mut();
        let is_due = |open: &mut OpenStream| all || open.has_ended();
        streams.extract_if(.., is_due).collect()
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        drop(self.request.take());
    }
}

/// Sends the request, unless it is cut off.
async fn go_on(request: Rc<RefCell<Option<SendingFuture>>>) {
    poll_fn(|cx| {
        let mut request = request.borrow_mut();
        let Some(SendingFuture(sent)) = &mut *request else {
            return Poll::Ready(());
        };
        let polled = sent.as_mut().poll(cx);
        if polled.is_ready() {
            *request = None;
        }
        polled
    })
    .await;
}
