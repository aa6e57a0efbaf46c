//! The commands, as plain data.

use serde::{Deserialize, Serialize};

/// A wish about a run that is under way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Command {
    /// Start no new task, let running ones finish, run `on_stop`, report: a person or a program wants it.
    Stop,
    /// What Ctrl-C asks for: the first stops, each that follows or comes after [`Command::Stop`] aborts, wherever they
    /// come from.
    Interrupt(Interrupt),
    /// Let so many users run: reached in a straight line at the hatch rate, the newest stopping first. In a
    /// run at a rate, the most users at a time. The stages still to come are dropped; the run ends when it
    /// would have ended. Of a run in which scenarios have loads of their own, about the load that the others share.
    SetUsers(u64),
    /// The same of the scenario of that name, which has a load of its own.
    SetUsersOf(String, u64),
    /// The same with so many more than are wanted now, or fewer if it is negative.
    AddUsers(i64),
    /// Start so many iterations per second from now on. Without meaning in a run of users.
    SetRate(f64),
    /// The same of the scenario of that name, which has a load of its own.
    SetRateOf(String, f64),
    /// The same with so many more than are wanted now, or fewer if it is negative.
    AddRate(f64),
    /// Begin the next stage now, from the load of now; the run ends as much earlier. Without meaning in a run without
    /// stages.
    NextStage,
    /// Start no new task and stop the clock of the timetable until [`Command::Resume`].
    Pause,
    /// Go on after [`Command::Pause`].
    Resume,
    /// Forget what was counted so far.
    ResetStatistics,
    /// Load the plan anew; users take it at their next iteration.
    Reload,
    /// Abort the requests under way and report what is known.
    Abort,
    /// [`Command::AddUsers`] of the scenario of that name, which has a load of its own.
    AddUsersOf(String, i64),
    /// [`Command::AddRate`] of the scenario of that name, which has a load of its own.
    AddRateOf(String, f64),
}

/// Origin of an interrupt, which the report tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Interrupt {
    /// Ctrl-C as a key of a view.
    Key,
    /// A signal to the process.
    Signal,
}
