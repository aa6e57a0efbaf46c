//! When a user whose task was preempted goes on: the other users of its thread, which compute little, keep their pace.
//! Knows no plans.

use crate::user::turn::TICKS;
use std::time::Duration;
use tokio::time::Instant;

/// The part of the thread that a user gets which computes for long: one of so many.
const SHARE: u32 = 20;
/// The processor time that a user may take before its share is counted, as a task does that decodes a large page.
const BURST: Duration = Duration::from_millis(50);
/// A single tick counts if the one before it came fewer steps ago than this. Steps of less than a millisecond rarely have a tick,
/// so that a later one says nothing.
const RARE: u32 = 5;
/// How long a user whose short turns count is not among those that compute little. Since ticks come by chance, users of the
/// same plan would otherwise wait for each other.
const MEMORY: Duration = Duration::from_secs(2);

/// The turns of one user that computes for long, as a leaky bucket.
#[derive(Debug, Default)]
pub(super) struct FairShare {
    /// When its turns so far are paid for; `None` for a user that was not preempted lately.
    paid: Option<Instant>,
    /// The steps of other users of the thread at its latest turn, and when they were last seen to have taken one.
    others: u64,
    seen: Option<Instant>,
    /// The processor time of its turns since any of its code has asked for something.
    computed: Duration,
    /// The time at which a short turn last counted.
    short: Option<Instant>,
    /// The steps of the user since a tick of the processor's clock came in one.
    steps: u32,
}

impl FairShare {
    fn is_heavy(&mut self) -> bool {
        if self.paid.is_some() || self.short.is_some() {
            let now = Instant::now();
            self.paid = self.paid.filter(|paid| *paid > now);
            self.short = self.short.filter(|short| now < *short + MEMORY);
        }
        self.paid.is_some() || self.short.is_some()
    }

    /// Counts a step of the user. Returns whether the user has computed for long lately.
    pub(super) fn take_step(&mut self) -> bool {
        self.steps = self.steps.saturating_add(1);
        self.computed = Duration::ZERO;
        self.is_heavy()
    }

    /// Counts a turn, and returns how much processor time the code of the user has taken since it last asked for something.
    pub(super) fn compute(&mut self, turn: Duration) -> Duration {
        self.computed += turn;
        self.computed
    }

    /// Returns whether a turn with that many ticks counts. A single tick may come as soon as a turn begins, so it counts only if
    /// the user had another one a few steps ago.
    pub(super) fn is_long(&mut self, ticks: u32) -> bool {
        let steps = std::mem::take(&mut self.steps);
        if ticks >= TICKS {
            return true;
        }
        let is_counted = ticks > 0 && steps < RARE;
        if is_counted {
            self.short = Some(Instant::now());
        }
        is_counted
    }

    /// Counts a turn that ends now and took so much processor time. `others` is the number of steps so far of those users
    /// of the thread that compute little. Returns how long the user waits before its next turn. It does not wait if no other
    /// user has taken a step during the last [`BURST`]; a shorter time says nothing, since jobs take turns in a row.
    pub(super) fn end_turn(&mut self, turn: Duration, now: Instant, others: u64) -> Duration {
        if std::mem::replace(&mut self.others, others) != others {
            self.seen = Some(now);
        }
        let is_alone = self.seen.is_none_or(|seen| now > seen + BURST);
        let paid = self.paid.map_or(now, |paid| paid.max(now)) + turn * SHARE;
        let free = now + BURST * SHARE;
        self.paid = Some(if is_alone { paid.min(free) } else { paid });
        self.debt(now)
    }

    /// Returns how long the user waits before its next turn.
    pub(super) fn debt(&self, now: Instant) -> Duration {
        let free = now + BURST * SHARE;
        self.paid
            .map_or(Duration::ZERO, |paid| paid.saturating_duration_since(free))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TURN: Duration = Duration::from_millis(10);

    /// The turns that a user takes within some seconds while another takes a step each `step` milliseconds.
    fn turns(seconds: u64, step: u64) -> u64 {
        let begin = Instant::now();
        let (mut share, mut now, mut turns) = (FairShare::default(), begin, 0);
        while now < begin + Duration::from_secs(seconds) {
            now += TURN;
            turns += 1;
            now += share.end_turn(TURN, now, (now - begin).as_millis() as u64 / step);
        }
        turns
    }

    #[test]
    fn a_user_that_computes_all_the_time_gets_a_twentieth_beside_others() {
        assert_eq!(
            turns(30, 1),
            150 + 5,
            "one each 200 ms, and the first five at once"
        );
    }

    #[test]
    fn jobs_that_take_their_turns_in_a_row_share_the_part_of_their_user() {
        let begin = Instant::now();
        let (mut share, mut now) = (FairShare::default(), begin);
        let (mut turns, mut others) = (0, 1);
        while now < begin + Duration::from_secs(30) {
            // Two jobs have their turns before the others have theirs.
            for _ in 0..2 {
                now += TURN;
                turns += 1;
                share.end_turn(TURN, now, others);
            }
            let wait = share.debt(now);
            now += wait;
            others += u64::from(!wait.is_zero());
        }
        assert!(turns <= 150 + 15, "{turns}");
    }

    #[test]
    fn short_turns_count_if_ticks_come_in_most_of_them() {
        let mut share = FairShare::default();
        assert!(share.is_long(2), "a long turn");
        for gap in [0, 1, 4] {
            for _ in 0..gap {
                share.take_step();
            }
            assert!(share.is_long(1), "{gap}");
        }
        for gap in [5, 1000] {
            for _ in 0..gap {
                share.take_step();
            }
            assert!(!share.is_long(1), "{gap}");
        }
    }

    #[test]
    fn users_that_are_alike_are_none_that_compute_little() {
        let mut share = FairShare::default();
        assert!(!share.take_step());
        assert!(share.is_long(1) && share.take_step(), "for a while");
        share.short = Some(Instant::now() - MEMORY);
        assert!(!share.take_step(), "and not for ever");
    }

    #[test]
    fn a_user_that_is_alone_waits_for_nobody() {
        assert_eq!(turns(3, u64::MAX), 300);
        // The other comes once in 10 s.
        assert!(turns(30, 10_000) > 2900);
    }

    #[test]
    fn a_user_that_was_alone_has_no_debt_when_others_come() {
        let (mut share, mut now) = (FairShare::default(), Instant::now());
        for _ in 0..1000 {
            assert_eq!(share.end_turn(TURN, now, 0), Duration::ZERO);
            now += TURN;
        }
        assert!(share.end_turn(TURN, now, 1) <= TURN * SHARE);
    }

    #[test]
    fn a_user_that_computes_now_and_then_is_never_made_to_wait() {
        let (mut share, mut now) = (FairShare::default(), Instant::now());
        for others in 1..100 {
            assert_eq!(share.end_turn(TURN, now, 2 * others), Duration::ZERO);
            now += TURN;
            assert_eq!(share.end_turn(TURN, now, 2 * others + 1), Duration::ZERO);
            now += Duration::from_millis(600);
        }
    }
}
