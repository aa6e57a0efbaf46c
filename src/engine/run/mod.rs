//! A run from its first user to its report: the plan's events, the shards that run between them, and the final figures.

mod asking;
pub(super) mod director;
pub(super) mod ending;
mod event;
pub(super) mod event_user;
mod journal;
pub(super) mod life;
mod live_report;
pub(super) mod local_shards;
mod memory;
mod milestones;
mod obeying;
mod playback;
mod ports;
mod reset;
mod roster;
mod settings;
pub(super) mod shards;
mod showing;
mod steer;
pub(super) mod watchdog;
pub(super) mod worker;
pub(super) mod worker_event;
mod worker_watch;
mod workers;

use crate::config::{LocalConfig, Part, RunConfig};
use crate::control::{Calls, Command, Interrupt};
use crate::engine::load_model::clock::Clock;
use crate::engine::load_model::timetable::Timetable;
use crate::engine::protocol::context::{RunContext, cadence, context, own_limits};
use crate::engine::protocol::directive::{Directive, Phase};
use crate::engine::protocol::offer::Offers;
use crate::engine::protocol::plan_version::PlanVersion;
use crate::engine::run::director::Director;
use crate::engine::run::event::{Directing, Happened, run_event};
use crate::engine::run::journal::Played;
use crate::engine::run::life::Lifecycle;
use crate::engine::run::live_report::LiveReport;
use crate::engine::run::memory::MemoryWatch;
use crate::engine::run::milestones::Milestones;
use crate::engine::run::reset::Reset;
use crate::engine::run::settings::{settings_of, thresholds};
use crate::engine::run::shards::Place;
use crate::engine::timing::standstill::Standstill;
use crate::error::{Diagnostic, Error};
use crate::http::{ClientConfig, Resolver};
use crate::lua::Program;
use crate::metrics::{
    Aim, Cause, Ending, EventKind, PortableDelta, Progress, Report, RunIdentity, RunLogs, Snapshot,
    Store,
};
use crate::plan::{Event, Hook};
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

impl Run {
    /// Makes the context of the run, which begins now.
    pub(crate) fn into_context(self) -> RunContext {
        let (plan, lanes) = (&self.plan_version.plan, self.plan_version.lanes.len());
        let own_limits = own_limits(plan, self.local.part);
        let mut context = context(
            self.config,
            self.local,
            lanes,
            self.client,
            self.resolver,
            self.run_logs,
        );
        context.own_limits = own_limits;
        context
    }
}

/// Result of a run.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// The figures, how the run ended and what determined its load. Without a verdict as long as logs are still being
    /// written.
    pub report: Report,
    /// Trouble inside lgoose, if any; the report is still correct for what was measured.
    pub trouble: Option<Error>,
    /// The plan as it was at the end.
    pub(crate) program: Arc<Program>,
    /// Whether the plan has an `on("report")` function.
    pub(crate) wants_report: bool,
}

/// Runs a plan to its end, with users at that place. Publishes snapshots four times a second and whenever a command
/// has changed something; carries out and answers commands at once. When a new version of the plan is offered, each
/// user takes it at its next iteration and the figures are reset; the report keeps the earlier figures.
///
/// # Errors
/// Returns the trouble that keeps the run from starting.
pub(crate) async fn run_at(
    mut place: Place,
    run: Run,
    mut calls: Calls,
    offers: Offers,
    snapshots: watch::Sender<Option<Arc<Snapshot>>>,
) -> Result<Outcome, Error> {
    let config = run.config.clone();
    let plan_version = run.plan_version.clone();
    let past = place.take_past();
    let started = past
        .as_ref()
        .map_or_else(SystemTime::now, |past| past.started);
    let mut store = store_of(&run, started);
    let name = run.name.clone();
    let mut context = Arc::new(run.into_context());
    let timetable = Timetable::of(&config, &plan_version.plan);
    let end = timetable.end();
    snapshots.send_replace(Some(Arc::new(Snapshot {
        progress: Progress {
            wanted: Aim {
                ends: end,
                lasts: end,
                ..timetable.aim(Duration::ZERO)
            },
            ..Progress::default()
        },
        ..Snapshot::default()
    })));
    let events = place.events();
    let mut memory = MemoryWatch::new(context.local.memory, context.halted.clone());
    let directing = Directing {
        store: &mut store,
        calls: &mut calls,
        memory: &mut memory,
        name: &name,
    };
    let (first, last) = (Event::TestStart, Event::TestStop);
    let begun = match &past {
        None => run_event(&events, &context, &plan_version, first, directing).await?,
        Some(_) => Happened::default(),
    };
    let stopped = begun.asked.is_some() || begun.stopped().is_some();
    if begun.raised.is_some() || stopped || begun.trouble.is_some() {
        let happened = if begun.raised.is_none() && !begun.cut_off {
            let directing = Directing {
                store: &mut store,
                calls: &mut calls,
                memory: &mut memory,
                name: &name,
            };
            run_event(&events, &context, &plan_version, last, directing).await?
        } else {
            Happened::default()
        };
        return Ok(not_started(
            begun,
            happened,
            end,
            &context,
            &plan_version,
            store,
        ));
    }
    if let Some(past) = &past {
        context = Arc::new(context.beginning(past.begin));
        store.begin_at(past.since_origin);
        if let Some(bytes) = &past.test_start {
            store.merge_event_portable(&PortableDelta::decode(bytes)?);
        }
    } else if place.lead().is_some() || plan_version.plan.events.contains(&Event::TestStart) {
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
    let milestones = Milestones::new(&config, &timetable);
    let (directives, _) = watch::channel(Directive {
        phase: Phase::Go,
        clock: Clock::default(),
        timetable: Arc::new(timetable),
        end,
        plan_version,
        version: 0,
        all_started: false,
        measurement: reset.measurement(),
    });
    let mut director = Director {
        context: context.clone(),
        name,
        store,
        directives,
        snapshots,
        live_report: LiveReport::default(),
        roster,
        lifecycle: Lifecycle::default(),
        milestones,
        users_due: 0,
        reset,
        emptied: Vec::new(),
        standstill: Standstill::default(),
        memory,
        workers: place.watch(),
        journal: place.journal(),
    };
    let begins_paused = context.local.paused && past.is_none();
    for why in begun.failed() {
        director.lifecycle.note_failed(why);
    }
    let played = match past {
        Some(past) => director.play(past, &mut calls).await,
        None => Played::Leads,
    };
    if begins_paused {
        director.begin_paused();
    }
    if played == Played::Leads {
        let (mut shards, signals) = place.start(&context, &director.directives)?;
        director
            .direct(&mut shards, signals, &mut calls, offers)
            .await;
        // After an abort, threads are not waited for: a caught one ends only with the process, and one that was cut
        // off is still freeing what its users held.
        shards.join(director.lifecycle.is_aborting());
    }
    if played == Played::Left {
        director.note(Cause::Left, None);
    }
    let elapsed = director.lasted();
    director
        .store
        .happened(elapsed, EventKind::End, "the run was over");
    let plan_version = director.directives.borrow().plan_version.clone();
    let mut ending = director.ending(elapsed);
    // After an abort nothing more is waited for.
    let cleans_up = played == Played::Leads && director.may_run_test_stop();
    if cleans_up && ending.cause != Cause::Aborted {
        let directing = Directing {
            store: &mut director.store,
            calls: &mut calls,
            memory: &mut director.memory,
            name: &director.name,
        };
        let happened = run_event(&events, &context, &plan_version, last, directing).await?;
        ending.failed.extend(happened.failed());
        if let Some(trouble) = happened.trouble {
            director.lifecycle.note_trouble(trouble);
            (ending.cause, ending.cut_short) = (Cause::Trouble, true);
        }
        if let Some(raised) = happened.raised {
            director.store.warn(raised.clone());
            ending.raised = Some(raised);
        }
        if happened.asked == Some(Command::Abort) && director.lifecycle.trouble().is_none() {
            (ending.cause, ending.cut_short) = (Cause::Aborted, true);
        }
    }
    Ok(Outcome {
        report: ended(director.report(elapsed), ending, &context, &plan_version),
        trouble: director.lifecycle.into_trouble(),
        program: plan_version.program.clone(),
        wants_report: plan_version.plan.hooks.contains(&Hook::Report),
    })
}

/// Makes the store of a run that began at `started`.
fn store_of(run: &Run, started: SystemTime) -> Store {
    let (config, plan_version) = (&run.config, &run.plan_version);
    let mut store = Store::new(RunIdentity {
        order: plan_version.order(),
        co_mitigation: cadence(config),
        co_wanted: config.co_wanted,
        no_intervals: config.no_intervals,
        ..RunIdentity::new(&run.name, &run.target, config.seed, started)
    });
    store.judge_by(plan_version.config.thresholds.clone());
    if config.warmup.is_some() || config.reset_stats {
        store.hold_judgement();
    }
    let PlanVersion { plan, lanes, .. } = &**plan_version;
    if let Some(warning) = plan.idle_scenarios(lanes, config) {
        store.warn(warning);
    }
    let part = run.local.part;
    if part != Part::WHOLE {
        store.record_part(part.number(), part.of());
    }
    store
}

/// Makes the outcome of a run in which no user was started: its `test_start` has raised, took too long, or was
/// stopped. `cleaned_up` comes from `test_stop`, which runs only after a `test_start` that came to its end.
fn not_started(
    begun: Happened,
    cleaned_up: Happened,
    end: Option<Duration>,
    context: &RunContext,
    plan_version: &PlanVersion,
    mut store: Store,
) -> Outcome {
    let reason = begun.stopped().map(str::to_owned);
    let failed = begun.failed().chain(cleaned_up.failed()).collect();
    let trouble = begun.trouble.or(cleaned_up.trouble);
    let cause = match (&trouble, begun.asked, cleaned_up.asked) {
        (Some(_), ..) => Cause::Trouble,
        (None, Some(Command::Abort), _) | (None, _, Some(Command::Abort)) => Cause::Aborted,
        (None, Some(Command::Interrupt(Interrupt::Signal)), _) => Cause::Signal,
        (None, Some(_), _) => Cause::StoppedByUser,
        (None, None, _) if begun.raised.is_none() && reason.is_some() => Cause::StoppedByPlan,
        (None, None, _) => Cause::NotStarted,
    };
    if let Some(raised) = &cleaned_up.raised {
        store.warn(raised.clone());
    }
    let mut ending = Ending::new(cause, Duration::ZERO, end);
    ending.in_test_start = cause != Cause::NotStarted;
    ending.cut_short = true;
    ending.reason = reason.filter(|_| cause == Cause::StoppedByPlan);
    ending.failed = failed;
    ending.raised = begun.raised.or(cleaned_up.raised);
    let raised = (ending.raised.clone()).filter(|_| cause == Cause::NotStarted);
    let report = store.report(context.begin.elapsed());
    Outcome {
        report: ended(report, ending, context, plan_version),
        trouble: trouble.or(raised.map(|raised| Diagnostic::new(raised).into())),
        program: plan_version.program.clone(),
        wants_report: plan_version.plan.hooks.contains(&Hook::Report),
    }
}

/// Completes the report with how its run ended and what decided its load.
fn ended(
    mut report: Report,
    ending: Ending,
    context: &RunContext,
    plan_version: &PlanVersion,
) -> Report {
    let mut settings = settings_of(&context.config, &context.local, plan_version);
    // A reloaded plan has brought its own.
    settings.thresholds = thresholds(&plan_version.config);
    if ending.in_test_start {
        // There was nothing to judge.
        report.thresholds.clear();
    }
    if ending.in_warmup {
        // The figures are those of the warm-up, which thresholds do not judge.
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
