//! A run from its first user to its report: the plan's events, the shards between them, and the figures at
//! the end.

use super::conductor::Conductor;
use super::directive::{Clock, Directive, Phase, Timetable, stages};
use super::edition::Edition;
use super::event::{raised_in, run_event};
use super::plant::{Plant, cadence, plant};
use super::ports::PortWatch;
use super::reception::Transfers;
use super::reset::Reset;
use super::settings::{settings_of, thresholds};
use super::shard::{Wires, run_shard};
use super::watchdog::Watchdog;
use crate::config::Config;
use crate::control::Command;
use crate::error::Error;
use crate::http::{ClientConfig, Resolver};
use crate::metrics::{Cause, Ending, EventKind, Facts, Journals, Report, Snapshot, Store};
use crate::plan::Event;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

/// What to run.
#[derive(Debug, Clone)]
pub struct Run {
    /// What users run.
    pub edition: Arc<Edition>,
    /// How to run it.
    pub config: Arc<Config>,
    /// The plan's name for the report.
    pub name: String,
    /// The target as the report shows it.
    pub target: String,
    /// How requests are sent.
    pub client: ClientConfig,
    /// Where hosts are.
    pub resolver: Arc<Resolver>,
    /// What takes its logs, if any are kept.
    pub journals: Option<Journals>,
}

/// What a run leaves behind.
#[derive(Debug)]
pub struct Outcome {
    /// The figures, how the run ended and what decided its load; without a verdict, since logs may be missing yet.
    pub report: Report,
    /// What went wrong inside lgoose, if anything; the report is still true for what was measured.
    pub trouble: Option<Error>,
}

/// Runs a plan to its end. Snapshots are published four times a second; commands are obeyed at once. An edition
/// of the plan that comes in between is taken by each user at its next iteration, and the figures begin anew;
/// the report keeps what was before.
///
/// # Errors
/// Trouble that keeps the run from starting.
pub async fn run(
    run: Run,
    commands: mpsc::UnboundedReceiver<Command>,
    editions: mpsc::UnboundedReceiver<Arc<Edition>>,
    snapshots: watch::Sender<Option<Arc<Snapshot>>>,
) -> Result<Outcome, Error> {
    run_on(start_thread, run, commands, editions, snapshots).await
}

/// Starts the shard of that number; `None` if it has no thread of its own.
pub(super) type StartShard = fn(usize, Arc<Plant>, Wires) -> Result<Option<JoinHandle<()>>, Error>;

fn start_thread(
    index: usize,
    plant: Arc<Plant>,
    wires: Wires,
) -> Result<Option<JoinHandle<()>>, Error> {
    let thread = std::thread::Builder::new()
        .name(format!("shard {index}"))
        .spawn(move || run_shard(index, &plant, wires));
    thread.map(Some).map_err(|error| {
        Error::Trouble(format!(
            "cannot start thread {index}: {error}; lower '--threads'"
        ))
    })
}

/// [`run`] with its shards started in another way.
pub(super) async fn run_on(
    start_shard: StartShard,
    run: Run,
    mut commands: mpsc::UnboundedReceiver<Command>,
    editions: mpsc::UnboundedReceiver<Arc<Edition>>,
    snapshots: watch::Sender<Option<Arc<Snapshot>>>,
) -> Result<Outcome, Error> {
    let config = run.config.clone();
    let edition = run.edition.clone();
    let mut store = Store::new(Facts {
        order: run.edition.order(),
        co_mitigation: cadence(&config),
        co_wanted: config.co_wanted,
        ..Facts::new(
            run.name.clone(),
            run.target.clone(),
            config.seed,
            SystemTime::now(),
        )
    });
    store.judge_by(edition.config.thresholds.clone());
    if config.warmup.is_some() || config.reset_stats {
        store.hold_judgement();
    }
    let name = run.name.clone();
    let mut plant = plant(run);
    let (timetable, end) = Timetable::of(&config);
    let begun = run_event(
        &plant,
        &edition,
        Event::TestStart,
        &mut store,
        &mut commands,
    )
    .await?;
    if let Some(raised) = begun.raised {
        let raised = raised_in(Event::TestStart, &raised);
        let mut ending = Ending::new(Cause::NotStarted, Duration::ZERO, end);
        ending.raised = Some(raised.clone());
        let report = store.report(plant.begin.elapsed());
        return Ok(Outcome {
            report: ended(report, ending, &config, &edition),
            trouble: Some(Error::Trouble(raised)),
        });
    }
    if edition.plan.events.contains(&Event::TestStart) {
        plant.begin = Instant::now();
        store.begin_at(plant.begin.duration_since(plant.origin));
    }
    store.expect(plant.shards);
    let plant = Arc::new(plant);
    let reset = Reset::new(&config, &timetable);
    let (directives, _) = watch::channel(Directive {
        // Who starts after a stop has nothing to do.
        phase: match begun.asked {
            None => Phase::Go,
            Some(Command::Abort) => Phase::Abort,
            Some(_) => Phase::Stop,
        },
        clock: Clock::starting(plant.begin),
        timetable: Arc::new(timetable),
        edition,
        version: 0,
        measurement: reset.measurement(),
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
        threads.extend(start_shard(index, plant.clone(), wires)?);
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
        watchdog: Watchdog::new(&plant.heartbeats, config.lua_time, plant.begin),
        ports: PortWatch::new(plant.begin),
        stages: stages(&config),
        shown: plant.begin,
        caught: false,
        plant: plant.clone(),
        name,
        stopped: None,
        cut_off: false,
        trouble: None,
    };
    if let Some(asked) = begun.asked {
        conductor.obey(asked);
    }
    conductor.conduct(messages, &mut commands, editions).await;
    // A caught thread never ends, the process does.
    let ends = |thread: &JoinHandle<()>| !conductor.caught || thread.is_finished();
    threads.retain(ends);
    for thread in threads {
        if thread.join().is_err() {
            conductor.trouble = Some(Error::Trouble(
                "a thread of users ended by a fault in lgoose".to_owned(),
            ));
        }
    }
    let elapsed = plant.begin.elapsed();
    conductor
        .store
        .happened(elapsed, EventKind::End, "the run was over");
    let edition = conductor.directives.borrow().edition.clone();
    let mut ending = conductor.ending(elapsed);
    let happened = run_event(
        &plant,
        &edition,
        Event::TestStop,
        &mut conductor.store,
        &mut commands,
    )
    .await?;
    if let Some(raised) = happened.raised {
        let raised = raised_in(Event::TestStop, &raised);
        conductor.store.warn(raised.clone());
        ending.raised = Some(raised);
    }
    if happened.asked == Some(Command::Abort) && conductor.trouble.is_none() {
        (ending.cause, ending.cut_short) = (Cause::Aborted, true);
    }
    Ok(Outcome {
        report: ended(conductor.report(elapsed), ending, &config, &edition),
        trouble: conductor.trouble,
    })
}

/// The report with how its run ended and what decided its load.
fn ended(mut report: Report, ending: Ending, config: &Config, edition: &Edition) -> Report {
    let mut settings = settings_of(config, &edition.program);
    // A plan that was loaded anew has brought its own.
    settings.thresholds = thresholds(&edition.config);
    if ending.in_warmup {
        // Their figures are those of the warm-up.
        report.thresholds.clear();
    }
    report.ending = Some(ending.told());
    report.settings = Some(settings);
    report
}
