//! Logs of a run whose users are on workers: the channels between the run's supervisor and the fetcher, which gets
//! the entries from the workers.

use lgoose_metrics::RunLogs;
use tokio::sync::oneshot;

/// The supervisor's end.
#[derive(Debug)]
pub struct WorkerLogs {
    start: Option<oneshot::Sender<RunLogs>>,
    end: oneshot::Sender<()>,
    ended: oneshot::Receiver<Vec<String>>,
}

/// The fetcher's end.
#[derive(Debug)]
pub struct LogFetcher {
    /// Brings the logs that are to take the workers' entries.
    pub started: oneshot::Receiver<RunLogs>,
    /// Completes when nothing more will be logged.
    pub over: oneshot::Receiver<()>,
    /// Takes the warnings for the report, once all entries that can be fetched have come.
    pub ended: oneshot::Sender<Vec<String>>,
}

impl WorkerLogs {
    /// Returns both ends.
    pub fn open() -> (WorkerLogs, LogFetcher) {
        let (start, started) = oneshot::channel();
        let (end, over) = oneshot::channel();
        let (warnings, ended) = oneshot::channel();
        let logs = WorkerLogs {
            start: Some(start),
            end,
            ended,
        };
        let fetcher = LogFetcher {
            started,
            over,
            ended: warnings,
        };
        (logs, fetcher)
    }

    /// Has the workers' entries written to these logs from now on.
    pub fn start(&mut self, run_logs: RunLogs) {
        if let Some(start) = self.start.take() {
            // Fails if the fetcher has ended; the run then ends, too.
            let _ended = start.send(run_logs);
        }
    }

    /// Waits until all entries of the workers that can be reached have come, and returns warnings for the report.
    pub async fn end(self) -> Vec<String> {
        // Fails if the fetcher has ended.
        let _ended = self.end.send(());
        self.ended.await.unwrap_or_default()
    }
}
