//! Options for reaching the target: `--http`, `--resolve`, `--local-address`.

use serde::{Deserialize, Serialize};
use std::net::IpAddr;

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

/// A fixed address for a host and port, instead of DNS.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    /// The host, as in URLs.
    pub host: String,
    /// The port, as in URLs or their default.
    pub port: u16,
    /// The IP address.
    pub address: IpAddr,
}

impl Pin {
    /// Reads `HOST:PORT:ADDRESS`; the address may be in brackets.
    ///
    /// # Errors
    /// A sentence that shows the form.
    pub fn parse(text: &str) -> Result<Pin, String> {
        let wrong = || {
            format!(
                "'{text}' pins no host: write HOST:PORT:ADDRESS, such as example.org:443:127.0.0.1"
            )
        };
        let mut parts = text.splitn(3, ':');
        let (Some(host), Some(port), Some(at)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(wrong());
        };
        match (host.is_empty(), port.parse(), address(at)) {
            (false, Ok(port), Ok(address)) => Ok(Pin {
                host: host.to_ascii_lowercase(),
                port,
                address,
            }),
            _ => Err(wrong()),
        }
    }
}

/// Reads an IPv4 or IPv6 address, the latter also in brackets.
///
/// # Errors
/// A sentence that shows both.
pub(crate) fn address(text: &str) -> Result<IpAddr, String> {
    text.trim_start_matches('[')
        .trim_end_matches(']')
        .parse()
        .map_err(|_| format!("'{text}' is not an address: write one such as 127.0.0.2 or ::1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_has_a_host_a_port_and_an_address() {
        for (text, expected) in [
            (
                "example.org:443:127.0.0.1",
                Some(("example.org", 443, "127.0.0.1")),
            ),
            ("Example.org:80:::1", Some(("example.org", 80, "::1"))),
            ("example.org:80:[::1]", Some(("example.org", 80, "::1"))),
            ("example.org:127.0.0.1", None),
            (":80:127.0.0.1", None),
            ("example.org:http:127.0.0.1", None),
            ("example.org:80:localhost", None),
        ] {
            let pin = expected.map(|(host, port, address)| Pin {
                host: host.to_owned(),
                port,
                address: address.parse().expect("an address"),
            });
            assert_eq!(Pin::parse(text).ok(), pin, "{text}");
        }
    }
}
