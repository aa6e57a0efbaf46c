//! Requests side by side, as a browser loads the assets of a page.

use crate::engine::user::User;
use crate::engine::user::in_flight::InFlight;
use crate::engine::user::naming::{host_of, is_on};
use crate::engine::user::verdicts::sample;
use crate::lua::{Finished, RequestOp};
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use std::cell::{Cell, RefCell};
use tokio::time::Instant;

/// The most requests side by side to one host, as browsers send them over HTTP/1.1.
const SIDE_BY_SIDE: usize = 6;

/// The requests of a fetch that go to one host.
struct Host<'a> {
    name: &'a str,
    /// Their places in the list.
    places: Vec<usize>,
    /// How many of them have begun.
    begun: Cell<usize>,
}

impl Host<'_> {
    /// Returns the place of the next request to send.
    fn next(&self) -> Option<usize> {
        let place = self.places.get(self.begun.get())?;
        self.begun.set(self.begun.get() + 1);
        Some(*place)
    }
}

impl User {
    /// Sends requests side by side, at most six at a time per host, and counts each when it ends; returns the
    /// outcomes in the order of the list.
    pub(super) async fn fetch(&self, ops: &[RequestOp], task: &str) -> Vec<Finished> {
        let outcomes = RefCell::new(ops.iter().map(|_| None).collect::<Vec<_>>());
        let hosts = hosts_of(ops);
        // One sends what is to be sent on one connection, one request after another.
        let senders = hosts.iter().flat_map(|host| {
            let count = host.places.len().min(SIDE_BY_SIDE);
            (0..count).map(async |_| {
                while let Some(place) = host.next() {
                    self.send_at(place, &ops[place], task, &outcomes).await;
                }
            })
        });
        let mut senders = senders.collect::<FuturesUnordered<_>>();
        while senders.next().await.is_some() {}
        drop(senders);
        // All have been sent. Collected so, they stay where they are.
        let outcomes = outcomes.into_inner().into_iter();
        outcomes.collect::<Option<_>>().unwrap_or_default()
    }

    /// Sends the request at that place of the list, counts it, and puts its outcome at the same place.
    async fn send_at(
        &self,
        place: usize,
        op: &RequestOp,
        task: &str,
        outcomes: &RefCell<Vec<Option<Finished>>>,
    ) {
        if let Some(exchange) = self.session.from_cache(&op.request) {
            outcomes.borrow_mut()[place] = Some(self.judged(op, task, exchange));
            return;
        }
        self.shared.pass_throttles(&self.role.limits).await;
        let begin = Instant::now();
        let trace = self.session.begin_trace(&op.request);
        let flight = InFlight::new(self, op, place, begin, trace.as_deref());
        let mut exchange = self.session.send(&op.request, begin, trace).await;
        flight.end(&mut exchange);
        let finished = &mut outcomes.borrow_mut()[place];
        let finished = finished.insert(self.judged(op, task, exchange));
        let verdict = finished.verdict();
        let sample = sample(&self.open, place, finished, verdict.as_deref());
        self.shared.recorder.borrow_mut().enter(&sample);
        finished.entered = Some(verdict.is_some());
    }
}

/// Returns the hosts that the requests go to.
fn hosts_of(ops: &[RequestOp]) -> Vec<Host<'_>> {
    let mut hosts: Vec<Host> = Vec::new();
    for (place, op) in ops.iter().enumerate() {
        let url = &op.request.url;
        match hosts.iter_mut().find(|host| is_on(url, host.name)) {
            Some(host) => host.places.push(place),
            None => hosts.push(Host {
                name: host_of(url),
                places: vec![place],
                begun: Cell::new(0),
            }),
        }
    }
    hosts
}
