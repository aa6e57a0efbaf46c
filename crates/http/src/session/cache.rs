//! The cache of one user, like that of a browser: responses that a browser would not request again are taken from here,
//! and those that may have changed are requested with their validators. [`freshness`](super::freshness) interprets the
//! headers.

use super::Session;
use super::exchange::OutgoingHop;
use super::freshness::{CacheRequest, KeptHead};
use crate::hop::Hop;
use crate::message::{CacheUse, Discard, Exchange, Request, Response};
use crate::target::Target;
use crate::transfer::Transfer;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use lgoose_base::phases::Phases;
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::time::{Duration, SystemTime};
use tokio::time::Instant;

/// The most bytes that are kept; beyond it, the oldest responses go first.
const MOST_BYTES: usize = 8 << 20;
/// The memory of a response besides its bytes, approximately.
const ENTRY_BYTES: usize = 2048;

/// The cache of a user.
#[derive(Debug, Default)]
// Never borrowed across an await.
pub(super) struct Cache(RefCell<Entries>);

/// The responses that a user keeps, by URL.
#[derive(Debug, Default)]
struct Entries {
    entries: HashMap<Rc<str>, CachedResponse>,
    order: VecDeque<Rc<str>>,
    bytes: usize,
}

#[derive(Debug)]
struct CachedResponse {
    head: KeptHead,
    response: Response,
}

impl CachedResponse {
    fn weight(&self) -> usize {
        ENTRY_BYTES + self.response.held_bytes()
    }
}

impl Entries {
    fn insert(&mut self, url: &str, entry: CachedResponse) {
        self.remove(url);
        let weight = entry.weight();
        if weight > MOST_BYTES {
            return;
        }
        while self.bytes + weight > MOST_BYTES
            && let Some(first) = self.order.front().cloned()
        {
            self.remove(&first);
        }
        let url: Rc<str> = url.into();
        self.bytes += weight;
        self.order.push_back(url.clone());
        self.entries.insert(url, entry);
    }

    fn remove(&mut self, url: &str) {
        if let Some(entry) = self.entries.remove(url) {
            self.bytes -= entry.weight();
            self.order.retain(|stored| **stored != *url);
        }
    }
}

impl Cache {
    /// The memory that the cache takes, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.0.borrow().bytes
    }

    /// The response to a request that need not be sent, since the cache has a fresh one; else `None`.
    pub(super) fn fresh(&self, session: &Session, request: &Request) -> Option<Exchange> {
        self.look_up(session, request, |entry, wanted, headers| {
            let is_enough = wanted == CacheRequest::Fresh
                && entry.head.matches(headers)
                && entry.head.is_fresh(SystemTime::now());
            is_enough.then(|| Exchange {
                start: Instant::now(),
                connection: None,
                latency: Duration::ZERO,
                timings: Phases::default(),
                transfer: Transfer::default(),
                trace: None,
                outcome: Ok(entry.response.copy(CacheUse::Fresh)),
            })
        })
    }

    /// The request with the validators of the response in the cache, if that has some and its confirmation is wanted.
    pub(super) fn conditional(&self, session: &Session, request: &Request) -> Option<Box<Request>> {
        self.look_up(session, request, |entry, wanted, headers| {
            if !matches!(wanted, CacheRequest::Fresh | CacheRequest::Confirmed) {
                return None;
            }
            let mut conditional = None;
            let matches = entry.head.matches(headers);
            entry.head.each_condition(matches, |name, value| {
                let request: &mut Box<Request> =
                    conditional.get_or_insert_with(|| Box::new(request.clone()));
                request.headers.push((name, value));
            });
            conditional
        })
    }

    /// Calls `read` with the cache's entry for a request, with the request's cache mode, and with its headers.
    fn look_up<R>(
        &self,
        session: &Session,
        request: &Request,
        read: impl FnOnce(&CachedResponse, CacheRequest, &HeaderMap) -> Option<R>,
    ) -> Option<R> {
        let target = cacheable(session, request)?;
        let cache = self.0.borrow();
        let entry = cache.entries.get(&*target.text())?;
        let headers = headers_of(session, request, &target);
        read(entry, CacheRequest::of(&headers), &headers)
    }

    /// Keeps a response, or replaces a 304 with the response that the cache has.
    pub(super) fn record(
        &self,
        session: &Session,
        request: &Request,
        conditional: bool,
        exchange: &mut Exchange,
    ) {
        let Ok(response) = &exchange.outcome else {
            return;
        };
        if !request.method.is_safe() {
            let target = session.resolve(request);
            if let Ok(target) = target.as_ref().map(Target::text)
                && response.status < 400
            {
                self.0.borrow_mut().remove(&target);
            }
            return;
        }
        let Some(target) = cacheable(session, request) else {
            return;
        };
        let sent = headers_of(session, request, &target);
        if exchange.transfer.redirects > 0 || CacheRequest::of(&sent) == CacheRequest::Apart {
            return;
        }
        let url = target.text();
        let mut headers = HeaderMap::new();
        for (name, value) in response.headers() {
            if let (Ok(name), Ok(value)) = (
                HeaderName::from_bytes(name.as_bytes()),
                HeaderValue::from_bytes(&value),
            ) {
                headers.append(name, value);
            }
        }
        let now = SystemTime::now();
        let mut cache = self.0.borrow_mut();
        if response.status == 304 {
            if let Some(entry) = cache.entries.get_mut(&*url).filter(|_| conditional) {
                let stays = entry.head.confirm(&headers, &sent, now);
                exchange.outcome = Ok(entry.response.copy(CacheUse::NotModified));
                if !stays {
                    cache.remove(&url);
                }
            }
            return;
        }
        // It may be without its body.
        if session
            .room
            .borrow()
            .as_ref()
            .is_some_and(|room| room.is_full())
        {
            return;
        }
        match KeptHead::new(response.status, headers, &sent, now) {
            Some(head) => cache.insert(
                &url,
                CachedResponse {
                    head,
                    response: response.copy(CacheUse::Nothing),
                },
            ),
            None => cache.remove(&url),
        }
    }
}

/// The target of a request, if it is cacheable.
fn cacheable(session: &Session, request: &Request) -> Option<Target> {
    let cacheable = request.method == Method::GET
        && request.body.is_empty()
        && request.discard.or(session.client.config.discard) != Discard::All;
    cacheable.then(|| session.resolve(request).ok())?
}

/// The headers that are sent with a request.
fn headers_of(session: &Session, request: &Request, target: &Target) -> HeaderMap {
    let hop = Hop::first(&request.method, &request.body);
    let outgoing = OutgoingHop {
        session,
        target,
        hop: &hop,
        request,
    };
    let mut headers = HeaderMap::new();
    outgoing.head().each_header(|name, value| {
        headers.append(name, value.clone());
    });
    headers
}
