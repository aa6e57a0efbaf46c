//! Reader of a run's stream: delivers its messages in order, despite failures on the way.

use super::broker::{Broker, ContactState};
use super::names;
use futures_util::StreamExt as _;
use lgoose_base::error::Error;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// Time between two attempts at something that failed.
const RETRY_DELAY: Duration = Duration::from_millis(250);

/// Time for which an operation may fail while the broker is reachable; after it, the failure counts as lasting. The node of a
/// cluster that keeps the stream may restart in it, and the link of a leaf node be cut.
const PATIENCE: Duration = Duration::from_secs(60);

/// Number of messages that are read ahead.
pub(super) const READ_AHEAD: usize = 4_096;

/// A message of the stream.
#[derive(Debug, Clone)]
pub(super) struct RunMessage {
    pub(super) subject: String,
    /// The worker's identity, or the name of a slot.
    pub(super) sender: String,
    /// Sequence number in the run's stream.
    pub(super) number: u64,
    /// Time at which the broker stored it, in nanoseconds since 1970.
    pub(super) stored_at: i128,
    /// Whether no other message followed when it was read.
    pub(super) is_last: bool,
    pub(super) bytes: Vec<u8>,
}

/// Tracks an operation that is tried again and again, and reports failures that last.
pub(super) struct FailureTracker {
    since: Option<Instant>,
    reports: mpsc::UnboundedSender<Error>,
}

impl FailureTracker {
    pub(super) fn new(reports: mpsc::UnboundedSender<Error>) -> FailureTracker {
        FailureTracker {
            since: None,
            reports,
        }
    }

    /// Records a failure, and reports it once failures have lasted for [`PATIENCE`].
    pub(super) fn note(&mut self, broker: &Broker, error: Error) {
        tracing::debug!(target: "lgoose::gaggle", "{error}");
        if *broker.contact().borrow() != ContactState::Up {
            self.since = None;
            return;
        }
        let since = *self.since.get_or_insert_with(Instant::now);
        if since.elapsed() >= PATIENCE {
            self.report(error);
            self.since = None;
        }
    }

    /// Reports a failure that will not pass.
    fn report(&mut self, error: Error) {
        // Nobody receives it once the run is over.
        let _over = self.reports.send(error);
    }

    pub(super) fn forget(&mut self) {
        self.since = None;
    }
}

/// Reads all messages of a run with that subject, or with any for `""`, in order, from number `from` of the stream
/// on. After an error, or as soon as the broker is reachable again, it starts a new reader where the last one
/// stopped: the old one would notice only after half a minute. Ends when the run is over, when the broker denies
/// permission, or when nobody receives any more.
pub(super) async fn read(
    broker: Broker,
    run: String,
    subject: String,
    from: u64,
    messages: mpsc::Sender<RunMessage>,
    mut failing: FailureTracker,
) {
    let mut contact = broker.contact();
    let mut next = from;
    let reads = names::reading(&run);
    let denial = broker
        .permissions()
        .denial("read the run's figures at the broker", &reads);
    tokio::pin!(denial);
    loop {
        contact.mark_unchanged();
        let opened = tokio::select! {
            opened = broker.stored_messages(&run, &subject, next) => opened,
            error = &mut denial => return failing.report(error),
        };
        let mut signals = match opened {
            Ok((signals, _)) => signals,
            Err(error) if broker.is_over(&run).await => return failing.report(error),
            Err(error) => {
                failing.note(&broker, error);
                tokio::time::sleep(RETRY_DELAY).await;
                continue;
            }
        };
        failing.forget();
        loop {
            let message = tokio::select! {
                message = signals.next() => message,
                error = &mut denial => return failing.report(error),
                changed = contact.changed() => match changed {
                    Ok(()) if *contact.borrow() != ContactState::Up => continue,
                    _ => break,
                },
            };
            match message {
                Some(Ok(message)) => {
                    let Ok(info) = message.info() else {
                        continue;
                    };
                    next = info.stream_sequence + 1;
                    let message = RunMessage {
                        subject: message.subject.to_string(),
                        sender: names::sender(&message.subject).to_owned(),
                        number: info.stream_sequence,
                        stored_at: info.published.unix_timestamp_nanos(),
                        is_last: info.pending == 0,
                        bytes: message.payload.to_vec(),
                    };
                    if messages.send(message).await.is_err() {
                        return;
                    }
                }
                Some(Err(error)) => {
                    tracing::debug!(target: "lgoose::gaggle", "{error}");
                    tokio::time::sleep(RETRY_DELAY).await;
                    // A stream that no longer exists yields nothing but errors, and only a new reader reports
                    // why.
                    break;
                }
                None => break,
            }
        }
    }
}
