//! Traces of the connections that `reqwest` opens: the beginning and the end of each, and the look-ups of names by the
//! resolver of the process. A task-local value ties a connection to the request that it was opened for.

use crate::connect::Resolver;
use crate::failure::Failure;
use crate::stopwatch::Stopwatch;
use crate::target::Origin;
use crate::transport::ReqwestProxy;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use tokio::time::Instant;
use tower_layer::Layer;
use tower_service::Service;

tokio::task_local! {
    /// The trace of the request that is being polled.
    static CURRENT: Arc<ConnectTrace>;
}

/// The trace of the connection that is opened for one request, if any.
#[derive(Debug)]
pub(super) struct ConnectTrace {
    host: String,
    port: u16,
    // reqwest may finish a connection in another task. Locked a few times per connection.
    events: Mutex<Events>,
}

/// The events of a trace.
#[derive(Debug, Default)]
struct Events {
    /// Whether a connection has been begun.
    started: bool,
    /// The number of connections being opened.
    under_way: u32,
    /// Whether a name is being looked up.
    resolving: bool,
    resolved: Option<Instant>,
    opened: Option<Instant>,
}

impl ConnectTrace {
    /// A trace for a request to `origin`.
    pub(super) fn new(origin: &Origin) -> ConnectTrace {
        ConnectTrace {
            host: origin.host.clone(),
            port: origin.port,
            events: Mutex::default(),
        }
    }

    /// Runs the future with this as the trace of the connections that it opens.
    pub(super) fn scope<F: Future>(
        trace: &Arc<ConnectTrace>,
        future: F,
    ) -> impl Future<Output = F::Output> {
        CURRENT.scope(trace.clone(), future)
    }

    /// Whether opening a connection has begun for the request.
    pub(super) fn has_started(&self) -> bool {
        self.events().started
    }

    /// Stamps the phases that have ended, the look-up and the rest of opening the connection, and enters the phase
    /// under way. Returns whether a connection is being opened now.
    pub(super) fn apply(&self, stopwatch: &mut Stopwatch) -> bool {
        let events = self.events();
        let connecting = events.under_way > 0;
        stopwatch.enter(if !connecting {
            |phases| &mut phases.first_byte
        } else if events.resolving {
            |phases| &mut phases.dns
        } else {
            |phases| &mut phases.connect
        });
        if let Some(resolved) = events.resolved {
            stopwatch.lap_at(resolved, |phases| &mut phases.dns);
        }
        if let Some(opened) = events.opened {
            stopwatch.lap_at(opened, |phases| &mut phases.connect);
        }
        connecting
    }

    fn events(&self) -> MutexGuard<'_, Events> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(&self) {
        let mut events = self.events();
        events.started = true;
        events.under_way += 1;
    }

    fn end(&self) {
        let mut events = self.events();
        events.under_way -= 1;
        events.opened = Some(Instant::now());
    }
}

/// The layer that wraps reqwest's connector in a [`TracedConnector`].
#[derive(Debug, Clone, Copy)]
pub(super) struct TraceLayer;

impl<S> Layer<S> for TraceLayer {
    type Service = TracedConnector<S>;

    fn layer(&self, connector: S) -> TracedConnector<S> {
        TracedConnector(connector)
    }
}

/// A connector that notes in the request's trace when opening a connection begins and ends.
#[derive(Debug, Clone)]
pub(super) struct TracedConnector<S>(S);

impl<S, R> Service<R> for TracedConnector<S>
where
    S: Service<R>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, destination: R) -> Self::Future {
        let opening = self.0.call(destination);
        // reqwest calls this while it polls a request, so there always is a trace.
        let Ok(trace) = CURRENT.try_with(Arc::clone) else {
            return Box::pin(opening);
        };
        trace.start();
        let ending = trace.clone();
        Box::pin(CURRENT.scope(trace, async move {
            let opened = opening.await;
            ending.end();
            opened
        }))
    }
}

/// The resolver of the process, in the form that reqwest needs.
#[derive(Debug)]
pub(super) struct SharedResolver {
    resolver: Arc<Resolver>,
    /// The hosts and ports of the proxies.
    proxies: Vec<(String, u16)>,
}

impl SharedResolver {
    /// The resolver for requests through that proxy.
    pub(super) fn new(resolver: Arc<Resolver>, proxy: &ReqwestProxy) -> SharedResolver {
        let places = proxy.urls().filter_map(|proxy| {
            Some((proxy.host_str()?.to_owned(), proxy.port_or_known_default()?))
        });
        SharedResolver {
            resolver,
            proxies: places.collect(),
        }
    }

    /// The port for which a name is looked up: `--resolve` needs it, and reqwest does not pass it.
    fn port_of(&self, name: &str, trace: &ConnectTrace) -> u16 {
        let mut proxies = self.proxies.iter();
        match proxies.find(|(proxy, _)| name == proxy) {
            Some((_, port)) if name != trace.host => *port,
            _ => trace.port,
        }
    }
}

impl Resolve for SharedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let resolver = self.resolver.clone();
        let host = name
            .as_str()
            .trim_start_matches('[')
            .trim_end_matches(']')
            .to_owned();
        let trace = CURRENT.try_with(Arc::clone).ok();
        let port = trace.as_ref().map_or(0, |trace| self.port_of(&host, trace));
        if let Some(trace) = &trace {
            trace.events().resolving = true;
        }
        Box::pin(async move {
            let addresses = resolver.resolve(&host, port).await;
            if let Some(trace) = trace {
                let mut events = trace.events();
                events.resolving = false;
                events.resolved = Some(Instant::now());
            }
            match addresses {
                Ok(addresses) => Ok(Box::new(addresses.into_iter()) as Addrs),
                Err(failure) => Err(Box::new(ResolveError(failure)) as _),
            }
        })
    }
}

/// A failed look-up, wrapped so that reqwest carries it through.
#[derive(Debug)]
pub(super) struct ResolveError(pub(super) Failure);

impl fmt::Display for ResolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for ResolveError {}
