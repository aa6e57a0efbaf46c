//! A terminal that a test can type into and read: a pseudo-terminal, and an emulator that shows its screen.

use crate::program::wait_until;
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use rustix::termios::{Action, tcflow};
use std::io::{Read as _, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A program on a terminal of its own; killed when this is dropped.
pub(crate) struct Terminal {
    /// None once it was closed.
    master: Option<Box<dyn MasterPty + Send>>,
    keys: Option<Box<dyn Write + Send>>,
    closing: Arc<AtomicBool>,
    child: Box<dyn Child + Send + Sync>,
    screen: Arc<Mutex<vt100::Parser>>,
    received: Arc<Mutex<Vec<u8>>>,
}

fn size(columns: u16, rows: u16) -> PtySize {
    PtySize {
        rows,
        cols: columns,
        pixel_width: 0,
        pixel_height: 0,
    }
}

impl Terminal {
    /// Starts a program on a terminal of that size, in a folder.
    pub(crate) fn start(
        program: &str,
        arguments: &[&str],
        folder: &std::path::Path,
        (columns, rows): (u16, u16),
    ) -> Terminal {
        let pair = native_pty_system()
            .openpty(size(columns, rows))
            .expect("a pseudo-terminal can be had");
        let mut command = CommandBuilder::new(program);
        command.args(arguments);
        command.cwd(folder);
        command.env("TERM", "xterm-256color");
        command.env("LANG", "C.UTF-8");
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("LGOOSE_")) {
            command.env_remove(name);
        }
        let child = pair.slave.spawn_command(command).expect("it was built");
        drop(pair.slave);
        let screen = Arc::new(Mutex::new(vt100::Parser::new(rows, columns, 500)));
        let received = Arc::<Mutex<Vec<u8>>>::default();
        let mut output = pair.master.try_clone_reader().expect("it can be read");
        let (shown, kept) = (screen.clone(), received.clone());
        let closing = Arc::<AtomicBool>::default();
        let closed = closing.clone();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = output.read(&mut buffer) {
                if closed.load(Ordering::Relaxed) {
                    return;
                }
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(&buffer[..length]);
                drop(kept);
                let mut screen = shown.lock().unwrap_or_else(PoisonError::into_inner);
                screen.process(&buffer[..length]);
            }
        });
        Terminal {
            keys: Some(pair.master.take_writer().expect("it can be typed into")),
            master: Some(pair.master),
            closing,
            child,
            screen,
            received,
        }
    }

    /// Returns the text on the screen.
    pub(crate) fn screen(&self) -> String {
        self.look(|screen| screen.contents())
    }

    /// Returns whether the program has taken over the whole screen.
    pub(crate) fn is_taken(&self) -> bool {
        self.look(|screen| screen.alternate_screen() || screen.hide_cursor())
    }

    /// Waits until the terminal is as it was before the program took it.
    pub(crate) fn wait_until_given_back(&self) {
        wait_until("the terminal is given back", || !self.is_taken());
    }

    fn look<T>(&self, with: impl FnOnce(&vt100::Screen) -> T) -> T {
        let parser = self.screen.lock().unwrap_or_else(PoisonError::into_inner);
        with(parser.screen())
    }

    /// Counts the cells that have a colour; fails the test if one is not of the terminal's own sixteen.
    pub(crate) fn colours(&self) -> usize {
        self.look(|screen| {
            let (rows, columns) = screen.size();
            let cells = (0..rows).flat_map(|y| (0..columns).map(move |x| (y, x)));
            let colours = cells.filter_map(|(y, x)| screen.cell(y, x).map(vt100::Cell::fgcolor));
            let own = colours.filter(|colour| match colour {
                vt100::Color::Default => false,
                vt100::Color::Idx(index) => {
                    assert!(*index < 16, "{index} is not of the sixteen");
                    true
                }
                vt100::Color::Rgb(..) => panic!("{colour:?} is not of the sixteen"),
            });
            own.count()
        })
    }

    /// Counts the bytes that came so far.
    pub(crate) fn received(&self) -> u64 {
        let received = self.received.lock();
        received.unwrap_or_else(PoisonError::into_inner).len() as u64
    }

    /// Returns what came between two sequences of bytes, each time.
    pub(crate) fn received_between(&self, begin: &str, end: &str) -> Vec<String> {
        let received = self.received.lock();
        let received = received.unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&received);
        let parts = text.split(begin).skip(1);
        parts
            .filter_map(|part| Some(part.split_once(end)?.0.to_owned()))
            .collect()
    }

    /// Returns the lines of the screen that have a cell in reverse video.
    pub(crate) fn reversed_lines(&self) -> Vec<String> {
        self.look(|screen| {
            let columns = screen.size().1;
            let lines = screen.rows(0, columns).enumerate();
            let reversed = lines.filter(|(y, _)| {
                let cells = (0..columns).filter_map(|x| screen.cell(*y as u16, x));
                cells.into_iter().any(vt100::Cell::inverse)
            });
            reversed.map(|(_, line)| line).collect()
        })
    }

    pub(crate) fn press(&mut self, keys: &str) {
        let all = self.keys.as_mut().expect("it is open");
        all.write_all(keys.as_bytes())
            .expect("the program reads its keys");
        all.flush().expect("the program reads its keys");
    }

    /// Waits until the screen shows a text.
    pub(crate) fn wait_for(&self, text: &str) {
        let mut last = String::new();
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            wait_until(text, || {
                last = self.screen();
                last.contains(text)
            });
        }));
        assert!(found.is_ok(), "'{text}' never came:\n{}", self.screen());
    }

    /// Presses keys and waits for a text that they bring.
    pub(crate) fn press_for(&mut self, keys: &str, text: &str) {
        self.press(keys);
        self.wait_for(text);
    }

    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        let mut parser = self.screen.lock().unwrap_or_else(PoisonError::into_inner);
        parser.screen_mut().set_size(rows, columns);
        drop(parser);
        self.master()
            .resize(size(columns, rows))
            .expect("it takes a size");
    }

    fn master(&self) -> &(dyn MasterPty + Send) {
        self.master.as_deref().expect("it is open")
    }

    /// Lets the terminal take nothing more, or go on: whoever writes to it waits meanwhile.
    pub(crate) fn hold(&self, on_hold: bool) {
        let path = self.master().tty_name().expect("it has a name");
        let mut options = std::fs::OpenOptions::new();
        let no_control = rustix::fs::OFlags::NOCTTY.bits() as i32;
        options.write(true).custom_flags(no_control);
        let terminal = options.open(path).expect("it can be opened");
        let action = if on_hold { Action::OOff } else { Action::OOn };
        tcflow(terminal, action).expect("it is a terminal");
    }

    /// Closes the terminal, as the end of its window does. What was on its way is lost.
    pub(crate) fn close(&mut self) {
        self.closing.store(true, Ordering::Relaxed);
        drop(self.keys.take());
        drop(self.master.take());
    }

    pub(crate) fn process_id(&self) -> i32 {
        let id = self.child.process_id().expect("it runs");
        i32::try_from(id).expect("a process id is small")
    }

    /// Waits for the end and returns the exit code.
    pub(crate) fn end(&mut self) -> u32 {
        let mut code = None;
        wait_until("the program ends", || {
            code = self.child.try_wait().expect("it is our child");
            code.is_some()
        });
        code.expect("it has ended").exit_code()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have ended long ago.
        let _ended = self.child.kill();
    }
}
