//! The commands, as plain data.

use serde::{Deserialize, Serialize};

/// A command to a running test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Command {
    /// Start no new task, let running ones finish, run `on_stop`, then report. Sent by a person or a program.
    Stop,
    /// Do what Ctrl-C does: the first interrupt stops the run; each later one, or one after [`Command::Stop`], aborts
    /// it, wherever it comes from.
    Interrupt(Interrupt),
    /// Change to this many users, linearly at the hatch rate; the newest users stop first. In a run at a rate, this is
    /// the most users at a time. Remaining stages are dropped; the run still ends at its planned end. If some scenarios
    /// have their own load, this concerns the load that the other scenarios share.
    SetUsers(u64),
    /// [`Command::SetUsers`] for the named scenario, which has its own load.
    SetUsersOf(String, u64),
    /// [`Command::SetUsers`] relative to the current target: this many more, or fewer if negative.
    AddUsers(i64),
    /// Start this many iterations per second from now on. Refused in a run of users.
    SetRate(f64),
    /// [`Command::SetRate`] for the named scenario, which has its own load.
    SetRateOf(String, f64),
    /// [`Command::SetRate`] relative to the current target: this many more, or fewer if negative.
    AddRate(f64),
    /// Begin the next stage now, from the current load; the run ends that much earlier. Refused in a run without
    /// stages.
    NextStage,
    /// Start no new task and stop the clock of the schedule until [`Command::Resume`].
    Pause,
    /// Continue after [`Command::Pause`].
    Resume,
    /// Reset the figures.
    ResetStatistics,
    /// Reload the plan; each user switches to it at its next iteration.
    Reload,
    /// Cut off the requests in flight and report what is known.
    Abort,
    /// [`Command::AddUsers`] for the named scenario, which has its own load.
    AddUsersOf(String, i64),
    /// [`Command::AddRate`] for the named scenario, which has its own load.
    AddRateOf(String, f64),
}

/// Origin of an interrupt, as stated in the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Interrupt {
    /// Ctrl-C pressed in a view.
    Key,
    /// A signal to the process.
    Signal,
}
