//! Tasks beside the pump: signs of life, answers to questions for the time, and the publishing of orders.

use super::terms::Latest;
use crate::error::Error;
use crate::gaggle::broker::{Broker, NotKept};
use crate::gaggle::clock::Clock;
use crate::gaggle::messages::{self, Revised};
use crate::gaggle::names;
use crate::gaggle::reading::Failing;
use async_nats::Subscriber;
use futures_util::StreamExt as _;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Time between two signs of life.
const BEAT: Duration = Duration::from_secs(1);
/// Time between two attempts at something that failed.
const AGAIN: Duration = Duration::from_millis(250);

/// A manager's line to the broker, on which it answers questions for the time and gives signs of life.
pub(super) struct Line {
    pub(super) broker: Broker,
    /// Name of the run.
    pub(super) run: String,
    /// Identity of this manager.
    pub(super) leader: String,
    pub(super) clock: Clock,
    /// Delivers trouble when another manager leads the run.
    pub(super) deposed: mpsc::UnboundedReceiver<Error>,
    /// Messages of workers that cannot hand over signals.
    pub(super) told: Subscriber,
    beating: JoinHandle<()>,
}

impl Line {
    /// Takes the lead of a run, unless another manager has taken it since message `after` of the stream (`None`);
    /// then answers questions for the time and gives signs of life.
    ///
    /// # Errors
    /// Trouble with the broker.
    pub(super) async fn open(broker: Broker, run: &str, after: u64) -> Result<Option<Line>, Error> {
        let leader = format!("{:016x}", rand::random::<u64>());
        let clock = Clock::start();
        let asked = broker.listen(names::clock(run)).await?;
        let beats = broker.listen(names::beat(run)).await?;
        let told = broker.listen(names::all_told(run)).await?;
        let bytes = leader.clone().into_bytes();
        let led = broker.keep_after(names::lead(run), &leader, after, bytes);
        match led.await {
            Ok(_) => {}
            Err(NotKept::Overtaken) => return Ok(None),
            Err(NotKept::NoStream) => return Err(Error::trouble("the run is over")),
            Err(NotKept::Failed(error)) => return Err(error),
        }
        let (lost, deposed) = mpsc::unbounded_channel();
        let lead = Lead {
            broker: broker.clone(),
            run: run.to_owned(),
            leader: leader.clone(),
            told: lost,
        };
        Ok(Some(Line {
            broker,
            run: run.to_owned(),
            leader,
            clock,
            deposed,
            told,
            beating: tokio::spawn(lead.beat(clock, asked, beats)),
        }))
    }

    /// Stops giving signs of life.
    pub(super) fn close(self) {
        self.beating.abort();
    }
}

/// The lead of a run, until another manager takes it.
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
                    // Nobody receives it once the run is over here.
                    let _over = self.told.send(Error::trouble(
                        "another manager has taken the run over, because nothing was heard from this one",
                    ));
                    return;
                },
                _ = tick.tick() => self.broker.send(beat.clone(), self.leader.clone().into_bytes()).await,
            }
        }
    }

    /// Returns whether another manager has taken the lead.
    async fn is_deposed(&self) -> bool {
        let last = self.broker.last(&self.run, &names::lead(&self.run)).await;
        last.is_some_and(|last| last.payload != self.leader)
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
