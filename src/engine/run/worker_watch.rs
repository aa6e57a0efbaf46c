//! What the director of a run knows of its workers as a whole.

use tokio::time::Instant;

/// What a director knows of its workers as a whole.
#[derive(Debug)]
pub(crate) struct WorkerWatch {
    /// Whether the loss of a worker ends the run.
    pub(crate) stops_on_loss: bool,
    /// Since when nothing has been heard of any worker, while some may come back.
    pub(crate) alone_since: Option<Instant>,
}

impl WorkerWatch {
    pub(crate) fn new(stops_on_loss: bool) -> WorkerWatch {
        WorkerWatch {
            stops_on_loss,
            alone_since: None,
        }
    }
}
