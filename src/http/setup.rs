//! What can be seen of a connection that `reqwest` opens: when that begins and ends, and the names it looks
//! up, which our resolver answers. The request that asked for the connection is found as a value of its
//! task.

use super::delegated::Proxied;
use super::watch::Watch;
use super::{Failure, Origin, Resolver};
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
    /// The set-up of the request that is polled.
    static CURRENT: Arc<Setup>;
}

/// The opening of a connection for one request, if one was opened.
#[derive(Debug)]
pub(super) struct Setup {
    host: String,
    port: u16,
    // reqwest may finish a connection in a task of its own. Locked a few times per connection.
    stamps: Mutex<Stamps>,
}

#[derive(Debug, Default)]
struct Stamps {
    begun: bool,
    under_way: u32,
    looking_up: bool,
    resolved: Option<Instant>,
    opened: Option<Instant>,
}

impl Setup {
    pub(super) fn towards(origin: &Origin) -> Setup {
        Setup {
            host: origin.host.clone(),
            port: origin.port,
            stamps: Mutex::default(),
        }
    }

    /// The future with this as the set-up of what it opens.
    pub(super) fn scope<F: Future>(
        setup: &Arc<Setup>,
        future: F,
    ) -> impl Future<Output = F::Output> {
        CURRENT.scope(setup.clone(), future)
    }

    /// Whether a connection was opened for the request, or begun.
    pub(super) fn has_begun(&self) -> bool {
        self.stamps().begun
    }

    /// Ends the phases that are known, looking up and all else until the connection was there, and enters the
    /// one that is not known to have ended. Whether a connection is being opened now.
    pub(super) fn follow(&self, watch: &mut Watch) -> bool {
        let stamps = self.stamps();
        let connecting = stamps.under_way > 0;
        watch.enter(match connecting {
            true if stamps.looking_up => |timings| &mut timings.dns,
            true => |timings| &mut timings.connect,
            false => |timings| &mut timings.first_byte,
        });
        if let Some(resolved) = stamps.resolved {
            watch.lap_at(resolved, |timings| &mut timings.dns);
        }
        if let Some(opened) = stamps.opened {
            watch.lap_at(opened, |timings| &mut timings.connect);
        }
        connecting
    }

    fn stamps(&self) -> MutexGuard<'_, Stamps> {
        self.stamps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self) {
        let mut stamps = self.stamps();
        stamps.begun = true;
        stamps.under_way += 1;
    }

    fn end(&self) {
        let mut stamps = self.stamps();
        stamps.under_way -= 1;
        stamps.opened = Some(Instant::now());
    }
}

/// Wraps reqwest's connector.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stamp;

impl<S> Layer<S> for Stamp {
    type Service = Stamped<S>;

    fn layer(&self, connector: S) -> Stamped<S> {
        Stamped(connector)
    }
}

/// A connector that tells the request's set-up when it begins and ends.
#[derive(Debug, Clone)]
pub(super) struct Stamped<S>(S);

impl<S, R> Service<R> for Stamped<S>
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
        // Called while the request is polled, so there always is one.
        let Ok(setup) = CURRENT.try_with(Arc::clone) else {
            return Box::pin(opening);
        };
        setup.begin();
        let ending = setup.clone();
        Box::pin(CURRENT.scope(setup, async move {
            let opened = opening.await;
            ending.end();
            opened
        }))
    }
}

/// Our resolver as reqwest asks it.
#[derive(Debug)]
pub(super) struct Names {
    resolver: Arc<Resolver>,
    /// The proxy's host and port.
    proxy: Option<(String, u16)>,
}

impl Names {
    pub(super) fn new(resolver: Arc<Resolver>, proxied: &Proxied) -> Names {
        let proxy = match proxied {
            Proxied::By(proxy) => proxy.host_str().zip(proxy.port_or_known_default()),
            Proxied::No | Proxied::ByEnvironment => None,
        };
        Names {
            resolver,
            proxy: proxy.map(|(host, port)| (host.to_owned(), port)),
        }
    }

    /// The port that a name is asked for, which `--resolve` wants to know and reqwest does not say.
    fn port_of(&self, name: &str, setup: &Setup) -> u16 {
        match &self.proxy {
            Some((proxy, port)) if name == proxy && name != setup.host => *port,
            _ => setup.port,
        }
    }
}

impl Resolve for Names {
    fn resolve(&self, name: Name) -> Resolving {
        let resolver = self.resolver.clone();
        let host = name
            .as_str()
            .trim_start_matches('[')
            .trim_end_matches(']')
            .to_owned();
        let setup = CURRENT.try_with(Arc::clone).ok();
        let port = setup.as_ref().map_or(0, |setup| self.port_of(&host, setup));
        if let Some(setup) = &setup {
            setup.stamps().looking_up = true;
        }
        Box::pin(async move {
            let addresses = resolver.resolve(&host, port).await;
            if let Some(setup) = setup {
                let mut stamps = setup.stamps();
                stamps.looking_up = false;
                stamps.resolved = Some(Instant::now());
            }
            match addresses {
                Ok(addresses) => Ok(Box::new(addresses.into_iter()) as Addrs),
                Err(failure) => Err(Box::new(Unknown(failure)) as _),
            }
        })
    }
}

/// A failed look-up on its way through reqwest.
#[derive(Debug)]
pub(super) struct Unknown(pub(super) Failure);

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Unknown {}
