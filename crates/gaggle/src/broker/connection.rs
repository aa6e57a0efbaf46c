//! Connection to the broker, which reconnects by itself when it breaks, and all requests to JetStream.

use super::address::BrokerAddress;
use super::denials::{Denials, Permissions};
use super::options::{
    ContactState, RETRY_DELAY, cannot_connect, credentials, is_without_tls, options,
};
use crate::messages::{self, WorkerReply, WorkerRequest};
use crate::names;
use async_nats::jetstream::consumer::DeliverPolicy;
use async_nats::jetstream::consumer::pull::{Ordered, OrderedConfig};
use async_nats::jetstream::context::{CreateStreamErrorKind, PublishError, PublishErrorKind};
use async_nats::jetstream::message::{PublishMessage, StreamMessage};
use async_nats::jetstream::stream::{Config, LastRawMessageErrorKind, StorageType};
use async_nats::jetstream::{self, ErrorCode};
use async_nats::{Client, ConnectErrorKind, RequestErrorKind, Subscriber};
use futures_util::StreamExt as _;
use lgoose_base::error::{Error, Trouble};
use serde::Serialize;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// Time for which the broker itself recognizes a repeated message.
pub(super) const REPEATS: Duration = Duration::from_secs(120);
/// Time after which the broker forgets a run that nobody ended.
pub(super) const FORGET: Duration = Duration::from_secs(24 * 3_600);
/// Time limit for a reply of the broker.
const REPLY_TIMEOUT: Duration = Duration::from_secs(5);

/// Time limit for the broker to acknowledge a message that it stores, which is then sent again: shorter than the silence
/// after which a worker counts as lost.
const STORED: Duration = Duration::from_secs(3);

/// Response of a run's stream to a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProbeResponse {
    Stored,
    Refused,
}

/// A connection to a broker. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Broker {
    client: Client,
    pub(super) jetstream: jetstream::Context,
    contact: watch::Receiver<ContactState>,
    permissions: Permissions,
    url: String,
}

/// Reasons why a message was not kept.
#[derive(Debug)]
pub(crate) enum PublishFailure {
    /// Another message of the same subject came first.
    Overtaken,
    /// The run is over.
    NoStream,
    /// The failure may pass.
    Failed(Error),
}

impl Broker {
    /// Connects, and tries again for as long as `patience` while nobody listens there.
    ///
    /// # Errors
    /// Trouble that names the broker: nobody listens there, or it or this side does not accept a certificate or
    /// credentials.
    pub async fn connect(
        address: &BrokerAddress,
        name: &str,
        patience: Duration,
    ) -> Result<Broker, Error> {
        let until = Instant::now() + patience;
        let (contact, seen) = watch::channel(ContactState::Up);
        let (denials, denied) = watch::channel(Denials::default());
        let credentials = credentials(address)?;
        loop {
            let (contact, denials) = (contact.clone(), denials.clone());
            let options = options(address, credentials.as_deref(), name, contact, denials)?;
            let error = match options.connect(address.servers()).await {
                Ok(client) => {
                    let mut jetstream = jetstream::new(client.clone());
                    jetstream.set_timeout(REPLY_TIMEOUT);
                    return Ok(Broker {
                        client,
                        jetstream,
                        contact: seen,
                        permissions: Permissions::new(denied, address.url()),
                        url: address.url().to_owned(),
                    });
                }
                Err(error) => error,
            };
            let passes = matches!(
                error.kind(),
                ConnectErrorKind::Io | ConnectErrorKind::TimedOut | ConnectErrorKind::Dns
            ) && !is_without_tls(&error);
            if !passes || Instant::now() + RETRY_DELAY > until {
                return Err(cannot_connect(address, &error));
            }
            tokio::time::sleep(RETRY_DELAY).await;
        }
    }

    /// Returns the broker's URL, without credentials.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns a receiver of the state of the contact.
    pub(crate) fn contact(&self) -> watch::Receiver<ContactState> {
        self.contact.clone()
    }

    /// Returns the permissions that the broker denies on this connection.
    pub(crate) fn permissions(&self) -> &Permissions {
        &self.permissions
    }

    /// Returns the most bytes that a message should have: half of the broker's limit, but 16 to 512 KiB.
    pub(crate) fn most_bytes(&self) -> usize {
        (self.client.max_payload() / 2).clamp(16 << 10, 512 << 10)
    }

    /// Listens to a subject.
    ///
    /// # Errors
    /// Trouble with a connection that is closed.
    pub(crate) async fn listen(&self, subject: String) -> Result<Subscriber, Error> {
        let subscriber = self.client.subscribe(subject).await;
        let subscriber = subscriber.map_err(|error| self.cannot("listen at the broker", error))?;
        self.flush().await?;
        Ok(subscriber)
    }

    /// Sends a message that the broker does not keep. If it cannot be sent now, it is lost.
    pub(crate) async fn send(&self, subject: String, bytes: Vec<u8>) {
        // A late sign of life or reply is worthless.
        let _lost = self.client.publish(subject, bytes.into()).await;
    }

    /// Waits until everything sent so far has left.
    ///
    /// # Errors
    /// Trouble with a connection that is closed, or with a broker that cannot be reached.
    pub(crate) async fn flush(&self) -> Result<(), Error> {
        let flushed = tokio::time::timeout(REPLY_TIMEOUT, self.client.flush()).await;
        match flushed {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(self.cannot("reach the broker", error)),
            Err(_) => Err(self.cannot("reach the broker", "it does not answer")),
        }
    }

    /// Sends a request to every listener of the subject, and returns all replies that come within that time, each with
    /// the time it took.
    ///
    /// # Errors
    /// Trouble with a connection that is closed.
    pub(crate) async fn request_all(
        &self,
        subject: &str,
        within: Duration,
    ) -> Result<Vec<(Vec<u8>, Duration)>, Error> {
        let inbox = self.client.new_inbox();
        let mut replies = self.listen(inbox.clone()).await?;
        let sent_at = Instant::now();
        let sent = self
            .client
            .publish_with_reply(subject.to_owned(), inbox, Vec::new().into());
        sent.await
            .map_err(|error| self.cannot("ask at the broker", error))?;
        let mut all = Vec::new();
        while let Ok(Some(reply)) = tokio::time::timeout_at(sent_at + within, replies.next()).await
        {
            // Nobody listens.
            if reply.status.is_some() {
                break;
            }
            all.push((reply.payload.to_vec(), sent_at.elapsed()));
        }
        Ok(all)
    }

    /// Sends a request to one listener of the subject.
    ///
    /// # Errors
    /// A sentence that says why: nobody listens, or no reply came in time.
    pub(crate) async fn request_bytes(
        &self,
        subject: String,
        bytes: Vec<u8>,
        within: Duration,
    ) -> Result<Vec<u8>, String> {
        let request = async_nats::Request::new()
            .payload(bytes.into())
            .timeout(Some(within));
        match self.client.send_request(subject, request).await {
            Ok(reply) => Ok(reply.payload.to_vec()),
            Err(error) => Err(match error.kind() {
                RequestErrorKind::NoResponders => "it is gone".to_owned(),
                RequestErrorKind::TimedOut => {
                    format!("it did not answer within {} s", within.as_secs_f64())
                }
                _ => error.to_string(),
            }),
        }
    }

    /// Sends a request to one listener of the subject, and returns the reply.
    ///
    /// # Errors
    /// A sentence that says why: nobody listens, no reply came in time, or the request was refused.
    pub(crate) async fn reply(
        &self,
        subject: String,
        request: &impl Serialize,
        within: Duration,
    ) -> Result<WorkerReply, String> {
        let bytes = self
            .request_bytes(subject, messages::encode(request), within)
            .await?;
        match messages::decode(&bytes) {
            Ok(WorkerReply::Refused(why)) => Err(why),
            Ok(reply) => Ok(reply),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Sends a request to a worker and returns its reply.
    ///
    /// # Errors
    /// A sentence about the worker: it is gone, does not respond, or refused.
    pub(crate) async fn request(
        &self,
        worker: &str,
        request: &WorkerRequest,
        within: Duration,
    ) -> Result<WorkerReply, String> {
        self.reply(names::worker(worker), request, within).await
    }

    /// Makes the stream of a run.
    ///
    /// # Errors
    /// Trouble that names JetStream, permissions or room, whichever the broker lacks.
    pub(crate) async fn make_stream(&self, run: &str) -> Result<(), Error> {
        let config = Config {
            name: names::stream(run),
            subjects: names::stored_subjects(run),
            storage: StorageType::File,
            duplicate_window: REPEATS,
            max_age: FORGET,
            ..Config::default()
        };
        self.make("make the run's stream at the broker", config)
            .await
    }

    /// Makes a stream; errors name the `action` that failed.
    ///
    /// # Errors
    /// The same as for [`Broker::make_stream`].
    pub(super) async fn make(&self, action: &str, config: Config) -> Result<(), Error> {
        let made = self.jetstream.create_stream(Config {
            num_replicas: self.replicas(),
            ..config.clone()
        });
        let made = match made.await {
            Err(error) if lacks_peers(&error.kind()) => self.jetstream.create_stream(config).await,
            made => made,
        };
        made.map(drop).map_err(|error| {
            let trouble = Trouble::cannot(action).with_address(&self.url);
            match error.kind() {
                CreateStreamErrorKind::JetStreamUnavailable => trouble
                    .because("it has no JetStream")
                    .help("start nats-server with '-js', or enable JetStream in the account"),
                CreateStreamErrorKind::TimedOut => trouble
                    .because("it does not answer")
                    .help("the account may not be allowed to use '$JS.API.>', or JetStream is off"),
                CreateStreamErrorKind::JetStream(error)
                    if error.error_code() == ErrorCode::STREAM_NAME_EXIST =>
                {
                    trouble.because("another manager has this run")
                }
                CreateStreamErrorKind::JetStream(error) => trouble
                    .because(error)
                    .help("give the account more room for streams, or remove old ones"),
                _ => trouble.because(error),
            }
            .into()
        })
    }

    /// Returns how many nodes are to keep a stream: where the broker is a cluster, one of them may fail.
    fn replicas(&self) -> usize {
        const OF_CLUSTER: usize = 3;
        if self.client.server_info().cluster.is_some() {
            OF_CLUSTER
        } else {
            1
        }
    }

    /// Returns whether a run is over for good: the broker says that there is no stream of it. That nobody responds to a
    /// publisher is no such word: a node may be restarting, or the link of a leaf node be cut.
    pub(crate) async fn is_over(&self, run: &str) -> bool {
        let stream = self.jetstream.get_stream_no_info(names::stream(run)).await;
        let Ok(stream) = stream else {
            return false;
        };
        let lead = names::lead(run);
        let last = stream.get_last_raw_message_by_subject(&lead);
        match last.await.map_err(|error| error.kind()) {
            Err(LastRawMessageErrorKind::JetStream(error)) => {
                error.error_code() == ErrorCode::STREAM_NOT_FOUND
            }
            _ => false,
        }
    }

    /// Removes the stream of a run with everything in it.
    pub(crate) async fn remove_stream(&self, run: &str) {
        // If this fails, the broker forgets it in time.
        let _stored = self.jetstream.delete_stream(names::stream(run)).await;
    }

    /// Returns the runs that the broker keeps.
    ///
    /// # Errors
    /// Trouble with a broker that cannot list them.
    pub async fn runs(&self) -> Result<Vec<String>, Error> {
        let mut names = self.jetstream.stream_names();
        let mut runs = Vec::new();
        while let Some(name) = names.next().await {
            let name = name.map_err(|error| self.cannot("list runs at the broker", error))?;
            runs.extend(names::run_of_stream(&name).map(str::to_owned));
        }
        Ok(runs)
    }

    /// Publishes a message that the stream of the run keeps, once for each `id`.
    ///
    /// # Errors
    /// Trouble, and whether it may pass: then the same message can be published again.
    pub(crate) async fn store(
        &self,
        subject: String,
        id: &str,
        bytes: Vec<u8>,
    ) -> Result<(), (Error, bool)> {
        let message = PublishMessage::build().message_id(id).payload(bytes.into());
        let Err(error) = self.publish(subject.clone(), message).await else {
            return Ok(());
        };
        // The library's name for it if nobody responds.
        let may_be_over = error.kind() == PublishErrorKind::StreamNotFound;
        let passes = !(may_be_over && self.is_over(names::run_of_subject(&subject)).await);
        Err((
            self.cannot("hand figures over to the broker", error),
            passes,
        ))
    }

    /// Publishes a message that the stream of the run keeps, once for each `id`, if `last` is still the sequence
    /// number of the last message of its subject (0 for none). Returns the sequence number of the new message.
    ///
    /// # Errors
    /// Why it was not kept.
    pub(crate) async fn store_after(
        &self,
        subject: String,
        id: &str,
        last: u64,
        bytes: Vec<u8>,
    ) -> Result<u64, PublishFailure> {
        let message = PublishMessage::build().message_id(id).payload(bytes.into());
        let message = message.expected_last_subject_sequence(last);
        let error = match self.publish(subject.clone(), message).await {
            Ok(number) => return Ok(number),
            Err(error) => error,
        };
        Err(match error.kind() {
            PublishErrorKind::WrongLastSequence => PublishFailure::Overtaken,
            PublishErrorKind::StreamNotFound
                if self.is_over(names::run_of_subject(&subject)).await =>
            {
                PublishFailure::NoStream
            }
            _ => PublishFailure::Failed(self.cannot("hand figures over to the broker", error)),
        })
    }

    /// Publishes a message without content, and returns the stream's response; `None` without one.
    pub(crate) async fn probe(&self, subject: String) -> Option<ProbeResponse> {
        let published = self.publish(subject, PublishMessage::build()).await;
        match published.map_err(|error| error.kind()) {
            Ok(_) => Some(ProbeResponse::Stored),
            Err(
                PublishErrorKind::StreamNotFound
                | PublishErrorKind::TimedOut
                | PublishErrorKind::BrokenPipe,
            ) => None,
            Err(_) => Some(ProbeResponse::Refused),
        }
    }

    /// Publishes a message, and returns its sequence number in the stream.
    async fn publish(&self, subject: String, message: PublishMessage) -> Result<u64, PublishError> {
        let stored = async { self.jetstream.send_publish(subject, message).await?.await };
        match tokio::time::timeout(STORED, stored).await {
            Ok(stored) => Ok(stored?.sequence),
            Err(_) => Err(PublishErrorKind::TimedOut.into()),
        }
    }

    /// Returns the last message of a subject in a run's stream; `None` if there is none or the broker cannot say.
    pub(crate) async fn last(&self, run: &str, subject: &str) -> Option<StreamMessage> {
        self.find_last(run, subject).await.ok()?
    }

    /// Returns the last message of a subject in a run's stream; `None` if there is none.
    ///
    /// # Errors
    /// Trouble with a broker that cannot say.
    pub(crate) async fn find_last(
        &self,
        run: &str,
        subject: &str,
    ) -> Result<Option<StreamMessage>, Error> {
        let cannot = "look a message up at the broker";
        let stream = self.jetstream.get_stream_no_info(names::stream(run)).await;
        let stream = stream.map_err(|error| self.cannot(cannot, error))?;
        match stream.get_last_raw_message_by_subject(subject).await {
            Ok(last) => Ok(Some(last)),
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
            Err(error) => Err(self.cannot(cannot, error)),
        }
    }

    /// Returns the messages that a run's stream keeps of these subjects (`""` for all), in order, from sequence
    /// number `from` on. The second field is the broker's time now, in nanoseconds since 1970.
    ///
    /// # Errors
    /// Trouble with a broker that does not deliver them.
    pub(crate) async fn stored_messages(
        &self,
        run: &str,
        subjects: &str,
        from: u64,
    ) -> Result<(Ordered, i128), Error> {
        let cannot = |error: &dyn std::fmt::Display| {
            self.cannot("read the run's figures at the broker", error.to_string())
        };
        let stream = self.jetstream.get_stream_no_info(names::stream(run)).await;
        let stream = stream.map_err(|error| cannot(&error))?;
        let consumer = stream.create_consumer(OrderedConfig {
            filter_subject: subjects.to_owned(),
            deliver_policy: DeliverPolicy::ByStartSequence {
                start_sequence: from.max(1),
            },
            // The library replaces a consumer whose node is gone after twice this time without a sign of it.
            max_expires: Duration::from_secs(2),
            ..OrderedConfig::default()
        });
        let consumer = consumer.await.map_err(|error| cannot(&error))?;
        let now = consumer.cached_info().created.unix_timestamp_nanos();
        let messages = consumer.messages().await.map_err(|error| cannot(&error))?;
        Ok((messages, now))
    }

    pub(super) fn cannot(
        &self,
        action: &str,
        error: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Error {
        Trouble::cannot(action)
            .with_address(&self.url)
            .because(error)
            .into()
    }
}

/// Returns whether a stream was refused because there are too few nodes to keep it.
fn lacks_peers(error: &CreateStreamErrorKind) -> bool {
    const CODES: [ErrorCode; 2] = [
        ErrorCode::CLUSTER_NO_PEERS,
        ErrorCode::STREAM_REPLICAS_NOT_SUPPORTED,
    ];
    matches!(error, CreateStreamErrorKind::JetStream(error) if CODES.contains(&error.error_code()))
}
