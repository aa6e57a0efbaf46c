//! Intake of the workers' signals: passes each on to the director, once. Who reads them from the broker is not its
//! concern.

use super::folding::PendingFigures;
use super::registry::WorkerRegistry;
use super::terms::REPLY_TIMEOUT;
use crate::broker::Broker;
use crate::messages::{self, NumberedSignal, RequestKind, WorkerRequest};
use crate::names;
use crate::reading::RunMessage;
use async_nats::Message;
use lgoose_base::error::Error;
use lgoose_engine::{ShardEvent, ShardEventKind, WorkerSignal};
use tokio::sync::mpsc;
use tokio::time::Instant;

/// The workers of a run, and the way of their signals to its director.
pub(super) struct SignalIntake {
    pub(super) broker: Broker,
    /// Name of the run.
    pub(super) run: String,
    pub(super) registry: WorkerRegistry,
    folding: PendingFigures,
    director: mpsc::UnboundedSender<ShardEvent>,
    /// Workers that are ending before the run.
    leaving: Vec<usize>,
}

impl SignalIntake {
    pub(super) fn new(
        broker: Broker,
        run: &str,
        registry: WorkerRegistry,
        director: mpsc::UnboundedSender<ShardEvent>,
    ) -> SignalIntake {
        SignalIntake {
            broker,
            run: run.to_owned(),
            registry,
            folding: PendingFigures::default(),
            director,
            leaving: Vec::new(),
        }
    }

    /// Sends a signal about a worker, or about the run, to the director.
    pub(super) fn send(&self, from: usize, kind: ShardEventKind) {
        // Nobody receives it once the run is over.
        let _over = self.director.send(ShardEvent { from, kind });
    }

    /// Sends a warning to views and the report.
    pub(super) fn warn(&self, text: &str) {
        self.send(0, ShardEventKind::Warning(text.to_owned()));
    }

    /// Warns that a worker cannot hand over its figures, and why.
    pub(super) fn warn_of(&self, message: &Message) {
        let number =
            names::worker_of_subject(&message.subject).and_then(|id| self.registry.number_of(id));
        if let (Some(number), Ok(why)) = (number, messages::decode::<String>(&message.payload)) {
            let name = self.registry.0[number].name();
            let text = format!("figures of worker '{name}' do not arrive: it {why}");
            self.send(number, ShardEventKind::Warning(text));
        }
    }

    /// Passes a worker's signal on to the director, unless it is a repeat.
    pub(super) fn receive(&mut self, message: &RunMessage) {
        let Some(number) = self.registry.number_of(&message.sender) else {
            return;
        };
        let latest = self.registry.0[number].sequence;
        let NumberedSignal { sequence, signal } =
            match messages::decode_signal(&message.bytes, latest) {
                Ok(numbered) => numbered,
                Err(error) => return self.skip(number, &error),
            };
        if self.advance(number, sequence, 1) && !self.handle(number, sequence, signal) {
            self.registry.0[number].sequence = latest;
        }
    }

    /// Skips a message in the name of a worker that cannot be read: no sender can end the run by it.
    fn skip(&mut self, number: usize, why: &Error) {
        if let Some(warning) = self.registry.skip(number, why) {
            self.send(number, warning);
        }
    }

    /// Records that `signals` more signals of a worker have come, of which the last has the number `sequence`; returns
    /// whether they are new.
    pub(super) fn advance(&mut self, number: usize, sequence: u64, signals: u64) -> bool {
        let now = Instant::now();
        let member = &mut self.registry.0[number];
        let silent = now.duration_since(member.last_signal);
        member.last_signal = now;
        let Some(come) = self.registry.come_to(number, sequence, signals, silent) else {
            return false;
        };
        for kind in come.signals {
            self.send(number, kind);
        }
        if come.is_back && self.registry.0[number].replaced {
            self.release(number);
        }
        true
    }

    /// Passes a worker's signal on, and records the facts for the manager. Returns false if it cannot be read.
    pub(super) fn handle(&mut self, number: usize, sequence: u64, signal: WorkerSignal) -> bool {
        if let WorkerSignal::Figures { reached, bytes } = &signal
            && self.folding.add(&self.registry, number, *reached, bytes)
        {
            return true;
        }
        // Figures that came before this signal go first.
        self.pass_on();
        let kind = match self.registry.accept(number, sequence, signal) {
            Ok(kind) => kind,
            Err(error) => {
                self.skip(number, &error);
                return false;
            }
        };
        if let ShardEventKind::Leaving(_) = kind {
            self.leaving.push(number);
        }
        self.send(number, kind);
        true
    }

    /// Passes the sums on to the director.
    pub(super) fn pass_on(&mut self) {
        for kind in self.folding.take() {
            self.send(0, kind);
        }
    }

    /// Takes out the workers that have begun to end since the last call.
    pub(super) fn take_leaving(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.leaving)
    }

    /// Requests a worker that another one has replaced to stop its users and end.
    pub(super) fn release(&self, number: usize) {
        let request = WorkerRequest::new(&self.run, RequestKind::Dismiss);
        let broker = self.broker.clone();
        let id = self.registry.0[number].presence.id.clone();
        tokio::spawn(async move {
            let _gone_again = broker.request(&id, &request, REPLY_TIMEOUT).await;
        });
    }
}
