//! Watches that local ports do not run out: each connection needs one, and a closed connection keeps its port for a
//! minute. A port can be taken once for each address that connections go to, so the busiest of these counts.

use lgoose_base::machine::{self, Destination};
use lgoose_base::units::show_count;
use std::time::Duration;
use tokio::time::Instant;

/// Time between two questions to the kernel.
const EVERY: Duration = Duration::from_secs(1);

/// Time between two counts by address, for each of which the kernel lists all sockets; with few sockets that costs
/// nothing.
const EVERY_COUNT: Duration = Duration::from_secs(10);
const FEW: u64 = 1_000;

#[derive(Debug)]
pub(crate) struct PortWatch {
    /// Number of local ports; `None` if it is not known or a warning was given.
    ports: Option<u64>,
    next: Instant,
}

impl PortWatch {
    /// Makes a watch over connections from so many local addresses, each of which has its own ports; none for any.
    pub(crate) fn new(now: Instant, local_addresses: usize) -> PortWatch {
        PortWatch {
            ports: machine::local_ports().map(|ports| ports * local_addresses.max(1) as u64),
            next: now,
        }
    }

    /// Returns a warning, once, when four of five ports are taken for one address. `connections` are those that
    /// lgoose has open now.
    pub(crate) fn look(&mut self, now: Instant, connections: u64) -> Option<String> {
        let ports = self.ports.filter(|_| now >= self.next)?;
        self.next = now + EVERY;
        // No address has more sockets than all have together.
        let at_most = machine::socket_count()?.max(connections);
        if !is_scarce(ports, at_most) {
            return None;
        }
        if at_most > FEW {
            self.next = now + EVERY_COUNT;
        }
        let warning = scarcity(ports, &machine::busiest_destination()?)?;
        self.ports = None;
        Some(warning)
    }
}

/// Returns whether too few of `ports` ports are left when `taken` are taken.
fn is_scarce(ports: u64, taken: u64) -> bool {
    taken * 5 >= ports * 4
}

fn scarcity(ports: u64, to: &Destination) -> Option<String> {
    let taken = to.open + to.waiting;
    is_scarce(ports, taken).then(|| {
        format!(
            "{} of the {} local ports that this machine has for connections to {} were taken ({} by open connections, \
             {} by closed ones, for a minute each): new ones may fail with 'out of ports'; keep connections open, or \
             allow more with 'sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\"'",
            show_count(taken),
            show_count(ports),
            to.address,
            show_count(to.open),
            show_count(to.waiting)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn destination(open: u64, waiting: u64) -> Destination {
        Destination {
            address: "127.0.0.1:8080".parse().expect("an address"),
            open,
            waiting,
        }
    }

    #[test]
    fn four_of_five_ports_are_scarce() {
        assert_eq!(scarcity(28_232, &destination(22_000, 585)), None);
        let warning = scarcity(28_232, &destination(2_000, 20_586)).expect("four fifths");
        let words = "22,586 of the 28,232 local ports that this machine has for connections to 127.0.0.1:8080";
        assert!(warning.starts_with(words), "{warning}");
    }
}
