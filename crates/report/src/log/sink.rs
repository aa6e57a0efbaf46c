//! The file of a log. A file that blocks (a pipe that nobody reads) is waited for during the run and given up some time
//! after its end; a partly written line does not count.

use super::progress::{LogProgress, STALL_LIMIT};
use lgoose_base::files::{CreatedFile, FileError, NamedFile};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{Error, ErrorKind, Write as _};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// A file being written.
#[derive(Debug)]
pub(super) struct LogSink {
    file: CreatedFile,
    progress: Arc<LogProgress>,
    /// The number of bytes up to the end of the last whole line.
    whole: u64,
}

/// The reason why a file accepts no more lines.
#[derive(Debug)]
pub(super) enum SinkFailure {
    /// The file cannot be written.
    Broken(Error),
    /// The run is over and the file has blocked for too long, or the writing was abandoned.
    Stalled,
}

impl LogSink {
    /// Creates the file, or truncates an existing one.
    pub(super) fn open(file: &NamedFile, progress: Arc<LogProgress>) -> Result<LogSink, FileError> {
        Ok(LogSink {
            file: file.create()?,
            progress,
            whole: 0,
        })
    }

    /// Writes lines. Returns how many were written, and why not all.
    pub(super) fn write(&mut self, lines: &[u8]) -> (u64, Result<(), SinkFailure>) {
        let (taken, outcome) = self.put(lines);
        let taken = &lines[..taken];
        let whole = memchr::memrchr(b'\n', taken).map_or(0, |end| end + 1);
        self.whole += whole as u64;
        if outcome.is_err() && whole < taken.len() {
            // A file can drop the incomplete line at its end, a pipe cannot.
            let _pipe = self.file.set_len(self.whole);
        }
        let count = memchr::memchr_iter(b'\n', taken).count() as u64;
        (count, outcome)
    }

    fn put(&mut self, bytes: &[u8]) -> (usize, Result<(), SinkFailure>) {
        let mut taken = 0;
        // Since when the file has accepted nothing although the run is over.
        let mut stuck = None;
        while taken < bytes.len() {
            if self.progress.abandoned.load(Ordering::Relaxed) {
                return (taken, Err(SinkFailure::Stalled));
            }
            match (&*self.file).write(&bytes[taken..]) {
                Ok(0) => return (taken, Err(SinkFailure::Broken(ErrorKind::WriteZero.into()))),
                Ok(count) => {
                    taken += count;
                    stuck = None;
                    self.progress.steps.fetch_add(1, Ordering::Relaxed);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if self.progress.over.load(Ordering::Relaxed)
                        && stuck.get_or_insert_with(Instant::now).elapsed() > STALL_LIMIT
                    {
                        return (taken, Err(SinkFailure::Stalled));
                    }
                    self.wait();
                }
                Err(error) => return (taken, Err(SinkFailure::Broken(error))),
            }
        }
        (taken, Ok(()))
    }

    /// Waits until the file can be written, a tenth of a second at most: the run may end meanwhile.
    fn wait(&self) {
        let tenth = Timespec {
            tv_sec: 0,
            tv_nsec: 100_000_000,
        };
        // The next write shows why the wait ended.
        let _any = poll(
            &mut [PollFd::new(&*self.file, PollFlags::OUT)],
            Some(&tenth),
        );
    }
}
