//! Stream of the log entries of a run's workers. It is bounded, and the manager removes the entries that it has written.
//!
//! It is not an object store, which would keep everything until the end of the run and has no bound that makes a
//! writer wait.

use super::connection::{Broker, FORGET, REPEATS};
use crate::names;
use async_nats::jetstream::consumer::{AckPolicy, PullConsumer, pull};
use async_nats::jetstream::message::Message;
use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy, StorageType};
use futures_util::StreamExt as _;
use lgoose_base::error::Error;
use std::time::Duration;

/// The most bytes in the stream; beyond it, the broker takes nothing until the manager has removed some.
const MAX_STREAM_BYTES: i64 = 256 << 20;
/// Time after which an unacknowledged message is delivered again.
const REDELIVER_AFTER: Duration = Duration::from_secs(5);
/// The most messages of one batch: some 16 MiB with messages as large as workers make them.
const BATCH: usize = 32;
/// Time for which a batch waits for messages.
const WAIT: Duration = Duration::from_millis(500);

/// Makes the log stream of a run, and the consumer that reads it.
///
/// # Errors
/// Trouble that names JetStream, permissions or room, whichever the broker lacks.
pub(crate) async fn make_log_stream(broker: &Broker, run: &str) -> Result<LogConsumer, Error> {
    let action = "make the stream of the run's logs at the broker";
    let config = Config {
        name: names::log_stream(run),
        subjects: vec![names::all_logs(run)],
        storage: StorageType::File,
        retention: RetentionPolicy::WorkQueue,
        discard: DiscardPolicy::New,
        max_bytes: MAX_STREAM_BYTES,
        duplicate_window: REPEATS,
        max_age: FORGET,
        ..Config::default()
    };
    broker.make(action, config).await?;
    let stream = broker
        .jetstream
        .get_stream_no_info(names::log_stream(run))
        .await;
    let stream = stream.map_err(|error| broker.cannot(action, error))?;
    let consumer = stream.create_consumer(pull::Config {
        durable_name: Some("manager".to_owned()),
        ack_policy: AckPolicy::Explicit,
        ack_wait: REDELIVER_AFTER,
        ..pull::Config::default()
    });
    let consumer = consumer.await;
    Ok(LogConsumer(
        consumer.map_err(|error| broker.cannot(action, error))?,
    ))
}

/// Removes the log stream of a run with everything in it.
pub(crate) async fn remove_log_stream(broker: &Broker, run: &str) {
    // If this fails, the broker forgets it in time.
    let _stored = broker.jetstream.delete_stream(names::log_stream(run)).await;
}

/// Consumer of a run's log stream.
#[derive(Debug)]
pub(crate) struct LogConsumer(PullConsumer);

impl LogConsumer {
    /// Returns the messages that are there, or come within a short time. A message that is not
    /// [removed](LogConsumer::remove) is delivered again.
    pub(crate) async fn batch(&self) -> Vec<Message> {
        let batch = self.0.batch().max_messages(BATCH).expires(WAIT).messages();
        let Ok(mut batch) = batch.await else {
            // The broker is unreachable, or has a stream of that name that is not ours; the end of the run ends this,
            // too.
            tokio::time::sleep(WAIT).await;
            return Vec::new();
        };
        let mut all = Vec::new();
        while let Ok(Some(Ok(message))) = tokio::time::timeout(WAIT * 2, batch.next()).await {
            all.push(message);
        }
        all
    }

    /// Lets the broker remove a message that was written to its file.
    pub(crate) async fn remove(message: &Message) {
        // If this is lost, the message is delivered again.
        let _lost = message.ack().await;
    }
}
