//! The server: its address and its token, its thread, and its end with the process. Waits for no reader: bytes that are
//! not read when the process ends are lost.

use super::access::Access;
use super::connections::ConnectionServer;
use super::scrapes::Scrapes;
use super::site::{RunHeading, RunResult, WebState};
use super::{routes, serve, tls};
use crate::queue::Runs;
use axum::Router;
use lgoose_base::error::{Diagnostic, Error, Trouble};
use lgoose_metrics::Report;
use lgoose_metrics::control::Handle;
use std::fmt;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, TcpListener, ToSocketAddrs as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

/// The most connections at a time.
const MAX_CONNECTIONS: u32 = 512;

/// The default port, and the number of ports after it that are tried if it is taken.
const PORT: u16 = 7_400;
const PORTS: u16 = 100;

/// Time for readers of events to fetch the report before the process ends.
const LAST_LOOK: Duration = Duration::from_secs(2);

/// Time for responses that are under way then.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// Address on which a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenAddress {
    /// An address or a name of this machine.
    pub host: String,
    /// The port; 7400 or one that follows if none is given.
    pub port: Option<u16>,
}

/// Options of a server.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Address to listen on.
    pub place: ListenAddress,
    /// The token; a random one if none is given.
    pub token: Option<String>,
    /// Whether nobody may steer the run.
    pub read_only: bool,
    /// Whether others may reach it without TLS.
    pub insecure: bool,
    /// The origin of the page behind a proxy.
    pub origin: Option<String>,
    /// Certificate for TLS, and its key.
    pub cert: Option<PathBuf>,
    /// Its key; in the file of the certificate if there is none.
    pub key: Option<PathBuf>,
}

/// A server that can be connected to, but does not respond yet.
pub struct WebServer {
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    access: Arc<Access>,
    /// The host in its address.
    host: String,
}

impl fmt::Debug for WebServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("host", &self.host)
            .finish_non_exhaustive()
    }
}

impl WebServer {
    /// Opens the server; `machine` is the name of this machine.
    ///
    /// # Errors
    /// A mistake in the options, or trouble with the port.
    pub fn open(options: ServerOptions, machine: &str) -> Result<WebServer, Error> {
        let tls = match (&options.cert, &options.key) {
            (Some(cert), key) => Some(tls::acceptor(cert, key.as_ref())?),
            (None, Some(_)) => {
                let diagnostic = Diagnostic::new("'--web-key' is given without '--web-cert'");
                return Err(diagnostic
                    .help("name the certificate that the key belongs to")
                    .into());
            }
            (None, None) => None,
        };
        let listener = listen(&options.place, tls.is_some() || options.insecure)?;
        let address = listener
            .local_addr()
            .map_err(|error| Error::cannot("serve the run", error))?;
        let is_name = options.place.host.parse::<IpAddr>().is_err();
        let host = match (address.ip(), is_name) {
            (_, true) => options.place.host.clone(),
            (ip, _) if ip.is_unspecified() => machine.to_owned(),
            (IpAddr::V6(ip), _) => format!("[{ip}]"),
            (ip, _) => ip.to_string(),
        };
        let access = Arc::new(Access {
            token: options.token.unwrap_or_else(random_token),
            names: [host.as_str(), machine, "localhost"]
                .map(str::to_owned)
                .to_vec(),
            origin: options.origin,
            secure: tls.is_some(),
            port: address.port(),
            read_only: options.read_only,
        });
        Ok(WebServer {
            listener,
            tls,
            access,
            host,
        })
    }

    /// Returns the address of the page, with the token.
    pub fn url(&self) -> String {
        let Access { token, port, .. } = &*self.access;
        if let Some(origin) = &self.access.origin {
            return format!("{origin}/?token={token}");
        }
        let scheme = if self.access.secure { "https" } else { "http" };
        format!("{scheme}://{}:{port}/?token={token}", self.host)
    }

    /// Serves a run on a thread of its own.
    ///
    /// # Errors
    /// Trouble with the thread or with the port.
    pub fn start(
        self,
        runtime: Runtime,
        handle: Handle,
        facts: RunHeading,
    ) -> Result<WebThread, Error> {
        let (end, ends) = watch::channel(RunResult::None);
        let (closing, closes) = watch::channel(false);
        let site = WebState::new(
            handle.clone(),
            facts,
            self.access.clone(),
            ends.clone(),
            closes.clone(),
        );
        let (readers, scrapes) = (site.readers.subscribe(), site.scrapes.subscribe());
        let site = Arc::new(site);
        let router = routes::router(site.clone());
        let is_over = self.serve_on_thread(runtime, router, closes, follow(site, handle, ends))?;
        Ok(WebThread {
            end,
            readers,
            scrapes,
            closing,
            is_over,
        })
    }

    /// Serves all runs on a thread of its own.
    ///
    /// # Errors
    /// Trouble with the thread or with the port.
    pub fn start_serve(self, runtime: Runtime, runs: Arc<Runs>) -> Result<WebThread, Error> {
        let (closing, closes) = watch::channel(false);
        let router = serve::router(runs, self.access.clone());
        let nothing = std::future::ready(());
        let is_over = self.serve_on_thread(runtime, router, closes, nothing)?;
        Ok(WebThread {
            end: watch::channel(RunResult::None).0,
            // They read from the process of their run.
            readers: watch::channel(0).1,
            scrapes: watch::channel(Scrapes::default()).1,
            closing,
            is_over,
        })
    }

    /// Serves requests on a thread of its own until the server closes, and runs the `companion` future.
    fn serve_on_thread(
        self,
        runtime: Runtime,
        router: Router,
        closing: watch::Receiver<bool>,
        companion: impl Future<Output = ()> + Send + 'static,
    ) -> Result<oneshot::Receiver<()>, Error> {
        let cannot = |error| Error::cannot("serve over HTTP", error);
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(self.listener).map_err(cannot)?
        };
        let (over, is_over) = oneshot::channel();
        let connections = ConnectionServer::new(router, self.tls, closing, MAX_CONNECTIONS);
        let serve = move || {
            runtime.block_on(async {
                tokio::spawn(companion);
                connections.accept(listener).await;
                let _late = timeout(FLUSH_TIMEOUT, connections.ended()).await;
            });
            runtime.shutdown_background();
            // Whoever waited may be gone.
            let _gone = over.send(());
        };
        let thread = std::thread::Builder::new().name("web".to_owned());
        thread.spawn(serve).map_err(cannot)?;
        Ok(is_over)
    }

    /// Returns where the server listens.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// Fills the events of a run until its end.
async fn follow(site: Arc<WebState>, handle: Handle, mut ends: watch::Receiver<RunResult>) {
    tokio::select! {
        () = site.feed.follow(handle) => {}
        _ = ends.changed() => {}
    }
    let ended = ends.wait_for(|end| !matches!(end, RunResult::None)).await;
    let report = match ended.as_deref() {
        Ok(RunResult::Report(report)) => Some(report.clone()),
        _ => None,
    };
    drop(ended);
    site.feed.end(report.as_deref());
}

/// Listens at the first address of that place that can be had.
fn listen(place: &ListenAddress, may_be_reached: bool) -> Result<TcpListener, Error> {
    let ListenAddress { host, port } = place;
    let first = port.unwrap_or(PORT);
    let mut found = (host.as_str(), first).to_socket_addrs().map_err(|error| {
        Diagnostic::new(format!("'--web {host}': {error}"))
            .help("give an address of this machine, such as 127.0.0.1:7400")
    })?;
    let ip = found
        .next()
        .map(|address| address.ip())
        .ok_or_else(|| Diagnostic::new(format!("'--web {host}' has no address")))?;
    if !(may_be_reached || ip.is_loopback()) {
        let message = format!(
            "'--web {host}': others could read the traffic, and steer the run with the token in it"
        );
        return Err(Diagnostic::new(message)
            .help(
                "serve https with '--web-cert FILE', stay on 127.0.0.1 and come by 'ssh -L', or allow it \
                 with '--web-insecure'",
            )
            .into());
    }
    let last = match port {
        Some(port) => *port,
        None => first + PORTS - 1,
    };
    for port in first..=last {
        match TcpListener::bind(SocketAddr::new(ip, port)) {
            Ok(listener) => {
                let ready = listener.set_nonblocking(true);
                ready.map_err(|error| Error::cannot("serve the run", error))?;
                return Ok(listener);
            }
            Err(error) if error.kind() == ErrorKind::AddrInUse && port < last => {}
            Err(error) => {
                let trouble = Trouble::cannot("serve the run at")
                    .with_address(format!("{host}:{port}"))
                    .because(error);
                let help =
                    "give '--web' another address or port; without a port it finds a free one";
                return Err(trouble.help(help).into());
            }
        }
    }
    Err(Error::trouble("there is no port to serve the run at"))
}

fn random_token() -> String {
    format!("{:032x}", rand::random::<u128>())
}

/// The thread of a server. It ends with the process, or a little after this is dropped.
#[derive(Debug)]
pub struct WebThread {
    end: watch::Sender<RunResult>,
    readers: watch::Receiver<usize>,
    scrapes: watch::Receiver<Scrapes>,
    closing: watch::Sender<bool>,
    is_over: oneshot::Receiver<()>,
}

impl WebThread {
    /// Notifies readers that the run is over, with its report if it came to one.
    pub fn finish(&self, report: Option<&Report>) {
        self.end.send_replace(match report {
            Some(report) => RunResult::Report(Arc::new(report.clone())),
            None => RunResult::Failed,
        });
    }

    /// Returns how long to wait for one more scrape of the metrics of a run that is over: as long as `wanted`, by default as long as
    /// the next one may take; `None` if none is to be waited for.
    pub fn linger(&self, wanted: Option<Duration>) -> Option<Duration> {
        self.scrapes.borrow().linger(wanted)
    }

    /// Ends the server: readers of events have two seconds to fetch the report, a scraper that time to fetch the final figures, unless
    /// the wait is `skipped`; responses that are then under way have one second, idle connections none.
    pub async fn leave(mut self, linger: Option<Duration>, skipped: impl Future<Output = ()>) {
        let readers = timeout(LAST_LOOK, self.readers.wait_for(|readers| *readers == 0));
        let scraped = timeout(
            linger.unwrap_or_default(),
            self.scrapes.wait_for(Scrapes::has_final),
        );
        tokio::select! {
            _late = async { tokio::join!(readers, scraped) } => {}
            () = skipped => {}
        }
        self.closing.send_replace(true);
        let _late = timeout(FLUSH_TIMEOUT * 2, &mut self.is_over).await;
    }
}

impl Drop for WebThread {
    fn drop(&mut self) {
        self.end.send_if_modified(|end| {
            let open = matches!(end, RunResult::None);
            if open {
                *end = RunResult::Failed;
            }
            open
        });
        self.closing.send_replace(true);
    }
}
