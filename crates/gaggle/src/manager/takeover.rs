//! Attaching to a run that is under way: this process watches it while its manager gives signs of life, and leads it
//! from then on.

use super::playback::{LeadState, Playback, PlaybackEnd};
use super::pump::{ManagerChannels, ManagerLoop};
use super::streams::ManagerConnection;
use super::thread::{DisconnectHandle, start_thread};
use super::{CONNECT, Manager};
use crate::broker::{Broker, BrokerAddress};
use crate::messages::{ManagerRecord, RunDescription};
use crate::names;
use crate::reading::FailureTracker;
use crate::sharing::ManagedState;
use async_nats::Subscriber;
use bytes::Bytes;
use futures_util::StreamExt as _;
use lgoose_base::error::Error;
use lgoose_engine::PastRun;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout};

/// Time without a sign of life after which a manager counts as lost.
const SILENCE: Duration = Duration::from_millis(3_500);

/// A run found at a broker.
#[derive(Debug)]
pub struct BrokerRun {
    /// Description of the run.
    pub facts: RunDescription,
    /// Whether another manager leads the run.
    pub is_led: bool,
}

/// Connects and attaches to a run. All work is done on a thread of its own.
///
/// # Errors
/// Trouble with the broker, or if there is no such run or it has not begun.
pub async fn attach(
    address: BrokerAddress,
    run: String,
    stop: impl Future<Output = ()>,
) -> Result<((BrokerRun, Manager), DisconnectHandle), Error> {
    let preparing = move |over| async move {
        let broker = Broker::connect(&address, "lgoose attach", CONNECT).await?;
        let (playback, record, moments) = Playback::open(&broker, &run).await?;
        let mut beats = broker.listen(names::beat(&run)).await?;
        let lead = broker.last(&run, &names::lead(&run)).await;
        let beat = timeout(SILENCE, beats.next()).await.ok().flatten();
        let is_led = beat.is_some();
        let beat = beat.map(|beat| beat.payload);
        let leader = beat.or(lead.map(|lead| lead.payload));
        let past = PastRun {
            start: playback.start,
            since_origin: record.since_origin,
            started: record.facts.started,
            test_start: record.test_start.clone(),
            moments,
        };
        let facts = record.facts.clone();
        let registry = &playback.registry;
        let (manager, ends) = Manager::new(&run, registry, facts.stops_on_loss, Some(past));
        let attached = BrokerRun { facts, is_led };
        let takeover = Takeover {
            playback,
            record,
            ends,
            beats,
            leader,
            last_sign: Instant::now(),
        };
        Ok((takeover.run(is_led, over), (attached, manager)))
    };
    start_thread(preparing, stop).await
}

struct Takeover {
    playback: Playback,
    record: ManagerRecord,
    ends: ManagerChannels,
    beats: Subscriber,
    /// The manager that gave the last sign of life, or that led before any.
    leader: Option<Bytes>,
    /// Time of the manager's last sign of life.
    last_sign: Instant,
}

impl Takeover {
    /// Plays the run, and leads it once nobody else does.
    async fn run(mut self, mut is_led: bool, mut over: oneshot::Receiver<()>) {
        let broker = self.playback.broker.clone();
        let run = self.playback.run.clone();
        let mut taken = None;
        let (reports, mut lasting) = mpsc::unbounded_channel();
        let mut failing = FailureTracker::new(reports);
        let state = async || {
            while let Ok(Some(beat)) = timeout(Duration::ZERO, self.beats.next()).await {
                (self.last_sign, is_led) = (Instant::now(), true);
                self.leader = Some(beat.payload);
            }
            if is_led && self.last_sign.elapsed() < SILENCE {
                return LeadState::Led;
            }
            let gone = broker.runs().await.is_ok_and(|runs| !runs.contains(&run));
            if gone {
                return LeadState::Gone;
            }
            let lead = broker.last(&run, &names::lead(&run)).await;
            let after = lead.as_ref().map_or(0, |lead| lead.sequence);
            let last = lead.map(|lead| lead.payload);
            if last.is_some() && last != self.leader {
                // Another has taken the lead, which has given no sign of life yet: it is not the silent one.
                (self.last_sign, is_led) = (Instant::now(), true);
                self.leader = last;
                return LeadState::Led;
            }
            match ManagerConnection::open(broker.clone(), &run, after).await {
                Ok(Some(line)) => taken = Some(line),
                // Another process took the lead first.
                Ok(None) => (self.last_sign, is_led) = (Instant::now(), true),
                // The broker does not respond: try again.
                Err(error) => failing.note(&broker, error),
            }
            let denied = broker
                .permissions()
                .denied("lead the run at the broker", &names::of_run(&run));
            if let Some(error) = denied.or_else(|| lasting.try_recv().ok()) {
                return LeadState::Failed(error);
            }
            match taken {
                Some(_) => LeadState::Unled,
                None => LeadState::Led,
            }
        };
        let played = self.playback.play(state, &mut over).await;
        let (PlaybackEnd::Unled, Some(line)) = (played, taken) else {
            return;
        };
        tracing::warn!(target: "lgoose::gaggle", "run {run}: its manager is lost; it is led from here");
        if let Err(error) = ManagedState::Lost.serve(&broker, &run).await {
            tracing::warn!(target: "lgoose::gaggle", "run {run}: {error}");
        }
        let replaced = self.record.replaces;
        let pump = ManagerLoop::of(line, self.playback, self.ends, self.record);
        if replaced {
            pump.warn("workers that are lost from now on are not replaced: the plan was with the manager that is lost");
        }
        pump.run(over).await;
    }
}
