//! What all shards of a run need to know, put together once.

use super::ending::Departures;
use super::run::Run;
use super::throttle::Throttle;
use super::timers::Timers;
use crate::config::{CoMitigation, Config};
use crate::http::{ClientConfig, Resolver};
use crate::lua::Heartbeat;
use crate::metrics::{Cadence, Journals, Recorder};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use tokio::time::Instant;

/// What all shards need to know.
#[derive(Debug)]
pub(super) struct Plant {
    pub(super) config: Arc<Config>,
    pub(super) client: ClientConfig,
    pub(super) resolver: Arc<Resolver>,
    /// How many arrivals of other shards each could take over, in a run at a rate.
    pub(super) rooms: Vec<AtomicU64>,
    pub(super) throttle: Option<Arc<Throttle>>,
    pub(super) shards: usize,
    /// What each shard is doing.
    pub(super) heartbeats: Vec<Arc<Heartbeat>>,
    /// How users came to their end.
    pub(super) departures: Arc<Departures>,
    pub(super) begin: Instant,
    /// Where the times of logs count from: before `test_start`.
    pub(super) origin: Instant,
    journals: Option<Journals>,
}

impl Plant {
    /// The recorder of that number.
    pub(super) fn recorder(&self, number: usize) -> Recorder {
        let (origin, begin) = (self.origin.into_std(), self.begin.into_std());
        Recorder::new(number).of_run(origin, begin, self.journals.as_ref())
    }

    /// The timers of one shard.
    pub(super) fn timers(&self) -> Timers {
        // A site that is a script is part of a test that plays time.
        #[cfg(test)]
        if self.client.script.is_some() {
            return Timers::coarse();
        }
        Timers::default()
    }
}

/// The plant of a run that begins now.
pub(super) fn plant(run: Run) -> Plant {
    let config = &run.config;
    let throttle = config.throttle_requests;
    let begin = Instant::now();
    Plant {
        client: run.client,
        resolver: run.resolver,
        rooms: (0..config.threads).map(|_| AtomicU64::new(0)).collect(),
        throttle: throttle.map(|rate| Arc::new(Throttle::new(rate, begin))),
        shards: config.threads,
        heartbeats: (0..config.threads).map(|_| Arc::default()).collect(),
        departures: Arc::default(),
        begin,
        origin: begin,
        journals: run.journals,
        config: run.config,
    }
}

/// What users are compared with, if what late ones could not ask for is filled in.
pub(super) fn cadence(config: &Config) -> Option<Cadence> {
    match config.co_mitigation {
        CoMitigation::Disabled => None,
        CoMitigation::Average => Some(Cadence::Average),
        CoMitigation::Minimum => Some(Cadence::Minimum),
        CoMitigation::Maximum => Some(Cadence::Maximum),
    }
}
