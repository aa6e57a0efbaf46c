//! Shards of this process: their threads, the memory that goes back to them, and facts of this machine. Knows neither
//! figures nor the timetable.

use crate::load_model::dispatcher::Transfers;
use crate::messages::context::RunContext;
use crate::messages::directive::Directive;
use crate::messages::shard_event::ShardEvent;
use crate::run::ports::PortWatch;
use crate::run::watchdog::{StuckShard, Watchdog};
use crate::shard::channels::Channels;
use crate::shard::run_shard;
use lgoose_base::error::{Error, Trouble};
use lgoose_metrics::Delta;
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

/// Function that starts the shard with that number; returns `None` if it has no thread of its own.
pub(crate) type StartShard =
    fn(usize, Arc<RunContext>, Channels) -> Result<Option<JoinHandle<()>>, Error>;

/// Starts a shard on a thread.
pub(crate) fn start_thread(
    index: usize,
    context: Arc<RunContext>,
    channels: Channels,
) -> Result<Option<JoinHandle<()>>, Error> {
    let thread = std::thread::Builder::new()
        .name(format!("shard {index}"))
        .spawn(move || run_shard(index, &context, channels));
    thread.map(Some).map_err(|error| {
        Trouble::cannot(format!("start thread {index}"))
            .because(error)
            .help("lower '--threads'")
            .into()
    })
}

#[derive(Debug)]
pub(crate) struct LocalShards {
    threads: Vec<JoinHandle<()>>,
    /// Channels that give each shard its deltas back.
    emptied: Vec<mpsc::UnboundedSender<Box<Delta>>>,
    watchdog: Watchdog,
    ports: PortWatch,
}

impl LocalShards {
    /// Starts all shards, and returns the receiver of their events.
    ///
    /// # Errors
    /// Trouble with a thread.
    pub(crate) fn start(
        start_shard: StartShard,
        context: &Arc<RunContext>,
        directives: &watch::Sender<Directive>,
    ) -> Result<(LocalShards, mpsc::UnboundedReceiver<ShardEvent>), Error> {
        let (sender, signals) = mpsc::unbounded_channel();
        let mut local = LocalShards {
            threads: Vec::new(),
            emptied: Vec::new(),
            watchdog: Watchdog::new(&context.heartbeats, context.config.lua_time, context.start),
            ports: PortWatch::new(context.start, context.local.local_addresses.len()),
        };
        let lines: Vec<_> = (0..context.shards)
            .map(|_| mpsc::unbounded_channel())
            .collect();
        let (others, incoming): (Vec<_>, Vec<_>) = lines.into_iter().unzip();
        for (index, incoming) in incoming.into_iter().enumerate() {
            let (emptied, returned) = mpsc::unbounded_channel();
            local.emptied.push(emptied);
            let transfers = Transfers {
                others: others.clone(),
                incoming,
            };
            let channels = Channels::new(
                index,
                directives.subscribe(),
                transfers,
                sender.clone(),
                returned,
            );
            local
                .threads
                .extend(start_shard(index, context.clone(), channels)?);
        }
        Ok((local, signals))
    }

    /// Gives an emptied delta back to its shard.
    pub(crate) fn recycle(&self, delta: Delta) {
        // A shard that has ended needs no delta.
        if let Some(shard) = delta.shard() {
            let _ended = self.emptied[shard].send(Box::new(delta));
        }
    }

    /// Returns the shard that is caught in the plan's code, if there is one.
    pub(crate) fn caught(&mut self) -> Option<StuckShard> {
        self.watchdog.look(Instant::now())
    }

    /// Returns a warning when local ports run out; `connections` are those open now.
    pub(crate) fn scarce_ports(&mut self, connections: u64) -> Option<String> {
        self.ports.look(Instant::now(), connections)
    }

    /// Waits for all threads to end; if `leaves`, waits for none.
    pub(crate) fn join(self, leaves: bool) {
        let ends = |thread: &JoinHandle<()>| !leaves || thread.is_finished();
        for thread in self.threads.into_iter().filter(ends) {
            // A thread that panicked has sent that it is lost.
            let _lost = thread.join();
        }
    }
}
