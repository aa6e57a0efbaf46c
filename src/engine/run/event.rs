//! The plan's functions for the start and the end of a test: each is run once, by a user of its own, while
//! no other user is at work. Their requests count apart from those of users, under the event's name.

use super::context::RunContext;
use super::plan_version::PlanVersion;
use crate::control::Command;
use crate::engine::user::stop::Stop;
use crate::engine::user::{Role, Shared, User};
use crate::error::Error;
use crate::lua::Raised;
use crate::metrics::Store;
use crate::plan::{Event, Order, Scenario, Schedule, Wait};
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::mpsc;

/// What came of an event's function.
#[derive(Debug, Default)]
pub(crate) struct Happened {
    /// What it raised, if it did.
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
    commands: &mut mpsc::UnboundedReceiver<Command>,
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
                Some(command) = commands.recv() => match command {
                    Command::Stop | Command::Interrupt => {
                        asked = Some(command);
                        stop.tell();
                    }
                    Command::Abort => {
                        asked = Some(command);
                        break None;
                    }
                    // What is about users comes too early or too late.
                    _ => {}
                }
            }
        }
    };
    store.merge_event(shared.recorder.borrow_mut().take());
    Ok(Happened { raised, asked })
}

/// The event's user has no tasks of its own.
fn role(event: Event, plan_version: &PlanVersion) -> Rc<Role> {
    let scenario = Scenario {
        name: event.name().to_owned(),
        weight: 1,
        users: None,
        host: None,
        order: Order::default(),
        tags: Vec::new(),
        wait: Wait::None,
        tasks: Vec::new(),
    };
    Rc::new(Role {
        schedule: Schedule::new(&scenario),
        scenario,
        tasks: Vec::new(),
        host: plan_version.hosts[0].clone(),
        program: plan_version.program.clone(),
    })
}

/// The text of an error in an event's function; it has its place in front.
pub(crate) fn raised_in(event: Event, raised: &Raised) -> String {
    let place = raised
        .line
        .as_deref()
        .map_or_else(String::new, |line| format!(" ({line})"));
    format!("{} raised: {}{place}", event.name(), raised.message)
}
