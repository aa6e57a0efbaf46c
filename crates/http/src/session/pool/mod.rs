//! The connection pool of one session: idle HTTP/1.1 connections, and for each host one HTTP/2 connection that all
//! requests share. With the reqwest transport it is empty, since `reqwest` keeps the connections. A shard has one more, with
//! the connections that calls of gRPC share across sessions.

use crate::client::Client;
use crate::failure::{ErrorClass, Failure};
use crate::h1::Connection;
use crate::h2::SharedConnection;
use crate::progress::RequestProgress;
#[cfg(feature = "reqwest")]
use crate::reqwest::new_client;
use crate::target::Origin;
use crate::transport::Version;
#[cfg(feature = "reqwest")]
use crate::transport::{ReqwestProxy, Transport};
use rustls::ClientConfig;
#[cfg(feature = "reqwest")]
use std::cell::Cell;
use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use tokio::sync::Mutex;

/// The most connections to other hosts that stay open without a request when another one is opened. Browsers have such
/// a limit for all hosts together: a user that is sent from host to host must not use up the descriptors.
const MOST_ELSEWHERE: usize = 32;
/// The most hosts that are known not to support HTTP/2, or not to want it.
const MOST_HTTP1_ONLY: usize = 256;

/// The connections of one session, or those that the sessions of a shard share.
#[derive(Debug, Default)]
pub(crate) struct ConnectionPool {
    // None of these is borrowed across an await.
    /// Those that carry no request, the one used last at the end.
    idle: RefCell<Vec<Connection>>,
    on_demand: RefCell<Option<Rc<OnDemandState>>>,
}

/// A host, and the lock that is held while a connection to it is opened.
type OpeningLock = (Rc<Origin>, Rc<Mutex<()>>);

/// State that only users of https, HTTP/2 or reqwest have, made when it is first needed.
#[derive(Debug, Default)]
struct OnDemandState {
    /// The HTTP/2 connections, the one used last at the end.
    http2: RefCell<Vec<SharedConnection>>,
    /// The hosts that do not support HTTP/2: several connections to them may be opened at the same time.
    http1_only: RefCell<Vec<Rc<Origin>>>,
    /// The hosts that support HTTP/2 and want their requests over HTTP/1.1 (RFC 9113, section 7).
    http1_required: RefCell<Vec<Rc<Origin>>>,
    /// The user's TLS configuration, with its own sessions to resume.
    tls: RefCell<Option<Arc<ClientConfig>>>,
    /// The user's reqwest client, if it sends the requests.
    #[cfg(feature = "reqwest")]
    reqwest: RefCell<Option<reqwest::Client>>,
    /// The same for hosts that want HTTP/1.1.
    #[cfg(feature = "reqwest")]
    reqwest_http1: RefCell<Option<reqwest::Client>>,
    /// Knowledge of the connections of the reqwest client.
    #[cfg(feature = "reqwest")]
    observed: Cell<ObservedProtocols>,
    /// For each host, held while a connection to it is opened that may turn out to speak HTTP/2.
    opening: RefCell<Vec<OpeningLock>>,
}

/// Knowledge from responses of the servers that a reqwest client is connected to.
#[cfg(feature = "reqwest")]
#[derive(Debug, Default, Clone, Copy)]
struct ObservedProtocols {
    responses: u64,
    http1: bool,
    http2: bool,
}

/// A request under way over reqwest. If it is given up and no other request has got a response since it began, the
/// client is dropped with it: an HTTP/2 connection may be dead without being closed, and reqwest has no way to check
/// it.
#[cfg(feature = "reqwest")]
pub(super) struct ReqwestRequest {
    on_demand: Rc<OnDemandState>,
    responses_before: u64,
    has_ended: bool,
}

#[cfg(feature = "reqwest")]
impl ReqwestRequest {
    /// Notes the end of the request: whether its response came over HTTP/2, or `None` if it failed.
    pub(super) fn ended(mut self, over_http2: Option<bool>) {
        self.has_ended = true;
        let mut observed = self.on_demand.observed.get();
        match over_http2 {
            Some(true) => observed.http2 = true,
            Some(false) => observed.http1 = true,
            None => return,
        }
        observed.responses += 1;
        self.on_demand.observed.set(observed);
    }
}

#[cfg(feature = "reqwest")]
impl Drop for ReqwestRequest {
    fn drop(&mut self) {
        let observed = self.on_demand.observed.get();
        let silent = observed.responses == self.responses_before;
        // An HTTP/1.1 connection is closed with the request that it carries.
        if !self.has_ended && silent && (observed.http2 || !observed.http1) {
            self.on_demand.reqwest.take();
        }
    }
}

/// The way in which one request is sent.
#[derive(Debug)]
pub(super) enum Channel {
    /// An HTTP/1.1 connection, which the request owns until it is put back.
    Http1(Connection),
    /// A shared HTTP/2 connection, on which the request opens a stream.
    Http2(SharedConnection),
    /// The user's reqwest client, which has its own connections.
    #[cfg(feature = "reqwest")]
    Reqwest(reqwest::Client),
}

impl ConnectionPool {
    /// A channel to `origin`, and whether its connection was already open. With `fresh`, no idle connection is used:
    /// a server that has closed one will have closed the others.
    pub(super) async fn channel(
        &self,
        client: &Client,
        origin: &Rc<Origin>,
        fresh: bool,
        progress: &mut RequestProgress<'_>,
    ) -> Result<(Channel, bool), Failure> {
        #[cfg(feature = "reqwest")]
        if let Transport::Reqwest(proxy) = &client.config.transport
            && !client.config.transport.needs_own_connection(origin)
        {
            let sender = self.on_demand().reqwest(client, proxy, origin, fresh)?;
            return Ok((Channel::Reqwest(sender), true));
        }
        if !fresh && let Some(connection) = self.idle_connection(origin).await {
            return Ok((Channel::Http1(connection), true));
        }
        // Boxed: the state of opening a connection would make the future of every request larger.
        Box::pin(self.open_channel(client, origin, progress)).await
    }

    /// A channel over a new connection, or over an HTTP/2 connection that is open.
    async fn open_channel(
        &self,
        client: &Client,
        origin: &Rc<Origin>,
        progress: &mut RequestProgress<'_>,
    ) -> Result<(Channel, bool), Failure> {
        let version = client.config.version;
        if !origin.secure && version != Version::Http2 {
            let connection = self.open(client, origin, progress).await?;
            return Ok((Channel::Http1(connection), false));
        }
        let on_demand = self.on_demand();
        if on_demand.requires_http1(origin) {
            let connection = self.open(client, origin, progress).await?;
            return Ok((Channel::Http1(connection), false));
        }
        // Calls of gRPC may have opened one where everything else goes over HTTP/1.1.
        if version != Version::Http1
            && let Some(shared) = on_demand.http2(origin)
            && !shared.is_doubtful()
        {
            return Ok((Channel::Http2(shared), true));
        }
        if version == Version::Http1 || on_demand.is_http1_only(origin) {
            let connection = self.open(client, origin, progress).await?;
            return Ok(if connection.is_http2() {
                on_demand.changed(client, connection)
            } else {
                (Channel::Http1(connection), false)
            });
        }
        let tls = || self.on_demand().tls(client, origin);
        let (channel, was_open) = self.open_shared(client, origin, tls, progress).await?;
        if version == Version::Http2 && matches!(channel, Channel::Http1(_)) {
            let detail = "the server does not speak HTTP/2 ('--http 2')";
            return Err(Failure::new(ErrorClass::Protocol, detail));
        }
        Ok((channel, was_open))
    }

    /// A channel over HTTP/2, whatever version the other requests of the run have, and whether its connection was open.
    pub(super) async fn http2(
        &self,
        client: &Client,
        origin: &Rc<Origin>,
        progress: &mut RequestProgress<'_>,
    ) -> Result<(Channel, bool), Failure> {
        if let Some(shared) = self.on_demand().http2(origin)
            && !shared.is_doubtful()
        {
            return Ok((Channel::Http2(shared), true));
        }
        let tls = || self.on_demand().http2_tls(client);
        let (channel, was_open) = self.open_shared(client, origin, tls, progress).await?;
        if matches!(channel, Channel::Http1(_)) {
            return Err(lacks_http2());
        }
        Ok((channel, was_open))
    }

    /// A channel over a new HTTP/2 connection, which no other request uses and which ends with it.
    pub(super) async fn own_http2(
        &self,
        client: &Client,
        origin: &Rc<Origin>,
        progress: &mut RequestProgress<'_>,
    ) -> Result<(Channel, bool), Failure> {
        let tls = || self.on_demand().http2_tls(client);
        let connection = self.open_with(client, origin, tls, progress).await?;
        if origin.secure && !connection.is_http2() {
            return Err(lacks_http2());
        }
        Ok((Channel::Http2(over_http2(client, connection)), false))
    }

    /// A channel over the HTTP/2 connection that the requests to a host share, which is opened unless it is there; over
    /// HTTP/1.1 if the server does not speak HTTP/2.
    async fn open_shared(
        &self,
        client: &Client,
        origin: &Rc<Origin>,
        tls: impl FnOnce() -> Result<Arc<ClientConfig>, Failure>,
        progress: &mut RequestProgress<'_>,
    ) -> Result<(Channel, bool), Failure> {
        let on_demand = self.on_demand();
        progress.stopwatch.enter(|phases| &mut phases.connect);
        let opening = on_demand.opening(origin);
        let _opening = opening.lock().await;
        if let Some(shared) = on_demand.http2(origin) {
            if !shared.is_doubtful() || shared.is_alive().await {
                progress.stopwatch.lap(|phases| &mut phases.connect);
                return Ok((Channel::Http2(shared), true));
            }
            let mut open = on_demand.http2.borrow_mut();
            open.retain(|other| !other.is_same(&shared));
        }
        progress.stopwatch.lap(|phases| &mut phases.connect);
        let connection = self.open_with(client, origin, tls, progress).await?;
        if origin.secure && !connection.is_http2() {
            // A run that demands HTTP/2 tries again.
            if client.config.version != Version::Http2 {
                note(&on_demand.http1_only, origin);
            }
            return Ok((Channel::Http1(connection), false));
        }
        Ok((Channel::Http2(on_demand.share(client, connection)), false))
    }

    /// A channel for a WebSocket, and whether its connection was open: as browsers have it, a stream of the HTTP/2 connection
    /// to its host if there is one and the server takes such streams (RFC 8441), else a new HTTP/1.1 connection, which no
    /// other request uses. A run that demands HTTP/2 opens the former if it can.
    pub(super) async fn for_socket(
        &self,
        client: &Client,
        origin: &Rc<Origin>,
        progress: &mut RequestProgress<'_>,
    ) -> Result<(Channel, bool), Failure> {
        let (version, on_demand) = (client.config.version, self.on_demand());
        let is_open = version != Version::Http1 && on_demand.http2(origin).is_some();
        if is_open || (origin.secure && version == Version::Http2) {
            let tls = || on_demand.any_tls(client);
            match self.open_shared(client, origin, tls, progress).await? {
                (Channel::Http2(shared), was_open) => {
                    // Whoever waits for its settings, waits alone.
                    let opening = on_demand.opening(origin);
                    let _opening = opening.lock().await;
                    if shared.takes_tunnels().await {
                        return Ok((Channel::Http2(shared), was_open));
                    }
                }
                over_http1 => return Ok(over_http1),
            }
        }
        let tls = || on_demand.http1_tls(client);
        let connection = self.open_with(client, origin, tls, progress).await?;
        Ok((Channel::Http1(connection), false))
    }

    /// Keeps a connection for the next request.
    pub(super) fn put_back(&self, connection: Connection) {
        self.idle.borrow_mut().push(connection);
    }

    /// Notes that a host wants its requests over HTTP/1.1.
    pub(super) fn require_http1(&self, origin: &Rc<Origin>) {
        let on_demand = self.on_demand();
        if !on_demand.requires_http1(origin) {
            note(&on_demand.http1_required, origin);
        }
        let mut open = on_demand.http2.borrow_mut();
        open.retain(|shared| !shared.origin.same(origin));
    }

    /// Closes the connections that carry no request. Knowledge about hosts stays, such as TLS sessions to resume.
    pub(super) fn close(&self) {
        self.idle.borrow_mut().clear();
        if let Some(on_demand) = &*self.on_demand.borrow() {
            on_demand.http2.borrow_mut().clear();
            #[cfg(feature = "reqwest")]
            {
                on_demand.reqwest.take();
                on_demand.reqwest_http1.take();
                on_demand.observed.take();
            }
        }
    }

    /// Notes a request over reqwest that begins now and may share a connection.
    #[cfg(feature = "reqwest")]
    pub(super) fn under_way(&self) -> ReqwestRequest {
        let on_demand = self.on_demand();
        ReqwestRequest {
            responses_before: on_demand.observed.get().responses,
            on_demand,
            has_ended: false,
        }
    }

    fn on_demand(&self) -> Rc<OnDemandState> {
        self.on_demand.borrow_mut().get_or_insert_default().clone()
    }

    /// Opens a connection.
    async fn open(
        &self,
        client: &Client,
        origin: &Rc<Origin>,
        progress: &mut RequestProgress<'_>,
    ) -> Result<Connection, Failure> {
        let tls = || self.on_demand().tls(client, origin);
        self.open_with(client, origin, tls, progress).await
    }

    async fn open_with(
        &self,
        client: &Client,
        origin: &Rc<Origin>,
        tls: impl FnOnce() -> Result<Arc<ClientConfig>, Failure>,
        progress: &mut RequestProgress<'_>,
    ) -> Result<Connection, Failure> {
        self.make_room(origin);
        progress.connecting = true;
        let stream = client
            .connector
            .connect(origin, tls, &mut progress.stopwatch)
            .await;
        progress.connecting = false;
        Ok(Connection::over(
            origin.clone(),
            stream?,
            client.next_connection_number(),
        ))
    }

    /// Closes connections that carry no request before one to `origin` is opened: those that the server has closed, and
    /// those to other hosts beyond [`MOST_ELSEWHERE`] that have not been used for the longest time.
    fn make_room(&self, origin: &Origin) {
        let mut idle = self.idle.borrow_mut();
        let mut cx = Context::from_waker(Waker::noop());
        idle.retain_mut(|connection| connection.is_usable(&mut cx));
        retain_latest(&mut idle, |other| !other.origin.same(origin));
        if let Some(on_demand) = &*self.on_demand.borrow() {
            retain_latest(&mut on_demand.http2.borrow_mut(), SharedConnection::is_idle);
        }
    }

    /// The connection to `origin` that was put back last and that the server has not closed.
    async fn idle_connection(&self, origin: &Origin) -> Option<Connection> {
        loop {
            let mut connection = {
                let mut idle = self.idle.borrow_mut();
                let index = idle
                    .iter()
                    .rposition(|connection| connection.origin.same(origin))?;
                idle.remove(index)
            };
            if poll_fn(|cx| Poll::Ready(connection.is_usable(cx))).await {
                return Some(connection);
            }
        }
    }
}

fn over_http2(client: &Client, connection: Connection) -> SharedConnection {
    let (origin, number) = (connection.origin.clone(), connection.number);
    SharedConnection::over(
        &client.read_buffer,
        origin,
        number,
        connection.into_stream(),
    )
}

/// The failure of a call of gRPC to a server without HTTP/2.
fn lacks_http2() -> Failure {
    let detail = "the server does not speak HTTP/2, which gRPC needs";
    Failure::new(ErrorClass::Protocol, detail)
}

/// Closes the first of the connections that `may_close` allows, until [`MOST_ELSEWHERE`] of these are left.
fn retain_latest<C>(connections: &mut Vec<C>, may_close: impl Fn(&C) -> bool) {
    let count = connections
        .iter()
        .filter(|connection| may_close(connection))
        .count();
    let mut too_many = count.saturating_sub(MOST_ELSEWHERE);
    connections.retain(|connection| {
        let closes = too_many > 0 && may_close(connection);
        too_many -= usize::from(closes);
        !closes
    });
}

impl OnDemandState {
    /// The shared connection to `origin`, unless it has ended.
    fn http2(&self, origin: &Origin) -> Option<SharedConnection> {
        let mut open = self.http2.borrow_mut();
        open.retain(|shared| !shared.has_ended());
        let place = open.iter().position(|shared| shared.origin.same(origin))?;
        open[place..].rotate_left(1);
        open.last().cloned()
    }

    /// The lock of connections to `origin`: a host that does not respond holds up no other.
    fn opening(&self, origin: &Rc<Origin>) -> Rc<Mutex<()>> {
        let mut pending = self.opening.borrow_mut();
        if let Some((_, opening)) = pending.iter().find(|(other, _)| other.same(origin)) {
            return opening.clone();
        }
        // A lock that nobody has is the same as a new one.
        pending.retain(|(_, opening)| Rc::strong_count(opening) > 1);
        let opening = Rc::<Mutex<()>>::default();
        pending.push((origin.clone(), opening.clone()));
        opening
    }

    /// Makes a connection one that all requests to its host share.
    fn share(&self, client: &Client, connection: Connection) -> SharedConnection {
        let shared = over_http2(client, connection);
        if client.config.keep_alive {
            self.http2.borrow_mut().push(shared.clone());
        }
        shared
    }

    /// A channel to a host that was known not to support HTTP/2 and has chosen it for this connection, as servers behind
    /// one address may differ, and change. If another request has found that out meanwhile, its connection is used, and
    /// whether it was already open is returned, too.
    fn changed(&self, client: &Client, connection: Connection) -> (Channel, bool) {
        let origin = connection.origin.clone();
        let mut hosts = self.http1_only.borrow_mut();
        hosts.retain(|host| !host.same(&origin));
        match self.http2(&origin).filter(|shared| !shared.is_doubtful()) {
            Some(shared) => (Channel::Http2(shared), true),
            None => (Channel::Http2(self.share(client, connection)), false),
        }
    }

    fn is_http1_only(&self, origin: &Origin) -> bool {
        let hosts = self.http1_only.borrow();
        hosts.iter().any(|host| host.same(origin))
    }

    fn requires_http1(&self, origin: &Origin) -> bool {
        let hosts = self.http1_required.borrow();
        hosts.iter().any(|host| host.same(origin))
    }

    /// The user's reqwest client for a host. A `fresh` one has no idle connections.
    #[cfg(feature = "reqwest")]
    fn reqwest(
        &self,
        client: &Client,
        proxy: &ReqwestProxy,
        origin: &Origin,
        fresh: bool,
    ) -> Result<reqwest::Client, Failure> {
        let (slot, version) = if self.requires_http1(origin) {
            (&self.reqwest_http1, Version::Http1)
        } else {
            (&self.reqwest, client.config.version)
        };
        let mut slot = slot.borrow_mut();
        match &*slot {
            Some(existing) if !fresh => Ok(existing.clone()),
            _ => Ok(slot.insert(new_client(client, proxy, version)?).clone()),
        }
    }

    /// The user's TLS configuration for connections to `origin`.
    fn tls(&self, client: &Client, origin: &Origin) -> Result<Arc<ClientConfig>, Failure> {
        if self.requires_http1(origin) {
            return self.http1_tls(client);
        }
        self.user_tls(client)
    }

    fn user_tls(&self, client: &Client) -> Result<Arc<ClientConfig>, Failure> {
        let mut tls = self.tls.borrow_mut();
        Ok(match &*tls {
            Some(config) => config.clone(),
            None => tls.insert(client.config.tls.user_config()?).clone(),
        })
    }

    /// The same for connections that speak HTTP/2.
    fn http2_tls(&self, client: &Client) -> Result<Arc<ClientConfig>, Failure> {
        self.tls_of(client, &[b"h2"])
    }

    /// The same for connections that speak HTTP/1.1.
    fn http1_tls(&self, client: &Client) -> Result<Arc<ClientConfig>, Failure> {
        self.tls_of(client, &[b"http/1.1"])
    }

    /// The same for connections that may speak either, whatever the run demands.
    fn any_tls(&self, client: &Client) -> Result<Arc<ClientConfig>, Failure> {
        self.tls_of(client, &[b"h2", b"http/1.1"])
    }

    fn tls_of(&self, client: &Client, protocols: &[&[u8]]) -> Result<Arc<ClientConfig>, Failure> {
        let mut config = Arc::unwrap_or_clone(self.user_tls(client)?);
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        Ok(Arc::new(config))
    }
}

/// Adds a host to a list of hosts, which forgets the first ones.
fn note(hosts: &RefCell<Vec<Rc<Origin>>>, origin: &Rc<Origin>) {
    let mut hosts = hosts.borrow_mut();
    if hosts.len() == MOST_HTTP1_ONLY {
        hosts.remove(0);
    }
    hosts.push(origin.clone());
}

#[cfg(test)]
mod tests;
