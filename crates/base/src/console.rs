//! Standard output, standard error and the file of the log, each written by its own thread: a blocked terminal or pipe
//! delays nothing else, and a closed one is no longer written to. Knows nothing about the contents.
//!
//! The streams stay in the mode in which they were inherited: other programs write to the same terminal, which must
//! stay blocking for them.

use rustix::io::Errno;
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Most bytes that may wait for a stream before lines are left out.
const MOST_WAITING: usize = 256 << 10;

/// The same for a file, which usually takes all there is: only one that blocks has so much waiting.
const MOST_WAITING_FOR_FILE: usize = 64 << 20;

/// Bytes handed over at a time: small enough that a slow reader shows progress.
const PIECE_BYTES: usize = 4 << 10;

/// Interval at which a waiting task looks at a stream again.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// A standard stream of this process, or a file that is written like one.
#[derive(Debug)]
pub struct OutputStream {
    name: &'static str,
    place: StreamTarget,
    /// Most bytes that may wait before lines are left out.
    most_waiting: usize,
    /// Bytes to be written.
    queue: Mutex<ConsoleQueue>,
    filled: Condvar,
    state: watch::Sender<ConsoleState>,
}

/// The destination of a stream.
#[derive(Debug)]
enum StreamTarget {
    Standard(fn(&[u8]) -> Result<usize, Errno>),
    File(File),
}

impl StreamTarget {
    fn write(&self, bytes: &[u8]) -> Result<usize, Errno> {
        match self {
            StreamTarget::Standard(write) => write(bytes),
            StreamTarget::File(file) => rustix::io::write(file, bytes),
        }
    }
}

/// Counts of the lines handed to a stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StreamCounts {
    /// Lines, each of which was one call.
    pub lines: u64,
    /// Those of them that have not been written.
    pub missing: u64,
}

#[derive(Debug)]
struct ConsoleQueue {
    waiting: VecDeque<Vec<u8>>,
    /// The bytes in the queue, and those being written.
    bytes: usize,
    /// Time at which the stream last took something, or had nothing to take.
    moved: Instant,
    left_out: u64,
    count: StreamCounts,
    has_thread: bool,
}

/// State of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConsoleState {
    /// All was written.
    Idle,
    /// Something is to be written.
    Busy,
    /// Nothing can be written any more.
    Ended(Errno),
}

/// Standard output.
pub fn out() -> &'static OutputStream {
    static OUT: LazyLock<OutputStream> = LazyLock::new(|| {
        OutputStream::new("standard output", |bytes| {
            rustix::io::write(io::stdout(), bytes)
        })
    });
    &OUT
}

/// Standard error.
pub fn err() -> &'static OutputStream {
    static ERR: LazyLock<OutputStream> = LazyLock::new(|| {
        OutputStream::new("standard error", |bytes| {
            rustix::io::write(io::stderr(), bytes)
        })
    });
    &ERR
}

impl OutputStream {
    fn new(name: &'static str, write: fn(&[u8]) -> Result<usize, Errno>) -> OutputStream {
        OutputStream::to(name, StreamTarget::Standard(write), MOST_WAITING)
    }

    /// Returns a stream that writes to a file. One that blocks should be opened without blocking: a write may then be
    /// given up.
    pub fn of_file(name: &'static str, file: File) -> OutputStream {
        OutputStream::to(name, StreamTarget::File(file), MOST_WAITING_FOR_FILE)
    }

    fn to(name: &'static str, place: StreamTarget, most_waiting: usize) -> OutputStream {
        OutputStream {
            name,
            place,
            most_waiting,
            queue: Mutex::new(ConsoleQueue {
                waiting: VecDeque::new(),
                bytes: 0,
                moved: Instant::now(),
                left_out: 0,
                count: StreamCounts::default(),
                has_thread: false,
            }),
            filled: Condvar::new(),
            state: watch::channel(ConsoleState::Idle).0,
        }
    }

    /// Returns the name of the stream in messages.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Writes bytes as soon as the stream takes them; waits for nobody, unless no thread can be started for that.
    pub fn put(&'static self, bytes: Vec<u8>) {
        let mut queue = self.queue();
        if bytes.is_empty() {
            return;
        }
        queue.count.lines += 1;
        queue.count.missing += 1;
        if matches!(*self.state.borrow(), ConsoleState::Ended(_)) {
            return;
        }
        if queue.left_out > 0 && queue.bytes + bytes.len() <= self.most_waiting {
            let lines = std::mem::take(&mut queue.left_out);
            let notice = format!(" WARN {lines} lines were left out here: nobody read them\n");
            // It counts until it is written, like any other.
            queue.count.missing += 1;
            self.push(&mut queue, notice.into_bytes());
        }
        self.push(&mut queue, bytes);
        if !queue.has_thread {
            queue.has_thread = true;
            let thread = std::thread::Builder::new().name(self.name.to_owned());
            if thread.spawn(move || self.write()).is_err() {
                drop(queue);
                self.write_here();
            }
        }
    }

    /// Writes a line like `Stream::put`, or counts it as left out if too much waits already.
    pub fn offer(&'static self, bytes: Vec<u8>) {
        let mut queue = self.queue();
        if queue.bytes > 0 && queue.bytes + bytes.len() > self.most_waiting {
            queue.left_out += 1;
            queue.count.lines += 1;
            queue.count.missing += 1;
            return;
        }
        drop(queue);
        self.put(bytes);
    }

    /// Returns how many lines there were, and how many of them have not been written.
    pub fn count(&self) -> StreamCounts {
        self.queue().count
    }

    /// Returns the state of the stream.
    pub fn state(&self) -> ConsoleState {
        *self.state.borrow()
    }

    /// Waits until all was written, or nothing can be written any more. Nothing is lost when it is dropped before.
    pub async fn settled(&self) -> ConsoleState {
        let mut state = self.state.subscribe();
        let settled = state.wait_for(|state| *state != ConsoleState::Busy).await;
        settled.map_or(ConsoleState::Idle, |state| *state)
    }

    /// Waits like `Stream::settled`, but only as long as the stream takes something within every stretch of `patience`.
    pub async fn settled_within(&self, patience: Duration) -> ConsoleState {
        let start = Instant::now();
        loop {
            if let Ok(state) = tokio::time::timeout(LOOK_INTERVAL, self.settled()).await {
                return state;
            }
            if self.is_stuck(start, patience) {
                return ConsoleState::Busy;
            }
        }
    }

    fn is_stuck(&self, start: Instant, patience: Duration) -> bool {
        self.queue().moved.max(start).elapsed() >= patience
    }

    /// Waits like `Stream::settled_within` outside of async code; without a limit if there is no `patience`.
    pub fn settle(&self, patience: Option<Duration>) -> ConsoleState {
        let start = Instant::now();
        loop {
            let state = self.state();
            if state != ConsoleState::Busy
                || patience.is_some_and(|time| self.is_stuck(start, time))
            {
                return state;
            }
            std::thread::park_timeout(Duration::from_millis(1));
        }
    }

    fn queue(&self) -> MutexGuard<'_, ConsoleQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, queue: &mut ConsoleQueue, bytes: Vec<u8>) {
        if queue.bytes == 0 {
            queue.moved = Instant::now();
        }
        queue.bytes += bytes.len();
        queue.waiting.push_back(bytes);
        self.state.send_replace(ConsoleState::Busy);
        self.filled.notify_one();
    }

    fn end(&self, queue: &mut ConsoleQueue, errno: Errno) {
        queue.waiting.clear();
        queue.bytes = 0;
        self.state.send_replace(ConsoleState::Ended(errno));
    }

    /// Writes the queue until a write fails. Blocks while the reader does not read; ends with the process.
    fn write(&self) {
        loop {
            let mut queue = self.queue();
            let bytes = loop {
                match queue.waiting.pop_front() {
                    Some(bytes) => break bytes,
                    None => {
                        queue = self
                            .filled
                            .wait(queue)
                            .unwrap_or_else(PoisonError::into_inner);
                    }
                }
            };
            drop(queue);
            if let Err(errno) = self.write_all(&bytes) {
                return self.end(&mut self.queue(), errno);
            }
        }
    }

    /// Writes the queue in place of the thread. Lines that others queue meanwhile are written, too, so that they stay
    /// in their order.
    fn write_here(&self) {
        loop {
            let mut queue = self.queue();
            let Some(bytes) = queue.waiting.pop_front() else {
                // The next that is queued tries again to start a thread.
                queue.has_thread = false;
                return;
            };
            drop(queue);
            if let Err(errno) = self.write_all(&bytes) {
                return self.end(&mut self.queue(), errno);
            }
        }
    }

    fn write_all(&self, mut bytes: &[u8]) -> Result<(), Errno> {
        while !bytes.is_empty() {
            let taken = match self.place.write(&bytes[..bytes.len().min(PIECE_BYTES)]) {
                Ok(taken) => taken,
                Err(Errno::INTR) => 0,
                // Another program has made it so.
                Err(Errno::AGAIN) => {
                    std::thread::sleep(Duration::from_millis(10));
                    0
                }
                Err(errno) => return Err(errno),
            };
            bytes = &bytes[taken..];
            if taken > 0 {
                let mut queue = self.queue();
                queue.bytes -= taken;
                queue.moved = Instant::now();
                if bytes.is_empty() {
                    queue.count.missing -= 1;
                }
                if queue.bytes == 0 {
                    self.state.send_replace(ConsoleState::Idle);
                }
            }
        }
        Ok(())
    }
}

impl ConsoleState {
    /// Returns whether the reader has gone: a closed pipe, a terminal that was closed, a stream that was never open.
    pub fn is_gone(self) -> bool {
        let gone = [Errno::PIPE, Errno::IO, Errno::BADF, Errno::NXIO];
        matches!(self, ConsoleState::Ended(errno) if gone.contains(&errno))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    /// A stream that nobody reads until the test does.
    static OPEN: AtomicBool = AtomicBool::new(false);
    static TAKEN: AtomicUsize = AtomicUsize::new(0);

    fn stuck(bytes: &[u8]) -> Result<usize, Errno> {
        while !OPEN.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        TAKEN.fetch_add(bytes.len(), Ordering::Relaxed);
        Ok(bytes.len())
    }

    fn leaked(write: fn(&[u8]) -> Result<usize, Errno>) -> &'static OutputStream {
        Box::leak(Box::new(OutputStream::new("a stream", write)))
    }

    #[test]
    fn one_that_nobody_reads_holds_nobody_up_and_retains_what_is_needed() {
        let stream = leaked(stuck);
        let line = [b'x'; 1024];
        for _ in 0..1_000 {
            stream.offer(line.to_vec());
        }
        stream.put(b"the tables".to_vec());
        assert_eq!(stream.settle(Some(Duration::ZERO)), ConsoleState::Busy);
        let count = stream.count();
        assert_eq!((count.lines, count.missing), (1_001, 1_001));
        OPEN.store(true, Ordering::Relaxed);
        assert_eq!(stream.settle(None), ConsoleState::Idle);
        let taken = TAKEN.load(Ordering::Relaxed);
        assert!(
            (MOST_WAITING..=MOST_WAITING + 1024).contains(&taken),
            "{taken}"
        );
        stream.put(b"more\n".to_vec());
        assert_eq!(stream.settle(None), ConsoleState::Idle);
        let delivered = TAKEN.load(Ordering::Relaxed) - taken;
        assert!(delivered > b"more\n".len(), "the omission is reported");
        let (lines, written) = (1_002, taken.div_ceil(1024) as u64 + 1);
        let missing = lines - written;
        assert_eq!(stream.count(), StreamCounts { lines, missing });
    }

    #[test]
    fn one_that_is_gone_is_written_to_no_more() {
        let stream = leaked(|_| Err(Errno::IO));
        stream.put(b"a line\n".to_vec());
        assert_eq!(stream.settle(None), ConsoleState::Ended(Errno::IO));
        stream.put(b"another\n".to_vec());
        assert!(stream.state().is_gone());
        let both = StreamCounts {
            lines: 2,
            missing: 2,
        };
        assert_eq!(stream.count(), both);
        let full = leaked(|_| Err(Errno::NOSPC));
        full.put(b"a line\n".to_vec());
        assert!(!full.settle(None).is_gone());
    }
}
