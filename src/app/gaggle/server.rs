//! The broker that lgoose starts for one run: the `nats-server` of this machine, with a random token.

use lgoose_base::error::{Diagnostic, Error, Trouble};
use lgoose_base::secrets;
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Starts 'nats-server' with the configuration '$1'. The server gets the id of this process; a second shell waits on
/// standard input and ends the server if the process that started it disappears.
const ATTENDED: &str = r#"
exec 3<&0
(read -r word <&3 || kill -9 $$) &
exec nats-server -c "$1" 3<&- </dev/null
"#;

/// Exit code of a shell that cannot find a program.
const NOT_FOUND: i32 = 127;

/// Time limit for the broker to listen.
const START: Duration = Duration::from_secs(10);

/// A broker that ends when this is dropped, or when this process ends in any way.
pub(super) struct BrokerServer {
    child: Child,
    url: String,
    /// Folder with the configuration, which contains the token, and with the broker's data.
    _folder: TempDir,
}

impl BrokerServer {
    /// Starts the broker, by default on the address of this machine and a free port.
    ///
    /// # Errors
    /// Returns trouble that says how to get `nats-server`, or why it does not listen there.
    pub(super) async fn start(listen: Option<&str>) -> Result<BrokerServer, Error> {
        let address = match listen {
            Some(listen) => parse(listen)?,
            None => SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        };
        let address = with_port(address)?;
        let token = token();
        let folder = secrets::temporary_folder()?;
        let config = folder.path().join("nats.conf");
        let store = folder.path().join("jetstream");
        let text = format!(
            "listen: \"{address}\"\nauthorization {{ token: \"{token}\" }}\njetstream {{ store_dir: \"{}\" }}\n",
            store.display()
        );
        secrets::write(&config, text.as_bytes())?;
        let child = Command::new("/bin/sh")
            .args(["-c", ATTENDED, "sh"])
            .arg(&config)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|error| Trouble::cannot("start 'nats-server'").because(error))?;
        let host = if address.ip().is_unspecified() {
            own_address(address.ip())
        } else {
            address.ip()
        };
        let reached = SocketAddr::new(host, address.port());
        let mut server = BrokerServer {
            child,
            url: format!("nats://{token}@{reached}"),
            _folder: folder,
        };
        server
            .listens(SocketAddr::new(local(address.ip()), address.port()))
            .await?;
        Ok(server)
    }

    /// Returns the URL at which workers reach the broker, with the token.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    async fn listens(&mut self, address: SocketAddr) -> Result<(), Error> {
        let until = Instant::now() + START;
        loop {
            if TcpStream::connect_timeout(&address, Duration::from_millis(200)).is_ok() {
                return Ok(());
            }
            let ended = self.child.try_wait().ok().flatten();
            if ended.is_some_and(|status| status.code() == Some(NOT_FOUND)) {
                let missing =
                    Trouble::cannot("start 'nats-server'").because("it is not on the PATH");
                return Err(missing.help(
                    "install it (Debian: apt-get install nats-server), or name a broker that runs with '--nats nats://HOST:4222'",
                ).into());
            }
            if ended.is_some() || Instant::now() > until {
                return Err(Trouble::cannot("start 'nats-server'")
                    .with_address(address)
                    .because("it does not listen there")
                    .help("choose another address with '--nats-listen'")
                    .into());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

impl Drop for BrokerServer {
    fn drop(&mut self) {
        // 'wait' would close standard input, and the second shell would kill a process id that may be in use again.
        let attendant = self.child.stdin.take();
        // It may have ended by itself.
        let _ended = self.child.kill();
        let _status = self.child.wait();
        // With a line of input, that shell ends without killing anything.
        if let Some(mut attendant) = attendant {
            let _gone = attendant.write_all(b"over\n");
        }
    }
}

fn parse(listen: &str) -> Result<SocketAddr, Error> {
    let address = listen.parse().or_else(|_| {
        let ip: Result<IpAddr, _> = listen.parse();
        ip.map(|ip| SocketAddr::new(ip, 0))
    });
    address.map_err(|_| {
        Diagnostic::new(format!("'{listen}' is not an address to listen on"))
            .help("write it as 0.0.0.0:4222")
            .into()
    })
}

/// Returns the address with a port, one that is free now unless it already has one.
fn with_port(address: SocketAddr) -> Result<SocketAddr, Error> {
    if address.port() != 0 {
        return Ok(address);
    }
    let free = TcpListener::bind(address).and_then(|listener| listener.local_addr());
    free.map_err(|error| {
        Trouble::cannot("listen on")
            .with_address(address)
            .because(error)
            .into()
    })
}

/// Returns the address at which this process itself reaches a listener on `ip`.
fn local(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => std::net::Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    }
}

/// Returns the address of this machine as other machines see it, without sending anything.
fn own_address(ip: IpAddr) -> IpAddr {
    let outward = std::net::UdpSocket::bind((ip, 0)).and_then(|socket| {
        socket.connect(match ip {
            IpAddr::V4(_) => "192.0.2.1:9",
            IpAddr::V6(_) => "[2001:db8::1]:9",
        })?;
        socket.local_addr()
    });
    outward.map_or(local(ip), |address| address.ip())
}

fn token() -> String {
    format!("{:032x}", rand::random::<u128>())
}
