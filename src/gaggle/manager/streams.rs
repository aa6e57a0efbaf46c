//! What goes on beside the pump: signs of life, the publishing of orders.

use super::terms::Latest;
use crate::error::Error;
use crate::gaggle::broker::Broker;
use crate::gaggle::clock::Clock;
use crate::gaggle::messages::{self, Revised};
use crate::gaggle::names;
use crate::gaggle::reading::Failing;
use async_nats::Subscriber;
use futures_util::StreamExt as _;
use std::time::Duration;
use tokio::task::JoinHandle;

/// Time between two signs of life.
const BEAT: Duration = Duration::from_secs(1);
/// Time between two attempts of something that failed.
const AGAIN: Duration = Duration::from_millis(250);

/// A manager's line to the broker, on which it gives the time and signs of life.
pub(super) struct Line {
    pub(super) broker: Broker,
    /// Name of the run.
    pub(super) run: String,
    pub(super) clock: Clock,
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
        let beating = tokio::spawn(beat(broker.clone(), names::beat(&run), clock, asked));
        Ok(Line {
            broker,
            run,
            clock,
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
