//! Hearing of workers: passes their signals on to the director, each once.

use super::pump::{ANSWER, Pump};
use crate::engine::{SignalKind, WorkerSignal};
use crate::error::Error;
use crate::gaggle::messages::{self, Numbered, RequestKind};
use crate::gaggle::names;
use crate::gaggle::reading::Heard;
use async_nats::Message;
use tokio::time::Instant;

impl Pump {
    /// Warns that a worker cannot hand over its figures, and why.
    pub(super) fn warn_of(&self, message: &Message) {
        let number = names::teller(&message.subject).and_then(|id| self.roll.number_of(id));
        if let (Some(number), Ok(why)) = (number, messages::decode::<String>(&message.payload)) {
            let name = self.roll.0[number].name();
            let text = format!("figures of worker '{name}' do not arrive: it {why}");
            self.signal(number, SignalKind::Warning(text));
        }
    }

    /// Passes a worker's signal on to the director, unless it is a repeat.
    pub(super) fn hear(&mut self, heard: &Heard) {
        let Some(number) = self.roll.number_of(&heard.sender) else {
            return;
        };
        let latest = self.roll.0[number].sequence;
        let Numbered { sequence, signal } = match messages::decode_signal(&heard.bytes, latest) {
            Ok(numbered) => numbered,
            Err(error) => return self.skip(number, &error),
        };
        if self.come_to(number, sequence, 1) && !self.heed(number, sequence, signal) {
            self.roll.0[number].sequence = latest;
        }
    }

    /// Skips a message in the name of a worker that cannot be read: whoever sent it, it ends no run.
    fn skip(&mut self, number: usize, why: &Error) {
        if let Some(warning) = self.roll.skip(number, why) {
            self.signal(number, warning);
        }
    }

    /// Notes that `signals` more signals of a worker have come, of which the last has the number `sequence`; returns
    /// whether they are new.
    pub(super) fn come_to(&mut self, number: usize, sequence: u64, signals: u64) -> bool {
        let now = Instant::now();
        let member = &mut self.roll.0[number];
        let silent = now.duration_since(member.heard);
        member.heard = now;
        let Some(come) = self.roll.come_to(number, sequence, signals, silent) else {
            return false;
        };
        for kind in come.told {
            self.signal(number, kind);
        }
        if come.is_back && self.roll.0[number].replaced {
            self.dismiss(number);
        }
        true
    }

    /// Passes a worker's signal on, and heeds it where it concerns the manager. Returns false if it cannot be read.
    pub(super) fn heed(&mut self, number: usize, sequence: u64, signal: WorkerSignal) -> bool {
        if let WorkerSignal::Figures { reached, bytes } = &signal
            && self.fold(number, *reached, bytes)
        {
            return true;
        }
        // Figures that came before this signal go first.
        self.pass_on();
        let kind = match self.roll.heed(number, sequence, signal) {
            Ok(kind) => kind,
            Err(error) => {
                self.skip(number, &error);
                return false;
            }
        };
        if let SignalKind::Away(_) = kind {
            self.leaving.push(number);
        }
        self.signal(number, kind);
        true
    }

    /// Tells a worker that another one has replaced to stop its users and end.
    fn dismiss(&self, number: usize) {
        let (broker, request) = (self.line.broker.clone(), self.request(RequestKind::Dismiss));
        let id = self.roll.0[number].presence.id.clone();
        tokio::spawn(async move {
            let _gone_again = broker.request(&id, &request, ANSWER).await;
        });
    }
}
