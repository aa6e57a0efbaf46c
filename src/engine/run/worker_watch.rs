//! What the director of a run knows of its workers as a whole.

use std::time::Duration;

/// What a director knows of its workers as a whole.
#[derive(Debug)]
pub(crate) struct WorkerWatch {
    /// Whether the loss of a worker ends the run.
    pub(crate) stops_on_loss: bool,
    /// When a worker was last heard at work, in time since the run began.
    pub(crate) heard: Duration,
    /// Since when no worker has taken part, while some may come back; in time since the run began.
    pub(crate) alone_since: Option<Duration>,
}

impl WorkerWatch {
    pub(crate) fn new(stops_on_loss: bool) -> WorkerWatch {
        WorkerWatch {
            stops_on_loss,
            heard: Duration::ZERO,
            alone_since: None,
        }
    }
}
