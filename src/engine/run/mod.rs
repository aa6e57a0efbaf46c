//! A run from its first user to its report: the plan's events, the shards between them, and the figures at
//! the end.

pub(super) mod director;
pub(super) mod ending;
mod event;
pub(super) mod event_user;
pub(super) mod local_shards;
mod memory;
mod ports;
mod reset;
mod roster;
mod settings;
pub(super) mod shards;
mod steer;
mod watchdog;
pub(super) mod worker;
mod workers;

use crate::config::{LocalConfig, Part, RunConfig};
use crate::control::{Calls, Command, Interrupt};
use crate::engine::load_model::clock::Clock;
use crate::engine::load_model::timetable::{Timetable, stages};
use crate::engine::protocol::context::{RunContext, cadence, context};
use crate::engine::protocol::directive::{Directive, Phase};
use crate::engine::protocol::offer::Offers;
use crate::engine::protocol::plan_version::PlanVersion;
use crate::engine::run::director::Director;
use crate::engine::run::ending::Life;
use crate::engine::run::event::{Happened, run_event};
use crate::engine::run::event_user::start_event_thread;
use crate::engine::run::local_shards::start_thread;
use crate::engine::run::memory::MemoryWatch;
use crate::engine::run::reset::Reset;
use crate::engine::run::settings::{settings_of, thresholds};
use crate::engine::run::shards::{EventPlace, Place};
use crate::engine::timing::standstill::Standstill;
use crate::error::{Diagnostic, Error};
use crate::http::{ClientConfig, Resolver};
use crate::metrics::{
    Aim, Cause, Ending, EventKind, Report, RunIdentity, RunLogs, Snapshot, Store,
};
use crate::plan::Event;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::sync::watch;
use tokio::time::Instant;

/// A plan, its configuration and its surroundings, ready to run.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    /// The plan that users run.
    pub plan_version: Arc<PlanVersion>,
    /// Configuration of the run.
    pub config: Arc<RunConfig>,
    /// Configuration of this process.
    pub local: LocalConfig,
    /// Name of the plan for the report.
    pub name: String,
    /// The target as the report shows it.
    pub target: String,
    /// Configuration of the HTTP client.
    pub client: ClientConfig,
    /// Resolver of host names.
    pub resolver: Arc<Resolver>,
    /// Receiver of the run's logs, if any are kept.
    pub run_logs: Option<RunLogs>,
}

/// Result of a run.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// The figures, how the run ended and what decided its load; without a verdict, since logs may still be
    /// missing.
    pub report: Report,
    /// Trouble inside lgoose, if any; the report is still true for what was measured.
    pub trouble: Option<Error>,
}

/// Runs a plan to its end. Snapshots are published four times a second and when a command has changed something;
/// commands are obeyed and answered at once. A version of the plan that is offered in between is taken by each user at
/// its next iteration, and the figures begin anew; the report keeps what was before.
///
/// # Errors
/// Trouble that keeps the run from starting.
pub(crate) async fn run(
    run: Run,
    calls: Calls,
    offers: Offers,
    snapshots: watch::Sender<Option<Arc<Snapshot>>>,
) -> Result<Outcome, Error> {
    let here = Place::Here {
        shard: start_thread,
        event: start_event_thread,
    };
    run_at(here, run, calls, offers, snapshots).await
}

/// Works like [`run`], with users at that place.
pub(crate) async fn run_at(
    place: Place,
    run: Run,
    mut calls: Calls,
    offers: Offers,
    snapshots: watch::Sender<Option<Arc<Snapshot>>>,
) -> Result<Outcome, Error> {
    let config = run.config.clone();
    let plan_version = run.plan_version.clone();
    let mut store = Store::new(RunIdentity {
        order: run.plan_version.order(),
        co_mitigation: cadence(&config),
        co_wanted: config.co_wanted,
        ..RunIdentity::new(
            run.name.clone(),
            run.target.clone(),
            config.seed,
            SystemTime::now(),
        )
    });
    store.judge_by(plan_version.config.thresholds.clone());
    if config.warmup.is_some() || config.reset_stats {
        store.hold_judgement();
    }
    let part = run.local.part;
    if part != Part::WHOLE {
        store.record_part(part.number(), part.of());
    }
    let name = run.name.clone();
    let mut context = Arc::new(context(
        run.config,
        run.local,
        run.client,
        run.resolver,
        run.run_logs,
    ));
    let (timetable, end) = Timetable::of(&config);
    snapshots.send_replace(Some(Arc::new(Snapshot {
        wanted: Aim {
            ends: end,
            lasts: end,
            ..timetable.aim(Duration::ZERO)
        },
        ..Snapshot::default()
    })));
    let events = place.events();
    let begun = run_event(
        &events,
        &context,
        &plan_version,
        Event::TestStart,
        &mut store,
        &mut calls,
    )
    .await?;
    if begun.raised.is_some() || begun.asked.is_some() {
        let parts = (events, context, plan_version, store, calls);
        return not_started(begun, end, parts).await;
    }
    if place.lead().is_some() || plan_version.plan.events.contains(&Event::TestStart) {
        let begin = Instant::now() + place.lead().unwrap_or_default();
        context = Arc::new(context.beginning(begin));
        store.begin_at(context.begin.duration_since(context.origin));
    }
    let roster = place.roster(context.shards);
    store.expect(roster.shards());
    for worker in place.workers() {
        store.add_worker(worker.clone());
    }
    let reset = Reset::new(&config, &timetable);
    let (directives, _) = watch::channel(Directive {
        phase: Phase::Go,
        clock: Clock::default(),
        timetable: Arc::new(timetable),
        end,
        plan_version,
        version: 0,
        measurement: reset.measurement(),
    });
    let to_come = stages(&config);
    let mut director = Director {
        stage_count: match to_come.len() {
            0 => 0,
            later => later as u64 + 1,
        },
        stages: to_come,
        config: config.clone(),
        local: context.local.clone(),
        name,
        begin: context.begin,
        store,
        directives,
        snapshots,
        roster,
        life: Life::Going,
        end,
        reset,
        emptied: Vec::new(),
        report_so_far: None,
        settings: None,
        stopped: None,
        out_of_time: false,
        caught: false,
        trouble: None,
        standstill: Standstill::default(),
        memory: MemoryWatch::new(context.local.memory),
        users_are_here: place.lead().is_none(),
        alone_since: None,
        stops_on_loss: place.stops_on_loss(),
        users_due: 0,
        load_set: false,
    };
    let (mut shards, signals) = place.start(&context, &director.directives)?;
    director
        .direct(&mut shards, signals, &mut calls, offers)
        .await;
    // A thread that is caught never ends, the process does; one that was cut off still frees what its users held.
    shards.join(matches!(director.life, Life::Aborting { .. }));
    let elapsed = context.now();
    director
        .store
        .happened(elapsed, EventKind::End, "the run was over");
    let plan_version = director.directives.borrow().plan_version.clone();
    let mut ending = director.ending(elapsed);
    // Whoever aborts a run waits for nothing more.
    if ending.cause != Cause::Aborted {
        let happened = run_event(
            &events,
            &context,
            &plan_version,
            Event::TestStop,
            &mut director.store,
            &mut calls,
        )
        .await?;
        if let Some(raised) = happened.raised {
            director.store.warn(raised.clone());
            ending.raised = Some(raised);
        }
        if happened.asked == Some(Command::Abort) && director.trouble.is_none() {
            (ending.cause, ending.cut_short) = (Cause::Aborted, true);
        }
    }
    Ok(Outcome {
        report: ended(director.report(elapsed), ending, &context, &plan_version),
        trouble: director.trouble,
    })
}

/// Ends a run whose `test_start` has raised, took too long, or was stopped: no user is started. `test_stop` cleans up after
/// one that has come to its end.
async fn not_started(
    begun: Happened,
    end: Option<Duration>,
    parts: (EventPlace, Arc<RunContext>, Arc<PlanVersion>, Store, Calls),
) -> Result<Outcome, Error> {
    let (events, context, plan_version, mut store, mut calls) = parts;
    let mut cause = match begun.asked {
        Some(Command::Abort) => Cause::Aborted,
        Some(Command::Interrupt(Interrupt::Signal)) => Cause::Signal,
        Some(_) => Cause::StoppedByUser,
        None => Cause::NotStarted,
    };
    let mut raised = begun.raised;
    if raised.is_none() && !begun.cut_off {
        let happened = run_event(
            &events,
            &context,
            &plan_version,
            Event::TestStop,
            &mut store,
            &mut calls,
        )
        .await?;
        raised = happened.raised.inspect(|raised| store.warn(raised.clone()));
        if happened.asked == Some(Command::Abort) {
            cause = Cause::Aborted;
        }
    }
    let mut ending = Ending::new(cause, Duration::ZERO, end);
    ending.in_test_start = cause != Cause::NotStarted;
    ending.cut_short = true;
    ending.raised = raised;
    let trouble = (ending.raised.clone()).filter(|_| cause == Cause::NotStarted);
    let report = store.report(context.begin.elapsed());
    Ok(Outcome {
        report: ended(report, ending, &context, &plan_version),
        trouble: trouble.map(|raised| Diagnostic::new(raised).into()),
    })
}

/// Completes the report with how its run ended and what decided its load.
fn ended(
    mut report: Report,
    ending: Ending,
    context: &RunContext,
    plan_version: &PlanVersion,
) -> Report {
    let mut settings = settings_of(&context.config, &context.local, &plan_version.program);
    // A plan that was loaded anew has brought its own.
    settings.thresholds = thresholds(&plan_version.config);
    if ending.in_test_start {
        // Nothing was there to be judged.
        report.thresholds.clear();
    }
    if ending.in_warmup {
        // Their figures are those of the warm-up.
        report.thresholds.clear();
    }
    if report.part.is_some() {
        let only = format!(
            "these are the figures of {} alone: 'lgoose report' joins the JSON reports of all parts",
            context.local.part
        );
        report.warnings.insert(0, only);
    }
    report.ending = Some(ending.told());
    report.settings = Some(settings);
    report
}
