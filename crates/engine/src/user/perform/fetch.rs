//! Requests side by side, as a browser loads the assets of a page.

use crate::exchange::{InFlight, Operation, Sender, host_of, is_on, judged};
use crate::user::stop::StopSignal;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use lgoose_http::{BodyRoom, Exchange, Response};
use lgoose_lua::{Finished, RequestOp};
use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;

/// The most hosts that requests go to side by side: each takes connections, which are limited.
const HOSTS_SIDE_BY_SIDE: usize = 64;

/// The requests of a fetch that go to one host.
struct HostRequests<'a> {
    name: &'a str,
    /// Their places in the list.
    places: Vec<usize>,
    /// How many of them have begun.
    started: Cell<usize>,
    /// How many senders have not ended yet.
    senders: Cell<usize>,
}

impl HostRequests<'_> {
    /// Returns the place of the next request to send.
    fn next(&self) -> Option<usize> {
        let place = self.places.get(self.started.get())?;
        self.started.set(self.started.get() + 1);
        Some(*place)
    }

    /// Notes that a sender ends. Returns whether it was the last one.
    fn sender_ends(&self) -> bool {
        self.senders.set(self.senders.get() - 1);
        self.senders.get() == 0
    }
}

/// A fetch under way.
struct Fetch<'a> {
    sender: &'a Sender,
    operation: &'a Operation,
    /// The signal that ends it while it waits.
    stop: Option<&'a StopSignal>,
    /// Whether it was given up: the rest of the requests is not sent.
    gave_up: Cell<bool>,
    /// Whether a request had to wait before it was sent.
    waited: Cell<bool>,
    /// The room for the bodies: a single one is limited by '--max-body' alone.
    room: Option<Rc<BodyRoom>>,
}

/// How a fetch has ended of which all requests were sent.
pub(super) struct FetchEnd {
    /// Whether bodies are missing because they took more memory than a user may have.
    pub(super) full: bool,
    /// For how long no request was under way because all had to wait.
    pub(super) waited: Duration,
}

/// Sends the requests of the open operation side by side, at most as many at a time per host as a user has connections, and counts each when it ends;
/// their outcomes are kept there. Where the signal stops the user while it waits for its turn, the fetch is given
/// up, and `None` is returned.
pub(super) async fn fetch(
    sender: &Sender,
    operation: &Operation,
    stop: Option<&StopSignal>,
) -> Option<FetchEnd> {
    let begun = Instant::now();
    let ops = operation.all();
    let room = (ops.len() > 1).then(|| BodyRoom::of(sender.shared.config.lua_memory));
    let fetch = Fetch {
        sender,
        operation,
        stop,
        gave_up: Cell::new(false),
        waited: Cell::new(false),
        room: room.map(Rc::new),
    };
    sender.session.set_room(fetch.room.clone());
    let hosts = hosts_of(ops);
    let mut waiting = hosts.iter();
    let first = waiting.by_ref().take(HOSTS_SIDE_BY_SIDE);
    let senders = first.flat_map(|host| fetch.senders_to(host));
    let mut senders = senders.collect::<FuturesUnordered<_>>();
    while let Some(host) = senders.next().await {
        if host.sender_ends()
            && let Some(next) = waiting.next()
        {
            senders.extend(fetch.senders_to(next));
        }
    }
    drop(senders);
    sender.session.set_room(None);
    let waited = if fetch.waited.get() {
        idle(begun, &operation.fetched.borrow())
    } else {
        Duration::ZERO
    };
    (!fetch.gave_up.get()).then(|| FetchEnd {
        full: fetch.is_full(),
        waited,
    })
}

/// Returns for how long none of these requests was under way since `begun`.
fn idle(begun: Instant, outcomes: &[Option<Finished>]) -> Duration {
    let finished = outcomes.iter().flatten();
    let exchanges = finished.map(|finished| &finished.exchange);
    let mut flights: Vec<_> = exchanges
        .map(|exchange| (exchange.start, exchange.start + exchange.latency))
        .collect();
    flights.sort_unstable();
    let (mut idle, mut until) = (Duration::ZERO, begun);
    for (start, end) in flights {
        idle += start.saturating_duration_since(until);
        until = until.max(end);
    }
    idle
}

impl<'a> Fetch<'a> {
    /// Returns the senders to a host. Each sends over one connection, one request after another.
    fn senders_to(
        &'a self,
        host: &'a HostRequests<'a>,
    ) -> impl Iterator<Item = impl Future<Output = &'a HostRequests<'a>>> {
        let most = self.sender.shared.config.connections_per_host as usize;
        let count = host.places.len().min(most);
        host.senders.set(count);
        (0..count).map(move |_| async move {
            while !self.gave_up.get()
                && let Some(place) = host.next()
            {
                self.send_at(place).await;
            }
            host
        })
    }

    /// Sends the request at that place of the list, counts it, and puts its outcome at the same place.
    async fn send_at(&self, place: usize) {
        let (sender, operation) = (self.sender, self.operation);
        let op = &operation.all()[place];
        if let Some(exchange) = sender.session.from_cache(&op.request) {
            operation.fetched.borrow_mut()[place] = Some(self.judged(op, exchange));
            return self.make_room(place);
        }
        let host = host_of(&op.request.url);
        let backed_off = sender.back_off(host).await;
        let Some(waited) = sender.pass_throttles(self.stop).await else {
            self.gave_up.set(true);
            return;
        };
        if !(backed_off + waited).is_zero() {
            self.waited.set(true);
        }
        let (in_flight, trace) = InFlight::begin(sender, op, operation, place);
        let mut exchange = in_flight.send(trace).await;
        in_flight.end_with(&mut exchange);
        sender.responded::<RequestOp>(host, &exchange);
        operation.enter(sender, place, self.judged(op, exchange));
        self.make_room(place);
    }

    /// Forgets all responses but for their status once those so far are too many; the latest came for that place.
    fn make_room(&self, place: usize) {
        let was_full = self.is_full();
        let mut outcomes = self.operation.fetched.borrow_mut();
        let of = |finished: &Finished| {
            let response = finished.exchange.outcome.as_ref();
            response.map_or(0, Response::held_bytes)
        };
        let latest = outcomes[place].as_ref().map_or(0, of);
        if let Some(room) = &self.room {
            room.take(latest as u64);
        }
        if !self.is_full() {
            return;
        }
        // All those before are forgotten already if there was no room before.
        let forgotten = if was_full {
            &mut outcomes[place..=place]
        } else {
            &mut outcomes[..]
        };
        for finished in forgotten.iter_mut().flatten() {
            if let Ok(response) = &mut finished.exchange.outcome {
                response.forget();
            }
        }
    }

    /// Whether the responses take more memory than a user may have.
    fn is_full(&self) -> bool {
        self.room.as_ref().is_some_and(|room| room.is_full())
    }

    /// Returns a request with the verdict on it. Of a response that may be without its body, that is the status.
    fn judged(&self, op: &RequestOp, exchange: Box<Exchange>) -> Finished {
        let verdict = if self.is_full() {
            let mut expect = same_by_default(&op.expect);
            expect.status.clone_from(&op.expect.status);
            expect.verdict(&exchange)
        } else {
            op.expect.verdict(&exchange)
        };
        judged(self.sender, self.sender.task, op, verdict, exchange)
    }
}

/// Returns the default of a value's type.
fn same_by_default<T: Default>(_: &T) -> T {
    T::default()
}

/// Returns the hosts that the requests go to, in the order of their first requests.
fn hosts_of(ops: &[RequestOp]) -> Vec<HostRequests<'_>> {
    let mut hosts: Vec<HostRequests> = Vec::new();
    let mut hosts_by_name = HashMap::new();
    let mut latest = 0;
    for (place, op) in ops.iter().enumerate() {
        let url = &op.request.url;
        let is_next = hosts.get(latest).is_some_and(|host| is_on(url, host.name));
        if !is_next {
            let name = host_of(url);
            latest = *hosts_by_name.entry(name).or_insert_with(|| {
                hosts.push(HostRequests {
                    name,
                    places: Vec::new(),
                    started: Cell::new(0),
                    senders: Cell::new(0),
                });
                hosts.len() - 1
            });
        }
        hosts[latest].places.push(place);
    }
    hosts
}
