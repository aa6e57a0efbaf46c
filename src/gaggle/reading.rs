//! Reading of what a run's stream keeps, in order, whatever breaks on the way.

use super::broker::{Broker, Contact};
use super::names;
use crate::error::Error;
use futures_util::StreamExt as _;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// Time between two attempts of something that failed.
const AGAIN: Duration = Duration::from_millis(250);

/// Time for which something may fail while the broker can be reached: then it will not pass by itself.
const PATIENCE: Duration = Duration::from_secs(10);

/// Messages that are read ahead of whoever takes them.
pub(super) const READ_AHEAD: usize = 4_096;

/// A message as the stream has it.
#[derive(Debug, Clone)]
pub(super) struct Heard {
    pub(super) subject: String,
    /// The worker's identity, or the name of a slot.
    pub(super) sender: String,
    /// Number in the run's stream.
    pub(super) number: u64,
    /// When the broker got it, in nanoseconds since 1970.
    pub(super) kept_at: i128,
    /// Whether no other followed when it was read.
    pub(super) is_last: bool,
    pub(super) bytes: Vec<u8>,
}

/// Something that fails again and again.
pub(super) struct Failing {
    since: Option<Instant>,
    told: mpsc::UnboundedSender<Error>,
}

impl Failing {
    pub(super) fn new(told: mpsc::UnboundedSender<Error>) -> Failing {
        Failing { since: None, told }
    }

    /// Notes a failure, and tells of it once it has lasted too long.
    pub(super) fn note(&mut self, broker: &Broker, error: Error) {
        tracing::debug!(target: "lgoose::gaggle", "{error}");
        if *broker.contact().borrow() != Contact::Up {
            self.since = None;
            return;
        }
        let since = *self.since.get_or_insert_with(Instant::now);
        if since.elapsed() >= PATIENCE {
            // The run is at its end.
            let _over = self.told.send(error);
            self.since = None;
        }
    }

    pub(super) fn forget(&mut self) {
        self.since = None;
    }
}

/// Reads all messages of a run with that subject, or all with `""`, in order, from that number of the stream on. What is broken off begins
/// anew where it was, and at once when the broker is back: a reader would notice only after half a minute.
pub(super) async fn read(
    broker: Broker,
    run: String,
    subject: String,
    from: u64,
    heard: mpsc::Sender<Heard>,
    mut failing: Failing,
) {
    let mut contact = broker.contact();
    let mut next = from;
    loop {
        contact.mark_unchanged();
        let mut signals = match broker.kept(&run, &subject, next).await {
            Ok((signals, _)) => signals,
            Err(error) => {
                failing.note(&broker, error);
                tokio::time::sleep(AGAIN).await;
                continue;
            }
        };
        failing.forget();
        loop {
            let message = tokio::select! {
                message = signals.next() => message,
                changed = contact.changed() => match changed {
                    Ok(()) if *contact.borrow() != Contact::Up => continue,
                    _ => break,
                },
            };
            match message {
                Some(Ok(message)) => {
                    let Ok(info) = message.info() else {
                        continue;
                    };
                    next = info.stream_sequence + 1;
                    let message = Heard {
                        subject: message.subject.to_string(),
                        sender: names::sender(&message.subject).to_owned(),
                        number: info.stream_sequence,
                        kept_at: info.published.unix_timestamp_nanos(),
                        is_last: info.pending == 0,
                        bytes: message.payload.to_vec(),
                    };
                    if heard.send(message).await.is_err() {
                        return;
                    }
                }
                Some(Err(error)) => {
                    tracing::debug!(target: "lgoose::gaggle", "{error}");
                    tokio::time::sleep(AGAIN).await;
                    // A stream that is gone gives nothing but errors, and only a new reader is told why.
                    break;
                }
                None => break,
            }
        }
    }
}
