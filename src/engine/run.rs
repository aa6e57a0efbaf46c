//! A run from its first user to its report: starts the shards, keeps the clock, obeys commands, merges the
//! figures.

use super::event::run_event;
use super::shard::{Message, Order, Wires, run_shard};
use super::watchdog::{Watchdog, complaint};
use crate::config::{CoMitigation, Config};
use crate::control::Command;
use crate::error::Error;
use crate::http::{ClientConfig, Resolver};
use crate::lua::{Program, Pulse, Raised};
use crate::metrics::{Cadence, Delta, Facts, Report, Snapshot, Store};
use crate::plan::{Deal, Event, Plan, Shape, Task};
use std::sync::Arc;
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
    pub(super) shape: Shape,
    pub(super) deal: Deal,
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
    let (orders, _) = watch::channel(Order::Go);
    let (sender, messages) = mpsc::unbounded_channel();
    let mut threads = Vec::new();
    let mut emptied = Vec::new();
    for index in 0..plant.shards {
        let (give_back, returned) = mpsc::unbounded_channel();
        emptied.push(give_back);
        let wires = Wires {
            orders: orders.subscribe(),
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
        store,
        orders,
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
    conductor
        .conduct(plant.shape.duration(), messages, &mut commands)
        .await;
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
        report: conductor.store.report(elapsed),
        ending: conductor.ending,
        trouble: conductor.trouble,
    })
}

/// The text of an error in an event's function; it has its place in front.
fn raised_in(event: Event, raised: &Raised) -> Error {
    let place = raised
        .line
        .as_deref()
        .map_or_else(String::new, |line| format!(" ({line})"));
    Error::Trouble(format!(
        "{} raised: {}{place}",
        event.name(),
        raised.message
    ))
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
    Plant {
        client: run.client,
        resolver: run.resolver,
        shape: Shape::ramp(config.users, config.hatch_rate, config.run_time),
        deal: Deal::new(&run.plan.scenarios, config.users),
        shards: config.threads,
        pulses: (0..config.threads).map(|_| Arc::default()).collect(),
        program: run.program,
        plan: run.plan,
        hosts: run.hosts,
        begin: Instant::now(),
        config: run.config,
    }
}

struct Conductor {
    store: Store,
    orders: watch::Sender<Order>,
    /// Gives each shard its deltas back.
    emptied: Vec<mpsc::UnboundedSender<Box<Delta>>>,
    snapshots: watch::Sender<Option<Arc<Snapshot>>>,
    begin: Instant,
    abort_at: Option<Instant>,
    stop_timeout: Duration,
    watchdog: Watchdog,
    /// A shard will never answer.
    caught: bool,
    plant: Arc<Plant>,
    /// The plan's name.
    name: String,
    ending: Ending,
    trouble: Option<Error>,
}

impl Conductor {
    /// Until the last shard has handed over its last figures.
    async fn conduct(
        &mut self,
        duration: Option<Duration>,
        mut messages: mpsc::UnboundedReceiver<Message>,
        commands: &mut mpsc::UnboundedReceiver<Command>,
    ) {
        let mut tick = tokio::time::interval(TICK);
        let stop_at = duration.map(|duration| self.begin + duration);
        loop {
            tokio::select! {
                message = messages.recv() => match message {
                    Some(Message::Delta(shard, delta)) => {
                        let delta = self.store.merge(*delta);
                        // A shard that has ended needs no delta.
                        let _ended = self.emptied[shard].send(Box::new(delta));
                    }
                    Some(Message::Failed(error)) => {
                        self.trouble.get_or_insert(error);
                        self.obey(Command::Stop);
                    }
                    None => return,
                },
                Some(command) = commands.recv() => self.obey(command),
                () = at(stop_at), if self.abort_at.is_none() && stop_at.is_some() => self.obey(Command::Stop),
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
            self.orders.send_replace(Order::Abort);
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
                self.orders.send_replace(Order::Stop);
            }
            Command::Stop => {}
            Command::Abort => {
                self.ending = Ending::Aborted;
                self.orders.send_replace(Order::Abort);
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
        self.orders.send_replace(Order::Abort);
    }
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment.into()).await,
        None => std::future::pending().await,
    }
}
