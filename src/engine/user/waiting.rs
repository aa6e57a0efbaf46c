//! Waits of a user for other users: for a value that they put or make, or until all of them run.

use crate::engine::user::User;
use std::time::Duration;
use tokio::time::Instant;

/// How waiting for other users has ended.
pub(super) enum Waited<T> {
    Over(T),
    TimeUp,
    Stopped,
}

impl User {
    /// Waits for what other users do, at most this long. A stop ends the wait at once, and the task with it. After a
    /// stop, a wait with a limit takes no time: what it waits for may never come.
    pub(super) async fn wait_beside<T>(
        &mut self,
        other: impl Future<Output = T>,
        most: Option<Duration>,
    ) -> Waited<T> {
        self.enter_open();
        self.vm.reclaim();
        let begin = self.cycles.is_some().then(Instant::now);
        let told = self.stop.is_told();
        let most = most.map(|most| if told { Duration::ZERO } else { most });
        let timers = &self.shared.timers;
        let time_up = async {
            match most {
                // Always lets other tasks run, also where a plan waits in a loop.
                Some(Duration::ZERO) => tokio::task::yield_now().await,
                Some(most) => timers.wait(most).await,
                None => std::future::pending().await,
            }
        };
        let stopped = async {
            if told {
                std::future::pending().await
            } else {
                self.stop.told().await
            }
        };
        let waited = tokio::select! {
            biased;
            other = other => Waited::Over(other),
            () = stopped => Waited::Stopped,
            () = time_up => Waited::TimeUp,
        };
        if let Some(begin) = begin {
            self.paused(begin.elapsed());
        }
        waited
    }
}
