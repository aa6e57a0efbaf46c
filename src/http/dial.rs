//! Opens connections: looks the host up, races its addresses as RFC 8305 ("Happy Eyeballs") says, and
//! shakes hands.

use super::client::Client;
use super::stream::Stream;
use super::tls::{handshake_failure, server_name};
use super::watch::Watch;
use super::{ErrorClass, Failure, Origin};
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use rustls::ClientConfig;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpSocket, TcpStream};

/// The pause before the next address is tried beside the one that does not answer (RFC 8305, section 5).
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);

/// Opens a connection to `origin`; `tls` is asked for the user's configuration if the origin is https.
pub(super) async fn dial(
    origin: &Origin,
    client: &Client,
    tls: impl FnOnce() -> Result<Arc<ClientConfig>, Failure>,
    watch: &mut Watch,
) -> Result<Stream, Failure> {
    #[cfg(test)]
    if let Some(script) = &client.config.script {
        return Ok(Stream::scripted(script.connect(), &client.open));
    }
    watch.enter(|timings| &mut timings.dns);
    let addresses = client.resolver.resolve(&origin.host, origin.port).await;
    watch.lap(|timings| &mut timings.dns);
    watch.enter(|timings| &mut timings.connect);
    let tcp = race(&addresses?, client.config.local_address).await;
    watch.lap(|timings| &mut timings.connect);
    let tcp = tcp?;
    if !origin.secure {
        return Ok(Stream::plain(tcp, &client.open));
    }
    watch.enter(|timings| &mut timings.tls);
    let connector = tokio_rustls::TlsConnector::from(tls()?);
    let shaken = connector.connect(server_name(&origin.host)?, tcp).await;
    watch.lap(|timings| &mut timings.tls);
    match shaken {
        Ok(tls) => Ok(Stream::tls(tls, &client.open)),
        Err(error) => Err(handshake_failure(&error, &origin.host)),
    }
}

/// The first connection of all addresses: they are tried one after the other, the next when one has failed
/// or has not answered for a quarter of a second, while those before go on.
async fn race(addresses: &[SocketAddr], local: Option<IpAddr>) -> Result<TcpStream, Failure> {
    // One address is the usual case and needs no race.
    if let [address] = addresses {
        return connect(*address, local).await;
    }
    let mut waiting = by_turns(addresses).into_iter();
    let mut running = FuturesUnordered::new();
    let mut failure = Failure::new(ErrorClass::Dns, "no address");
    loop {
        if let Some(address) = waiting.next() {
            running.push(connect(address, local));
        }
        let next = tokio::time::sleep(ATTEMPT_DELAY);
        tokio::select! {
            outcome = running.next() => match outcome {
                Some(Ok(tcp)) => return Ok(tcp),
                Some(Err(error)) => failure = error,
                None => return Err(failure),
            },
            () = next, if waiting.len() > 0 => {}
        }
    }
}

/// The addresses with the families taking turns, the first one's first (RFC 8305, section 4).
fn by_turns(addresses: &[SocketAddr]) -> Vec<SocketAddr> {
    let first_is_v6 = addresses.first().is_some_and(SocketAddr::is_ipv6);
    let (first, second): (Vec<_>, Vec<_>) = addresses
        .iter()
        .partition(|address| address.is_ipv6() == first_is_v6);
    let longer = first.len().max(second.len());
    (0..longer)
        .flat_map(|place| [first.get(place), second.get(place)])
        .flatten()
        .copied()
        .collect()
}

async fn connect(address: SocketAddr, local: Option<IpAddr>) -> Result<TcpStream, Failure> {
    let failed = |error| Failure::connecting(&error, &address.to_string());
    let opened = match local {
        None => TcpStream::connect(address).await,
        Some(local) => bound(local, address)?.connect(address).await,
    };
    let tcp = opened.map_err(failed)?;
    tcp.set_nodelay(true).map_err(failed)?;
    Ok(tcp)
}

/// A socket for connections to `address` that come from `local`.
fn bound(local: IpAddr, address: SocketAddr) -> Result<TcpSocket, Failure> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    };
    let socket = socket.map_err(|error| Failure::connecting(&error, &address.to_string()))?;
    match socket.bind(SocketAddr::new(local, 0)) {
        Ok(()) => Ok(socket),
        // Not a lack of ports, which is what the same error means of a connection.
        Err(error) if error.kind() == ErrorKind::AddrNotAvailable => Err(Failure::new(
            ErrorClass::Connect,
            format!("'--local-address {local}' is not an address of this machine"),
        )),
        Err(error) => Err(Failure::connecting(&error, &address.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_families_take_turns() {
        let text = ["[::1]:1", "[::2]:1", "[::3]:1", "10.0.0.1:1", "10.0.0.2:1"];
        let addresses: Vec<SocketAddr> = text
            .iter()
            .map(|a| a.parse().expect("an address"))
            .collect();
        let order: Vec<String> = by_turns(&addresses)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            order,
            ["[::1]:1", "10.0.0.1:1", "[::2]:1", "10.0.0.2:1", "[::3]:1"]
        );
    }

    #[tokio::test]
    async fn the_next_address_is_tried_when_one_refuses() {
        let bound = || std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let (listening, gone) = (bound(), bound());
        let address = |listener: &std::net::TcpListener| listener.local_addr().expect("bound");
        let (alive, dead) = (address(&listening), address(&gone));
        drop(gone);
        let reached = race(&[dead, dead, alive], None).await.expect("one listens");
        assert_eq!(reached.peer_addr().expect("connected"), alive);
        let failure = race(&[dead, dead], None).await.expect_err("none listens");
        assert_eq!(failure.class, ErrorClass::Refused);
    }
}
