//! A run from its first user to its report: the plan's events, the shards that run between them, and the final figures.

mod director;
mod ending;
mod event;
pub(super) mod event_user;
mod journal;
mod lead;
mod life;
pub(super) mod local_shards;
mod machine_watch;
mod measurements;
mod membership;
pub(super) mod memory;
mod milestones;
mod outcome;
mod pending;
mod ports;
mod replay;
mod roster;
mod settings;
pub(super) mod shards;
mod steering;
mod views;
pub(super) mod watchdog;
pub(super) mod worker;
pub(super) mod worker_event;
pub(super) mod worker_watch;

pub use outcome::Outcome;

use crate::load_model::tickets::Tickets;
use crate::load_model::timetable::Timetable;
use crate::messages::context::{OwnLimits, RunContext, context, own_limits};
use crate::messages::offer::VersionOffers;
use crate::messages::plan_version::PlanVersion;
use crate::run::director::Director;
use crate::run::event::{EventDirector, EventResult, run_event};
use crate::run::lead::Lead;
use crate::run::pending::PendingRun;
use crate::run::replay::{Replay, ReplayEnd};
use crate::run::shards::{EventPlace, ShardPlacement};
use lgoose_base::allotment::Reservations;
use lgoose_base::error::Error;
use lgoose_http::{ClientConfig, Resolver};
use lgoose_metrics::control::{Command, ControlCalls};
use lgoose_metrics::{Cause, Ending, EventKind, RunLogs, Snapshot};
use lgoose_plan::PlanEvent;
use lgoose_plan::config::{Load, LocalConfig, RunConfig};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// A plan, its configuration and its surroundings, ready to run.
#[derive(Debug, Clone)]
pub struct Run {
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
    /// Numbers that this process reserves before its users take them, if another may have to go on in its place.
    pub reservations: Option<Arc<Reservations>>,
}

impl Run {
    /// Makes the limits that each scenario has for itself.
    pub fn own_limits(&self) -> BTreeMap<String, OwnLimits> {
        let (plan, part) = (&self.plan_version.plan, self.local.part);
        own_limits(plan, part, self.reservations.as_ref())
    }

    /// Makes the iterations that all users of this process share, if the run has shared iterations. At a rate, the
    /// timetable limits them.
    pub fn tickets(&self) -> Option<Tickets> {
        if matches!(self.config.load, Load::Rate(..)) {
            return None;
        }
        let all = self.local.part.rows(self.config.shared_iterations?);
        Some(Tickets::new(all, self.reservations.as_ref(), "iterations"))
    }

    /// Makes the context of the run, which begins now.
    pub(crate) fn into_context(self) -> RunContext {
        let lanes = self.plan_version.lanes.count();
        let (own_limits, tickets) = (self.own_limits(), self.tickets());
        let timetable = Timetable::of(&self.config, &self.plan_version.plan);
        let mut context = context(
            self.config,
            self.local,
            lanes,
            self.client,
            self.resolver,
            self.run_logs,
        );
        (context.own_limits, context.tickets) = (own_limits, tickets.map(Arc::new));
        context.limit_arrivals(&timetable);
        context
    }
}

/// Runs a plan to its end, with users at that place. Publishes snapshots four times a second and whenever a command
/// has changed something; carries out commands and replies to them at once. When a new version of the plan is offered, each
/// user takes it at its next iteration and the figures are reset; the report keeps the earlier figures.
///
/// # Errors
/// Returns the trouble that keeps the run from starting.
pub async fn run_at(
    mut place: ShardPlacement,
    run: Run,
    mut calls: ControlCalls,
    offers: VersionOffers,
    snapshots: watch::Sender<Option<Arc<Snapshot>>>,
) -> Result<Outcome, Error> {
    let (past, events) = (place.take_past(), place.events());
    let starts_paused = run.local.paused && past.is_none();
    let mut pending = PendingRun::new(run, past.as_ref(), events.clone());
    snapshots.send_replace(Some(Arc::new(pending.snapshot())));
    let test_start = match &past {
        None => pending.run_event(PlanEvent::TestStart, &mut calls).await?,
        Some(_) => EventResult::default(),
    };
    if test_start.prevents_users() {
        return pending.end_without_users(test_start, &mut calls).await;
    }
    pending.set_start(&place, past.as_ref())?;
    let mut director = pending.into_director(&place, snapshots);
    for why in test_start.failed() {
        director.lifecycle.note_failed(why);
    }
    let played = match past {
        Some(past) => Replay::new(&mut director).play(past, &mut calls).await,
        None => ReplayEnd::Leads,
    };
    if starts_paused {
        director.steering.pause(Duration::ZERO, &mut director.store);
    }
    if played == ReplayEnd::Leads {
        lead(place, &mut director, &mut calls, offers).await?;
    }
    finish(director, played, &events, &mut calls).await
}

/// Starts the shards, leads the run until nobody takes part any more, and waits for the threads of this process.
async fn lead(
    place: ShardPlacement,
    director: &mut Director,
    calls: &mut ControlCalls,
    offers: VersionOffers,
) -> Result<(), Error> {
    let (mut shards, signals) = place.start(&director.context, &director.directives)?;
    let lead = Lead {
        director,
        shards: shards.as_mut(),
        signals,
        calls,
        offers,
    };
    lead.lead().await;
    // After an abort, threads are not waited for: a caught one ends only with the process, and one that was cut off is
    // still freeing the memory of its users.
    if let Some(shards) = shards {
        shards.join(director.lifecycle.is_aborting());
    }
    Ok(())
}

/// Finds out how the run has ended, runs the plan's `test_stop`, and makes the report.
async fn finish(
    mut director: Director,
    played: ReplayEnd,
    events: &EventPlace,
    calls: &mut ControlCalls,
) -> Result<Outcome, Error> {
    if played == ReplayEnd::Detached {
        director.note(Cause::Left, None);
    }
    let elapsed = director.lasted();
    let over = "the run was over";
    director.store.happened(elapsed, EventKind::End, over);
    let plan_version = director.directives.borrow().plan_version.clone();
    let mut ending = director.ending(elapsed);
    director.report_cut_off();
    director.count_missing(&mut ending);
    if played == ReplayEnd::Leads {
        director.report_unstopped(&ending);
    }
    director.conclude(elapsed);
    // After an abort nothing more is waited for.
    let cleans_up = played == ReplayEnd::Leads && director.may_run_test_stop();
    if cleans_up && ending.cause != Cause::Aborted {
        clean_up(&mut director, &plan_version, &mut ending, events, calls).await?;
    }
    let report = director.measurements.report(elapsed, &mut director.store);
    let trouble = director.lifecycle.into_trouble();
    Ok(Outcome::new(
        report,
        ending,
        trouble,
        &director.context,
        &plan_version,
    ))
}

/// Runs the plan's `test_stop`, which may change how the run has ended.
async fn clean_up(
    director: &mut Director,
    plan_version: &Arc<PlanVersion>,
    ending: &mut Ending,
    events: &EventPlace,
    calls: &mut ControlCalls,
) -> Result<(), Error> {
    let directing = EventDirector {
        store: &mut director.store,
        calls,
        memory: &mut director.memory,
        name: &director.name,
    };
    let (context, event) = (&director.context, PlanEvent::TestStop);
    let happened = run_event(events, context, plan_version, event, directing).await?;
    ending.failed.extend(happened.failed());
    if let Some(trouble) = happened.trouble {
        director.lifecycle.note_trouble(trouble);
        (ending.cause, ending.cut_short) = (Cause::Trouble, true);
    }
    if let Some(raised) = happened.raised {
        director.store.warn(raised.clone());
        ending.raised = Some(raised);
    }
    if happened.command == Some(Command::Abort) && director.lifecycle.trouble().is_none() {
        (ending.cause, ending.cut_short) = (Cause::Aborted, true);
    }
    Ok(())
}
