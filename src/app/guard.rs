//! Guard against a process that hangs: a thread that handles SIGINT and SIGTERM whatever the rest of lgoose is doing.
//! Outside a run they end the process at once; during a run they interrupt it, and after an abort the process ends
//! within a second even if a part of it hangs. Of what a run writes, it knows only whether it is written.

use crate::console;
use crate::control::{Asked, Command, Done, Handle, Interrupt};
use crate::error::{Error, exit};
#[cfg(feature = "tui")]
use crate::tui;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

/// Time from an abort to the end of the process: a little less than the promised second.
const PATIENCE: Duration = Duration::from_millis(800);

/// The same while files are still to be written, which may take long on a busy machine. Another signal ends that, too.
const PATIENCE_FOR_FILES: Duration = Duration::from_secs(10);

/// Time for the last bytes to the terminal.
const LAST_WORDS: Duration = Duration::from_millis(50);

/// The run that signals interrupt; `None` if there is none.
static RUN: LazyLock<watch::Sender<Option<Handle>>> = LazyLock::new(|| watch::channel(None).0);

/// Counts the signals that came during the run.
static HEARD: LazyLock<watch::Sender<u64>> = LazyLock::new(|| watch::channel(0).0);

/// Whether the run has files that have not been written yet.
static FILES_DUE: AtomicBool = AtomicBool::new(false);

/// Starts to listen.
///
/// # Errors
/// Returns trouble with the thread or its signals.
pub(super) fn start() -> Result<(), Error> {
    let cannot = |error: std::io::Error| Error::cannot("listen for Ctrl-C", error);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(cannot)?;
    let (ready, listens) = mpsc::channel();
    let listen = move || {
        runtime.block_on(async {
            let interrupt = signal(SignalKind::interrupt());
            let signals = interrupt.and_then(|one| Ok((one, signal(SignalKind::terminate())?)));
            let failed = match signals {
                Ok(signals) => {
                    let _waits = ready.send(Ok(()));
                    return guard(signals).await;
                }
                Err(error) => error,
            };
            let _waits = ready.send(Err(failed));
        });
    };
    let thread = std::thread::Builder::new().name("signals".to_owned());
    thread.spawn(listen).map_err(cannot)?;
    let fault =
        |_| Error::trouble("the thread that listens for Ctrl-C ended because of a bug in lgoose");
    listens.recv().map_err(fault)?.map_err(cannot)
}

/// Makes signals interrupt this run from now on. Where one run follows another, a signal may have come just after the
/// other was over, when nobody heeded it any more: it interrupts this one.
pub(super) fn attend(run: &Handle) {
    RUN.send_modify(|place| {
        let before = place.replace(run.clone());
        if before.is_some_and(|before| before.is_stopped() && !before.is_same(run)) {
            drop(interrupt_run(place));
        }
    });
}

/// Interrupts the run, if there is one.
fn interrupt_run(place: &Option<Handle>) -> Option<Asked> {
    let run = place.as_ref()?;
    Some(run.ask(Command::Interrupt(Interrupt::Signal)))
}

/// Makes signals end the process again, as before the first run.
pub(super) fn leave() {
    RUN.send_replace(None);
}

/// Notes whether the run has files that have not been written yet.
pub(super) fn note_files_due(due: bool) {
    FILES_DUE.store(due, Ordering::Relaxed);
}

/// Waits for the next signal from now on.
pub(super) fn interrupted() -> impl Future<Output = ()> {
    let mut heard = HEARD.subscribe();
    async move {
        // The sender lives as long as the process.
        let _never = heard.changed().await;
    }
}

async fn guard((mut interrupt, mut terminate): (Signal, Signal)) {
    let mut runs = RUN.subscribe();
    let mut aborted_at = None;
    loop {
        let run = runs.borrow_and_update().clone();
        let aborted = async {
            match &run {
                Some(run) if aborted_at.is_none() => run.aborted().await,
                _ => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = runs.changed() => continue,
            () = aborted => {
                aborted_at = Some(Instant::now());
                continue;
            }
            () = end_of_patience(aborted_at) => end(),
        }
        if aborted_at.is_some() {
            end();
        }
        // The run of now: another one may have begun since.
        let asked = interrupt_run(&RUN.borrow());
        let Some(asked) = asked else { end() };
        HEARD.send_modify(|heard| *heard += 1);
        tokio::spawn(async move {
            if matches!(asked.await, Ok(Done::Stopping)) {
                super::signals::tell_of_interrupt();
            }
        });
    }
}

/// Waits until the time limit after an abort has passed; forever if there is no abort.
async fn end_of_patience(aborted_at: Option<Instant>) {
    let Some(aborted_at) = aborted_at else {
        return std::future::pending().await;
    };
    sleep_until(aborted_at + PATIENCE).await;
    while FILES_DUE.load(Ordering::Relaxed) && aborted_at.elapsed() < PATIENCE_FOR_FILES {
        sleep(Duration::from_millis(10)).await;
    }
}

/// Ends the process, whatever its other threads are doing.
fn end() -> ! {
    #[cfg(feature = "tui")]
    tui::hand_back();
    console::out().settle(Some(LAST_WORDS));
    console::err().settle(Some(LAST_WORDS));
    std::process::exit(exit::ABORTED.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::{Call, Control};

    #[tokio::test]
    async fn a_signal_between_two_runs_interrupts_the_second_once() {
        let (first, control) = Control::open();
        attend(&first);
        drop(control);
        drop(interrupt_run(&RUN.borrow()));
        let (second, mut control) = Control::open();
        attend(&second);
        attend(&second);
        let Some(Call::Command(command, _)) = control.calls.next().await else {
            panic!("it is interrupted");
        };
        assert_eq!(command, Command::Interrupt(Interrupt::Signal));
        assert!(second.is_stopped() && !second.is_aborted());
        leave();
        let (third, _control) = Control::open();
        attend(&third);
        assert!(!third.is_stopped(), "no signal came since");
        leave();
    }
}
