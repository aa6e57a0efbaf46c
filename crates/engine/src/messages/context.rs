//! Run context: everything that all shards of a run need to know, put together once.

use crate::load_model::arrivals_left::ArrivalsLeft;
use crate::load_model::share::ShardShare;
use crate::load_model::throttle::Throttle;
use crate::load_model::tickets::Tickets;
use crate::load_model::timetable::{LaneLoad, Timetable};
use crate::messages::host_recovery::HostRecovery;
use crate::timing::timers::Timers;
use lgoose_base::allotment::Reservations;
use lgoose_http::{ClientConfig, Resolver};
use lgoose_lua::Heartbeat;
use lgoose_metrics::{Cadence, Recorder, RunLogs};
use lgoose_plan::Plan;
use lgoose_plan::config::{LoadPart, LocalConfig, MitigationCadence, RunConfig};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;
use tokio::time::Instant;

/// Everything that all shards of a run need to know.
#[derive(Debug)]
pub struct RunContext {
    pub(crate) config: Arc<RunConfig>,
    pub(crate) local: LocalConfig,
    pub(crate) client: ClientConfig,
    pub(crate) resolver: Arc<Resolver>,
    /// Number of arrivals of other shards that each shard could take over, by lane and by shard.
    pub(crate) rooms: Vec<Vec<AtomicU64>>,
    /// The arrivals of this process that are left, by lane.
    pub(crate) arrivals_left: ArrivalsLeft,
    pub(crate) throttle: Option<Arc<Throttle>>,
    /// The hosts that are down, for whose return users wait.
    pub(crate) recoveries: Arc<HostRecovery>,
    /// Iterations that all users of this process share.
    pub(crate) tickets: Option<Arc<Tickets>>,
    /// Limits of single scenarios, by name.
    pub(crate) own_limits: BTreeMap<String, OwnLimits>,
    pub(crate) shards: usize,
    /// Heartbeat of each shard, which shows its progress.
    pub(crate) heartbeats: Vec<Arc<Heartbeat>>,
    pub(crate) start: Instant,
    /// Time at which this process joined the run in the place of a lost worker; `None` if it is there from the start.
    pub(crate) joined: Option<Instant>,
    /// Origin of the times in logs: before `test_start`.
    pub(crate) origin: Instant,
    /// Users at work in this process.
    pub(crate) users: Arc<AtomicU64>,
    /// Whether users take no further step: too much memory is taken, and the run is about to be aborted.
    pub(crate) halted: Arc<AtomicBool>,
    run_logs: Option<RunLogs>,
}

/// Limits that the users of one scenario share.
#[derive(Debug, Clone, Default)]
pub struct OwnLimits {
    pub(crate) throttle: Option<Arc<Throttle>>,
    pub(crate) tickets: Option<Arc<Tickets>>,
}

impl RunContext {
    /// Returns the share of shard number `index` in a lane.
    pub(crate) fn share(&self, index: usize, lane: usize) -> ShardShare {
        ShardShare::new(self.local.part, index, self.shards).of_lane(lane)
    }

    /// Returns how many of the first `count` users or arrivals of a lane are this process's.
    pub(crate) fn share_of_lane(&self, lane: usize, count: u64) -> u64 {
        let (part, ahead) = (self.local.part, lane as u64);
        part.share(count.saturating_add(ahead)) - part.share(ahead)
    }

    /// Takes over how many arrivals of each lane there are, where the timetable limits them.
    pub(crate) fn limit_arrivals(&mut self, timetable: &Timetable) {
        let lanes = timetable.lanes.iter().enumerate();
        let counts = lanes.map(|(lane, one)| match one.load {
            LaneLoad::Arrivals { ceiling, .. } => Some(self.share_of_lane(lane, ceiling?)),
            LaneLoad::Users(_) => None,
        });
        self.arrivals_left = ArrivalsLeft::new(counts);
    }

    /// Makes a context of the same run in which users begin at `begin`.
    pub(crate) fn beginning(&self, start: Instant) -> RunContext {
        RunContext {
            arrivals_left: self.arrivals_left.clone(),
            throttle: self.throttle.clone(),
            tickets: self.tickets.clone(),
            own_limits: self.own_limits.clone(),
            origin: self.origin,
            halted: self.halted.clone(),
            start,
            ..context(
                self.config.clone(),
                self.local.clone(),
                self.rooms.len(),
                self.client.clone(),
                self.resolver.clone(),
                self.run_logs.clone(),
            )
        }
    }

    /// Returns the context with another origin of the times in logs.
    pub(crate) fn with_origin(self, origin: Instant) -> RunContext {
        RunContext { origin, ..self }
    }

    /// Returns how long the run has gone on.
    pub(crate) fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// Returns the moment `since` the run began; `None` if no clock goes that far.
    pub(crate) fn instant(&self, since: Duration) -> Option<Instant> {
        self.start.checked_add(since)
    }

    /// Makes the recorder with that number.
    pub(crate) fn recorder(&self, number: usize) -> Recorder {
        let (origin, start) = (self.origin.into_std(), self.start.into_std());
        Recorder::new(number).of_run(origin, start, self.run_logs.as_ref())
    }

    /// Makes the timers of one shard.
    pub(crate) fn timers(&self) -> Timers {
        // A scripted site is part of a test in simulated time.
        #[cfg(any(test, feature = "test-support"))]
        if self.resolver.script().is_some() {
            return Timers::coarse();
        }
        Timers::default()
    }
}

/// Returns the limits that each scenario of the plan has for itself, reduced to that part of the load.
pub(crate) fn own_limits(
    plan: &Plan,
    part: LoadPart,
    reservations: Option<&Arc<Reservations>>,
) -> BTreeMap<String, OwnLimits> {
    let start = Instant::now();
    let scenarios = plan.scenarios.iter().map(|scenario| {
        let limits = OwnLimits {
            throttle: (scenario.throttle_requests).map(|rate| own_throttle(rate, part, start)),
            tickets: scenario.shared_iterations.map(|all| {
                let name = format!("iterations of {}", scenario.name);
                Arc::new(Tickets::new(part.rows(all), reservations, &name))
            }),
        };
        (scenario.name.clone(), limits)
    });
    scenarios.collect()
}

fn own_throttle(rate: f64, part: LoadPart, start: Instant) -> Arc<Throttle> {
    Arc::new(Throttle::new(rate * part.fraction(), start))
}

/// Makes the context of a run with `lanes` lanes that begins now.
pub(crate) fn context(
    config: Arc<RunConfig>,
    local: LocalConfig,
    lanes: usize,
    client: ClientConfig,
    resolver: Arc<Resolver>,
    run_logs: Option<RunLogs>,
) -> RunContext {
    let throttle = config.throttle_requests;
    let start = Instant::now();
    RunContext {
        client,
        resolver,
        rooms: (0..lanes)
            .map(|_| (0..local.threads).map(|_| AtomicU64::new(0)).collect())
            .collect(),
        arrivals_left: ArrivalsLeft::new((0..lanes).map(|_| None)),
        recoveries: Arc::default(),
        throttle: throttle.map(|rate| own_throttle(rate, local.part, start)),
        tickets: None,
        own_limits: BTreeMap::new(),
        shards: local.threads,
        heartbeats: (0..local.threads).map(|_| Arc::default()).collect(),
        start,
        joined: None,
        origin: start,
        users: Arc::default(),
        halted: Arc::default(),
        run_logs,
        config,
        local,
    }
}

/// Returns the cadence that users are compared with; `None` unless requests that late users could not make are to be
/// filled in.
pub(crate) fn cadence(config: &RunConfig) -> Option<Cadence> {
    match config.co_mitigation {
        MitigationCadence::Disabled => None,
        MitigationCadence::Average => Some(Cadence::Average),
        MitigationCadence::Minimum => Some(Cadence::Minimum),
        MitigationCadence::Maximum => Some(Cadence::Maximum),
    }
}
