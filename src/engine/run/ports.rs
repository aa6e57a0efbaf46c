//! Watches that local ports do not run out: each connection needs one, and a closed one keeps it for a minute.

use crate::machine;
use crate::units::show_count;
use std::time::Duration;
use tokio::time::Instant;

/// Time between two questions to the kernel.
const EVERY: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct PortWatch {
    /// Number of local ports; `None` if it is not known or a warning was given.
    ports: Option<u64>,
    next: Instant,
}

impl PortWatch {
    pub(crate) fn new(now: Instant) -> PortWatch {
        PortWatch {
            ports: machine::local_ports(),
            next: now,
        }
    }

    /// Returns a warning, once, when four of five ports are taken. `connections` are those open now.
    pub(crate) fn look(&mut self, now: Instant, connections: u64) -> Option<String> {
        let ports = self.ports.filter(|_| now >= self.next)?;
        self.next = now + EVERY;
        let warning = scarcity(ports, connections, machine::waiting_ports()?)?;
        self.ports = None;
        Some(warning)
    }
}

fn scarcity(ports: u64, connections: u64, waiting: u64) -> Option<String> {
    let taken = connections + waiting;
    (taken * 5 >= ports * 4).then(|| {
        format!(
            "{} of this machine's {} local ports were taken ({} by open connections, {} by closed ones, for a minute \
             each): new connections may fail as 'out of ports'; keep connections open, or allow more with 'sysctl -w \
             net.ipv4.ip_local_port_range=\"1024 65535\"'",
            show_count(taken),
            show_count(ports),
            show_count(connections),
            show_count(waiting)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_of_five_ports_are_scarce() {
        assert_eq!(scarcity(28_232, 22_000, 585), None);
        let told = scarcity(28_232, 2_000, 20_586).expect("four fifths");
        assert!(told.contains("22,586 of this machine's 28,232"), "{told}");
    }
}
