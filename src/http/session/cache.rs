//! The cache of one user, like that of a browser: what a browser would not request again is taken from here, and what
//! may have changed is requested with its validators. `http-cache-semantics` (RFC 9111) decides what the headers
//! mean.

use super::Session;
use super::exchange::OutgoingHop;
use crate::http::hop::Hop;
use crate::http::message::{CacheUse, Discard, Exchange, Request, Response};
use crate::http::target::Target;
use crate::http::transfer::Transfer;
use crate::phases::Phases;
use http::{Method, header};
use http_cache_semantics::{AfterResponse, BeforeRequest, CacheOptions, CachePolicy};
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::time::{Duration, SystemTime};
use tokio::time::Instant;

/// The most bytes that are kept; beyond it, the oldest responses go first.
const MOST_BYTES: usize = 8 << 20;
/// The memory of a response besides its bytes, approximately.
const EACH: usize = 2048;

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
    policy: CachePolicy,
    response: Response,
}

impl CachedResponse {
    fn weight(&self) -> usize {
        EACH + self.response.held_bytes()
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
        self.look_up(session, request, |entry, before| {
            let BeforeRequest::Fresh(_) = before else {
                return None;
            };
            Some(Exchange {
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

    /// The request with the validators of the response in the cache, if that is stale and has some.
    pub(super) fn conditional(&self, session: &Session, request: &Request) -> Option<Box<Request>> {
        self.look_up(session, request, |_, before| {
            let BeforeRequest::Stale {
                request: parts,
                matches: true,
            } = before
            else {
                return None;
            };
            let mut conditional = None;
            for name in [header::IF_NONE_MATCH, header::IF_MODIFIED_SINCE] {
                if let Some(value) = parts.headers.get(&name) {
                    let request: &mut Box<Request> =
                        conditional.get_or_insert_with(|| Box::new(request.clone()));
                    request.headers.push((name, value.clone()));
                }
            }
            conditional
        })
    }

    /// Calls `read` with what the cache has for a request, and with what a browser would do.
    fn look_up<R>(
        &self,
        session: &Session,
        request: &Request,
        read: impl FnOnce(&CachedResponse, BeforeRequest) -> Option<R>,
    ) -> Option<R> {
        let target = cacheable(session, request)?;
        let cache = self.0.borrow();
        let entry = cache.entries.get(&*target.text())?;
        let parts = parts_of(session, request, &target)?;
        let before = entry.policy.before_request(&parts, SystemTime::now());
        read(entry, before)
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
        let Some(parts) =
            parts_of(session, request, &target).filter(|_| exchange.transfer.redirects == 0)
        else {
            return;
        };
        let url = target.text();
        let mut reply = http::Response::new(());
        *reply.status_mut() = match http::StatusCode::from_u16(response.status) {
            Ok(status) => status,
            Err(_) => return,
        };
        for (name, value) in response.headers() {
            if let (Ok(name), Ok(value)) = (
                http::HeaderName::from_bytes(name.as_bytes()),
                http::HeaderValue::from_bytes(&value),
            ) {
                reply.headers_mut().append(name, value);
            }
        }
        let now = SystemTime::now();
        let mut cache = self.0.borrow_mut();
        if conditional && response.status == 304 {
            if let Some(entry) = cache.entries.get_mut(&*url) {
                if let AfterResponse::NotModified(policy, _) =
                    entry.policy.after_response(&parts, &reply, now)
                {
                    entry.policy = policy;
                }
                exchange.outcome = Ok(entry.response.copy(CacheUse::NotModified));
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
        let options = CacheOptions {
            shared: false,
            ..CacheOptions::default()
        };
        let policy = CachePolicy::new_options(&parts, &reply, now, options);
        let validators = [header::ETAG, header::LAST_MODIFIED];
        let useful = !policy.is_stale(now)
            || validators
                .iter()
                .any(|name| reply.headers().contains_key(name));
        if policy.is_storable() && useful {
            cache.insert(
                &url,
                CachedResponse {
                    policy,
                    response: response.copy(CacheUse::Nothing),
                },
            )
        } else {
            cache.remove(&url)
        }
    }
}

/// The target of a request, if the request may use the cache.
fn cacheable(session: &Session, request: &Request) -> Option<Target> {
    let own = [
        header::CACHE_CONTROL,
        header::IF_MATCH,
        header::IF_MODIFIED_SINCE,
        header::IF_NONE_MATCH,
        header::IF_RANGE,
        header::IF_UNMODIFIED_SINCE,
        header::RANGE,
    ];
    let decides = request.headers.iter().any(|(name, _)| own.contains(name));
    let cacheable =
        request.method == Method::GET && request.body.is_empty() && request.discard != Discard::All;
    if !cacheable || decides {
        return None;
    }
    session.resolve(request).ok()
}

/// The head of a request, with the headers that are sent.
fn parts_of(session: &Session, request: &Request, target: &Target) -> Option<http::request::Parts> {
    let built = http::Request::builder()
        .method(request.method.clone())
        .uri(target.text());
    let (mut parts, ()) = built.body(()).ok()?.into_parts();
    let hop = Hop::first(&request.method, &request.body);
    let outgoing = OutgoingHop {
        session,
        target,
        hop: &hop,
        request,
    };
    outgoing.head().each_header(|name, value| {
        parts.headers.append(name, value.clone());
    });
    Some(parts)
}
