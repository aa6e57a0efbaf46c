//! Signal handler of the process, one value that `main` makes and passes on: a thread that handles SIGINT, SIGTERM and SIGHUP
//! even if the rest of lgoose hangs. Outside a run they end the process at once; during a run they interrupt it, and after an
//! abort the process ends within a second even if a part of it hangs. The end of the terminal (SIGHUP) leaves a run alone
//! that outlives it, unless it comes again. Signals that announce the end of the process are a first Ctrl-C. Of the outputs
//! of a run, the signal handler knows only whether they are written.

mod kinds;

use kinds::{HangupEffect, Hangups};
pub(super) use kinds::{KillNotices, any_of, listen_for};
use lgoose_base::console;
use lgoose_base::error::{Error, exit};
use lgoose_metrics::RunPhase;
use lgoose_metrics::control::{Command, Done, Handle, Interrupt, PendingCommand};
use rustix::process::Signal as RawSignal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::mpsc;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

/// Time from an abort to the end of the process: with the last words, a little less than the promised second.
const PATIENCE: Duration = Duration::from_millis(650);

/// The same while outputs are still to be made and written, which may take long on a busy machine. Another signal ends that,
/// too, and a reader that takes nothing is not waited for.
const PATIENCE_FOR_OUTPUTS: Duration = Duration::from_secs(10);

/// Time for the last bytes to the terminal: enough for a thread that writes them beside others that compute.
const LAST_WORDS: Duration = Duration::from_millis(150);

/// A run that signals interrupt.
#[derive(Debug, Clone)]
struct AttendedRun {
    run: Handle,
    /// Whether it goes on when the terminal has gone.
    outlives_terminal: bool,
}

/// Stage of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum RunStage {
    #[default]
    UnderWay,
    /// The run is over; the process may still wait for readers of its figures.
    Over,
    /// Everything is written and its exit code is known; the process may still wait for readers of the page or the metrics.
    Concluded,
}

/// The signal handler of this process; every clone is the same one.
#[derive(Debug, Clone, Default)]
pub(super) struct SignalHandler(Arc<HandlerState>);

/// State that the signal handler's thread and the rest of the process share.
#[derive(Debug, Default)]
struct HandlerState {
    /// The run that signals interrupt; `None` if there is none.
    run: watch::Sender<Option<AttendedRun>>,
    /// Counts the signals that came during the run.
    signals: watch::Sender<u64>,
    /// Whether the run has outputs that have not been written yet.
    outputs_due: AtomicBool,
    /// The exit code of the run, once it is known, for a process that the signal handler ends. An aborted run never ends
    /// with 0, which means here that it is not known.
    exit_code: AtomicU8,
    stage: watch::Sender<RunStage>,
    /// Whether the run can be steered without its terminal.
    steered_from_afar: AtomicBool,
}

impl SignalHandler {
    /// Starts to listen, on a thread of its own.
    ///
    /// # Errors
    /// Returns trouble with the thread or its signals.
    pub(super) fn listen(&self) -> Result<(), Error> {
        let cannot = |error: std::io::Error| Error::cannot("listen for Ctrl-C", error);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(cannot)?;
        let (ready, listens) = mpsc::channel();
        let handler = self.clone();
        let listen = move || {
            runtime.block_on(async {
                let interrupt = outlive_file_limit().and_then(|()| signal(SignalKind::interrupt()));
                let signals = interrupt.and_then(|one| Ok((one, signal(SignalKind::terminate())?)));
                let signals =
                    signals.and_then(|two| Ok((two, Hangups::listen()?, KillNotices::listen()?)));
                let failed = match signals {
                    Ok((signals, hangups, notices)) => {
                        let _waits = ready.send(Ok(()));
                        return handler.handle_signals(signals, hangups, notices).await;
                    }
                    Err(error) => error,
                };
                let _waits = ready.send(Err(failed));
            });
        };
        let thread = std::thread::Builder::new().name("signals".to_owned());
        thread.spawn(listen).map_err(cannot)?;
        let fault = |_| {
            Error::trouble("the thread that listens for Ctrl-C ended because of a bug in lgoose")
        };
        listens.recv().map_err(fault)?.map_err(cannot)
    }

    /// Makes signals interrupt this run from now on. Where one run follows another, a signal may have come just after
    /// the other was over, when it had no effect any more: it interrupts this one.
    pub(super) fn attend(&self, run: &Handle) {
        self.attend_to(run, false);
    }

    /// Makes signals interrupt a run that goes on when the terminal has gone: it ends by itself.
    pub(super) fn attend_without_terminal(&self, run: &Handle) {
        self.attend_to(run, true);
    }

    fn attend_to(&self, run: &Handle, outlives_terminal: bool) {
        self.0.stage.send_replace(RunStage::UnderWay);
        self.0.exit_code.store(exit::OK, Ordering::Relaxed);
        self.0.run.send_modify(|place| {
            let before = place.replace(AttendedRun {
                run: run.clone(),
                outlives_terminal,
            });
            if before.is_some_and(|before| before.run.is_stopped() && !before.run.is_same(run)) {
                drop(interrupt_run(place));
            }
        });
    }

    /// Makes signals end the process again, as before the first run.
    pub(super) fn leave(&self) {
        self.0.exit_code.store(exit::OK, Ordering::Relaxed);
        self.0.run.send_replace(None);
    }

    /// Records that the run has outputs that have not been written yet.
    pub(super) fn note_outputs_due(&self) {
        self.0.outputs_due.store(true, Ordering::Relaxed);
    }

    /// Records that all outputs are written, and with which exit code the run ends.
    pub(super) fn note_outputs_written(&self, exit_code: u8) {
        self.0.exit_code.store(exit_code, Ordering::Relaxed);
        self.0.outputs_due.store(false, Ordering::Release);
    }

    /// Records that the run is over: until the next run, each signal ends a wait for readers.
    pub(super) fn note_over(&self) {
        self.0.stage.send_replace(RunStage::Over);
    }

    /// Records that everything is written and the exit code is known: until the next run, any signal ends a wait for readers, and nothing
    /// else.
    pub(super) fn note_concluded(&self) {
        self.0.stage.send_replace(RunStage::Concluded);
    }

    /// Ends the wait for readers if the run is over, and returns whether it is.
    fn leave_readers(&self) -> bool {
        let is_over = *self.0.stage.borrow() != RunStage::UnderWay;
        if is_over {
            self.count_signal();
        }
        is_over
    }

    fn count_signal(&self) {
        self.0.signals.send_modify(|signals| *signals += 1);
    }

    /// Records whether the run can be steered without its terminal, as over HTTP.
    pub(super) fn note_steered_from_afar(&self, steered: bool) {
        self.0.steered_from_afar.store(steered, Ordering::Relaxed);
    }

    /// Stops a run that only its terminal, which has gone, could have resumed. Returns a notice of its fate; `None` if it
    /// ends anyway.
    pub(super) async fn without_terminal(&self, run: &Handle) -> Option<&'static str> {
        // A run that begins paused is so only after its 'test_start'.
        let mut snapshots = run.snapshots();
        let phase = snapshots.wait_for(Option::is_some).await.ok()?;
        match phase.as_ref()?.progress.phase {
            RunPhase::Paused if !self.0.steered_from_afar.load(Ordering::Relaxed) => {
                run.finish();
                Some("the terminal has gone, and nobody else can resume the run: it is stopped")
            }
            RunPhase::Stopping => None,
            _ => Some("the terminal has gone: the run goes on without it"),
        }
    }

    /// Waits for the next signal from now on.
    pub(super) fn interrupted(&self) -> impl Future<Output = ()> + use<> {
        let (mut signals, handler) = (self.0.signals.subscribe(), self.clone());
        async move {
            // The sender lives as long as this.
            let _never = signals.changed().await;
            drop(handler);
        }
    }

    /// Handles signals until one of them ends the process.
    async fn handle_signals(
        self,
        (mut interrupt, mut terminate): (Signal, Signal),
        mut hangups: Hangups,
        mut notices: KillNotices,
    ) {
        let mut runs = self.0.run.subscribe();
        let mut aborted_at = None;
        loop {
            let attended = runs.borrow_and_update().clone();
            let aborted = async {
                match &attended {
                    Some(attended) if aborted_at.is_none() => attended.run.aborted().await,
                    _ => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                () = notices.received() => {
                    let is_stopped = attended.is_some_and(|attended| attended.run.is_stopped());
                    let is_repeat = notices.is_repeat();
                    if self.leave_readers() || is_repeat || is_stopped {
                        continue;
                    }
                }
                () = hangups.received() => {
                    let outliving = attended.filter(|attended| attended.outlives_terminal);
                    match (hangups.count(Instant::now(), outliving.is_some()), outliving) {
                        (HangupEffect::Echo, _) => continue,
                        _ if self.leave_readers() => continue,
                        (HangupEffect::Outlived, Some(AttendedRun { run, .. })) => {
                            tokio::spawn(self.clone().report_without_terminal(run));
                            continue;
                        }
                        _ => {}
                    }
                }
                _ = runs.changed() => continue,
                () = aborted => {
                    aborted_at = Some(Instant::now());
                    continue;
                }
                () = self.end_of_patience(aborted_at) => self.end_process(),
            }
            if aborted_at.is_some() {
                self.end_process();
            }
            if *self.0.stage.borrow() == RunStage::Concluded {
                self.count_signal();
                continue;
            }
            // The run of now: another one may have begun since.
            let request = interrupt_run(&self.0.run.borrow());
            let Some(request) = request else {
                self.end_process()
            };
            self.count_signal();
            tokio::spawn(async move {
                if matches!(request.await, Ok(Done::Stopping)) {
                    super::signals::log_interrupt();
                }
            });
        }
    }

    async fn report_without_terminal(self, run: Handle) {
        if let Some(notice) = self.without_terminal(&run).await {
            super::signals::log_notice(notice);
        }
    }

    /// Waits until the time limit after an abort has passed; forever if there is no abort.
    async fn end_of_patience(&self, aborted_at: Option<Instant>) {
        let Some(aborted_at) = aborted_at else {
            return std::future::pending().await;
        };
        sleep_until(aborted_at + PATIENCE).await;
        let outputs_due = || self.0.outputs_due.load(Ordering::Acquire);
        while outputs_due() && aborted_at.elapsed() < PATIENCE_FOR_OUTPUTS {
            sleep(Duration::from_millis(10)).await;
        }
    }

    /// Ends the process at once, even if other threads hang.
    fn end_process(&self) -> ! {
        lgoose_tui::hand_back();
        console::out().settle(Some(LAST_WORDS));
        console::err().settle(Some(LAST_WORDS));
        let exit_code = match self.0.exit_code.load(Ordering::Relaxed) {
            exit::OK => exit::ABORTED,
            known => known,
        };
        std::process::exit(exit_code.into())
    }
}

/// Interrupts the run, if there is one.
fn interrupt_run(place: &Option<AttendedRun>) -> Option<PendingCommand> {
    let run = &place.as_ref()?.run;
    Some(run.send(Command::Interrupt(Interrupt::Signal)))
}

/// Makes writing beyond the limit on the size of files fail as on a full disk, where the signal would kill the process:
/// a signal with a listener does nothing else.
///
/// # Errors
/// Returns why there can be no listener.
pub(super) fn outlive_file_limit() -> std::io::Result<()> {
    signal(SignalKind::from_raw(RawSignal::XFSZ.as_raw())).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lgoose_metrics::control::{Control, ControlCall};

    #[tokio::test]
    async fn a_signal_between_two_runs_interrupts_the_second_once() {
        let handler = SignalHandler::default();
        let (first, control) = Control::open();
        handler.attend(&first);
        drop(control);
        drop(interrupt_run(&handler.0.run.borrow()));
        let (second, mut control) = Control::open();
        handler.attend(&second);
        handler.attend(&second);
        let Some(ControlCall::Command(command, _)) = control.calls.next().await else {
            panic!("it is interrupted");
        };
        assert_eq!(command, Command::Interrupt(Interrupt::Signal));
        assert!(second.is_stopped() && !second.is_aborted());
        handler.leave();
        let (third, _control) = Control::open();
        handler.attend(&third);
        assert!(!third.is_stopped(), "no signal came since");
    }
}
