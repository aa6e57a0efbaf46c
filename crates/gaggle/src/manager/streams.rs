//! Tasks beside the manager's loop: signs of life, replies with the time, and the publishing of orders.

use super::terms::LatestReceiver;
use crate::broker::{Broker, PublishFailure};
use crate::clock::ProcessClock;
use crate::messages::{self, RevisedOrder};
use crate::names;
use crate::reading::FailureTracker;
use async_nats::Subscriber;
use futures_util::StreamExt as _;
use lgoose_base::error::Error;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Time between two signs of life.
const BEAT: Duration = Duration::from_secs(1);
/// Time between two attempts at something that failed.
const RETRY_DELAY: Duration = Duration::from_millis(250);

/// A manager's line to the broker, on which it replies with the time and gives signs of life.
pub(super) struct ManagerConnection {
    pub(super) broker: Broker,
    /// Name of the run.
    pub(super) run: String,
    /// Identity of this manager.
    pub(super) leader: String,
    pub(super) clock: ProcessClock,
    /// Delivers trouble when another manager leads the run.
    pub(super) superseded: mpsc::UnboundedReceiver<Error>,
    /// Messages of workers that cannot hand over signals.
    pub(super) failures: Subscriber,
    beating: JoinHandle<()>,
}

impl ManagerConnection {
    /// Takes the lead of a run, unless another manager has taken it since message `after` of the stream (`None`);
    /// then replies with the time and gives signs of life.
    ///
    /// # Errors
    /// Trouble with the broker.
    pub(super) async fn open(
        broker: Broker,
        run: &str,
        after: u64,
    ) -> Result<Option<ManagerConnection>, Error> {
        let leader = format!("{:016x}", rand::random::<u64>());
        let clock = ProcessClock::start();
        let questions = broker.listen(names::clock(run)).await?;
        let beats = broker.listen(names::beat(run)).await?;
        let failures = broker.listen(names::all_failures(run)).await?;
        let bytes = leader.clone().into_bytes();
        let led = broker.store_after(names::lead(run), &leader, after, bytes);
        match led.await {
            Ok(_) => {}
            Err(PublishFailure::Overtaken) => return Ok(None),
            Err(PublishFailure::NoStream) => return Err(Error::trouble("the run is over")),
            Err(PublishFailure::Failed(error)) => return Err(error),
        }
        let (lost, superseded) = mpsc::unbounded_channel();
        let lead = RunLead {
            broker: broker.clone(),
            run: run.to_owned(),
            leader: leader.clone(),
            trouble: lost,
        };
        Ok(Some(ManagerConnection {
            broker,
            run: run.to_owned(),
            leader,
            clock,
            superseded,
            failures,
            beating: tokio::spawn(lead.beat(clock, questions, beats)),
        }))
    }

    /// Stops giving signs of life.
    pub(super) fn close(self) {
        self.beating.abort();
    }
}

/// The lead of a run, until another manager takes it.
struct RunLead {
    broker: Broker,
    run: String,
    leader: String,
    trouble: mpsc::UnboundedSender<Error>,
}

impl RunLead {
    async fn beat(self, clock: ProcessClock, mut questions: Subscriber, mut beats: Subscriber) {
        let beat = names::beat(&self.run);
        let mut tick = tokio::time::interval(BEAT);
        loop {
            tokio::select! {
                biased;
                Some(question) = questions.next() => if let Some(inbox) = question.reply {
                    let reading = messages::encode(&clock.read());
                    self.broker.send(inbox.to_string(), reading).await;
                },
                Some(sign) = beats.next() => if sign.payload != self.leader && self.is_superseded().await {
                    // Nobody receives it once the run is over here.
                    let _over = self.trouble.send(Error::trouble(
                        "another manager has taken the run over, because nothing was heard from this one",
                    ));
                    return;
                },
                _ = tick.tick() => self.broker.send(beat.clone(), self.leader.clone().into_bytes()).await,
            }
        }
    }

    /// Returns whether another manager has taken the lead.
    async fn is_superseded(&self) -> bool {
        let last = self.broker.last(&self.run, &names::lead(&self.run)).await;
        last.is_some_and(|last| last.payload != self.leader)
    }
}

/// Sends the latest order as a plain message, at once and then every second: it reaches workers also while the stream
/// takes nothing, and those that have missed it there, such as behind a link that was cut.
pub(super) async fn repeat(
    broker: Broker,
    run: String,
    mut order: LatestReceiver<Option<RevisedOrder>>,
) {
    let subject = names::repeated_order(&run);
    loop {
        let latest = order.borrow_and_update().clone();
        if let Some(latest) = latest {
            let bytes = messages::encode(&latest);
            broker.send(subject.clone(), bytes).await;
        }
        if let Ok(Err(_)) = tokio::time::timeout(BEAT, order.changed()).await {
            return;
        }
    }
}

/// Publishes the latest order whenever there is a new one, until the broker has it.
pub(super) async fn publish(
    broker: Broker,
    run: String,
    mut order: LatestReceiver<Option<RevisedOrder>>,
    mut failing: FailureTracker,
) {
    while order.changed().await.is_ok() {
        loop {
            let Some(latest) = order.borrow_and_update().clone() else {
                break;
            };
            let id = format!("order:{}", latest.revision);
            let bytes = messages::encode(&latest);
            match broker.store(names::order(&run), &id, bytes).await {
                Ok(()) => {
                    failing.forget();
                    break;
                }
                Err((error, _)) => {
                    failing.note(&broker, error);
                    tokio::time::sleep(RETRY_DELAY).await;
                }
            }
        }
    }
}
