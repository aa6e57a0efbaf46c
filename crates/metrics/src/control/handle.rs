//! The handle of a run, with which views, signal listeners and embedding programs steer and watch it.

use crate::control::calls::{ControlCall, ControlCalls, Reloads, ReplySender, TagQuery};
use crate::control::command::Command;
use crate::control::reader::Reader;
use crate::control::result::{CommandResult, Refusal, ReloadResult};
use crate::{Detail, LiveTag, Report, Snapshot};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::sync::{broadcast, mpsc, oneshot, watch};

/// The most log lines that a reader may lag behind.
const LOG_LINES: usize = 1_024;
/// The most news that a reader may lag behind.
const NEWS: usize = 64;

/// Steers and watches a run. Cheap to clone; any number of handles can be used at the same time, and none can slow the
/// run down. A handle stays valid after the run is over, but every command is refused then.
#[derive(Debug, Clone)]
pub struct Handle {
    calls: mpsc::UnboundedSender<ControlCall>,
    urgency: Arc<watch::Sender<Urgency>>,
    reloads: mpsc::UnboundedSender<ReplySender>,
    snapshots: watch::Receiver<Option<Arc<Snapshot>>>,
    log: broadcast::WeakSender<Arc<str>>,
    news: broadcast::WeakSender<ReloadResult>,
}

/// Most urgent request to end a run, of any of its handles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Urgency {
    None,
    Stop,
    Abort,
}

/// The run's end of its handles. Each part belongs to the module that serves it; calls to a part that was dropped are
/// refused.
#[derive(Debug)]
pub struct Control {
    /// For the engine.
    pub calls: ControlCalls,
    /// For the engine: the latest snapshot, `None` before the first.
    pub snapshots: watch::Sender<Option<Arc<Snapshot>>>,
    /// For the module that can reload the plan.
    pub reloads: Reloads,
    /// The results of reloads, for all readers.
    pub news: broadcast::Sender<ReloadResult>,
    /// Lines of the log, for all readers.
    pub log: broadcast::Sender<Arc<str>>,
}

impl Control {
    /// Creates both ends for a future run.
    pub fn open() -> (Handle, Control) {
        let (calls, inbox) = mpsc::unbounded_channel();
        let (reloads, reload_requests) = mpsc::unbounded_channel();
        let (snapshots, latest) = watch::channel(None);
        let (news, _) = broadcast::channel(NEWS);
        let (log, _) = broadcast::channel(LOG_LINES);
        let handle = Handle {
            calls,
            urgency: Arc::new(watch::channel(Urgency::None).0),
            reloads,
            snapshots: latest,
            log: log.downgrade(),
            news: news.downgrade(),
        };
        let control = Control {
            calls: ControlCalls::new(inbox),
            snapshots,
            reloads: Reloads(reload_requests),
            news,
            log,
        };
        (handle, control)
    }
}

impl Handle {
    /// Sends a command. The result can be awaited, or dropped. Only the first interrupt is sent as one: a later one, or
    /// one after a stop, is sent as an abort.
    pub fn send(&self, command: Command) -> PendingCommand {
        let command = self.noted(command);
        let (reply, result) = oneshot::channel();
        let reply = ReplySender(reply);
        let refused = match command {
            Command::Reload => self.reloads.send(reply).is_err(),
            _ => self
                .calls
                .send(ControlCall::Command(command, reply))
                .is_err(),
        };
        let otherwise = if refused && !self.calls.is_closed() {
            Refusal::NoReload
        } else {
            Refusal::Over
        };
        PendingCommand { result, otherwise }
    }

    /// Notes how urgently the run is to end, and turns an interrupt that is not the first into an abort.
    fn noted(&self, command: Command) -> Command {
        let interrupts = matches!(command, Command::Interrupt(_));
        let mut noted = command;
        self.urgency.send_if_modified(|urgency| {
            if interrupts && *urgency != Urgency::None {
                noted = Command::Abort;
            }
            let requested = match noted {
                Command::Abort => Urgency::Abort,
                Command::Stop | Command::Interrupt(_) => Urgency::Stop,
                _ => Urgency::None,
            };
            let more = requested > *urgency;
            *urgency = requested.max(*urgency);
            more
        });
        noted
    }

    /// Stops the run for the program's own reasons: a later interrupt still counts as the first.
    pub fn finish(&self) {
        let (reply, _nobody_waits) = oneshot::channel();
        // The run may be over.
        let _over = self
            .calls
            .send(ControlCall::Command(Command::Stop, ReplySender(reply)));
    }

    /// Returns whether both handles are those of one run.
    pub fn is_same(&self, other: &Handle) -> bool {
        Arc::ptr_eq(&self.urgency, &other.urgency)
    }

    /// Returns whether any handle requested the end of the run, even after the run was over.
    pub fn is_stopped(&self) -> bool {
        *self.urgency.borrow() != Urgency::None
    }

    /// Returns whether any handle requested an abort, even after the run was over.
    pub fn is_aborted(&self) -> bool {
        *self.urgency.borrow() == Urgency::Abort
    }

    /// Waits until a handle requests an abort, even after the run is over.
    pub async fn aborted(&self) {
        let mut urgency = self.urgency.subscribe();
        // This handle holds the sender, so this cannot fail.
        let _held = urgency.wait_for(|now| *now == Urgency::Abort).await;
    }

    /// Returns the report so far, without ending and verdict; `None` when the run is over. The run makes the report,
    /// but at most once per snapshot, however many callers there are.
    pub async fn report(&self) -> Option<Arc<Report>> {
        self.report_in(Detail::Live).await
    }

    /// Returns that report with only this much detail.
    pub async fn report_in(&self, detail: Detail) -> Option<Arc<Report>> {
        let (reply, report) = oneshot::channel();
        self.calls.send(ControlCall::Report(detail, reply)).ok()?;
        report.await.ok()
    }

    /// Returns the requests so far with one tag, such as `region=eu` or `scenario=buyers`; `None` if there are none, or
    /// the run is over. [`Snapshot::tags`] lists all tags.
    pub async fn tag(&self, tag: &str) -> Option<LiveTag> {
        self.tag_in(tag.into(), true).await
    }

    /// Returns the same; [`LiveTag::row`] only if `in_full`.
    pub async fn tag_in(&self, tag: Arc<str>, in_full: bool) -> Option<LiveTag> {
        let (reply, figures) = oneshot::channel();
        let query = TagQuery { tag, in_full };
        self.calls.send(ControlCall::Tag(query, reply)).ok()?;
        figures.await.ok()?
    }

    /// Returns the latest figures, updated four times a second; `None` before the run begins.
    pub fn snapshot(&self) -> Option<Arc<Snapshot>> {
        self.snapshots.borrow().clone()
    }

    /// Returns a receiver of the latest figures and of all later ones. It closes when the run ends.
    pub fn snapshots(&self) -> watch::Receiver<Option<Arc<Snapshot>>> {
        self.snapshots.clone()
    }

    /// Returns a reader of the log lines from now on. It ends with the run.
    pub fn log(&self) -> Reader<Arc<str>> {
        Reader::of(&self.log)
    }

    /// Returns a reader of the results of all reloads from now on, of all handles. It ends with the run.
    pub fn news(&self) -> Reader<ReloadResult> {
        Reader::of(&self.news)
    }
}

/// The pending result of a command.
#[derive(Debug)]
pub struct PendingCommand {
    result: oneshot::Receiver<CommandResult>,
    /// The result if the run gives none.
    otherwise: Refusal,
}

impl PendingCommand {
    /// Blocks until the result arrives. Panics in async code; await this value there.
    pub fn wait(self) -> CommandResult {
        self.result.blocking_recv().unwrap_or(Err(self.otherwise))
    }
}

impl Future for PendingCommand {
    type Output = CommandResult;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<CommandResult> {
        let polled = Pin::new(&mut self.result).poll(context);
        polled.map(|result| result.unwrap_or_else(|_| Err(self.otherwise.clone())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::{Done, Interrupt};

    #[tokio::test]
    async fn every_further_interrupt_is_an_abort_whoever_sends_it() {
        let (handle, mut control) = Control::open();
        let other = handle.clone();
        let signal = Command::Interrupt(Interrupt::Signal);
        let key = || Command::Interrupt(Interrupt::Key);
        for (handle, sent, arrives) in [
            (&other, key(), key()),
            (&handle, Command::Stop, Command::Stop),
            (&handle, signal, Command::Abort),
            (&other, key(), Command::Abort),
        ] {
            let pending = handle.send(sent);
            match control.calls.next().await {
                Some(ControlCall::Command(command, reply)) => {
                    assert_eq!(command, arrives);
                    reply.send(Ok(Done::Stopping));
                }
                call => panic!("{call:?}"),
            }
            assert_eq!(pending.await.expect("it is done"), Done::Stopping);
        }
        assert!(handle.is_aborted() && other.is_aborted());
    }

    #[tokio::test]
    async fn an_abort_is_requested_from_the_second_interrupt_on_whether_or_not_the_run_is_over() {
        let (handle, control) = Control::open();
        drop(control);
        let interrupt = Command::Interrupt(Interrupt::Signal);
        drop(handle.send(interrupt.clone()));
        drop(handle.send(Command::Pause));
        assert!(!handle.is_aborted());
        let other = handle.clone();
        let waiting = tokio::spawn(async move { other.aborted().await });
        drop(handle.send(interrupt));
        waiting.await.expect("it is told");
        assert!(handle.is_aborted());
    }

    #[tokio::test]
    async fn an_interrupt_after_a_stop_is_an_abort() {
        let (handle, mut control) = Control::open();
        let _pending = handle.send(Command::Stop);
        let _pending_again = handle.send(Command::Interrupt(Interrupt::Key));
        for arrives in [Command::Stop, Command::Abort] {
            match control.calls.next().await {
                Some(ControlCall::Command(command, _)) => assert_eq!(command, arrives),
                call => panic!("{call:?}"),
            }
        }
    }

    #[tokio::test]
    async fn what_nobody_serves_is_refused() {
        let (handle, control) = Control::open();
        let Control {
            calls,
            reloads,
            log,
            ..
        } = control;
        drop((reloads, log));
        let refused = handle.send(Command::Reload).await;
        assert!(matches!(refused, Err(Refusal::NoReload)), "{refused:?}");
        let (pending, report) = (handle.send(Command::Pause), handle.report());
        drop(calls);
        let refused = pending.await;
        assert!(matches!(refused, Err(Refusal::Over)), "{refused:?}");
        assert_eq!(report.await, None);
        let refused = handle.send(Command::Reload).await;
        assert!(matches!(refused, Err(Refusal::Over)), "{refused:?}");
        assert!(handle.log().next().await.is_none());
    }
}
