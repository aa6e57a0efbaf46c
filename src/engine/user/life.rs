//! Counts a user's life: that it is at work, that it has begun, and how it ended.

use crate::engine::user::User;
use tokio::time::Instant;

impl User {
    /// Counts a user that has completed all its iterations.
    pub(crate) fn note_finished(&self) {
        let limit = self.iterations_wanted();
        if self.none_left || limit.is_some_and(|limit| self.iteration > limit) {
            self.shared.departed(|departures| departures.finished += 1);
        }
    }

    /// Counts the user as one that has begun, or that the plan has ended before although it had more to do.
    pub(crate) fn note_begun(&mut self) {
        let quits = self.ended && self.role.schedule.has_iterations();
        self.shared.departed(|departures| {
            if quits {
                departures.quit += 1
            } else {
                departures.began += 1
            }
        });
    }

    /// Counts the user among those at work from now on, and returns this moment.
    pub(crate) fn arrives(&self) -> Instant {
        self.shared.run.arrives();
        let now = Instant::now();
        self.count(|recorder, scenario| recorder.user_started(scenario, now.into_std()));
        now
    }

    /// Ends the count of the user among those at work.
    pub(crate) fn leaves(&self, at: Instant) {
        self.shared.run.leaves();
        self.count(|recorder, scenario| recorder.user_stopped(scenario, at.into_std()));
    }

    /// Warns that a user was lost: the report must not be silent about fewer users than asked for.
    pub(crate) fn tell_lost(&self) {
        self.shared.departed(|departures| departures.lost += 1);
        self.count(|recorder, scenario| {
            recorder.warn(format!(
                "users of scenario '{scenario}' ended at once: one of their 'on_start' tasks failed, so fewer users run than asked for"
            ));
        });
    }
}
