//! The thread of the view, so that the run never waits for a terminal.

use super::{LAST_LINES, TerminalView};
use lgoose_engine::Outcome;
use lgoose_metrics::{Cause, Report};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;

/// Time limit, at the end of a run, for the view to give the terminal back.
const PATIENCE: Duration = Duration::from_secs(2);

/// The end of the run, as the view receives it.
struct ViewEnd {
    report: Arc<Report>,
    /// Whether the view stays until somebody leaves it.
    stay: bool,
}

/// A view at work. Dropping this gives the terminal back.
pub(crate) struct ViewThread {
    finish: Option<oneshot::Sender<ViewEnd>>,
    /// Dropping this ends the stay.
    stop: Option<oneshot::Sender<()>>,
    is_over: oneshot::Receiver<()>,
    exited: oneshot::Receiver<Vec<String>>,
}

impl ViewThread {
    /// Shows the run on its own thread, which keeps nobody waiting; `None` if the thread cannot be started.
    pub(crate) fn start(mut view: TerminalView, runtime: Runtime) -> Option<ViewThread> {
        let (finish, finished) = oneshot::channel();
        let (over, is_over) = oneshot::channel();
        let (stop, stopped) = oneshot::channel::<()>();
        let (exit, exited) = oneshot::channel();
        let thread = std::thread::Builder::new().name("view".to_owned());
        let show = move || {
            let has_terminal = runtime.block_on(async {
                tokio::select! {
                    () = view.show() => false,
                    finish = finished => match finish {
                        Ok(ViewEnd { report, stay }) if stay && !view.interrupted => {
                            tokio::select! {
                                () = view.stay(&report) => {}
                                // The sender was dropped, so the view must not stay.
                                _ = stopped => {}
                            }
                            true
                        }
                        // No report means that the run failed; the error is printed once the terminal is given back.
                        _ => true,
                    }
                }
            });
            // There may be nobody left who waits for this.
            let _gone = over.send(());
            if let Some(line) = view.log.ready() {
                view.log_lines(line);
            }
            let lines = if has_terminal {
                view.state.last_lines(LAST_LINES)
            } else {
                Vec::new()
            };
            drop(view);
            let _gone = exit.send(lines);
        };
        thread.spawn(show).ok()?;
        Some(ViewThread {
            finish: Some(finish),
            stop: Some(stop),
            is_over,
            exited,
        })
    }

    /// Waits until the view has ended because its terminal has gone.
    pub(crate) async fn over(&mut self) {
        // The view always sends this before it ends.
        let _ended = (&mut self.is_over).await;
    }

    /// Lets the view show the finished run until somebody leaves it, unless `at_once` is set, a signal or an abort
    /// ended the run, or lgoose had trouble; or until it is `interrupted`. Returns the last lines of the log, which were shown nowhere else.
    pub(crate) async fn leave(
        mut self,
        outcome: &Outcome,
        interrupted: impl Future<Output = ()>,
        at_once: bool,
    ) -> Vec<String> {
        let ending = outcome.report.ending.as_ref();
        let stopped_early =
            ending.is_some_and(|ending| matches!(ending.cause, Cause::Signal | Cause::Aborted));
        let finish = ViewEnd {
            report: Arc::new(outcome.report.clone()),
            stay: !(at_once || stopped_early || outcome.trouble.is_some()),
        };
        let stays = finish.stay;
        if let Some(sender) = self.finish.take() {
            // A view whose terminal has gone has already ended.
            let _gone = sender.send(finish);
        }
        let exit = async {
            if stays {
                (&mut self.exited).await.ok()
            } else {
                let exit = tokio::time::timeout(PATIENCE, &mut self.exited).await;
                exit.ok().and_then(Result::ok)
            }
        };
        tokio::select! {
            lines = exit => lines.unwrap_or_default(),
            () = interrupted => Vec::new(),
        }
    }
}

impl Drop for ViewThread {
    fn drop(&mut self) {
        drop((self.finish.take(), self.stop.take()));
        let start = Instant::now();
        // The view may be writing a report to a slow disk.
        while start.elapsed() < PATIENCE && self.exited.try_recv() == Err(TryRecvError::Empty) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
