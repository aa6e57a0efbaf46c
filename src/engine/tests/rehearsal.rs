//! Rehearses a run: simulated time that stands still while anything is to be done, shards on the thread of the test,
//! and a scripted site.

use super::gaggle::Gaggle;
use crate::config::{Config, LoadPart, RunConfig, Settings};
use crate::control::{Command, Control};
use crate::engine::messages::context::RunContext;
use crate::engine::messages::journal::PlanFacts;
use crate::engine::messages::offer::PlanVersions;
use crate::engine::messages::plan_version::PlanVersion;
use crate::engine::run::event_user::EventTask;
use crate::engine::run::local_shards::StartShard;
use crate::engine::run::shards::ShardPlacement;
use crate::engine::run::{Outcome, Run, run_at};
use crate::engine::shard::Shard;
use crate::engine::shard::channels::Channels;
use crate::engine::timing::alarm::Alarm;
use crate::error::Error;
use crate::http::{ClientConfig, ResponseDelay};
use crate::metrics::{Report, RunLogs};
use crate::threshold::Threshold;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::task::LocalSet;
use tokio::time::Instant;

/// Arrival of a request at the site, and its path.
pub(crate) type Arrived = (Duration, String);

/// A run in simulated time.
pub(crate) struct TestRun {
    pub(crate) source: &'static str,
    pub(crate) settings: Settings,
    pub(crate) threads: usize,
    /// Function that gives the time the site takes to answer what arrives at a moment.
    pub(crate) response_time: fn(Duration, &str) -> Duration,
    /// Commands to the run, and their times.
    pub(crate) commands: Vec<(Duration, Command)>,
    /// Versions that replace the plan, and their times.
    pub(crate) plan_versions: Vec<(Duration, &'static str)>,
    pub(crate) start_shard: StartShard,
    /// Threads of each worker; empty for a run of one process.
    pub(crate) workers: Vec<usize>,
    /// The part of the load that is run.
    pub(crate) part: LoadPart,
    /// When the director is lost, and when another takes the run over; only in runs on workers.
    pub(crate) lost: Option<(Duration, Duration)>,
    /// When the first so many workers fall silent for good.
    pub(crate) silent: Option<(Duration, usize)>,
    /// Logs to which what is counted is written; only in runs of one process.
    pub(crate) run_logs: Option<RunLogs>,
}

impl TestRun {
    pub(crate) fn new(source: &'static str, settings: Settings) -> TestRun {
        TestRun {
            source,
            settings,
            threads: 2,
            response_time: |_, _| Duration::ZERO,
            commands: Vec::new(),
            plan_versions: Vec::new(),
            start_shard: start_beside,
            workers: Vec::new(),
            part: LoadPart::WHOLE,
            lost: None,
            silent: None,
            run_logs: None,
        }
    }

    pub(crate) fn config(&self) -> Config {
        Config::new(self.settings.clone(), self.threads, 7).expect("settings that fit")
    }

    /// Plays the run, and returns the arrivals at the site and the outcome.
    pub(crate) async fn play(self) -> (Vec<Arrived>, Outcome) {
        let Config { run, mut local, .. } = self.config();
        local.part = self.part;
        let config = Arc::new(run);
        let start = Instant::now();
        let log = Arc::<Mutex<Vec<Arrived>>>::default();
        let (site, response_time) = (log.clone(), self.response_time);
        let script = ResponseDelay::new(move |path| {
            let at = start.elapsed();
            site.lock().expect("one thread").push((at, path.to_owned()));
            response_time(at, path)
        });
        let run = Run {
            plan_version: Arc::new(plan_version(self.source, config.clone())),
            config,
            local,
            name: "p.lua".to_owned(),
            target: "site".to_owned(),
            client: ClientConfig {
                script: Some(script),
                ..ClientConfig::default()
            },
            resolver: Arc::default(),
            run_logs: self.run_logs,
            reservations: None,
        };
        let (versions, offers) = PlanVersions::open();
        let (handle, control) = Control::open();
        let (second, taken) = Control::open();
        let later: Vec<_> = self
            .plan_versions
            .iter()
            .zip(1..)
            .map(|((at, source), number)| {
                let version = plan_version(source, run.config.clone());
                (*at, version.numbered(number))
            })
            .collect();
        let commands = self.commands;
        let lost_at = self.lost.map_or(Duration::MAX, |(lost, _)| lost);
        let tasks = LocalSet::new();
        tasks.spawn_local(async move {
            for (at, command) in commands {
                tokio::time::sleep_until(start + at).await;
                let handle = if at < lost_at { &handle } else { &second };
                // A run that has begun to stop takes none.
                let _taken = handle.send(command).await;
            }
            // Held until the run is over.
            std::future::pending::<()>().await;
        });
        tasks.spawn_local(async move {
            for (at, plan_version) in later {
                tokio::time::sleep_until(start + at).await;
                // A run that has begun to stop takes none.
                let _taken = versions.offer(Arc::new(plan_version)).await;
            }
            std::future::pending::<()>().await;
        });
        let mut stream = None;
        let place = if self.workers.is_empty() {
            ShardPlacement::Here {
                shard: self.start_shard,
                event: start_event_beside,
            }
        } else {
            let sources = self.plan_versions.iter().map(|(_, source)| *source);
            let sources = [self.source].into_iter().chain(sources).collect();
            let (link, mut gaggle) = Gaggle::new(&self.workers, sources, &run);
            gaggle.silent = self.silent;
            stream = Some(gaggle.stream());
            tasks.spawn_local(gaggle.work());
            ShardPlacement::Workers(link)
        };
        let stand_in = PlanFacts::from(&*run.plan_version).stand_in();
        let run_again = Run {
            plan_version: Arc::new(stand_in.expect("a stand-in")),
            ..run.clone()
        };
        // In boxes: without optimization each level of futures holds copies of those below on a test's small stack.
        let first = Box::pin(run_at(place, run, control.calls, offers, control.snapshots));
        let running = async {
            let (Some((lost, taken_at)), Some(stream)) = (self.lost, stream) else {
                return first.await;
            };
            if let Ok(outcome) = tokio::time::timeout_at(start + lost, first).await {
                return outcome;
            }
            tokio::time::sleep_until(start + taken_at).await;
            let place = ShardPlacement::Workers(stream.take_over());
            let (_, offers) = PlanVersions::open();
            Box::pin(run_at(
                place,
                run_again,
                taken.calls,
                offers,
                taken.snapshots,
            ))
            .await
        };
        let outcome = tasks.run_until(Box::pin(running)).await.expect("it starts");
        let arrived = log.lock().expect("one thread").clone();
        (arrived, outcome)
    }
}

/// Returns a plan whose scenarios all go to the scripted site.
pub(super) fn plan_version(source: &str, config: Arc<RunConfig>) -> PlanVersion {
    let (program, plan, _) = crate::lua::load("p.lua", source, BTreeMap::new(), 7).expect("a plan");
    let hosts = vec!["http://site".to_owned(); plan.scenarios.len()];
    PlanVersion::new(program, plan, hosts, config)
}

/// Starts a shard on the thread of the test, in simulated time.
pub(super) fn start_beside(
    index: usize,
    context: Arc<RunContext>,
    channels: Channels,
) -> Result<Option<JoinHandle<()>>, Error> {
    tokio::task::spawn_local(live(index, context, channels));
    Ok(None)
}

/// Starts the user of an event on the thread of the test, too.
pub(super) fn start_event_beside(task: EventTask) -> Result<(), Error> {
    tokio::task::spawn_local(task.run());
    Ok(())
}

/// When the second of [`start_to_lose_one`]'s shards is lost.
pub(super) const LOST_AT: Duration = Duration::from_millis(1_500);

/// Works like [`start_beside`], but loses the second shard in the middle of the run, with what it had not handed
/// over.
pub(super) fn start_to_lose_one(
    index: usize,
    context: Arc<RunContext>,
    channels: Channels,
) -> Result<Option<JoinHandle<()>>, Error> {
    let lost_at = context.start + LOST_AT;
    let life = live(index, context, channels);
    tokio::task::spawn_local(async move {
        match index {
            1 => drop(tokio::time::timeout_at(lost_at, life).await),
            _ => life.await,
        }
    });
    Ok(None)
}

async fn live(index: usize, context: Arc<RunContext>, mut channels: Channels) {
    let mut shard = Shard::simulated(index, &context, &mut channels);
    shard.drive(&mut channels, Alarm::Coarse).await;
    // Drops aborted users, as the runtime of a shard's own thread does.
    shard.users.tasks.shutdown().await;
    shard.end(&mut channels);
}

/// Reads the thresholds of a run.
pub(crate) fn thresholds(texts: &[&str]) -> Option<Vec<Threshold>> {
    let read = |text: &&str| Threshold::read(text).expect("a threshold");
    Some(texts.iter().map(read).collect())
}

/// Plays a plan of some users whose iterations are so many, at a site that takes 5 ms.
pub(crate) async fn play(
    source: &'static str,
    users: u64,
    iterations: u64,
    texts: &[&str],
) -> Report {
    let settings = Settings {
        users: Some(users),
        startup_time: Some(Duration::ZERO),
        iterations: Some(iterations),
        thresholds: thresholds(texts),
        ..Settings::default()
    };
    let run = TestRun {
        response_time: |_, _| Duration::from_millis(5),
        ..TestRun::new(source, settings)
    };
    run.play().await.1.report
}
