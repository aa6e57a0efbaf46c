//! Wakes users who wait for a host that is down when anybody has a response of it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// The hosts that users of a process wait for.
#[derive(Debug, Default)]
pub(crate) struct HostRecovery {
    /// Number of users that wait: while none does, a response costs one load.
    waiting: AtomicUsize,
    hosts: Mutex<HashMap<Box<str>, Arc<Notify>>>,
}

impl HostRecovery {
    /// Waits as long as `pause` does, or until somebody has a response of the host.
    pub(crate) async fn wait(&self, host: &str, pause: impl Future<Output = ()>) {
        let waiter = Waiter::new(self, host);
        let mut response = std::pin::pin!(waiter.notify.notified());
        response.as_mut().enable();
        tokio::select! {
            () = pause => {}
            () = response => {}
        }
    }

    /// Wakes those who wait for a host: it has responded.
    pub(crate) fn responded(&self, host: &str) {
        if self.has_waiting() {
            let notify = self.hosts().get(host).cloned();
            if let Some(notify) = notify {
                notify.notify_waiters();
            }
        }
    }

    /// Returns whether anybody waits for any host.
    pub(crate) fn has_waiting(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    fn hosts(&self) -> MutexGuard<'_, HashMap<Box<str>, Arc<Notify>>> {
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A user that waits; its host is forgotten with the last.
struct Waiter<'a> {
    recoveries: &'a HostRecovery,
    host: &'a str,
    notify: Arc<Notify>,
}

impl<'a> Waiter<'a> {
    fn new(recoveries: &'a HostRecovery, host: &'a str) -> Waiter<'a> {
        recoveries.waiting.fetch_add(1, Ordering::Relaxed);
        let notify = recoveries.hosts().entry(host.into()).or_default().clone();
        Waiter {
            recoveries,
            host,
            notify,
        }
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.recoveries.waiting.fetch_sub(1, Ordering::Relaxed);
        let mut hosts = self.recoveries.hosts();
        // This one's and the table's.
        if Arc::strong_count(&self.notify) == 2 {
            hosts.remove(self.host);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn a_response_of_the_host_ends_the_wait_and_one_of_another_does_not() {
        let recoveries = HostRecovery::default();
        let long = || tokio::time::sleep(Duration::from_secs(1));
        let start = tokio::time::Instant::now();
        let both = async {
            tokio::join!(
                recoveries.wait("http://a", long()),
                recoveries.wait("http://b", long()),
                async {
                    tokio::task::yield_now().await;
                    assert!(recoveries.has_waiting());
                    recoveries.responded("http://c");
                    tokio::time::sleep(Duration::from_millis(5)).await;
                    recoveries.responded("http://a");
                }
            )
        };
        both.await;
        assert_eq!(start.elapsed(), Duration::from_secs(1), "b waits on");
        recoveries.responded("http://a");
        assert!(!recoveries.has_waiting() && recoveries.hosts().is_empty());
        let start = tokio::time::Instant::now();
        tokio::join!(recoveries.wait("http://a", long()), async {
            recoveries.responded("http://a");
        });
        assert!(start.elapsed() < Duration::from_millis(1));
    }
}
