//! Options for reaching the target: `--http`, `--resolve`, `--local-address`.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;
use url::Host;

/// The version of HTTP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Http {
    /// HTTP/2 if the server offers it over TLS, else HTTP/1.1.
    #[default]
    Any,
    /// HTTP/1.1 only.
    Http1,
    /// HTTP/2 only, even without TLS.
    Http2,
}

impl Http {
    /// Reads `1.1` or `2`.
    ///
    /// # Errors
    /// A sentence that names both.
    pub fn parse(text: &str) -> Result<Http, String> {
        match text {
            "1.1" => Ok(Http::Http1),
            "2" => Ok(Http::Http2),
            other => Err(format!(
                "'{other}' is not a version of HTTP: write 1.1 or 2"
            )),
        }
    }
}

/// Fixed addresses for a host and port, instead of DNS.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    /// The host as requests have it: a name in lower case and ASCII without a dot at its end, an address without
    /// brackets, or '*' for every host.
    pub host: String,
    /// The port, as in URLs or their default.
    pub port: u16,
    /// The IP addresses, in the order in which they are tried.
    pub addresses: Vec<IpAddr>,
}

impl Pin {
    /// Reads `HOST:PORT:ADDRESS[,ADDRESS]`, as curl does: an IPv6 address may be in brackets, as the host it is; a '+'
    /// before the host, which lets curl's entry expire, means nothing more here.
    ///
    /// # Errors
    /// A sentence that shows the form.
    pub fn parse(text: &str) -> Result<Pin, String> {
        Pin::read(text).ok_or_else(|| {
            format!(
                "'{text}' pins no host: write HOST:PORT:ADDRESS, such as example.org:443:127.0.0.1; the host may be \
                 '*', an IPv6 address as host is in brackets, and commas separate several addresses"
            )
        })
    }

    fn read(text: &str) -> Option<Pin> {
        let text = text.strip_prefix('+').unwrap_or(text);
        let colon = match text.strip_prefix('[') {
            Some(address) => address.find(']')? + 2,
            None => text.find(':')?,
        };
        let (host, rest) = text.split_at_checked(colon)?;
        let (port, addresses) = rest.strip_prefix(':')?.split_once(':')?;
        // As in curl, a comma too many does no harm.
        let addresses = addresses.split(',').filter(|one| !one.is_empty());
        let addresses: Vec<_> = addresses.map(address).collect::<Result<_, _>>().ok()?;
        (!addresses.is_empty()).then_some(())?;
        Some(Pin {
            host: match host {
                "*" => host.to_owned(),
                _ => host_of_requests(host)?,
            },
            port: port.parse().ok()?,
            addresses,
        })
    }
}

/// The host as the URL of a request has it, without brackets.
fn host_of_requests(host: &str) -> Option<String> {
    match Host::parse(host.trim_end_matches('.')).ok()? {
        // No part of a name stands for others, and so the pin would concern nothing.
        Host::Domain(name) => Some(name).filter(|name| !name.contains('*')),
        Host::Ipv4(address) => Some(address.to_string()),
        host @ Host::Ipv6(_) => Some(host.to_string().trim_matches(['[', ']']).to_owned()),
    }
}

/// Writes it as it is read.
impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}:", self.host, self.port)?;
        } else {
            write!(f, "{}:{}:", self.host, self.port)?;
        }
        for (index, address) in self.addresses.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{address}")?;
        }
        Ok(())
    }
}

/// Reads an IPv4 or IPv6 address, the latter also in brackets.
///
/// # Errors
/// A sentence that shows both.
pub fn address(text: &str) -> Result<IpAddr, String> {
    text.trim_start_matches('[')
        .trim_end_matches(']')
        .parse()
        .map_err(|_| format!("'{text}' is not an address: write one such as 127.0.0.2 or ::1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_has_a_host_a_port_and_addresses() {
        for (text, expected) in [
            ("example.org:443:127.0.0.1", "example.org:443:127.0.0.1"),
            ("Example.ORG:80:::1", "example.org:80:::1"),
            ("example.org.:80:[::1]", "example.org:80:::1"),
            ("+example.org:80:127.0.0.1", "example.org:80:127.0.0.1"),
            (
                "a.test:1:10.0.0.1,[::1],10.0.0.2",
                "a.test:1:10.0.0.1,::1,10.0.0.2",
            ),
            ("127.0.0.9:80:127.0.0.1", "127.0.0.9:80:127.0.0.1"),
            ("0x7f.9:80:127.0.0.1", "127.0.0.9:80:127.0.0.1"),
            ("[0:0::9]:80:[::1]", "[::9]:80:::1"),
            ("[::ffff:1.2.3.4]:80:::1", "[::ffff:102:304]:80:::1"),
            ("*:80:127.0.0.1", "*:80:127.0.0.1"),
            (
                "Bücher.test:80:127.0.0.1",
                "xn--bcher-kva.test:80:127.0.0.1",
            ),
            ("example.org:127.0.0.1", ""),
            (":80:127.0.0.1", ""),
            ("example.org:http:127.0.0.1", ""),
            ("example.org:80:localhost", ""),
            ("example.org:80:", ""),
            ("example.org:80:127.0.0.1,", "example.org:80:127.0.0.1"),
            ("example.org:80:,", ""),
            ("example.org:80: 127.0.0.1", ""),
            ("example.org:80", ""),
            ("-example.org:80", ""),
            ("*.example.org:80:127.0.0.1", ""),
            ("[::9:80:127.0.0.1", ""),
            ("::9:80:127.0.0.1", ""),
            ("example.org:65536:127.0.0.1", ""),
            ("exa mple.org:80:127.0.0.1", ""),
        ] {
            let read = Pin::parse(text).map_or_else(|_| String::new(), |pin| pin.to_string());
            assert_eq!(read, expected, "{text}");
        }
    }
}
