//! Log entries of workers at the manager: pieces from the broker are written to the run's log files, each once. The
//! manager has the broker remove them once they are written, and fetches no more until then, so its memory is
//! bounded.

use super::terms::REPLY_TIMEOUT;
use crate::broker::{Broker, LogConsumer};
use crate::manager::recruit::present;
use crate::messages::{self, LogPiece, RequestKind, WorkerReply, WorkerRequest};
use crate::names;
use lgoose_engine::LogFetcher;
use lgoose_metrics::{LineCounts, LogWorker, RunLogs};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

/// Time without progress after the end of a run until missing pieces are given up: longer than the broker takes to
/// deliver a piece again.
const PATIENCE: Duration = Duration::from_secs(15);
/// Time for which the files may take nothing after the end of a run.
const WRITING: Duration = Duration::from_secs(5);
/// Time between two checks whether pieces are written.
const LOOK: Duration = Duration::from_millis(5);

/// Log pieces that have come from one worker.
struct WorkerLogSource {
    worker: LogWorker,
    /// All pieces up to this number have come; of those after it, the ones in `beyond`.
    whole: u64,
    beyond: BTreeSet<u64>,
    /// Number of the last piece, once it is known.
    last: Option<u64>,
    made: LineCounts,
}

impl WorkerLogSource {
    fn new(number: usize, name: &str) -> WorkerLogSource {
        WorkerLogSource {
            worker: LogWorker {
                number: u16::try_from(number).unwrap_or(u16::MAX - 1),
                name: Arc::from(name),
            },
            whole: 0,
            beyond: BTreeSet::new(),
            last: None,
            made: LineCounts::default(),
        }
    }

    /// Records a piece; returns false if it came before.
    fn note(&mut self, piece: &LogPiece) -> bool {
        if piece.number <= self.whole || !self.beyond.insert(piece.number) {
            return false;
        }
        while self.beyond.remove(&(self.whole + 1)) {
            self.whole += 1;
        }
        if piece.last {
            self.last = Some(piece.number);
        }
        for (made, reported) in self.made.iter_mut().zip(piece.made) {
            *made = reported.max(*made);
        }
        true
    }

    fn is_complete(&self) -> bool {
        self.last == Some(self.whole)
    }
}

/// Fetches the log entries of a run.
pub(super) struct Collector {
    broker: Broker,
    run: String,
    consumer: LogConsumer,
    /// By identity of the worker.
    sources: BTreeMap<String, WorkerLogSource>,
    over: oneshot::Receiver<()>,
    /// Time at which the run was found to be over.
    over_since: Option<Instant>,
    /// Time at which a piece last came or was written.
    progress: Instant,
    /// Whether the files take nothing more.
    stuck: bool,
}

/// Fetches the log entries of a run from these workers, given by identity and name, and from those that join later.
pub(super) async fn collect(
    broker: Broker,
    run: String,
    consumer: LogConsumer,
    workers: Vec<(String, String)>,
    fetcher: LogFetcher,
) {
    if let Ok(run_logs) = fetcher.started.await {
        let sources = workers.into_iter().enumerate();
        let sources = sources.map(|(number, (id, name))| (id, WorkerLogSource::new(number, &name)));
        let collector = Collector {
            broker,
            run,
            consumer,
            sources: sources.collect(),
            over: fetcher.over,
            over_since: None,
            progress: Instant::now(),
            stuck: false,
        };
        let warnings = collector.collect(&run_logs).await;
        // Nobody receives them if the wait for the logs was interrupted.
        let _unheard = fetcher.ended.send(warnings);
    }
}

impl Collector {
    /// Fetches until the run is over and everything that will come has come, and returns warnings.
    async fn collect(mut self, run_logs: &RunLogs) -> Vec<String> {
        while !self.is_over() {
            self.fetch(run_logs).await;
        }
        let replies = self.end().await;
        self.progress = Instant::now();
        let awaited = |source: &WorkerLogSource| !source.is_complete();
        while !self.stuck && self.progress.elapsed() < PATIENCE {
            let mut sources = self.sources.iter();
            if !sources.any(|(id, source)| replies.contains_key(id) && awaited(source)) {
                break;
            }
            self.fetch(run_logs).await;
        }
        let mut warnings = Vec::new();
        for (id, source) in &self.sources {
            let made = replies.get(id).unwrap_or(&source.made);
            run_logs.add_made(made);
            if !source.is_complete() {
                warnings.push(format!(
                    "logs of worker '{}' are incomplete: what it had not handed over is missing",
                    source.worker.name
                ));
            }
        }
        warnings
    }

    fn is_over(&mut self) -> bool {
        if self.over_since.is_none() {
            let over = !matches!(
                self.over.try_recv(),
                Err(oneshot::error::TryRecvError::Empty)
            );
            self.over_since = over.then(Instant::now);
        }
        self.over_since.is_some()
    }

    /// Fetches the pieces that are there, and waits until they are written.
    async fn fetch(&mut self, run_logs: &RunLogs) {
        let batch = self.consumer.batch().await;
        for message in &batch {
            let Some(id) = names::worker_of_subject(&message.subject) else {
                continue;
            };
            let piece = match messages::decode::<LogPiece>(&message.payload) {
                Ok(piece) => piece,
                Err(error) => {
                    tracing::warn!(target: "lgoose::gaggle", "a piece of a log: {error}");
                    continue;
                }
            };
            let number = self.sources.len();
            let source = self.sources.entry(id.to_owned());
            let source = source.or_insert_with(|| WorkerLogSource::new(number, &piece.worker));
            if !source.note(&piece) {
                continue;
            }
            self.progress = Instant::now();
            if let Err(error) = run_logs.admit(&piece.packed, source.worker.clone()) {
                tracing::warn!(target: "lgoose::gaggle", "a piece of a log: {error}");
            }
        }
        self.stuck = !self.written(run_logs).await;
        for message in batch.iter().filter(|_| !self.stuck) {
            LogConsumer::remove(message).await;
        }
    }

    /// Waits until everything that came is written. False if it is not, long after the end of the run.
    async fn written(&mut self, run_logs: &RunLogs) -> bool {
        let mut before = usize::MAX;
        loop {
            let remaining = run_logs.on_the_way();
            if remaining == 0 {
                return true;
            }
            if remaining < before {
                (before, self.progress) = (remaining, Instant::now());
            }
            if self.is_over() && self.progress.elapsed() >= WRITING {
                return false;
            }
            sleep(LOOK).await;
        }
    }

    /// Requests workers to log nothing more, and returns the lines of those that respond.
    async fn end(&self) -> BTreeMap<String, LineCounts> {
        let workers = present(&self.broker).await.unwrap_or_default();
        let own = workers.into_iter().map(|(worker, _)| worker);
        let own = own.filter(|worker| worker.run.as_ref() == Some(&self.run));
        let requests = own.map(|worker| async move {
            let request = WorkerRequest {
                run: self.run.clone(),
                kind: RequestKind::EndLogs,
            };
            match self
                .broker
                .request(&worker.id, &request, REPLY_TIMEOUT)
                .await
            {
                Ok(WorkerReply::Logs(Some(made))) => Some((worker.id, made)),
                // It has gone, or keeps no logs.
                Ok(_) | Err(_) => None,
            }
        });
        let replies = futures_util::future::join_all(requests).await;
        replies.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(number: u64, last: bool) -> LogPiece {
        LogPiece {
            number,
            worker: "w".to_owned(),
            made: [number * 10, 0, 0, 0],
            last,
            packed: Vec::new(),
        }
    }

    #[test]
    fn pieces_count_once_in_whatever_order_they_come() {
        let mut source = WorkerLogSource::new(0, "w");
        let came = [(2, false), (1, false), (2, false), (4, true), (1, false)];
        let new = came.map(|(number, last)| source.note(&piece(number, last)));
        assert_eq!(new, [true, true, false, true, false]);
        assert!(!source.is_complete(), "the third is missing");
        assert!(source.note(&piece(3, false)) && source.is_complete());
        assert_eq!(source.made[0], 40);
    }
}
