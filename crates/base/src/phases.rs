//! The phases of a request: plain data. `http` stamps them, `metrics` adds them up. Knows neither.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A phase of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Phase {
    /// The look-up of the host's address.
    Dns,
    /// The opening of the TCP connection.
    Connect,
    /// The TLS handshake.
    Tls,
    /// The writing of the request.
    Send,
    /// The wait for the first byte of the response.
    FirstByte,
    /// The reading of the response.
    Receive,
}

impl Phase {
    /// The phases in the order they happen.
    pub const ALL: [Phase; 6] = [
        Phase::Dns,
        Phase::Connect,
        Phase::Tls,
        Phase::Send,
        Phase::FirstByte,
        Phase::Receive,
    ];

    /// The name of the phase in reports and thresholds.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Dns => "dns",
            Phase::Connect => "connect",
            Phase::Tls => "tls",
            Phase::Send => "send",
            Phase::FirstByte => "first_byte",
            Phase::Receive => "receive",
        }
    }
}

/// A time within a request that is kept beside its latency: that of a phase, or of the messages of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum TimedPart {
    /// A phase of the latency.
    Phase(Phase),
    /// From the beginning of the request until its first event, line or piece had come.
    FirstEvent,
    /// From one event, line or piece to the next.
    EventGap,
}

impl TimedPart {
    /// All of them, phases in the order they happen.
    pub fn all() -> impl Iterator<Item = TimedPart> {
        let phases = Phase::ALL.into_iter().map(TimedPart::Phase);
        phases.chain([TimedPart::FirstEvent, TimedPart::EventGap])
    }

    /// The name in reports and thresholds.
    pub fn name(self) -> &'static str {
        match self {
            TimedPart::Phase(phase) => phase.name(),
            TimedPart::FirstEvent => "first_event",
            TimedPart::EventGap => "event_gap",
        }
    }

    /// The phase, if it is one.
    pub fn phase(self) -> Option<Phase> {
        match self {
            TimedPart::Phase(phase) => Some(phase),
            TimedPart::FirstEvent | TimedPart::EventGap => None,
        }
    }
}

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
    /// The same without so much of the longest phases: time that was not the target's.
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

    /// The time that a phase took.
    pub fn of(&self, phase: Phase) -> Duration {
        self.in_order()[phase as usize]
    }

    /// The time that a phase took, to add to it.
    pub fn of_mut(&mut self, phase: Phase) -> &mut Duration {
        match phase {
            Phase::Dns => &mut self.dns,
            Phase::Connect => &mut self.connect,
            Phase::Tls => &mut self.tls,
            Phase::Send => &mut self.send,
            Phase::FirstByte => &mut self.first_byte,
            Phase::Receive => &mut self.receive,
        }
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
