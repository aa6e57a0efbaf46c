//! The activity of a thread of users, for the watchdog of another thread: the user whose code runs, since which
//! resumption, and the number of returns to the thread's loop. One thread writes it at every resume, so it is two plain
//! stores on a cache line of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// The task number while a VM is loaded.
const LOADING: u64 = 0xffff;

/// The activity of a thread that runs a plan's code. Its parts are read one by one and may not fit together, which a
/// watchdog that reads twice notices.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Heartbeat {
    /// The user and task, 0 while no code of a plan runs.
    code: AtomicU64,
    /// The number of resumptions.
    beat: AtomicU64,
    line: AtomicU32,
    /// The thread, 0 while it has not named itself.
    thread: AtomicI32,
    /// The number of returns to the thread's loop, 0 while it has none.
    returns: AtomicU64,
}

/// The loop of a thread, in which it serves all of its users, until this is dropped.
#[derive(Debug)]
pub struct WatchedLoop(Arc<Heartbeat>);

impl WatchedLoop {
    /// Records that the thread has a loop from now on.
    pub fn begin(heartbeat: Arc<Heartbeat>) -> WatchedLoop {
        heartbeat.returns.store(1, Ordering::Relaxed);
        WatchedLoop(heartbeat)
    }

    /// Records that the thread has come back to it.
    pub fn returned(&self) {
        let returns = self.0.returns.load(Ordering::Relaxed);
        self.0.returns.store(returns + 1, Ordering::Relaxed);
    }
}

impl Drop for WatchedLoop {
    fn drop(&mut self) {
        self.0.returns.store(0, Ordering::Relaxed);
    }
}

/// The code of a plan that was running at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunningCode {
    /// The user's number.
    pub user: u64,
    /// The task's index of declaration; `None` while the file's top level runs.
    pub task: Option<usize>,
    /// The number of the resumption.
    pub beat: u64,
}

impl Heartbeat {
    /// Records that the code runs on this thread, so that its processor time can be read.
    pub fn run_here(&self) {
        #[cfg(target_os = "linux")]
        self.thread
            .store(nix::unistd::gettid().as_raw(), Ordering::Relaxed);
    }

    /// Returns the processor time of the code's thread; `None` where that is not known.
    pub fn processor_time(&self) -> Option<Duration> {
        let thread = self.thread.load(Ordering::Relaxed);
        #[cfg(target_os = "linux")]
        if thread != 0 {
            // The clock of another thread, as clock_getcpuclockid(3) and the kernel's posix-timers.h encode it.
            let clock = nix::time::ClockId::from_raw(!thread << 3 | 6);
            return clock.now().ok().map(Duration::from);
        }
        None
    }

    /// Returns whether the code's thread could go on if it got a processor, and is not waiting in the kernel; also where that
    /// is not known.
    pub fn is_runnable(&self) -> bool {
        let thread = self.thread.load(Ordering::Relaxed);
        let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat"));
        let stat = stat.unwrap_or_default();
        // The name of the thread may have any characters; its state follows (proc_pid_stat(5)).
        let state = stat
            .rsplit_once(") ")
            .and_then(|(_, rest)| rest.chars().next());
        !matches!(state, Some('S' | 'D'))
    }

    /// Returns how often the thread has come back to its loop; `None` if it has none.
    pub fn returns(&self) -> Option<u64> {
        Some(self.returns.load(Ordering::Relaxed)).filter(|returns| *returns > 0)
    }

    /// Returns the code that runs, `None` if none does.
    pub fn read(&self) -> Option<RunningCode> {
        let code = self.code.load(Ordering::Relaxed);
        let task = code & LOADING;
        (code != 0).then(|| RunningCode {
            user: code >> 16,
            task: (task != LOADING).then_some(task as usize),
            beat: self.beat.load(Ordering::Relaxed),
        })
    }

    /// Returns the line of the plan at which the code was last seen during the present resumption.
    pub fn line(&self) -> Option<u32> {
        Some(self.line.load(Ordering::Relaxed)).filter(|line| *line > 0)
    }

    /// Records that code of that user begins to run.
    pub fn enter(&self, user: u64, task: Option<usize>) {
        let task = task.map_or(LOADING, |task| (task as u64).min(LOADING - 1));
        let beat = self.beat.load(Ordering::Relaxed);
        self.beat.store(beat + 1, Ordering::Relaxed);
        self.code.store(user << 16 | task, Ordering::Relaxed);
    }

    /// Records that no code of a plan runs.
    pub fn leave(&self) {
        self.code.store(0, Ordering::Relaxed);
        self.line.store(0, Ordering::Relaxed);
    }

    /// Records the line at which the code is.
    pub(crate) fn set_line(&self, line: u32) {
        self.line.store(line, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_thread_that_computes_can_go_on_and_one_that_sleeps_cannot() {
        for sleeps in [false, true] {
            let heartbeat = std::sync::Arc::<Heartbeat>::default();
            let (ended, beat) = (std::sync::Arc::<AtomicU32>::default(), heartbeat.clone());
            let over = ended.clone();
            let thread = std::thread::spawn(move || {
                beat.run_here();
                while over.load(Ordering::Relaxed) == 0 {
                    if sleeps {
                        std::thread::park();
                    }
                }
            });
            let begun = std::time::Instant::now();
            while heartbeat.is_runnable() == sleeps && begun.elapsed().as_secs() < 10 {
                std::thread::yield_now();
            }
            assert_eq!(heartbeat.is_runnable(), !sleeps);
            ended.store(1, Ordering::Relaxed);
            thread.thread().unpark();
            thread.join().expect("it ends");
        }
    }

    #[test]
    fn a_heartbeat_shows_user_task_and_line() {
        let heartbeat = Heartbeat::default();
        assert_eq!(heartbeat.read(), None);
        heartbeat.enter(70_000, Some(3));
        heartbeat.set_line(12);
        let running = heartbeat.read().expect("something runs");
        assert_eq!((running.user, running.task), (70_000, Some(3)));
        assert_eq!(heartbeat.line(), Some(12));
        heartbeat.leave();
        heartbeat.enter(70_000, Some(3));
        assert_ne!(heartbeat.read(), Some(running), "another resumption");
        assert_eq!(heartbeat.line(), None);
        heartbeat.enter(1, None);
        assert_eq!(heartbeat.read().and_then(|running| running.task), None);
    }
}
