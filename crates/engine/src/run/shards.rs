//! Shards of a run as its director has them: threads of this process, or workers on other machines.

use crate::messages::context::RunContext;
use crate::messages::directive::Directive;
use crate::messages::journal::{DirectorLogEntry, PastRun};
use crate::messages::shard_event::ShardEvent;
use crate::run::event_user::{EventTask, StartEvent, start_event_thread};
use crate::run::journal::DirectorLog;
use crate::run::local_shards::{LocalShards, StartShard, start_thread};
use crate::run::membership::Membership;
use lgoose_base::error::Error;
use lgoose_metrics::WorkerIdentity;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

/// The place where users run, before a run has begun there.
#[derive(Debug)]
pub enum ShardPlacement {
    /// This process, with the functions that start shards and events: on threads, or as tasks of a test in simulated
    /// time.
    Here {
        /// Starts a shard.
        shard: StartShard,
        /// Starts the user of an event.
        event: StartEvent,
    },
    /// Workers on other machines.
    Workers(WorkerLink),
}

/// A manager's end of the link to its workers.
#[derive(Debug)]
pub struct WorkerLink {
    /// Workers in the order of their numbers.
    pub workers: Vec<WorkerIdentity>,
    /// Time between the decision to begin and the beginning, so that all workers know of it before.
    pub lead: Duration,
    /// Whether the loss of a worker ends the run.
    pub stops_on_loss: bool,
    /// Events of the workers.
    pub signals: mpsc::UnboundedReceiver<ShardEvent>,
    /// Takes the beginning once it is known.
    pub start: oneshot::Sender<LoadStart>,
    /// Takes the plan's events, each to be run on one of the workers.
    pub events: mpsc::UnboundedSender<EventTask>,
    /// Takes the journal of the director.
    pub journal: mpsc::UnboundedSender<DirectorLogEntry>,
    /// The run before this process joined it.
    pub past: Option<PastRun>,
}

impl WorkerLink {
    /// Returns how many threads drive users on all workers.
    pub fn threads(&self) -> usize {
        self.workers.iter().map(|worker| worker.threads).sum()
    }
}

/// The beginning of the load.
#[derive(Debug)]
pub struct LoadStart {
    /// Start of the users.
    pub at: Instant,
    /// Time from the origin of the times in logs to that start.
    pub since_origin: Duration,
    /// The directive, now and from now on.
    pub directives: watch::Receiver<Directive>,
}

/// Ways to start an event's user.
#[derive(Debug, Clone)]
pub(crate) enum EventPlace {
    Here(StartEvent),
    Worker(mpsc::UnboundedSender<EventTask>),
}

impl EventPlace {
    /// Starts the user of an event.
    ///
    /// # Errors
    /// Trouble that keeps it from starting.
    pub(crate) fn start(&self, task: EventTask) -> Result<(), Error> {
        match self {
            EventPlace::Here(start) => start(task),
            EventPlace::Worker(events) => events
                .send(task)
                .map_err(|_| Error::trouble("no worker can be reached any more")),
        }
    }
}

impl ShardPlacement {
    /// Returns this process with users on its threads.
    pub fn threads() -> ShardPlacement {
        ShardPlacement::Here {
            shard: start_thread,
            event: start_event_thread,
        }
    }

    /// Returns the way to start the plan's events at this place.
    pub(crate) fn events(&self) -> EventPlace {
        match self {
            ShardPlacement::Here { event, .. } => EventPlace::Here(*event),
            ShardPlacement::Workers(link) => EventPlace::Worker(link.events.clone()),
        }
    }

    /// Returns the time between the decision to begin and the beginning; `None` where it is the same moment.
    pub(crate) fn lead(&self) -> Option<Duration> {
        match self {
            ShardPlacement::Here { .. } => None,
            ShardPlacement::Workers(link) => Some(link.lead),
        }
    }

    /// Takes out the run before this process joined it.
    pub(crate) fn take_past(&mut self) -> Option<PastRun> {
        match self {
            ShardPlacement::Here { .. } => None,
            ShardPlacement::Workers(link) => link.past.take(),
        }
    }

    /// Returns the journal of a run whose users are on workers.
    pub(crate) fn journal(&self) -> DirectorLog {
        match self {
            ShardPlacement::Here { .. } => DirectorLog::default(),
            ShardPlacement::Workers(link) => DirectorLog::of(link.journal.clone()),
        }
    }

    /// Returns the membership of a run at this place, with that many shards if they are here.
    pub(crate) fn membership(&self, shards: usize) -> Membership {
        match self {
            ShardPlacement::Here { .. } => Membership::of_threads(shards),
            ShardPlacement::Workers(link) => {
                Membership::of_workers(&link.workers, link.stops_on_loss)
            }
        }
    }

    /// Returns the workers of the run, none if its users are here.
    pub(crate) fn workers(&self) -> &[WorkerIdentity] {
        match self {
            ShardPlacement::Here { .. } => &[],
            ShardPlacement::Workers(link) => &link.workers,
        }
    }

    /// Starts all shards, and returns those of this process and the receiver of all events.
    ///
    /// # Errors
    /// Trouble with a thread.
    pub(crate) fn start(
        self,
        context: &Arc<RunContext>,
        directives: &watch::Sender<Directive>,
    ) -> Result<(Option<LocalShards>, mpsc::UnboundedReceiver<ShardEvent>), Error> {
        match self {
            ShardPlacement::Here { shard, .. } => {
                let (local, signals) = LocalShards::start(shard, context, directives)?;
                Ok((Some(local), signals))
            }
            ShardPlacement::Workers(link) => {
                let start = LoadStart {
                    at: context.start,
                    since_origin: context.start.duration_since(context.origin),
                    directives: directives.subscribe(),
                };
                match link.start.send(start) {
                    Ok(()) => Ok((None, link.signals)),
                    Err(_) => Err(Error::trouble("no worker can be reached any more")),
                }
            }
        }
    }
}
