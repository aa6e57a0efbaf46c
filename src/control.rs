//! What a view, a signal or a key may ask of a run. The only thing that flows back to the engine.

/// A wish about a run that is under way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Command {
    /// Start no new task, let running ones finish, run `on_stop`, report: a person or a program wants it.
    Stop,
    /// The same because of a signal.
    Interrupt,
    /// Let so many users run: reached in a straight line at the hatch rate, the newest stopping first. In a
    /// run at a rate, the most users at a time. The stages still to come are dropped; the run ends when it
    /// would have ended.
    SetUsers(u64),
    /// Start so many iterations per second from now on. Without meaning in a run of users.
    SetRate(f64),
    /// Start no new task and stop the clock of the timetable until [`Command::Resume`].
    Pause,
    /// Go on after [`Command::Pause`].
    Resume,
    /// Forget what was counted so far.
    ResetStatistics,
    /// Abort the requests under way and report what is known.
    Abort,
}
