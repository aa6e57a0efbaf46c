//! What a view, a signal or a key may ask of a run. The only thing that flows back to the engine.

/// A wish about a run that is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Start no new task, let running ones finish, run `on_stop`, report.
    Stop,
    /// Abort the requests under way and report what is known.
    Abort,
}
