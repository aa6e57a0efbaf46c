//! The built-in demo sites: targets that are always available and need no setup. Driven by `lgoose demo` and by plans
//! whose host is `demo:NAME`; know nothing about plans, users or reports.
//!
//! ```
//! use lgoose_demo::Site;
//!
//! assert!(Site::from_name("drupal").is_some());
//! assert!(Site::from_name("joomla").is_none());
//! ```

mod api;
mod behaviour;
mod calls;
mod chat;
mod cookie;
mod counts;
mod drupal;
mod events;
mod fields;
mod filler;
#[cfg(test)]
mod fixture;
mod llm;
mod prepared;
mod redis;
mod redis_site;
mod sent;
mod server;
mod sessions;
mod static_files;
mod template;
mod umami;

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use tokio::net::TcpSocket;
use tokio::runtime::Runtime;
use tokio::sync::watch;

pub use behaviour::Behaviour;

use counts::RouteCounts;
use lgoose_base::error::{Error, Trouble};
use server::{Handler, SiteState, SiteThread};

/// The backlog of the listening socket: room for thousands of users that connect in the same instant.
const BACKLOG: u32 = 8192;

/// The built-in sites.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Site {
    /// Drupal 7 with 10,000 articles and 5,000 users, as the published Drupal load tests expect.
    Drupal,
    /// Umami, the demo of Drupal 8: a magazine in two languages, as the published load test expects.
    Umami,
    /// A small shop with an API in JSON, GraphQL and gRPC, bearer tokens, basic authentication and uploads.
    Api,
    /// A server of language models with OpenAI's API, which sends words one by one.
    Llm,
    /// A store of keys with the protocol of Redis, for plain sockets.
    Redis,
}

impl Site {
    /// The names of all sites, for messages.
    pub const NAMES: &'static [&'static str] = &["drupal", "umami", "api", "llm", "redis"];

    /// Returns the site with this name, as written after `demo:`.
    pub fn from_name(name: &str) -> Option<Site> {
        match name {
            "drupal" => Some(Site::Drupal),
            "umami" => Some(Site::Umami),
            "api" => Some(Site::Api),
            "llm" => Some(Site::Llm),
            "redis" => Some(Site::Redis),
            _ => None,
        }
    }

    fn handler(self) -> Box<dyn Handler> {
        match self {
            Site::Drupal => Box::new(drupal::Drupal::new()),
            Site::Umami => Box::new(umami::Umami::new()),
            Site::Api => Box::new(api::Api::new()),
            Site::Llm => Box::new(llm::Llm::new()),
            Site::Redis => Box::<redis_site::RedisSite>::default(),
        }
    }
}

/// A running demo site. Dropping this stops it.
///
/// ```
/// use lgoose_demo::{Behaviour, Demo, Site};
/// use std::time::Duration;
///
/// # fn main() -> Result<(), lgoose_base::error::Error> {
/// let slow = Behaviour { latency: Duration::from_millis(20), ..Behaviour::default() };
/// let site = Demo::start(Site::Drupal, 0, slow, 1)?;
/// assert!(site.url().starts_with("http://127.0.0.1:"));
/// # Ok(())
/// # }
/// ```
pub struct Demo {
    address: SocketAddr,
    shared: Arc<SiteState>,
    /// Dropped to end the threads.
    stop: Option<watch::Sender<()>>,
    threads: Vec<JoinHandle<()>>,
}

impl Demo {
    /// Starts a site on 127.0.0.1 and `port` (0 for any free one) with this many threads (at least one).
    ///
    /// # Errors
    /// Returns [`Error::Trouble`] if the address cannot be bound or a thread cannot be started.
    pub fn start(
        site: Site,
        port: u16,
        behaviour: Behaviour,
        threads: usize,
    ) -> Result<Demo, Error> {
        let requested = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let trouble = |cause| cannot_start(requested, cause);
        let listener = listen(requested).map_err(trouble)?;
        let address = listener.local_addr().map_err(trouble)?;
        let site = site.handler();
        let shared = Arc::new(SiteState {
            counts: RouteCounts::new(site.labels(), threads.max(1)),
            site,
            behaviour,
        });
        let (stop, stopped) = watch::channel(());
        let mut demo = Demo {
            address,
            shared,
            stop: Some(stop),
            threads: Vec::new(),
        };
        for thread in 0..threads.max(1) {
            let worker = SiteThread {
                shared: demo.shared.clone(),
                thread,
            };
            let listener = listener.try_clone().map_err(trouble)?;
            let running = spawn(listener, worker, stopped.clone()).map_err(trouble)?;
            demo.threads.push(running);
        }
        Ok(demo)
    }

    /// Returns the URL of the site: `http://127.0.0.1:PORT`, without a trailing slash.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the number of requests received, by route, as `/_demo/served` does. Each request counts once, with any
    /// response; requests below `/_demo/` do not count.
    pub fn served(&self) -> BTreeMap<String, u64> {
        self.shared.counts.totals()
    }

    /// Keeps the site running as long as the process lives.
    pub fn wait(mut self) {
        self.join();
    }

    fn join(&mut self) {
        for thread in self.threads.drain(..) {
            // A thread that panicked has reported that on stderr.
            let _ = thread.join();
        }
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        self.stop = None;
        self.join();
    }
}

fn cannot_start(address: SocketAddr, cause: io::Error) -> Error {
    let remedy = match cause.kind() {
        io::ErrorKind::AddrInUse => {
            "another program listens there: choose another port, or 0 for any free one"
        }
        io::ErrorKind::PermissionDenied => "ports below 1024 need privileges: choose a higher one",
        _ => "check the limits on open files and threads ('ulimit -n', 'ulimit -u')",
    };
    Trouble::cannot("serve the demo site on")
        .with_address(address)
        .because(cause)
        .help(remedy)
        .into()
}

/// The listening socket, made by tokio because the standard library's backlog is 128.
fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let runtime = runtime()?;
    let listener = {
        let _context = runtime.enter();
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseaddr(true)?;
        socket.bind(address).and_then(|()| socket.listen(BACKLOG))
    };
    let listener = listener.and_then(|listener| listener.into_std());
    runtime.shutdown_background();
    listener
}

fn runtime() -> io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
}

/// Starts a thread that accepts from `listener`, whose queue the threads share.
fn spawn(
    listener: TcpListener,
    worker: SiteThread,
    stop: watch::Receiver<()>,
) -> io::Result<JoinHandle<()>> {
    let runtime = runtime()?;
    let listener = {
        let _context = runtime.enter();
        tokio::net::TcpListener::from_std(listener)?
    };
    let name = format!("demo-{}", worker.thread);
    let serve = move || runtime.block_on(server::run(listener, Arc::new(worker), stop));
    thread::Builder::new().name(name).spawn(serve)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_port_is_named_with_the_remedy() {
        let demo = Demo::start(Site::Drupal, 0, Behaviour::default(), 1).expect("a port is free");
        let port = demo.address.port();
        let second = Demo::start(Site::Drupal, port, Behaviour::default(), 1);
        let message = second
            .map(|_| ())
            .expect_err("the port is taken")
            .to_string();
        assert!(message.contains(&format!("127.0.0.1:{port}")), "{message}");
        assert!(message.contains("choose another port"), "{message}");
    }

    #[test]
    fn a_port_is_free_again_after_the_site_ended() {
        let demo = Demo::start(Site::Drupal, 0, Behaviour::default(), 2).expect("a port is free");
        let port = demo.address.port();
        drop(demo);
        assert!(Demo::start(Site::Drupal, port, Behaviour::default(), 1).is_ok());
    }

    #[test]
    fn every_named_site_exists() {
        assert!(
            Site::NAMES
                .iter()
                .all(|name| Site::from_name(name).is_some())
        );
        assert_eq!(Site::from_name("joomla"), None);
    }
}
