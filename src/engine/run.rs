//! A run from its first user to its report: starts the shards, keeps the clock, obeys commands, merges the
//! figures.

use super::directive::{Clock, Directive, Phase, Timetable};
use super::event::{raised_in, run_event};
use super::reception::Transfers;
use super::reset::Reset;
use super::shard::{Message, Wires, run_shard};
use super::throttle::Throttle;
use super::watchdog::{Watchdog, complaint};
use crate::config::{CoMitigation, Config};
use crate::control::Command;
use crate::error::Error;
use crate::http::{ClientConfig, Resolver};
use crate::lua::{Program, Pulse};
use crate::metrics::{Cadence, Delta, Facts, Report, Snapshot, Store};
use crate::plan::{Deal, Event, Plan, Task};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::{mpsc, watch};

/// How often the figures are merged into a snapshot.
const TICK: Duration = Duration::from_millis(250);

/// What to run.
#[derive(Debug, Clone)]
pub struct Run {
    /// The compiled plan.
    pub program: Arc<Program>,
    /// What it declares.
    pub plan: Arc<Plan>,
    /// How to run it.
    pub config: Arc<Config>,
    /// The base URL of each scenario, in their order.
    pub hosts: Vec<String>,
    /// The plan's name for the report.
    pub name: String,
    /// The target as the report shows it.
    pub target: String,
    /// How requests are sent.
    pub client: ClientConfig,
    /// Where hosts are.
    pub resolver: Arc<Resolver>,
}

/// What all shards need to know.
#[derive(Debug)]
pub(super) struct Plant {
    pub(super) program: Arc<Program>,
    pub(super) plan: Arc<Plan>,
    pub(super) config: Arc<Config>,
    pub(super) hosts: Vec<String>,
    pub(super) client: ClientConfig,
    pub(super) resolver: Arc<Resolver>,
    pub(super) deal: Deal,
    /// How many arrivals of other shards each could take over, in a run at a rate.
    pub(super) rooms: Vec<AtomicU64>,
    pub(super) throttle: Option<Arc<Throttle>>,
    pub(super) shards: usize,
    /// What each shard is doing.
    pub(super) pulses: Vec<Arc<Pulse>>,
    pub(super) begin: Instant,
}

/// How a run came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The time was up, all iterations were done, or it was stopped.
    Complete,
    /// It was aborted: requests were cut off.
    Aborted,
    /// The plan's `test_start` raised: no user was started.
    NotStarted,
}

/// What a run leaves behind.
#[derive(Debug)]
pub struct Outcome {
    /// The figures.
    pub report: Report,
    /// How it ended.
    pub ending: Ending,
    /// What went wrong inside lgoose, if anything; the report is still true for what was measured.
    pub trouble: Option<Error>,
}

/// Runs a plan to its end. Snapshots are published four times a second; commands are obeyed at once.
///
/// # Errors
/// Trouble that keeps the run from starting.
pub async fn run(
    run: Run,
    mut commands: mpsc::UnboundedReceiver<Command>,
    snapshots: watch::Sender<Option<Arc<Snapshot>>>,
) -> Result<Outcome, Error> {
    let config = run.config.clone();
    let mut store = Store::new(Facts {
        order: order(&run.plan),
        co_mitigation: cadence(&config),
        ..Facts::new(
            run.name.clone(),
            run.target.clone(),
            config.seed,
            SystemTime::now(),
        )
    });
    store.judge_by(config.thresholds.clone());
    let name = run.name.clone();
    let mut plant = plant(run);
    if let Some(raised) = run_event(&plant, Event::TestStart, &mut store, &mut commands).await? {
        return Ok(Outcome {
            report: store.report(plant.begin.elapsed()),
            ending: Ending::NotStarted,
            trouble: Some(raised_in(Event::TestStart, &raised)),
        });
    }
    plant.begin = Instant::now();
    let plant = Arc::new(plant);
    let (timetable, end) = Timetable::of(&config);
    let reset = Reset::new(&config, &timetable);
    let (directives, _) = watch::channel(Directive {
        phase: Phase::Go,
        clock: Clock::starting(plant.begin),
        timetable: Arc::new(timetable),
        version: 0,
        epoch: 0,
    });
    let (sender, messages) = mpsc::unbounded_channel();
    let mut threads = Vec::new();
    let mut emptied = Vec::new();
    let lines: Vec<_> = (0..plant.shards)
        .map(|_| mpsc::unbounded_channel())
        .collect();
    let (others, incoming): (Vec<_>, Vec<_>) = lines.into_iter().unzip();
    for (index, incoming) in incoming.into_iter().enumerate() {
        let (give_back, returned) = mpsc::unbounded_channel();
        emptied.push(give_back);
        let wires = Wires {
            orders: directives.subscribe(),
            transfers: Transfers {
                others: others.clone(),
                incoming,
            },
            messages: sender.clone(),
            returned,
        };
        let plant = plant.clone();
        let thread = std::thread::Builder::new()
            .name(format!("shard {index}"))
            .spawn(move || run_shard(index, &plant, wires))
            .map_err(|error| {
                Error::Trouble(format!(
                    "cannot start thread {index}: {error}; lower '--threads'"
                ))
            })?;
        threads.push(thread);
    }
    drop(sender);
    let mut conductor = Conductor {
        reset,
        store,
        directives,
        end,
        idle: vec![None; plant.shards],
        emptied,
        snapshots,
        begin: plant.begin,
        abort_at: None,
        stop_timeout: config.stop_timeout,
        watchdog: Watchdog::new(&plant.pulses, config.lua_time, plant.begin),
        caught: false,
        plant: plant.clone(),
        name,
        ending: Ending::Complete,
        trouble: None,
    };
    conductor.conduct(messages, &mut commands).await;
    // A caught thread never ends, the process does.
    let ended = |thread: &JoinHandle<()>| !conductor.caught || thread.is_finished();
    threads.retain(ended);
    for thread in threads {
        if thread.join().is_err() {
            conductor.trouble = Some(Error::Trouble(
                "a thread of users ended by a fault in lgoose".to_owned(),
            ));
        }
    }
    let elapsed = plant.begin.elapsed();
    if let Some(raised) =
        run_event(&plant, Event::TestStop, &mut conductor.store, &mut commands).await?
    {
        conductor
            .store
            .warn(raised_in(Event::TestStop, &raised).to_string());
    }
    Ok(Outcome {
        report: conductor.report(elapsed),
        ending: conductor.ending,
        trouble: conductor.trouble,
    })
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

/// Scenarios and tasks in the order of the plan.
fn order(plan: &Plan) -> Vec<(String, String)> {
    let tasks = plan.scenarios.iter().flat_map(|scenario| {
        let row = |task: &Task| (scenario.name.clone(), task.title());
        scenario.tasks.iter().map(row).collect::<Vec<_>>()
    });
    tasks.collect()
}

pub(super) fn plant(run: Run) -> Plant {
    let config = &run.config;
    let throttle = config.throttle_requests;
    Plant {
        client: run.client,
        resolver: run.resolver,
        deal: Deal::new(&run.plan.scenarios, config.users),
        rooms: (0..config.threads).map(|_| AtomicU64::new(0)).collect(),
        throttle: throttle.map(|rate| Arc::new(Throttle::new(rate, Instant::now()))),
        shards: config.threads,
        pulses: (0..config.threads).map(|_| Arc::default()).collect(),
        program: run.program,
        plan: run.plan,
        hosts: run.hosts,
        begin: Instant::now(),
        config: run.config,
    }
}

/// Keeps the run's time, tells the shards what to do and gathers what they measured.
pub(super) struct Conductor {
    pub(super) store: Store,
    pub(super) directives: watch::Sender<Directive>,
    /// When the timetable ends, none for never.
    end: Option<Duration>,
    /// The version of the directive under which each shard had nothing left to do.
    idle: Vec<Option<u64>>,
    pub(super) reset: Reset,
    /// Gives each shard its deltas back.
    pub(super) emptied: Vec<mpsc::UnboundedSender<Box<Delta>>>,
    snapshots: watch::Sender<Option<Arc<Snapshot>>>,
    pub(super) begin: Instant,
    abort_at: Option<Instant>,
    stop_timeout: Duration,
    watchdog: Watchdog,
    /// A shard will never answer.
    caught: bool,
    pub(super) plant: Arc<Plant>,
    /// The plan's name.
    name: String,
    ending: Ending,
    trouble: Option<Error>,
}

impl Conductor {
    /// Until the last shard has handed over its last figures.
    async fn conduct(
        &mut self,
        mut messages: mpsc::UnboundedReceiver<Message>,
        commands: &mut mpsc::UnboundedReceiver<Command>,
    ) {
        let mut tick = tokio::time::interval(TICK);
        loop {
            let clock = self.directives.borrow().clock;
            let moment = |due: Option<Duration>| due.and_then(|due| clock.instant(due));
            let (stop_at, reset_at) = (moment(self.end), moment(self.reset.due));
            tokio::select! {
                message = messages.recv() => match message {
                    Some(Message::Delta(shard, epoch, delta)) => self.merge(shard, epoch, delta),
                    Some(Message::Idle(shard, version)) => self.rest(shard, version),
                    Some(Message::Failed(error)) => {
                        self.trouble.get_or_insert(error);
                        self.obey(Command::Stop);
                    }
                    None => return,
                },
                Some(command) = commands.recv() => self.obey(command),
                () = at(stop_at), if self.abort_at.is_none() && stop_at.is_some() => self.obey(Command::Stop),
                () = at(reset_at), if reset_at.is_some() => self.reset_at_its_time(),
                () = at(self.abort_at), if self.abort_at.is_some() => match self.caught {
                    true => return,
                    false => self.give_up(),
                },
                _ = tick.tick() => {
                    let snapshot = self.store.tick(self.begin.elapsed());
                    self.snapshots.send_replace(Some(snapshot));
                    self.heed_thresholds();
                    self.watch();
                }
            }
        }
    }

    /// Ends the run if a shard is caught in the plan's code: the others hand over what they have.
    fn watch(&mut self) {
        const HAND_OVER: Duration = Duration::from_secs(2);
        if self.caught {
            return;
        }
        if let Some((running, line)) = self.watchdog.look(Instant::now()) {
            self.caught = true;
            self.trouble
                .get_or_insert(complaint(&self.plant.plan, &self.name, running, line));
            self.abort_at = Some(Instant::now() + HAND_OVER);
            self.tell(|directive| directive.phase = Phase::Abort);
        }
    }

    /// Whether the run is on its way to its end.
    pub(super) fn is_stopping(&self) -> bool {
        self.directives.borrow().phase != Phase::Go
    }

    /// Changes what the shards are told.
    pub(super) fn tell(&self, change: impl FnOnce(&mut Directive)) {
        self.directives.send_modify(change);
    }

    /// A shard has nothing left to do. When that is so of all, the run is over.
    fn rest(&mut self, shard: usize, version: u64) {
        self.idle[shard] = Some(version);
        let current = Some(self.directives.borrow().version);
        if self.idle.iter().all(|idle| *idle == current) {
            self.obey(Command::Stop);
        }
    }

    /// Stops the run when a threshold is broken that says so.
    fn heed_thresholds(&mut self) {
        if self.abort_at.is_some() {
            return;
        }
        if let Some(row) = self.store.stopping_threshold() {
            let seconds = row.broken_s.unwrap_or_default();
            let name = row
                .name
                .map_or_else(String::new, |name| format!("{name}: "));
            self.store.warn(format!(
                "the run was stopped after {seconds:.1} s: the threshold '{name}{}' was broken",
                row.threshold
            ));
            self.obey(Command::Stop);
        }
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Stop if self.abort_at.is_none() => {
                self.store.load_ended();
                self.abort_at = Some(Instant::now() + self.stop_timeout);
                self.tell(|directive| directive.phase = Phase::Stop);
            }
            Command::Stop => {}
            Command::SetUsers(_)
            | Command::SetRate(_)
            | Command::Pause
            | Command::Resume
            | Command::ResetStatistics => self.steer(command),
            Command::Abort => {
                self.ending = Ending::Aborted;
                self.tell(|directive| directive.phase = Phase::Abort);
            }
        }
    }

    /// Tasks that have not finished in time are cut off; that is no abort by the user.
    fn give_up(&mut self) {
        self.abort_at = Some(Instant::now() + Duration::from_secs(3600));
        let seconds = self.stop_timeout.as_secs_f64();
        self.store.warn(format!(
            "tasks still running {seconds} s after the stop were cut off ('--stop-timeout')"
        ));
        self.tell(|directive| directive.phase = Phase::Abort);
    }
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment.into()).await,
        None => std::future::pending().await,
    }
}
