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
    fn note(&mut self, broker: &Broker, error: Error) {
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

    fn forget(&mut self) {
        self.since = None;
    }
}

/// A manager's line to the broker, on which it gives the time and signs of life.
pub(super) struct Line {
    pub(super) broker: Broker,
    /// Name of the run.
    pub(super) run: String,
    pub(super) clock: Clock,
    /// What workers tell that cannot hand over signals.
    pub(super) told: Subscriber,
    beating: JoinHandle<()>,
}

impl Line {
    /// Answers questions for the time and gives signs of life from now on.
    ///
    /// # Errors
    /// Trouble with the broker.
    pub(super) async fn open(broker: Broker, run: String) -> Result<Line, Error> {
        let clock = Clock::start();
        let asked = broker.listen(names::clock(&run)).await?;
        let told = broker.listen(names::all_told(&run)).await?;
        let beating = tokio::spawn(beat(broker.clone(), names::beat(&run), clock, asked));
        Ok(Line {
            broker,
            run,
            clock,
            told,
            beating,
        })
    }

    /// Gives no more signs of life.
    pub(super) fn close(self) {
        self.beating.abort();
    }
}

async fn beat(broker: Broker, beat: String, clock: Clock, mut asked: Subscriber) {
    let mut tick = tokio::time::interval(BEAT);
    loop {
        tokio::select! {
            biased;
            Some(question) = asked.next() => if let Some(inbox) = question.reply {
                let reading = messages::encode(&clock.read());
                broker.send(inbox.to_string(), reading).await;
            },
            _ = tick.tick() => broker.send(beat.clone(), Vec::new()).await,
        }
    }
}

/// Reads all signals of a run in order, from the first on. What is broken off begins anew where it was, and at once when
/// the broker is back: a reader would notice only after half a minute.
pub(super) async fn read(
    broker: Broker,
    run: String,
    heard: mpsc::UnboundedSender<(String, Vec<u8>)>,
    mut failing: Failing,
) {
    let mut contact = broker.contact();
    let mut next = 1;
    loop {
        contact.mark_unchanged();
        let mut signals = match broker.signals(&run, next).await {
            Ok(signals) => signals,
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
                    if let Ok(info) = message.info() {
                        next = info.stream_sequence + 1;
                    }
                    let worker = names::worker_of_signals(&message.subject).unwrap_or_default();
                    let signal = (worker.to_owned(), message.payload.to_vec());
                    if heard.send(signal).is_err() {
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
