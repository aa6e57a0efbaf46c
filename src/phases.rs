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
    /// The same without so much of the longest phases: time that was none of the target's.
    pub fn without(mut self, mut time: Duration) -> Phases {
        while !time.is_zero() {
            let phases = [
                &mut self.dns,
                &mut self.connect,
                &mut self.tls,
                &mut self.send,
                &mut self.first_byte,
                &mut self.receive,
            ];
            let longest = phases.into_iter().max();
            let Some(longest) = longest.filter(|longest| !longest.is_zero()) else {
                break;
            };
            let cut = time.min(*longest);
            *longest -= cut;
            time -= cut;
        }
        self
    }

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
