//! Logs of a run whose users are on workers: what its supervisor and whoever fetches them there say to each other.

use crate::metrics::RunLogs;
use tokio::sync::oneshot;

/// The supervisor's end.
#[derive(Debug)]
pub(crate) struct WorkerLogs {
    begin: Option<oneshot::Sender<RunLogs>>,
    end: oneshot::Sender<()>,
    ended: oneshot::Receiver<Vec<String>>,
}

/// The end of whoever fetches them.
#[derive(Debug)]
pub(crate) struct LogsWanted {
    /// Gives the logs that take what workers have entered.
    pub(crate) begun: oneshot::Receiver<RunLogs>,
    /// Tells when no more will be entered.
    pub(crate) over: oneshot::Receiver<()>,
    /// Takes the warnings for the report, when everything has come that will.
    pub(crate) ended: oneshot::Sender<Vec<String>>,
}

impl WorkerLogs {
    /// Returns both ends.
    pub(crate) fn open() -> (WorkerLogs, LogsWanted) {
        let (begin, begun) = oneshot::channel();
        let (end, over) = oneshot::channel();
        let (told, ended) = oneshot::channel();
        let logs = WorkerLogs {
            begin: Some(begin),
            end,
            ended,
        };
        let wanted = LogsWanted {
            begun,
            over,
            ended: told,
        };
        (logs, wanted)
    }

    /// Lets what workers enter into these logs from now on.
    pub(crate) fn begin(&mut self, run_logs: RunLogs) {
        if let Some(begin) = self.begin.take() {
            // Whoever should fetch them has ended, as the run will.
            let _ended = begin.send(run_logs);
        }
    }

    /// Waits until everything has come that workers have entered, as far as they can be reached, and returns warnings for
    /// the report.
    pub(crate) async fn end(self) -> Vec<String> {
        // Whoever should fetch them has ended.
        let _ended = self.end.send(());
        self.ended.await.unwrap_or_default()
    }
}
