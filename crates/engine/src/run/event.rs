//! Runs the plan's functions for the start and the end of a test, each on a thread of its own, so that the run handles
//! commands even while they compute. This is the director's side: it waits for their end within a time limit.

use crate::messages::context::RunContext;
use crate::messages::plan_requests::PlanCommand;
use crate::messages::plan_version::PlanVersion;
use crate::run::event_user::{EventEnd, EventOrder, EventTask};
use crate::run::memory::MemoryWatch;
use crate::run::settings::settings_of;
use crate::run::shards::EventPlace;
use crate::run::watchdog::{Watchdog, stuck_event_error};
use crate::timing::at;
use crate::timing::interval;
use lgoose_base::error::Error;
use lgoose_lua::{Heartbeat, RaisedError};
use lgoose_metrics::control::{Command, ControlCall, ControlCalls, Done, Refusal};
use lgoose_metrics::{Delivery, Report, Store};
use lgoose_plan::PlanEvent;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, sleep_until};

/// Time that an event's function has to hand over its figures once it was cut off. A function that computes and never
/// waits cannot be cut off: its thread is left behind and ends with the process.
const HAND_OVER: Duration = Duration::from_millis(250);

/// Time between two looks of the watchdog.
const LOOK: Duration = Duration::from_millis(250);

/// Result of an event's function.
#[derive(Debug, Default)]
pub(crate) struct EventResult {
    /// The error that it raised, or that it took too long.
    pub(crate) raised: Option<String>,
    /// The stop or the abort that was requested meanwhile.
    pub(crate) command: Option<Command>,
    /// Requests of the plan to the run.
    pub(crate) plan_requests: Vec<PlanCommand>,
    /// Whether it was cut off before its end.
    pub(crate) cut_off: bool,
    /// Trouble of lgoose's own that cut it off.
    pub(crate) trouble: Option<Error>,
}

impl EventResult {
    /// Returns whether the end of `test_start` is that of the run.
    pub(crate) fn prevents_users(&self) -> bool {
        let stops = self.command.is_some() || self.stopped().is_some();
        self.raised.is_some() || stops || self.trouble.is_some()
    }

    /// Returns why the plan has stopped the run, if it has.
    pub(crate) fn stopped(&self) -> Option<&str> {
        self.plan_requests.iter().find_map(|request| match request {
            PlanCommand::Stop(why) => Some(why.as_str()),
            PlanCommand::Fail(_) => None,
        })
    }

    /// Returns the reasons for which the plan fails the run.
    pub(crate) fn failed(&self) -> impl Iterator<Item = String> {
        self.plan_requests
            .iter()
            .filter_map(|request| match request {
                PlanCommand::Fail(why) => Some(why.clone()),
                PlanCommand::Stop(_) => None,
            })
    }
}

/// The parts of the director that are needed while an event's function runs.
pub(crate) struct EventDirector<'a> {
    pub(crate) store: &'a mut Store,
    pub(crate) calls: &'a mut ControlCalls,
    pub(crate) memory: &'a mut MemoryWatch,
    /// The plan's name.
    pub(crate) name: &'a str,
}

/// Reasons to cut an event's function off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EventCutoff {
    OverTime,
    AfterStop,
    Aborted,
    Trouble,
}

/// Runs the function for `event`, if the plan has one. Cuts it off when it takes too long, at an abort or too long
/// after a stop, when the process takes more memory than it may, and when the plan's code cannot be interrupted.
///
/// # Errors
/// Trouble that keeps its user from starting, or ended its thread.
pub(crate) async fn run_event(
    place: &EventPlace,
    context: &Arc<RunContext>,
    plan_version: &Arc<PlanVersion>,
    event: PlanEvent,
    mut director: EventDirector<'_>,
) -> Result<EventResult, Error> {
    if !plan_version.plan.events.contains(&event) {
        return Ok(EventResult::default());
    }
    let (orders, ordered) = watch::channel(EventOrder::GoOn);
    let (result, ended) = oneshot::channel();
    let heartbeat = Arc::<Heartbeat>::default();
    let watched = std::slice::from_ref(&heartbeat);
    let watchdog = Watchdog::new(watched, context.config.lua_time, Instant::now());
    place.start(EventTask {
        context: context.clone(),
        plan_version: plan_version.clone(),
        event,
        ordered,
        heartbeat,
        result,
    })?;
    let mut running = RunningEvent::new(event, context, plan_version, orders);
    let ended = running.wait(ended, watchdog, &mut director).await;
    running.conclude(ended, director.store)
}

/// The result of an event's user; an error if its thread ended without one.
type ThreadResult = Result<Result<EventEnd, Error>, oneshot::error::RecvError>;

/// An event whose function runs.
struct RunningEvent<'a> {
    event: PlanEvent,
    context: &'a RunContext,
    plan_version: &'a PlanVersion,
    orders: watch::Sender<EventOrder>,
    happened: EventResult,
    /// Reason for which it is cut off at `until`, or was cut off.
    why: EventCutoff,
    /// Time at which it is cut off or, once it was, given up; `None` for never.
    until: Option<Instant>,
}

impl<'a> RunningEvent<'a> {
    fn new(
        event: PlanEvent,
        context: &'a RunContext,
        plan_version: &'a PlanVersion,
        orders: watch::Sender<EventOrder>,
    ) -> RunningEvent<'a> {
        let mut running = RunningEvent {
            event,
            context,
            plan_version,
            orders,
            happened: EventResult::default(),
            why: EventCutoff::OverTime,
            until: None,
        };
        running.until = Instant::now().checked_add(running.limit().0);
        running
    }

    /// Returns how long the event may take, and the flag that says so.
    fn limit(&self) -> (Duration, &'static str) {
        let config = &self.context.config;
        match self.event {
            PlanEvent::TestStart => (config.setup_timeout, "--setup-timeout"),
            PlanEvent::TestStop => (config.teardown_timeout, "--teardown-timeout"),
        }
    }

    /// Waits for the result, and handles calls meanwhile. Returns `None` if its user never hands one over.
    async fn wait(
        &mut self,
        mut ended: oneshot::Receiver<Result<EventEnd, Error>>,
        mut watchdog: Watchdog,
        director: &mut EventDirector<'_>,
    ) -> Option<ThreadResult> {
        let mut look = interval(LOOK);
        loop {
            let is_well = self.happened.trouble.is_none();
            tokio::select! {
                ended = &mut ended => return Some(ended),
                () = at(self.until) => {
                    if self.happened.cut_off {
                        return None;
                    }
                    self.cut_off(self.why);
                }
                _ = look.tick(), if is_well => if let Some(caught) = watchdog.look(Instant::now()) {
                    let error = stuck_event_error(self.event, director.name, caught);
                    self.happened.trouble = Some(error);
                    self.cut_off(EventCutoff::Trouble);
                    // Its thread never hands anything over.
                    return None;
                },
                () = sleep_until(director.memory.due()), if is_well => {
                    if let Some(trouble) = director.memory.look() {
                        self.happened.trouble = Some(trouble);
                        self.cut_off(EventCutoff::Trouble);
                    }
                }
                Some(call) = director.calls.next() => self.take(call, director.store),
            }
        }
    }

    /// Handles a call of a view.
    fn take(&mut self, call: ControlCall, store: &mut Store) {
        match call {
            ControlCall::Command(Command::Abort, reply) => {
                self.happened.command = Some(Command::Abort);
                self.cut_off(EventCutoff::Aborted);
                reply.send(Ok(Done::Aborting));
            }
            ControlCall::Command(command @ (Command::Stop | Command::Interrupt(_)), reply) => {
                self.happened.command.get_or_insert(command);
                self.stop();
                reply.send(Ok(Done::Stopping));
            }
            // Commands about users come too early or too late here.
            ControlCall::Command(_, reply) => reply.send(Err(match self.event {
                PlanEvent::TestStart => Refusal::NotStarted,
                PlanEvent::TestStop => Refusal::Stopping,
            })),
            ControlCall::Tag(query, reply) => {
                let _ignored = reply.send(query.look_up(store));
            }
            ControlCall::Report(detail, reply) => {
                let (config, local) = (&self.context.config, &self.context.local);
                // Fails if nobody waits for the reply any more.
                let _ignored = reply.send(Arc::new(Report {
                    settings: Some(settings_of(config, local, self.plan_version)),
                    ..store.report_so_far(detail)
                }));
            }
        }
    }

    /// Lets the function end as a task does after a stop, within `--stop-timeout`.
    fn stop(&mut self) {
        self.orders.send_replace(EventOrder::Stop);
        let latest = Instant::now().checked_add(self.context.config.stop_timeout);
        if let Some(latest) = latest.filter(|at| self.until.is_none_or(|until| *at < until)) {
            (self.why, self.until) = (EventCutoff::AfterStop, Some(latest));
        }
    }

    /// Cuts the function off; its user still has a moment to hand over its figures.
    fn cut_off(&mut self, why: EventCutoff) {
        self.happened.cut_off = true;
        self.why = why;
        self.orders.send_replace(EventOrder::CutOff);
        self.until = Instant::now().checked_add(HAND_OVER);
    }

    /// Adds the figures of the event to the store, and returns its result.
    fn conclude(
        mut self,
        ended: Option<ThreadResult>,
        store: &mut Store,
    ) -> Result<EventResult, Error> {
        let name = self.event.name();
        match ended {
            Some(Ok(ended)) => self.take_over(ended?, store),
            Some(Err(_)) => {
                let fault = format!("{name} ended because of a bug in lgoose; please report it");
                return Err(Error::trouble(fault));
            }
            None => store.warn(format!(
                "{name} was computing when it was cut off: the figures of its requests are not complete"
            )),
        }
        if !self.happened.cut_off {
            return Ok(self.happened);
        }
        match self.why {
            EventCutoff::Aborted | EventCutoff::Trouble => {}
            EventCutoff::OverTime => {
                let (limit, flag) = self.limit();
                let seconds = limit.as_secs_f64();
                let late = format!("{name} did not end within {seconds} s ('{flag}')");
                self.happened.raised = Some(late);
            }
            EventCutoff::AfterStop => store.warn(format!(
                "{name} still ran {} s after the stop and was cut off ('--stop-timeout')",
                self.context.config.stop_timeout.as_secs_f64()
            )),
        }
        Ok(self.happened)
    }

    fn take_over(&mut self, ended: EventEnd, store: &mut Store) {
        let delta = match ended.delivery {
            Delivery::Shard(delta) => *delta,
            Delivery::Worker { delta, .. } => (&*delta).into(),
            Delivery::Gathered { delta, .. } => delta.whole().into(),
        };
        store.merge_event(delta);
        self.happened.cut_off &= ended.cut_off;
        self.happened.plan_requests = ended.plan_requests;
        let raised = ended.raised;
        self.happened.raised = raised.map(|raised| raised_in(self.event, &raised));
    }
}

/// Returns the text of an error in an event's function: the event, the message and, if known, the line.
fn raised_in(event: PlanEvent, raised: &RaisedError) -> String {
    let place = raised
        .line
        .as_deref()
        .map_or_else(String::new, |line| format!(" ({line})"));
    format!("{} raised: {}{place}", event.name(), raised.message)
}
