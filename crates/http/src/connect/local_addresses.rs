//! The addresses of this machine that connections come from, in turns: each of them has local ports of its own.

use crate::failure::{ErrorClass, Failure};
use std::cell::Cell;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use tokio::net::{TcpSocket, UdpSocket};

/// The local addresses of a shard's connections; none for any that the system chooses.
#[derive(Debug, Default)]
pub(crate) struct LocalAddresses {
    all: Vec<IpAddr>,
    /// How many connections have come from them.
    taken: Cell<usize>,
}

impl LocalAddresses {
    pub(crate) fn new(all: Vec<IpAddr>) -> LocalAddresses {
        LocalAddresses {
            all,
            taken: Cell::new(0),
        }
    }

    /// Returns the address for the next connection, whatever it goes to; `None` for any.
    pub(crate) fn next(&self) -> Option<IpAddr> {
        let taken = self.taken.get();
        self.taken.set(taken.wrapping_add(1));
        self.all.get(taken.checked_rem(self.all.len())?).copied()
    }

    /// Returns that for the next connection to a peer: of the peer's family, unless there is none.
    pub(super) fn next_to(&self, peer: &SocketAddr) -> Option<IpAddr> {
        let fits = |local: &IpAddr| local.is_ipv6() == peer.is_ipv6();
        (0..self.all.len())
            .find_map(|_| self.next().filter(fits))
            .or_else(|| self.next())
    }

    /// Returns a socket for a connection to a peer; `None` where it may come from any address.
    pub(super) fn tcp_socket(&self, peer: &SocketAddr) -> Option<Result<TcpSocket, Failure>> {
        let local = self.next_to(peer)?;
        let socket = match peer {
            SocketAddr::V4(_) => TcpSocket::new_v4(),
            SocketAddr::V6(_) => TcpSocket::new_v6(),
        };
        let bound = socket.and_then(|socket| {
            choose_port_late(&socket);
            socket.bind(SocketAddr::new(local, 0))?;
            Ok(socket)
        });
        Some(bound.map_err(|error| match error.kind() {
            // On a connection, the same error means a lack of ports; here it does not.
            ErrorKind::AddrNotAvailable => not_of_this_machine(local),
            _ => Failure::from_connect_error(&error, &peer.to_string()),
        }))
    }

    /// Returns a socket for datagrams to a peer.
    pub(super) async fn udp_socket(&self, peer: &SocketAddr) -> std::io::Result<UdpSocket> {
        let any = match peer {
            SocketAddr::V4(_) => IpAddr::from(Ipv4Addr::UNSPECIFIED),
            SocketAddr::V6(_) => IpAddr::from(Ipv6Addr::UNSPECIFIED),
        };
        UdpSocket::bind(SocketAddr::new(self.next_to(peer).unwrap_or(any), 0)).await
    }
}

/// Has the kernel choose the local port of a bound socket when it connects: then a port can be taken once for each peer,
/// as without a local address, and not only once. Where it cannot, the port is chosen at once.
fn choose_port_late(socket: &TcpSocket) {
    #[cfg(target_os = "linux")]
    {
        use nix::sys::socket::{setsockopt, sockopt::IpBindAddressNoPort};
        let _unsupported = setsockopt(socket, IpBindAddressNoPort, &true);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = socket;
}

/// The failure of a connection from an address that is not there.
pub(crate) fn not_of_this_machine(local: IpAddr) -> Failure {
    let detail = format!("'--local-address {local}' is not an address of this machine");
    Failure::new(ErrorClass::Connect, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_take_turns_within_the_family_of_the_peer() {
        let address = |text: &str| text.parse::<IpAddr>().expect("an address");
        let all = ["127.0.0.2", "::1", "127.0.0.3"].map(address);
        let (four, six) = ("127.0.0.1:80", "[::1]:80");
        let taken = |all: &[IpAddr], peers: &[&str]| -> Vec<String> {
            let local = LocalAddresses::new(all.to_vec());
            let peers = peers.iter().map(|peer| peer.parse().expect("a peer"));
            let taken = peers.filter_map(|peer| local.next_to(&peer));
            taken.map(|address| address.to_string()).collect()
        };
        assert_eq!(
            taken(&all, &[four, four, six, four, six]),
            ["127.0.0.2", "127.0.0.3", "::1", "127.0.0.3", "::1"]
        );
        assert_eq!(taken(&[], &[four, six]), [""; 0]);
        assert_eq!(taken(&all[..1], &[six, four]), ["127.0.0.2", "127.0.0.2"]);
    }
}
