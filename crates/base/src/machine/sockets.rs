//! Local ports and sockets: how many ports there are, and how many connections take one.

use super::read;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;

/// The number of local ports for connections to one address.
pub fn local_ports() -> Option<u64> {
    let range = port_range(&read("/proc/sys/net/ipv4/ip_local_port_range")?)?;
    Some(range.len() as u64)
}

/// Sockets of TCP that are open or hold their local port for another minute, of all processes and to all addresses.
pub fn socket_count() -> Option<u64> {
    let text = read("/proc/net/sockstat")?;
    Some(sockets_of(&text, "inuse")? + sockets_of(&text, "tw")?)
}

/// The address to which most local ports are taken, and its connections. Reads every socket from the kernel, which
/// takes some microseconds each.
pub fn busiest_destination() -> Option<Destination> {
    let range = port_range(&read("/proc/sys/net/ipv4/ip_local_port_range")?)?;
    let sockets =
        ["tcp", "tcp6"].map(|name| read(&format!("/proc/net/{name}")).unwrap_or_default());
    busiest(&sockets, &range)
}

/// A remote address and port, and the connections to it from one address of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    /// The address that it listens on.
    pub address: SocketAddr,
    /// Connections that are open, or being opened or closed.
    pub open: u64,
    /// Connections that are closed and hold their local port for another minute.
    pub waiting: u64,
}

/// `32768 60999`: the first and the last port.
fn port_range(text: &str) -> Option<RangeInclusive<u16>> {
    let mut ends = text.split_whitespace().map(str::parse::<u16>);
    let (first, last) = (ends.next()?.ok()?, ends.next()?.ok()?);
    (first <= last).then_some(first..=last)
}

/// `TCP: inuse 5 orphan 0 tw 100 alloc 7 mem 1`.
fn sockets_of(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("TCP:"))?;
    let mut words = line.split_whitespace();
    words.find(|word| *word == name)?;
    words.next()?.parse().ok()
}

/// Counts sockets by where they come from and go to: a local port can be taken once for each pair. Each table has a line
/// of names, then `  0: 0100007F:9C40 0100007F:1F90 06 …` with addresses and ports in hexadecimal digits and the state.
fn busiest(tables: &[String], range: &RangeInclusive<u16>) -> Option<Destination> {
    const TIME_WAIT: &str = "06";
    let mut counts = HashMap::<(&str, &str), (u64, u64)>::new();
    for line in tables.iter().flat_map(|table| table.lines().skip(1)) {
        let mut words = line.split_whitespace().skip(1);
        let (Some(local), Some(remote), Some(state)) = (words.next(), words.next(), words.next())
        else {
            continue;
        };
        let Some((from, port)) = local.split_once(':') else {
            continue;
        };
        let port = u16::from_str_radix(port, 16).ok();
        let listens = remote.ends_with(":0000");
        if listens || port.is_none_or(|port| !range.contains(&port)) {
            continue;
        }
        let (open, waiting) = counts.entry((from, remote)).or_default();
        if state == TIME_WAIT {
            *waiting += 1
        } else {
            *open += 1
        }
    }
    let ((_, remote), (open, waiting)) = counts.into_iter().max_by_key(|(_, (a, b))| a + b)?;
    Some(Destination {
        address: socket_address(remote)?,
        open,
        waiting,
    })
}

/// `0100007F:1F90`: words of 32 bits in the byte order of the machine, and the port.
fn socket_address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let mut bytes = Vec::new();
    for at in (0..address.len()).step_by(8) {
        let word = u32::from_str_radix(address.get(at..at + 8)?, 16).ok()?;
        bytes.extend(word.to_ne_bytes());
    }
    let ip = match bytes.len() {
        4 => IpAddr::from(<[u8; 4]>::try_from(bytes).ok()?),
        16 => IpAddr::from(<[u8; 16]>::try_from(bytes).ok()?).to_canonical(),
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_and_sockets_are_read() {
        assert_eq!(port_range("32768\t60999\n"), Some(32_768..=60_999));
        assert_eq!(port_range("9 8"), None);
        assert_eq!(port_range("all"), None);
        let sockets =
            "sockets: used 290\nTCP: inuse 5 orphan 0 tw 100 alloc 7 mem 1\nUDP: inuse 2 mem 0\n";
        assert_eq!(sockets_of(sockets, "tw"), Some(100));
        assert_eq!(sockets_of(sockets, "inuse"), Some(5));
        assert_eq!(sockets_of("UDP: inuse 2", "inuse"), None);
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn connections_are_counted_by_where_they_go_and_servers_are_not_counted() {
        let line =
            |local: &str, remote: &str, state: &str| format!(" 0: {local} {remote} {state} 00:0\n");
        let mut tcp = "  sl  local_address rem_address   st\n".to_owned();
        tcp += &line("00000000:1F90", "00000000:0000", "0A");
        for port in ["9C40", "9C41", "9C42"] {
            tcp += &line(&format!("0100007F:{port}"), "0100007F:1F90", "01");
            // The server's end of it.
            tcp += &line("0100007F:1F90", &format!("0100007F:{port}"), "01");
        }
        for port in ["9C40", "9C41"] {
            tcp += &line(&format!("0100007F:{port}"), "0200007F:1F90", "06");
            // The same destination from another address has its own ports.
            tcp += &line(&format!("0900007F:{port}"), "0100007F:1F90", "01");
        }
        tcp += "nonsense\n";
        let tables = [tcp.clone(), String::new()];
        let address = "127.0.0.1:8080".parse().expect("an address");
        let expected = Destination {
            address,
            open: 3,
            waiting: 0,
        };
        assert_eq!(busiest(&tables, &(40_000..=40_009)), Some(expected));
        assert_eq!(busiest(&tables, &(50_000..=50_009)), None);
        let mut tcp6 = String::from("names\n");
        for port in ["9C40", "9C41", "9C42", "9C43"] {
            let local = format!("0000000000000000FFFF00000100007F:{port}");
            tcp6 += &line(&local, "0000000000000000FFFF00000200007F:1F90", "06");
        }
        let address = "127.0.0.2:8080".parse().expect("an address");
        let expected = Destination {
            address,
            open: 0,
            waiting: 4,
        };
        assert_eq!(busiest(&[tcp, tcp6], &(40_000..=40_009)), Some(expected));
    }
}
