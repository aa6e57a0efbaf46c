//! A broker of its own for a test: Debian's `nats-server`, on a free port and in a folder of its own.

use crate::program::{process_id, signal, wait_until};
use crate::skipping::skip;
use rustix::process::Signal;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// A broker; ended when this is dropped.
pub(crate) struct Broker {
    child: Child,
    port: u16,
    folder: TempDir,
    token: &'static str,
}

impl Broker {
    /// Starts a broker with JetStream and a token. `None` if no `nats-server` is installed: then the test says so and
    /// does nothing, unless `LGOOSE_NEED_NATS` is set.
    pub(crate) fn start() -> Option<Broker> {
        Broker::with("s3cret", "jetstream { store_dir: \"STORE\" }")
    }

    /// Starts a broker with that token, unless it is empty, and more of a configuration, in which STORE is a folder of its own.
    pub(crate) fn with(token: &'static str, more: &str) -> Option<Broker> {
        let folder = tempfile::tempdir().expect("a folder");
        let port = free_port();
        let store = folder.path().join("store").display().to_string();
        let config = match token {
            "" => format!("listen: \"127.0.0.1:{port}\"\n{more}"),
            _ => format!(
                "listen: \"127.0.0.1:{port}\"\nauthorization {{ token: \"{token}\" }}\n{more}\n"
            ),
        };
        let config = config.replace("STORE", &store);
        std::fs::write(folder.path().join("nats.conf"), config).expect("it is written");
        let child = match start(&folder, port) {
            Ok(child) => child,
            Err(error) => {
                assert!(
                    std::env::var_os("LGOOSE_NEED_NATS").is_none(),
                    "nats-server: {error}"
                );
                skip(
                    "runs on workers",
                    &format!("Debian's package 'nats-server': {error}"),
                );
                return None;
            }
        };
        Some(Broker {
            child,
            port,
            folder,
            token,
        })
    }

    /// Returns its URL with the token.
    pub(crate) fn url(&self) -> String {
        format!("nats://{}@127.0.0.1:{}", self.token, self.port)
    }

    /// Returns its URL by another address.
    pub(crate) fn url_at(&self, address: SocketAddr) -> String {
        format!("nats://{}@{address}", self.token)
    }

    /// Returns where it listens.
    pub(crate) fn socket(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    /// Returns its URL with another token.
    pub(crate) fn url_with(&self, token: &str) -> String {
        format!("nats://{token}@127.0.0.1:{}", self.port)
    }

    /// Returns its URL as lgoose shows it.
    pub(crate) fn address(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Sends it a signal, such as the one that has it stand still.
    pub(crate) fn signal(&self, number: Signal) {
        signal(process_id(&self.child), number);
    }

    /// Kills it, as a machine that fails does.
    pub(crate) fn kill(&mut self) {
        // It may have ended by itself.
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }

    /// Starts it again after [`Broker::kill`], with what it had kept.
    pub(crate) fn restart(&mut self) {
        self.child = start(&self.folder, self.port).expect("it started before");
    }
}

/// A cluster of three brokers.
pub(crate) struct Cluster(pub(crate) [Broker; 3]);

impl Cluster {
    /// Starts a cluster, which takes a moment to elect its leader. `None` as with [`Broker::start`].
    pub(crate) fn start() -> Option<Cluster> {
        let ports = [(); 3].map(|()| free_port());
        let routes = ports.map(|port| format!("nats://127.0.0.1:{port}"));
        let node = |number: usize| {
            let more = format!(
                "server_name: n{number}\njetstream {{ store_dir: \"STORE\" }}\n\
                 cluster {{ name: three, listen: \"127.0.0.1:{}\", routes: [{}] }}",
                ports[number],
                routes.join(", ")
            );
            Broker::with("s3cret", &more)
        };
        Some(Cluster([node(0)?, node(1)?, node(2)?]))
    }

    /// Returns the URLs of all nodes.
    pub(crate) fn url(&self) -> String {
        self.0.each_ref().map(Broker::url).join(",")
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.kill();
    }
}

fn free_port() -> u16 {
    let address = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    address.expect("a free port").port()
}

fn start(folder: &TempDir, port: u16) -> std::io::Result<Child> {
    let child = Command::new("nats-server")
        .arg("-c")
        .arg(folder.path().join("nats.conf"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    wait_until("the broker listens", || {
        TcpStream::connect(("127.0.0.1", port)).is_ok()
    });
    Ok(child)
}
