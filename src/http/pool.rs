//! The connections of one session: idle ones of HTTP/1.1, and one of HTTP/2 a host that all of its requests
//! share. With the other transport it keeps none: `reqwest` does.

use super::client::Client;
use super::connection::Connection;
use super::dial::dial;
use super::progress::Progress;
use super::{ErrorClass, Failure, Origin, Proxied, Transport, Version, delegated, multiplexed};
use bytes::Bytes;
use h2::client::SendRequest;
use rustls::ClientConfig;
use std::cell::RefCell;
use std::future::poll_fn;
use std::num::NonZeroU64;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use tokio::sync::Mutex;

#[derive(Debug, Default)]
pub(super) struct Pool {
    // None of these is borrowed across an await.
    idle: RefCell<Vec<Connection>>,
    rare: RefCell<Option<Rc<Rare>>>,
}

/// What only users of https, HTTP/2 or reqwest need; a plain user does not carry it.
#[derive(Debug, Default)]
struct Rare {
    multiplexed: RefCell<Vec<Shared>>,
    /// Hosts that do not speak HTTP/2: several connections may be opened at a time.
    http1_only: RefCell<Vec<Rc<Origin>>>,
    /// This user's TLS configuration, with its own sessions to resume.
    tls: RefCell<Option<Arc<ClientConfig>>>,
    /// This user's reqwest, if requests are sent by that.
    agent: RefCell<Option<reqwest::Client>>,
    /// Held while a connection is opened that may turn out to be one for all.
    opening: Mutex<()>,
}

/// A connection that requests share.
#[derive(Debug, Clone)]
pub(super) struct Shared {
    origin: Rc<Origin>,
    pub(super) number: Option<NonZeroU64>,
    pub(super) sender: SendRequest<Bytes>,
}

/// Where a request can be sent.
#[derive(Debug)]
pub(super) enum Channel {
    /// A connection of its own for one exchange.
    Http1(Connection),
    /// A stream of a shared one.
    Http2(Shared),
    /// reqwest, which has connections of its own.
    Delegated(reqwest::Client),
}

impl Pool {
    /// A channel to `origin`, and whether its connection was open before. `fresh` asks for one that was not
    /// idle: a server that has closed one idle connection will have closed the others.
    pub(super) async fn channel(
        &self,
        client: &Client,
        origin: &Rc<Origin>,
        fresh: bool,
        progress: &mut Progress,
    ) -> Result<(Channel, bool), Failure> {
        if let Transport::Reqwest(proxied) = &client.config.transport {
            return Ok((
                Channel::Delegated(self.rare().agent(client, proxied, fresh)?),
                true,
            ));
        }
        if !fresh && let Some(connection) = self.idle_connection(origin).await {
            return Ok((Channel::Http1(connection), true));
        }
        // Boxed: what it takes to open a connection would make every request's future larger.
        Box::pin(self.open_channel(client, origin, progress)).await
    }

    async fn open_channel(
        &self,
        client: &Client,
        origin: &Rc<Origin>,
        progress: &mut Progress,
    ) -> Result<(Channel, bool), Failure> {
        let version = client.config.version;
        if !origin.secure && version != Version::Http2 {
            let connection = self.open(client, origin, progress).await?;
            return Ok((Channel::Http1(connection), false));
        }
        let rare = self.rare();
        if let Some(shared) = rare.http2(origin).await {
            return Ok((Channel::Http2(shared), true));
        }
        if version == Version::Http1 || rare.is_http1_only(origin) {
            let connection = self.open(client, origin, progress).await?;
            return Ok((Channel::Http1(connection), false));
        }
        progress.watch.enter(|timings| &mut timings.connect);
        let _opening = rare.opening.lock().await;
        progress.watch.lap(|timings| &mut timings.connect);
        if let Some(shared) = rare.http2(origin).await {
            return Ok((Channel::Http2(shared), true));
        }
        let connection = self.open(client, origin, progress).await?;
        if origin.secure && !connection.is_http2() {
            if version == Version::Http2 {
                let detail = "the server does not speak HTTP/2 ('--http 2')";
                return Err(Failure::new(ErrorClass::Protocol, detail));
            }
            rare.http1_only.borrow_mut().push(origin.clone());
            return Ok((Channel::Http1(connection), false));
        }
        let number = connection.number;
        progress.watch.enter(|timings| &mut timings.send);
        progress.connecting = true;
        let sender = multiplexed::start(connection.into_stream()).await;
        progress.connecting = false;
        let shared = Shared {
            origin: origin.clone(),
            number,
            sender: sender?,
        };
        if client.config.keep_alive {
            rare.multiplexed.borrow_mut().push(shared.clone());
        }
        Ok((Channel::Http2(shared), false))
    }

    /// Keeps a connection for the next request.
    pub(super) fn give_back(&self, connection: Connection) {
        self.idle.borrow_mut().push(connection);
    }

    fn rare(&self) -> Rc<Rare> {
        self.rare.borrow_mut().get_or_insert_default().clone()
    }

    async fn open(
        &self,
        client: &Client,
        origin: &Rc<Origin>,
        progress: &mut Progress,
    ) -> Result<Connection, Failure> {
        progress.connecting = true;
        let stream = dial(
            origin,
            client,
            || self.rare().tls(client),
            &mut progress.watch,
        )
        .await;
        progress.connecting = false;
        Ok(Connection::over(origin.clone(), stream?, client.number()))
    }

    /// The connection to `origin` used last that the server has not closed.
    async fn idle_connection(&self, origin: &Origin) -> Option<Connection> {
        loop {
            let mut connection = {
                let mut idle = self.idle.borrow_mut();
                let place = idle
                    .iter()
                    .rposition(|connection| connection.origin.same(origin))?;
                idle.swap_remove(place)
            };
            if poll_fn(|cx| Poll::Ready(connection.is_usable(cx))).await {
                return Some(connection);
            }
        }
    }
}

impl Rare {
    /// The shared connection to `origin`, unless it has ended.
    async fn http2(&self, origin: &Origin) -> Option<Shared> {
        poll_fn(|cx| {
            let mut open = self.multiplexed.borrow_mut();
            open.retain_mut(|shared| !matches!(shared.sender.poll_ready(cx), Poll::Ready(Err(_))));
            let found = open.iter().find(|shared| shared.origin.same(origin));
            Poll::Ready(found.cloned())
        })
        .await
    }

    fn is_http1_only(&self, origin: &Origin) -> bool {
        let known = self.http1_only.borrow();
        known.iter().any(|known| known.same(origin))
    }

    /// A new one has no idle connections.
    fn agent(
        &self,
        client: &Client,
        proxied: &Proxied,
        fresh: bool,
    ) -> Result<reqwest::Client, Failure> {
        let mut agent = self.agent.borrow_mut();
        match &*agent {
            Some(agent) if !fresh => Ok(agent.clone()),
            _ => Ok(agent.insert(delegated::agent(client, proxied)?).clone()),
        }
    }

    fn tls(&self, client: &Client) -> Result<Arc<ClientConfig>, Failure> {
        let mut tls = self.tls.borrow_mut();
        match &*tls {
            Some(config) => Ok(config.clone()),
            None => Ok(tls.insert(client.config.tls.of_user()?).clone()),
        }
    }
}
