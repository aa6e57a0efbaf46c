//! A run before its first user: runs the plan's `test_start`, decides when the load begins, and makes the director. A run
//! that this event ends has no director.

use crate::load_model::clock::RunClock;
use crate::load_model::timetable::Timetable;
use crate::messages::context::{RunContext, cadence};
use crate::messages::directive::{Directive, DirectivePhase, Measurement, MeasurementStart};
use crate::messages::journal::PastRun;
use crate::messages::plan_version::PlanVersion;
use crate::run::Run;
use crate::run::director::Director;
use crate::run::event::{EventDirector, EventResult, run_event};
use crate::run::life::Lifecycle;
use crate::run::machine_watch::MachineWatch;
use crate::run::measurements::Measurements;
use crate::run::memory::MemoryWatch;
use crate::run::milestones::Milestones;
use crate::run::outcome::Outcome;
use crate::run::shards::{EventPlace, ShardPlacement};
use crate::run::steering::Steering;
use crate::run::views::Views;
use crate::timing::standstill::Standstill;
use lgoose_base::error::{Diagnostic, Error};
use lgoose_metrics::control::{Command, ControlCalls, Interrupt};
use lgoose_metrics::{Aim, Cause, Ending, PortableDelta, Progress, RunIdentity, Snapshot, Store};
use lgoose_plan::PlanEvent;
use lgoose_plan::config::{LoadPart, RunConfig};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::sync::watch;
use tokio::time::Instant;

/// A run whose users have not begun.
pub(super) struct PendingRun {
    context: Arc<RunContext>,
    plan_version: Arc<PlanVersion>,
    timetable: Timetable,
    /// The plan's name.
    name: String,
    store: Store,
    memory: MemoryWatch,
    events: EventPlace,
}

impl PendingRun {
    /// Makes a run that begins now, or that began when `past` says.
    pub(super) fn new(run: Run, past: Option<&PastRun>, events: EventPlace) -> PendingRun {
        let started = past.map_or_else(SystemTime::now, |past| past.started);
        let store = store_of(&run, started);
        let (name, plan_version) = (run.name.clone(), run.plan_version.clone());
        let timetable = Timetable::of(&run.config, &plan_version.plan);
        let context = run.into_context();
        PendingRun {
            memory: MemoryWatch::new(context.local.memory, context.halted.clone()),
            context: Arc::new(context),
            plan_version,
            timetable,
            name,
            store,
            events,
        }
    }

    /// Returns a snapshot for views that wait for the load to begin.
    pub(super) fn snapshot(&self) -> Snapshot {
        let end = self.timetable.end();
        Snapshot {
            progress: Progress {
                wanted: Aim {
                    ends: end,
                    lasts: end,
                    ..self.timetable.aim(Duration::ZERO)
                },
                ..Progress::default()
            },
            ..Snapshot::default()
        }
    }

    /// Runs the plan's function for an event.
    ///
    /// # Errors
    /// Trouble that keeps its user from starting, or ended its thread.
    pub(super) async fn run_event(
        &mut self,
        event: PlanEvent,
        calls: &mut ControlCalls,
    ) -> Result<EventResult, Error> {
        let directing = EventDirector {
            store: &mut self.store,
            calls,
            memory: &mut self.memory,
            name: &self.name,
        };
        run_event(
            &self.events,
            &self.context,
            &self.plan_version,
            event,
            directing,
        )
        .await
    }

    /// Ends the run without any user, since its `test_start` has raised, took too long, or was stopped. `test_stop` runs
    /// only after a `test_start` that came to its end.
    ///
    /// # Errors
    /// Trouble with the user of `test_stop`.
    pub(super) async fn end_without_users(
        mut self,
        test_start: EventResult,
        calls: &mut ControlCalls,
    ) -> Result<Outcome, Error> {
        let cleaned_up = if test_start.raised.is_none() && !test_start.cut_off {
            self.run_event(PlanEvent::TestStop, calls).await?
        } else {
            EventResult::default()
        };
        if let Some(raised) = &cleaned_up.raised {
            self.store.warn(raised.clone());
        }
        let ending = ending(&test_start, &cleaned_up, self.timetable.end());
        let raised = ending.raised.clone();
        let raised = raised.filter(|_| ending.cause == Cause::NotStarted);
        let trouble = test_start.trouble.or(cleaned_up.trouble);
        let trouble = trouble.or(raised.map(|raised| Diagnostic::new(raised).into()));
        let report = self.store.report(self.context.start.elapsed());
        let (context, plan_version) = (&self.context, &self.plan_version);
        Ok(Outcome::new(report, ending, trouble, context, plan_version))
    }

    /// Sets when users begin: when they did under another director, else as soon as all who take part know of it.
    ///
    /// # Errors
    /// Trouble with the figures of an earlier `test_start` that cannot be read.
    pub(super) fn set_start(
        &mut self,
        place: &ShardPlacement,
        past: Option<&PastRun>,
    ) -> Result<(), Error> {
        if let Some(past) = past {
            self.context = Arc::new(self.context.beginning(past.start));
            self.store.start_at(past.since_origin);
            if let Some(bytes) = &past.test_start {
                let test_start = PortableDelta::decode(bytes)?;
                self.store.merge_event((&test_start).into());
            }
            return Ok(());
        }
        let has_test_start = self
            .plan_version
            .plan
            .events
            .contains(&PlanEvent::TestStart);
        if place.lead().is_some() || has_test_start {
            let start = Instant::now() + place.lead().unwrap_or_default();
            self.context = Arc::new(self.context.beginning(start));
            let since_origin = start.duration_since(self.context.origin);
            self.store.start_at(since_origin);
        }
        Ok(())
    }

    /// Makes the director of the run.
    pub(super) fn into_director(
        self,
        place: &ShardPlacement,
        snapshots: watch::Sender<Option<Arc<Snapshot>>>,
    ) -> Director {
        let (context, mut store) = (self.context, self.store);
        let membership = place.membership(context.shards);
        store.expect(membership.roster.shards());
        for worker in place.workers() {
            store.add_worker(worker.clone());
        }
        let timetable = Arc::new(self.timetable);
        let (directives, _) = watch::channel(Directive {
            phase: DirectivePhase::Go,
            clock: RunClock::default(),
            timetable: timetable.clone(),
            end: timetable.end(),
            plan_version: self.plan_version,
            version: 0,
            all_started: false,
            measurement: Measurement {
                epoch: 0,
                start: MeasurementStart::WithTheRun,
            },
        });
        let config: &RunConfig = &context.config;
        let milestones = Milestones::new(config, &timetable);
        Director {
            steering: Steering::new(context.clone(), milestones, directives.clone()),
            measurements: Measurements::new(config, &timetable, directives.clone()),
            context: context.clone(),
            name: self.name,
            store,
            directives,
            views: Views::new(snapshots),
            membership,
            lifecycle: Lifecycle::default(),
            standstill: Standstill::default(),
            memory: self.memory,
            machine: MachineWatch::new(),
            journal: place.journal(),
        }
    }
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
    store.declare_counters(&plan_version.plan.counters);
    store.judge_by(plan_version.config.thresholds.clone());
    if config.warmup.is_some() || config.reset_stats {
        store.hold_judgement();
    }
    let PlanVersion { plan, lanes, .. } = &**plan_version;
    if let Some(warning) = plan.idle_scenarios(lanes, config) {
        store.warn(warning);
    }
    let part = run.local.part;
    if part != LoadPart::WHOLE {
        store.record_part(part.number(), part.of());
    }
    store
}

/// Returns how a run has ended whose events were these, without a user in between; its timetable ends at `end`.
fn ending(test_start: &EventResult, cleaned_up: &EventResult, end: Option<Duration>) -> Ending {
    let reason = test_start.stopped();
    let has_trouble = test_start.trouble.is_some() || cleaned_up.trouble.is_some();
    let cause = match (&test_start.command, &cleaned_up.command) {
        _ if has_trouble => Cause::Trouble,
        (Some(Command::Abort), _) | (_, Some(Command::Abort)) => Cause::Aborted,
        (Some(Command::Interrupt(Interrupt::Signal)), _) => Cause::Signal,
        (Some(_), _) => Cause::StoppedByUser,
        (None, _) if test_start.raised.is_none() && reason.is_some() => Cause::StoppedByPlan,
        (None, _) => Cause::NotStarted,
    };
    let mut ending = Ending::new(cause, Duration::ZERO, end);
    ending.in_test_start = cause != Cause::NotStarted;
    ending.cut_short = true;
    ending.reason = reason
        .filter(|_| cause == Cause::StoppedByPlan)
        .map(str::to_owned);
    ending.failed = test_start.failed().chain(cleaned_up.failed()).collect();
    let raised = test_start.raised.as_ref().or(cleaned_up.raised.as_ref());
    ending.raised = raised.cloned();
    ending
}
