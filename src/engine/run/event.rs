//! Runs the plan's functions for the start and the end of a test, each on a thread of its own, so that the run obeys
//! commands whatever they do. This is the director's side: it waits for their end, but no longer than it may.

use crate::control::{Call, Calls, Command, Done, Refusal};
use crate::engine::protocol::asked::Asked;
use crate::engine::protocol::context::RunContext;
use crate::engine::protocol::plan_version::PlanVersion;
use crate::engine::run::event_user::{EventOrder, EventTask};
use crate::engine::run::memory::MemoryWatch;
use crate::engine::run::settings::settings_of;
use crate::engine::run::shards::EventPlace;
use crate::engine::run::watchdog::{Watchdog, complaint_of_event};
use crate::engine::timing::at;
use crate::engine::timing::interval;
use crate::error::Error;
use crate::lua::{Heartbeat, Raised};
use crate::metrics::{Delivery, Report, Store};
use crate::plan::Event;
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
pub(crate) struct Happened {
    /// The error that it raised, or that it took too long.
    pub(crate) raised: Option<String>,
    /// The stop or the abort that was asked for meanwhile.
    pub(crate) asked: Option<Command>,
    /// What the plan has asked of the run.
    pub(crate) wishes: Vec<Asked>,
    /// Whether it was cut off before its end.
    pub(crate) cut_off: bool,
    /// Trouble of lgoose's own that cut it off.
    pub(crate) trouble: Option<Error>,
}

impl Happened {
    /// Returns whether the end of `test_start` is that of the run.
    pub(crate) fn keeps_users_from_starting(&self) -> bool {
        let stops = self.asked.is_some() || self.stopped().is_some();
        self.raised.is_some() || stops || self.trouble.is_some()
    }

    /// Returns why the plan has stopped the run, if it has.
    pub(crate) fn stopped(&self) -> Option<&str> {
        self.wishes.iter().find_map(|asked| match asked {
            Asked::Stop(why) => Some(why.as_str()),
            Asked::Fail(_) => None,
        })
    }

    /// Returns the reasons for which the plan fails the run.
    pub(crate) fn failed(&self) -> impl Iterator<Item = String> {
        self.wishes.iter().filter_map(|asked| match asked {
            Asked::Fail(why) => Some(why.clone()),
            Asked::Stop(_) => None,
        })
    }
}

/// The parts of the director that are needed while an event's function runs.
pub(crate) struct Directing<'a> {
    pub(crate) store: &'a mut Store,
    pub(crate) calls: &'a mut Calls,
    pub(crate) memory: &'a mut MemoryWatch,
    /// The plan's name.
    pub(crate) name: &'a str,
}

/// Reasons to cut an event's function off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
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
    event: Event,
    director: Directing<'_>,
) -> Result<Happened, Error> {
    let Directing {
        store,
        calls,
        memory,
        name,
    } = director;
    if !plan_version.plan.events.contains(&event) {
        return Ok(Happened::default());
    }
    let config = &context.config;
    let limit = match event {
        Event::TestStart => config.setup_timeout,
        Event::TestStop => config.teardown_timeout,
    };
    let (orders, ordered) = watch::channel(EventOrder::GoOn);
    let (result, mut ended) = oneshot::channel();
    let heartbeat = Arc::<Heartbeat>::default();
    let mut watchdog = Watchdog::new(
        std::slice::from_ref(&heartbeat),
        config.lua_time,
        Instant::now(),
    );
    let mut look = interval(LOOK);
    place.start(EventTask {
        context: context.clone(),
        plan_version: plan_version.clone(),
        event,
        ordered,
        heartbeat,
        result,
    })?;
    let mut happened = Happened::default();
    let mut why = Cut::OverTime;
    let mut until = Instant::now().checked_add(limit);
    let ended = loop {
        tokio::select! {
            ended = &mut ended => break Some(ended),
            () = at(until) => {
                if happened.cut_off {
                    break None;
                }
                happened.cut_off = true;
            }
            _ = look.tick(), if happened.trouble.is_none() => {
                let Some(caught) = watchdog.look(Instant::now()) else {
                    continue;
                };
                happened.trouble = Some(complaint_of_event(event, name, caught));
                happened.cut_off = true;
                why = Cut::Trouble;
                // Its thread never answers.
                break None;
            }
            () = sleep_until(memory.due()), if happened.trouble.is_none() => {
                let Some(trouble) = memory.look() else {
                    continue;
                };
                happened.trouble = Some(trouble);
                happened.cut_off = true;
                why = Cut::Trouble;
            }
            Some(call) = calls.next() => match call {
                Call::Command(Command::Abort, reply) => {
                    happened.asked = Some(Command::Abort);
                    happened.cut_off = true;
                    why = Cut::Aborted;
                    reply.answer(Ok(Done::Aborting));
                }
                Call::Command(command @ (Command::Stop | Command::Interrupt(_)), reply) => {
                    happened.asked.get_or_insert(command);
                    orders.send_replace(EventOrder::Stop);
                    let latest = Instant::now().checked_add(config.stop_timeout);
                    if let Some(latest) = latest.filter(|at| until.is_none_or(|until| *at < until)) {
                        (why, until) = (Cut::AfterStop, Some(latest));
                    }
                    reply.answer(Ok(Done::Stopping));
                    continue;
                }
                // Commands about users come too early or too late here.
                Call::Command(_, reply) => {
                    reply.answer(Err(match event {
                        Event::TestStart => Refusal::NotBegun,
                        Event::TestStop => Refusal::Stopping,
                    }));
                    continue;
                }
                Call::Tag(asked, reply) => {
                    let _ignored = reply.send(asked.answer(store));
                    continue;
                }
                Call::Report(detail, reply) => {
                    let settings = settings_of(config, &context.local, plan_version);
                    // Fails if nobody waits for the answer any more.
                    let _ignored = reply.send(Arc::new(Report {
                        settings: Some(settings),
                        ..store.report_so_far(detail)
                    }));
                    continue;
                }
            },
        }
        // It was cut off.
        orders.send_replace(EventOrder::CutOff);
        until = Instant::now().checked_add(HAND_OVER);
    };
    let name = event.name();
    match ended {
        Some(Ok(ended)) => {
            let ended = ended?;
            match ended.delivery {
                Delivery::Shard(delta) => store.merge_event(*delta),
                Delivery::Worker { delta, .. } => store.merge_event_portable(&delta),
                Delivery::Gathered { delta, .. } => store.merge_event_portable(delta.whole()),
            }
            happened.cut_off &= ended.cut_off;
            happened.wishes = ended.asked;
            happened.raised = ended.raised.map(|raised| raised_in(event, &raised));
        }
        Some(Err(_)) => {
            let fault = format!("{name} ended because of a bug in lgoose; please report it");
            return Err(Error::trouble(fault));
        }
        None => store.warn(format!(
            "{name} was computing when it was cut off: the figures of its requests are not complete"
        )),
    }
    match why {
        _ if !happened.cut_off => {}
        Cut::Aborted | Cut::Trouble => {}
        Cut::OverTime => {
            let (limit, flag) = match event {
                Event::TestStart => (config.setup_timeout, "--setup-timeout"),
                Event::TestStop => (config.teardown_timeout, "--teardown-timeout"),
            };
            let seconds = limit.as_secs_f64();
            happened.raised = Some(format!("{name} did not end within {seconds} s ('{flag}')"));
        }
        Cut::AfterStop => store.warn(format!(
            "{name} still ran {} s after the stop and was cut off ('--stop-timeout')",
            config.stop_timeout.as_secs_f64()
        )),
    }
    Ok(happened)
}

/// Returns the text of an error in an event's function: the event, the message and, if known, the line.
fn raised_in(event: Event, raised: &Raised) -> String {
    let place = raised
        .line
        .as_deref()
        .map_or_else(String::new, |line| format!(" ({line})"));
    format!("{} raised: {}{place}", event.name(), raised.message)
}
