//! Outbox of a worker: keeps its signals until the broker has them, in order, each once.

use crate::broker::{Broker, ContactState};
use crate::messages::{self, NumberedSignal};
use crate::names;
use lgoose_engine::{WORKER_FLUSH_TIMEOUT, WorkerSignal};
use std::collections::VecDeque;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// The most bytes kept while the broker cannot be reached; beyond it, the oldest figures are dropped.
const MAX_BYTES: usize = 64 << 20;

/// Time between two attempts to hand a signal over.
const RETRY_DELAY: Duration = Duration::from_millis(250);

/// Time without success at a reachable broker after which the reason is reported.
const STUCK: Duration = Duration::from_secs(2);

/// Signals that the broker does not have yet.
#[derive(Debug, Default)]
struct Outbox {
    waiting: VecDeque<(u64, bool, Vec<u8>)>,
    bytes: usize,
    sequence: u64,
}

impl Outbox {
    fn put(&mut self, signal: WorkerSignal) {
        self.sequence += 1;
        let figures = matches!(signal, WorkerSignal::Figures { .. });
        let bytes = messages::encode(&NumberedSignal {
            sequence: self.sequence,
            signal,
        });
        self.bytes += bytes.len();
        self.waiting.push_back((self.sequence, figures, bytes));
        while self.bytes > MAX_BYTES {
            let Some(at) = self.waiting.iter().position(|(_, figures, _)| *figures) else {
                return;
            };
            if let Some((.., bytes)) = self.waiting.remove(at) {
                self.bytes -= bytes.len();
            }
        }
    }

    fn sent(&mut self, sequence: u64) {
        let is_first = self
            .waiting
            .front()
            .is_some_and(|(first, ..)| *first == sequence);
        if is_first && let Some((.., bytes)) = self.waiting.pop_front() {
            self.bytes -= bytes.len();
        }
    }
}

/// End of the handing over of signals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HandOverEnd {
    /// The broker has all of them.
    Complete,
    /// The broker could not be reached for so long after the last one that the rest was given up.
    GivenUp,
    /// The broker says that the run is over, and keeps nothing of it any more.
    RunOver,
}

/// Hands signals over to the broker until it has the last one. Failures are tried again: readers recognise a repeat by
/// the number of the signal.
pub(super) async fn hand_over(
    broker: Broker,
    run: String,
    subject: String,
    worker: String,
    mut signals: mpsc::UnboundedReceiver<WorkerSignal>,
) -> HandOverEnd {
    let mut outbox = Outbox::default();
    let (mut until, mut stuck) = (None, None);
    loop {
        let Some((sequence, _, bytes)) = outbox.waiting.front().cloned() else {
            match signals.recv().await {
                Some(signal) => outbox.put(signal),
                None => return HandOverEnd::Complete,
            }
            continue;
        };
        let id = format!("{worker}:{sequence}");
        let storing = broker.store(subject.clone(), &id, bytes);
        tokio::pin!(storing);
        let stored = loop {
            tokio::select! {
                stored = &mut storing => break stored,
                signal = signals.recv(), if until.is_none() => match signal {
                    Some(signal) => outbox.put(signal),
                    None => until = Some(Instant::now() + WORKER_FLUSH_TIMEOUT),
                },
            }
        };
        match stored {
            Ok(()) => {
                outbox.sent(sequence);
                stuck = None;
            }
            Err((error, passes)) => {
                tracing::debug!(target: "lgoose::gaggle", "{error}");
                if !passes || until.is_some_and(|until| Instant::now() >= until) {
                    tracing::warn!(
                        target: "lgoose::gaggle",
                        "run {run}: {} signals could not be handed over: {error}",
                        outbox.waiting.len()
                    );
                    return if passes {
                        HandOverEnd::GivenUp
                    } else {
                        HandOverEnd::RunOver
                    };
                }
                let up = *broker.contact().borrow() == ContactState::Up;
                let since = *stuck.get_or_insert_with(Instant::now);
                if up && since.elapsed() >= STUCK {
                    // The stream takes nothing, so this message bypasses it. If the failure lasts, it is sent again.
                    let message = messages::encode(&error.text());
                    broker.send(names::failures(&run, &worker), message).await;
                    stuck = None;
                }
                tokio::time::sleep(RETRY_DELAY).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(bytes: usize) -> WorkerSignal {
        WorkerSignal::Figures {
            reached: 0,
            bytes: vec![0; bytes],
        }
    }

    #[test]
    fn the_oldest_figures_go_where_there_is_no_room() {
        let mut outbox = Outbox::default();
        outbox.put(WorkerSignal::Failed("why".to_owned()));
        for _ in 0..70 {
            outbox.put(figures(1 << 20));
        }
        assert!(outbox.bytes <= MAX_BYTES);
        let numbers: Vec<u64> = outbox
            .waiting
            .iter()
            .map(|(sequence, ..)| *sequence)
            .collect();
        assert_eq!((numbers[0], numbers.last()), (1, Some(&71)));
        assert!(numbers.len() < 66 && numbers[1] > 7, "{numbers:?}");
        outbox.sent(2);
        assert_eq!(
            outbox.waiting.len(),
            numbers.len(),
            "only the first is taken off"
        );
        outbox.sent(1);
        assert_eq!(outbox.waiting.len(), numbers.len() - 1);
    }
}
