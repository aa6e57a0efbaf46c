//! The phases of a request: plain data. `http` stamps them, `metrics` adds them up. Knows neither.

use std::time::Duration;

/// The time that each phase of a request took; zero where a phase did not happen (a reused connection has no
/// `connect`). With redirects, the sum over all hops.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Phases {
    /// The look-up of the host's address.
    pub dns: Duration,
    /// The opening of the TCP connection.
    pub connect: Duration,
    /// The TLS handshake.
    pub tls: Duration,
    /// The writing of the request, until its last byte was handed to the kernel.
    pub send: Duration,
    /// The wait from then until the first byte of the response.
    pub first_byte: Duration,
    /// From then until the last byte of the body.
    pub receive: Duration,
}

impl Phases {
    /// The phases in the order they happen.
    pub fn in_order(&self) -> [Duration; 6] {
        [
            self.dns,
            self.connect,
            self.tls,
            self.send,
            self.first_byte,
            self.receive,
        ]
    }
}
