//! The terminal, taken over for the view and given back whatever happens: at the end, on a panic, and while the
//! process is suspended.

use super::{State, ViewContext, draw};
use crate::metrics::Snapshot;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use crossterm::cursor::{Hide, Show};
use crossterm::event::{poll, read};
use crossterm::execute;
use crossterm::style::Print;
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use std::io::{self, Stdout, stdout};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::mpsc;

/// A key, or a change of the terminal.
pub type Typed = crossterm::event::Event;

/// Whether the terminal is the view's.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Has the terminal tell clicks and the wheel, not every movement, in a form without limits of size; and no longer.
const MOUSE: &str = "\x1b[?1000h\x1b[?1006h";
const NO_MOUSE: &str = "\x1b[?1006l\x1b[?1000l";

/// How soon the thread that reads keys notices that nobody wants them any more.
const PATIENCE: Duration = Duration::from_millis(100);

/// The terminal while the view has it; gives it back when dropped.
#[derive(Debug)]
pub struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

/// Keys and changes of size, read on a thread of its own.
#[derive(Debug)]
pub struct Input {
    events: mpsc::UnboundedReceiver<Typed>,
    thread: Option<JoinHandle<()>>,
}

impl Screen {
    /// Takes the terminal over.
    ///
    /// # Errors
    /// What the terminal said: it is none, or has gone.
    pub fn open() -> io::Result<Screen> {
        give_back_on_panic();
        take()?;
        let terminal = fresh().inspect_err(|_| give_back())?;
        Ok(Screen { terminal })
    }

    /// Draws the run as it is.
    ///
    /// # Errors
    /// What the terminal said.
    pub fn draw(
        &mut self,
        facts: &ViewContext,
        state: &mut State,
        snapshot: &Snapshot,
    ) -> io::Result<()> {
        if !TAKEN.load(Ordering::Relaxed) {
            return Ok(());
        }
        if std::mem::take(&mut state.repaint) {
            execute!(stdout(), Clear(ClearType::All))?;
            self.terminal = fresh()?;
        }
        if let Some(text) = state.copied.take() {
            // OSC 52: the terminal keeps the clipboard, also at the far end of SSH.
            let text = BASE64.encode(text);
            execute!(stdout(), Print(format!("\x1b]52;c;{text}\x07")))?;
        }
        self.terminal.draw(|frame| {
            let area = frame.area();
            state.layout = draw(facts, state, snapshot, area, frame.buffer_mut());
        })?;
        Ok(())
    }

    /// Gives the terminal back, stops the process as Ctrl-Z would, and takes the terminal over again when somebody
    /// lets it go on.
    ///
    /// # Errors
    /// What the terminal said.
    pub fn suspend(&mut self) -> io::Result<()> {
        give_back();
        let own = rustix::process::getpid();
        rustix::process::kill_process(own, rustix::process::Signal::TSTP)?;
        take()?;
        self.terminal = fresh()?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

impl Input {
    /// Begins to read.
    pub fn start() -> Input {
        let (sender, events) = mpsc::unbounded_channel();
        let thread = std::thread::spawn(move || {
            while !sender.is_closed() {
                let next = match poll(PATIENCE) {
                    Ok(false) => continue,
                    Ok(true) => read(),
                    Err(error) => Err(error),
                };
                // Without a terminal there are no keys; the view goes on.
                let Ok(event) = next else { return };
                if sender.send(event).is_err() {
                    return;
                }
            }
        });
        Input {
            events,
            thread: Some(thread),
        }
    }

    /// The next event; `None` when there will be none.
    pub async fn next(&mut self) -> Option<Typed> {
        self.events.recv().await
    }
}

impl Drop for Input {
    /// Waits until nothing is read any more: what is typed from now on is for the shell.
    fn drop(&mut self) {
        self.events.close();
        if let Some(thread) = self.thread.take() {
            // A fault of it was told by itself.
            let _ended = thread.join();
        }
    }
}

fn take() -> io::Result<()> {
    enable_raw_mode()?;
    TAKEN.store(true, Ordering::Relaxed);
    let whole = Clear(ClearType::All);
    let mouse = Print(MOUSE);
    execute!(stdout(), EnterAlternateScreen, Hide, mouse, whole).inspect_err(|_| give_back())
}

/// One that knows nothing of what is on the screen. (Its own 'clear' asks the terminal where the cursor is, which not
/// every terminal answers.)
fn fresh() -> io::Result<Terminal<CrosstermBackend<Stdout>>> {
    Terminal::new(CrosstermBackend::new(stdout()))
}

fn give_back() {
    if TAKEN.swap(false, Ordering::Relaxed) {
        // Nothing is left to do if the terminal is gone.
        let _gone = execute!(stdout(), Print(NO_MOUSE), LeaveAlternateScreen, Show);
        let _gone = disable_raw_mode();
    }
}

/// A panic's message must be readable, whichever thread it comes from.
fn give_back_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            before(panic);
        }));
    });
}
