//! Runs the plan's functions for the start and the end of a test: each once, by a user of its own, while no other
//! user is at work. Their requests count apart from those of users, under the event's name.

use crate::control::{Call, Calls, Command, Done, Refusal};
use crate::engine::protocol::context::RunContext;
use crate::engine::protocol::plan_version::PlanVersion;
use crate::engine::run::settings::settings_of;
use crate::engine::user::stop::Stop;
use crate::engine::user::{Role, Shared, User};
use crate::error::Error;
use crate::lua::Raised;
use crate::metrics::{Report, Store};
use crate::plan::{Event, Scenario, Schedule};
use std::rc::Rc;
use std::sync::Arc;

/// Result of an event's function.
#[derive(Debug, Default)]
pub(crate) struct Happened {
    /// The error that it raised, if any.
    pub(crate) raised: Option<Raised>,
    /// The last stop or abort that was asked for meanwhile.
    pub(crate) asked: Option<Command>,
}

/// Runs the function for `event`, if the plan has one.
///
/// # Errors
/// Trouble that keeps its user from starting.
pub(crate) async fn run_event(
    context: &RunContext,
    plan_version: &PlanVersion,
    event: Event,
    store: &mut Store,
    calls: &mut Calls,
) -> Result<Happened, Error> {
    if !plan_version.plan.events.contains(&event) {
        return Ok(Happened::default());
    }
    let index = context.shards + event as usize;
    let shared = Shared::new(context, index, context.recorder(index), Arc::default());
    let stop = Rc::<Stop>::default();
    let user = User::for_event(role(event, plan_version), shared.clone(), stop.clone())?;
    let mut asked = None;
    let raised = {
        let mut run = std::pin::pin!(user.run_event(event));
        loop {
            tokio::select! {
                raised = &mut run => break raised,
                Some(call) = calls.next() => match call {
                    Call::Command(Command::Abort, reply) => {
                        asked = Some(Command::Abort);
                        reply.answer(Ok(Done::Aborting));
                        break None;
                    }
                    Call::Command(command @ (Command::Stop | Command::Interrupt(_)), reply) => {
                        asked = Some(command);
                        stop.tell();
                        reply.answer(Ok(Done::Stopping));
                    }
                    // What is about users comes too early or too late.
                    Call::Command(_, reply) => reply.answer(Err(match event {
                        Event::TestStart => Refusal::NotBegun,
                        Event::TestStop => Refusal::Stopping,
                    })),
                    Call::Report(reply) => {
                        let report = Report {
                            settings: Some(settings_of(
                        &context.config,
                        &context.local,
                        &plan_version.program,
                    )),
                            ..store.report_so_far()
                        };
                        // Whoever asked may not care any more.
                        let _ignored = reply.send(Arc::new(report));
                    }
                }
            }
        }
    };
    store.merge_event(shared.recorder.borrow_mut().take());
    Ok(Happened { raised, asked })
}

/// Makes the role of the event's user, which has no tasks of its own.
fn role(event: Event, plan_version: &PlanVersion) -> Rc<Role> {
    let scenario = Scenario::new(event.name());
    Rc::new(Role {
        schedule: Schedule::new(&scenario),
        scenario,
        tasks: Vec::new(),
        host: plan_version.hosts[0].clone(),
        program: plan_version.program.clone(),
    })
}

/// Returns the text of an error in an event's function; it begins with the place of the error.
pub(crate) fn raised_in(event: Event, raised: &Raised) -> String {
    let place = raised
        .line
        .as_deref()
        .map_or_else(String::new, |line| format!(" ({line})"));
    format!("{} raised: {}{place}", event.name(), raised.message)
}
