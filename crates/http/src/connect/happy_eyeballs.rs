//! TCP connections to a host with several addresses, raced as RFC 8305 ("Happy Eyeballs") describes.

use super::local_addresses::LocalAddresses;
use crate::failure::{ErrorClass, Failure};
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpStream;

/// The time to wait for an address before the next one is tried too (RFC 8305, section 5).
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);

/// Connects to the first of the addresses that accepts. They are tried in order: the next one when one has failed or
/// has not responded for a quarter of a second, while earlier attempts go on.
pub(super) async fn race(
    addresses: &[SocketAddr],
    local: &LocalAddresses,
) -> Result<TcpStream, Failure> {
    // One address is the usual case and needs no race.
    if let [address] = addresses {
        return connect(*address, local).await;
    }
    let mut waiting = interleaved(addresses).into_iter();
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

/// The addresses with their families alternating, starting with that of the first one (RFC 8305, section 4).
fn interleaved(addresses: &[SocketAddr]) -> Vec<SocketAddr> {
    let first_is_v6 = addresses.first().is_some_and(SocketAddr::is_ipv6);
    let (first, second): (Vec<_>, Vec<_>) = addresses
        .iter()
        .partition(|address| address.is_ipv6() == first_is_v6);
    let longer = first.len().max(second.len());
    (0..longer)
        .flat_map(|index| [first.get(index), second.get(index)])
        .flatten()
        .copied()
        .collect()
}

/// A connection to one address.
async fn connect(address: SocketAddr, local: &LocalAddresses) -> Result<TcpStream, Failure> {
    let failed = |error| Failure::from_connect_error(&error, &address.to_string());
    let opened = match local.tcp_socket(&address) {
        None => TcpStream::connect(address).await,
        Some(socket) => socket?.connect(address).await,
    };
    let tcp = opened.map_err(failed)?;
    tcp.set_nodelay(true).map_err(failed)?;
    Ok(tcp)
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
        let order: Vec<String> = interleaved(&addresses)
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
        let reached = race(&[dead, dead, alive], &LocalAddresses::default())
            .await
            .expect("one listens");
        assert_eq!(reached.peer_addr().expect("connected"), alive);
        let failure = race(&[dead, dead], &LocalAddresses::default())
            .await
            .expect_err("none listens");
        assert_eq!(failure.class, ErrorClass::Refused);
    }
}
