//! The terminal, taken over for the view and given back in every case: at the end, on a panic, and while the process is
//! suspended. A terminal that accepts nothing delays nothing: a frame is drawn only when the last one was accepted.

use super::{ViewContext, ViewState, draw};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use crossterm::cursor::{Hide, Show};
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste, poll, read};
use crossterm::queue;
use crossterm::style::Print;
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use lgoose_base::console::{self, ConsoleState as StreamState};
use lgoose_metrics::Snapshot;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use rustix::event::{PollFd, PollFlags, Timespec};
use std::fs::File;
use std::io::{self, IsTerminal as _, stdin};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// A key, or a change of the terminal.
pub type TerminalEvent = crossterm::event::Event;

/// Whether the view has the terminal. Locked for moments only, in which nothing can panic.
static TERMINAL: Mutex<TerminalUse> = Mutex::new(TerminalUse {
    is_ours: false,
    at: 0,
});

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TerminalUse {
    /// Whether the view has it.
    is_ours: bool,
    /// The number of times that it was taken; each time, nothing is on it.
    at: u64,
}

fn terminal() -> MutexGuard<'static, TerminalUse> {
    TERMINAL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has the terminal report clicks and the wheel, not every movement, in a form without limits of size; and ends that.
const MOUSE: &str = "\x1b[?1000h\x1b[?1006h";
const NO_MOUSE: &str = "\x1b[?1006l\x1b[?1000l";

/// The time until the thread that reads keys notices its end, and a change of the size.
const PATIENCE: Duration = Duration::from_millis(100);

/// The least time from one frame to the next.
const BETWEEN_FRAMES: Duration = Duration::from_millis(100);

/// The most time that the terminal may take after a panic to show its former screen.
const RESTORE_TIMEOUT: Duration = Duration::from_secs(1);

/// The terminal while the view has it; gives it back when dropped.
#[derive(Debug)]
pub struct TerminalScreen {
    terminal: Terminal<CrosstermBackend<FrameBuffer>>,
    frame: FrameBuffer,
    /// Time at which a frame was last drawn.
    drawn: Option<Instant>,
    /// The count of [`Taken`] that the frames are for.
    taken_at: u64,
}

/// Buffer of a frame, until it is written as a whole.
#[derive(Debug, Clone, Default)]
struct FrameBuffer(Arc<Mutex<Vec<u8>>>);

/// Keys and changes of size, read on their own thread.
#[derive(Debug)]
pub struct TerminalInput {
    events: mpsc::UnboundedReceiver<TerminalEvent>,
    thread: Option<JoinHandle<()>>,
}

impl TerminalScreen {
    /// Takes the terminal over.
    ///
    /// # Errors
    /// The error of the terminal: there is none, or it has gone.
    pub fn open() -> io::Result<TerminalScreen> {
        restore_on_panic();
        take()?;
        let (blank, frame) = fresh().inspect_err(|_| restore())?;
        Ok(TerminalScreen {
            terminal: blank,
            frame,
            drawn: None,
            taken_at: terminal().at,
        })
    }

    /// Waits until a frame can be drawn: the terminal has accepted the one before, some time ago. False when the
    /// terminal has gone. May be dropped before it ends: nothing is lost.
    pub async fn ready(&self) -> bool {
        if let StreamState::Ended(_) = console::out().settled().await {
            return false;
        }
        if let Some(drawn) = self.drawn {
            tokio::time::sleep_until(drawn + BETWEEN_FRAMES).await;
        }
        true
    }

    /// Draws the current run, without waiting.
    ///
    /// # Errors
    /// The error of the terminal.
    pub fn draw(
        &mut self,
        facts: &ViewContext,
        state: &mut ViewState,
        snapshot: &Snapshot,
    ) -> io::Result<()> {
        let taken = *terminal();
        if taken.at != self.taken_at {
            (self.terminal, self.frame) = fresh()?;
            self.taken_at = taken.at;
        }
        let mut first = Vec::new();
        if std::mem::take(&mut state.repaint) {
            queue!(first, Clear(ClearType::All))?;
            (self.terminal, self.frame) = fresh()?;
        }
        if let Some(text) = state.copied.take() {
            // OSC 52: the terminal keeps the clipboard, also at the far end of SSH.
            let text = BASE64.encode(text);
            queue!(first, Print(format!("\x1b]52;c;{text}\x07")))?;
        }
        self.terminal.draw(|frame| {
            let area = frame.area();
            state.layout = draw(facts, state, snapshot, area, frame.buffer_mut());
        })?;
        self.drawn = Some(Instant::now());
        first.append(&mut self.frame.take());
        if *terminal() == taken && taken.is_ours {
            console::out().put(first);
        }
        Ok(())
    }
}

impl Drop for TerminalScreen {
    fn drop(&mut self) {
        restore();
    }
}

impl FrameBuffer {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl io::Write for FrameBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut frame = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        frame.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl TerminalInput {
    /// Begins to read.
    pub fn start() -> TerminalInput {
        let (sender, events) = mpsc::unbounded_channel();
        let thread = std::thread::spawn(move || {
            // Where crossterm reads, too.
            let (stdin, tty) = (stdin(), File::open("/dev/tty"));
            let keys = match (stdin.is_terminal(), &tty) {
                (true, _) => stdin.as_fd(),
                (false, Ok(tty)) => tty.as_fd(),
                (false, Err(_)) => return,
            };
            while !sender.is_closed() && await_keys(keys) {
                while let Ok(true) = poll(Duration::ZERO) {
                    // Without a terminal there are no keys.
                    let Ok(event) = read() else { return };
                    if sender.send(event).is_err() {
                        return;
                    }
                }
            }
        });
        TerminalInput {
            events,
            thread: Some(thread),
        }
    }

    /// Returns the next event; `None` when the terminal has gone, so that there will be none.
    pub async fn next(&mut self) -> Option<TerminalEvent> {
        self.events.recv().await
    }
}

impl Drop for TerminalInput {
    /// Waits until nothing is read any more: later input is for the shell.
    fn drop(&mut self) {
        self.events.close();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been printed already.
            let _ended = thread.join();
        }
    }
}

/// Waits a little for keys; false when the terminal has gone. Comes before crossterm's `poll`, which would read the
/// end of a lost terminal over and over.
fn await_keys(keys: BorrowedFd<'_>) -> bool {
    let patience = Timespec {
        tv_sec: 0,
        tv_nsec: PATIENCE.subsec_nanos().into(),
    };
    let mut polled = [PollFd::from_borrowed_fd(keys, PollFlags::IN)];
    // An interrupted wait counts as one that found nothing.
    let _any = rustix::event::poll(&mut polled, Some(&patience));
    let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
    !polled[0].revents().intersects(gone)
}

/// Gives the terminal back while the process is suspended; returns whether the view had it.
pub fn hand_back() -> bool {
    let ours = terminal().is_ours;
    restore();
    ours
}

/// Takes the terminal again after [`hand_back`].
///
/// # Errors
/// The error of the terminal.
pub fn take_again() -> io::Result<()> {
    take()
}

fn take() -> io::Result<()> {
    enable_raw_mode()?;
    let whole = Clear(ClearType::All);
    let mut bytes = Vec::new();
    queue!(
        bytes,
        EnterAlternateScreen,
        EnableBracketedPaste,
        Print(MOUSE),
        Hide,
        whole
    )?;
    let mut terminal = terminal();
    terminal.is_ours = true;
    terminal.at += 1;
    console::out().put(bytes);
    Ok(())
}

/// Makes a terminal without knowledge of the screen. (ratatui's own `clear` queries the position of the cursor, which
/// not every terminal reports.)
fn fresh() -> io::Result<(Terminal<CrosstermBackend<FrameBuffer>>, FrameBuffer)> {
    let frame = FrameBuffer::default();
    let terminal = Terminal::new(CrosstermBackend::new(frame.clone()))?;
    Ok((terminal, frame))
}

fn restore() {
    let mut terminal = terminal();
    if std::mem::replace(&mut terminal.is_ours, false) {
        let mut bytes = Vec::new();
        let _infallible = queue!(
            bytes,
            Print(NO_MOUSE),
            DisableBracketedPaste,
            LeaveAlternateScreen,
            Show
        );
        console::out().put(bytes);
        // Nothing is left to do if the terminal is gone.
        let _gone = disable_raw_mode();
    }
}

/// Gives the terminal back on a panic in any thread, so that the message can be read.
fn restore_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore();
            console::out().settle(Some(RESTORE_TIMEOUT));
            before(panic);
        }));
    });
}
