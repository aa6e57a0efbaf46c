//! Alarm: a timer that is precise to some 50 µs, for starts whose delay is measured and for short waits of users.
//! tokio's own timers come one to two milliseconds late, which is more than a fast site takes to respond.

use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll};
use tokio::time::Instant;

/// Timer that wakes one task at a time.
#[derive(Debug, Default)]
pub(crate) enum Alarm {
    /// Not used yet.
    #[default]
    New,
    /// A timer of the kernel.
    #[cfg(target_os = "linux")]
    Precise(linux::KernelTimer),
    /// A timer of tokio, where there is no other and where time is simulated.
    Coarse,
}

impl Alarm {
    /// Waits until `due`; returns at once if it is late.
    pub(crate) async fn until(&mut self, due: Instant) {
        if !self.is_precise() || poll_fn(|cx| self.poll(cx, due)).await.is_err() {
            tokio::time::sleep_until(due).await;
        }
    }

    /// Returns whether there is a timer of the kernel to [`poll`](Alarm::poll).
    pub(crate) fn is_precise(&mut self) -> bool {
        if matches!(self, Alarm::New) {
            *self = Alarm::best();
        }
        !matches!(self, Alarm::Coarse)
    }

    /// Returns ready when `due` has come; until then, only the task that polled last is woken.
    ///
    /// # Errors
    /// The error of the kernel's timer, or that there is no such timer.
    #[cfg(target_os = "linux")]
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, due: Instant) -> Poll<io::Result<()>> {
        match self {
            Alarm::Precise(timer) => timer.poll(cx, due),
            Alarm::New | Alarm::Coarse => Poll::Ready(Err(io::ErrorKind::Unsupported.into())),
        }
    }

    /// Returns an error at once: there is no timer of the kernel.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn poll(&mut self, _: &mut Context<'_>, _: Instant) -> Poll<io::Result<()>> {
        Poll::Ready(Err(io::ErrorKind::Unsupported.into()))
    }

    /// Makes an alarm with a timer of the kernel; `None` where there is no such timer.
    pub(crate) fn precise() -> Option<Alarm> {
        let alarm = Alarm::best();
        (!matches!(alarm, Alarm::Coarse)).then_some(alarm)
    }

    #[cfg(target_os = "linux")]
    fn best() -> Alarm {
        linux::KernelTimer::new().map_or(Alarm::Coarse, Alarm::Precise)
    }

    #[cfg(not(target_os = "linux"))]
    fn best() -> Alarm {
        Alarm::Coarse
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    };
    use std::io;
    use std::os::fd::OwnedFd;
    use std::task::{Context, Poll, ready};
    use std::time::Duration;
    use tokio::io::unix::AsyncFd;
    use tokio::time::Instant;

    /// Timer of the kernel that the shard's own epoll waits for.
    #[derive(Debug)]
    pub(crate) struct KernelTimer {
        file: AsyncFd<OwnedFd>,
        /// The moment that it is set to.
        set: Option<Instant>,
    }

    impl KernelTimer {
        #[expect(
            deprecated,
            reason = "its replacement is unsafe, for types that do not own the file they name; this one does"
        )]
        pub(crate) fn new() -> io::Result<KernelTimer> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let file = timerfd_create(TimerfdClockId::Monotonic, flags)?;
            Ok(KernelTimer {
                file: AsyncFd::new(file)?,
                set: None,
            })
        }

        pub(crate) fn poll(&mut self, cx: &mut Context<'_>, due: Instant) -> Poll<io::Result<()>> {
            loop {
                let remaining = due.saturating_duration_since(Instant::now());
                if remaining.is_zero() {
                    return Poll::Ready(Ok(()));
                }
                let is_new = self.set != Some(due);
                if is_new {
                    self.set(remaining)?;
                    self.set = Some(due);
                }
                ready!(self.file.poll_read_ready(cx))?.clear_ready();
                // What was ready before it was set is an earlier expiry.
                if !is_new {
                    self.set = None;
                }
            }
        }

        /// Sets the timer, which also clears its earlier expiry.
        fn set(&self, remaining: Duration) -> io::Result<()> {
            let spec = Itimerspec {
                it_interval: Timespec {
                    tv_sec: 0,
                    tv_nsec: 0,
                },
                it_value: Timespec {
                    tv_sec: remaining.as_secs().min(i64::MAX as u64) as i64,
                    tv_nsec: remaining.subsec_nanos().into(),
                },
            };
            timerfd_settime(&self.file, TimerfdTimerFlags::empty(), &spec)?;
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn an_alarm_never_rings_early_and_can_be_set_again_while_it_waits() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime can be made");
        runtime.block_on(async {
            let mut alarm = Alarm::default();
            for us in [0, 100, 1_500, 700, 0, 20] {
                let due = Instant::now() + Duration::from_micros(us);
                alarm.until(due).await;
                assert!(Instant::now() >= due);
            }
            let far = Instant::now() + Duration::from_secs(3600);
            for _ in 0..3 {
                tokio::select! {
                    () = alarm.until(far) => unreachable!("an hour has not passed"),
                    () = tokio::task::yield_now() => {}
                }
                let due = Instant::now() + Duration::from_micros(300);
                alarm.until(due).await;
                assert!(Instant::now() >= due);
            }
        });
    }
}
