//! What goes on beside the pump: signs of life, the reading of signals, the publishing of orders.

use super::terms::Latest;
use crate::error::Error;
use crate::gaggle::broker::{Broker, Contact};
use crate::gaggle::clock::Clock;
use crate::gaggle::messages::{self, Revised};
use crate::gaggle::names;
use async_nats::Subscriber;
use futures_util::StreamExt as _;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// Time between two signs of life.
const BEAT: Duration = Duration::from_secs(1);
/// Time between two attempts of something that failed.
const AGAIN: Duration = Duration::from_millis(250);

/// Time for which something may fail while the broker can be reached: then it will not pass by itself.
const PATIENCE: Duration = Duration::from_secs(10);

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

/// A manager's line to the broker, on which it gives the time and signs of life.
pub(super) struct Line {
    pub(super) broker: Broker,
    /// Name of the run.
    pub(super) run: String,
    /// Identity of this manager.
    pub(super) leader: String,
    pub(super) clock: Clock,
    /// Gives trouble when another manager leads the run.
    pub(super) deposed: mpsc::UnboundedReceiver<Error>,
    beating: JoinHandle<()>,
}

impl Line {
    /// Takes the lead of a run, unless somebody has since the message `after` of its stream; then answers questions for
    /// the time and gives signs of life. `None` if somebody has.
    ///
    /// # Errors
    /// Trouble with the broker.
    pub(super) async fn open(broker: Broker, run: &str, after: u64) -> Result<Option<Line>, Error> {
        let leader = format!("{:016x}", rand::random::<u64>());
        let clock = Clock::start();
        let asked = broker.listen(names::clock(run)).await?;
        let beats = broker.listen(names::beat(run)).await?;
        if !broker.lead(run, &leader, after).await? {
            return Ok(None);
        }
        let (told, deposed) = mpsc::unbounded_channel();
        let lead = Lead {
            broker: broker.clone(),
            run: run.to_owned(),
            leader: leader.clone(),
            told,
        };
        Ok(Some(Line {
            broker,
            run: run.to_owned(),
            leader,
            clock,
            deposed,
            beating: tokio::spawn(lead.beat(clock, asked, beats)),
        }))
    }

    /// Gives no more signs of life.
    pub(super) fn close(self) {
        self.beating.abort();
    }
}

/// The lead of a run, until another manager has it.
struct Lead {
    broker: Broker,
    run: String,
    leader: String,
    told: mpsc::UnboundedSender<Error>,
}

impl Lead {
    async fn beat(self, clock: Clock, mut asked: Subscriber, mut beats: Subscriber) {
        let beat = names::beat(&self.run);
        let mut tick = tokio::time::interval(BEAT);
        loop {
            tokio::select! {
                biased;
                Some(question) = asked.next() => if let Some(inbox) = question.reply {
                    let reading = messages::encode(&clock.read());
                    self.broker.send(inbox.to_string(), reading).await;
                },
                Some(heard) = beats.next() => if heard.payload != self.leader && self.is_deposed().await {
                    // The run is at its end here.
                    let _over = self.told.send(Error::trouble(
                        "another manager has taken the run over, because nothing was heard of this one",
                    ));
                    return;
                },
                _ = tick.tick() => self.broker.send(beat.clone(), self.leader.clone().into_bytes()).await,
            }
        }
    }

    /// Whether another manager has taken the lead since.
    async fn is_deposed(&self) -> bool {
        let last = self.broker.last(&self.run, &names::lead(&self.run)).await;
        last.is_some_and(|last| last.payload != self.leader)
    }
}

/// A message that the stream of a run keeps.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) subject: String,
    pub(super) bytes: Vec<u8>,
    /// Its number in the stream.
    pub(super) sequence: u64,
    /// When the broker got it, in nanoseconds since 1970.
    pub(super) kept_at: i128,
    /// Whether no other follows now.
    pub(super) is_last: bool,
}

/// Reads what the stream of a run keeps of these subjects in order, from that number on. What is broken off begins anew
/// where it was, and at once when the broker is back: a reader would notice only after half a minute.
pub(super) async fn read(
    broker: Broker,
    (run, subjects): (String, &str),
    mut next: u64,
    heard: mpsc::Sender<Message>,
    mut failing: Failing,
) {
    let mut contact = broker.contact();
    loop {
        contact.mark_unchanged();
        let mut kept = match broker.kept(&run, subjects, next).await {
            Ok((kept, _)) => kept,
            Err(error) => {
                failing.note(&broker, error);
                tokio::time::sleep(AGAIN).await;
                continue;
            }
        };
        failing.forget();
        loop {
            let message = tokio::select! {
                message = kept.next() => message,
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
                    let message = Message {
                        subject: message.subject.to_string(),
                        bytes: message.payload.to_vec(),
                        sequence: info.stream_sequence,
                        kept_at: info.published.unix_timestamp_nanos(),
                        is_last: info.pending == 0,
                    };
                    if heard.send(message).await.is_err() {
                        return;
                    }
                }
                Some(Err(error)) => {
                    tracing::debug!(target: "lgoose::gaggle", "{error}");
                    tokio::time::sleep(AGAIN).await;
                }
                None => break,
            }
        }
    }
}

/// Publishes the latest order whenever there is a new one, until the broker has it.
pub(super) async fn publish(
    broker: Broker,
    run: String,
    mut order: Latest<Option<Revised>>,
    mut failing: Failing,
) {
    while order.changed().await.is_ok() {
        loop {
            let Some(latest) = order.borrow_and_update().clone() else {
                break;
            };
            let id = format!("order:{}", latest.revision);
            let bytes = messages::encode(&latest);
            match broker.keep(names::order(&run), &id, bytes).await {
                Ok(()) => {
                    failing.forget();
                    break;
                }
                Err((error, _)) => {
                    failing.note(&broker, error);
                    tokio::time::sleep(AGAIN).await;
                }
            }
        }
    }
}
