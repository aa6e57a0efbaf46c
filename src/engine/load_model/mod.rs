//! Who starts when: users by their number over time, iterations by the rate at which they arrive, and the ceiling on
//! requests of both.

pub(super) mod clock;
pub(super) mod dispatch_pool;
pub(super) mod dispatcher;
pub(super) mod throttle;
pub(super) mod timetable;
pub(super) mod user_pool;

/// The shard that a user belongs to: the digit sum of its number in base `shards`. Every run of `shards`
/// users is spread over all of them, and no scenario that takes every second or fourth user ends up on one.
pub(crate) fn shard_of(user: u64, shards: usize) -> usize {
    let base = shards as u64;
    if base < 2 {
        return 0;
    }
    let mut rest = user;
    let mut sum = 0;
    while rest > 0 {
        sum += rest % base;
        rest /= base;
    }
    (sum % base) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_of_users_is_spread_over_all_shards() {
        for shards in 1..6 {
            for start in (0..60).step_by(shards) {
                let mut seen: Vec<usize> = (start..start + shards as u64)
                    .map(|user| shard_of(user, shards))
                    .collect();
                seen.sort_unstable();
                assert_eq!(seen, (0..shards).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn scenarios_that_take_every_second_or_fourth_user_are_on_both_shards() {
        for step in [2, 4, 8] {
            let on_first = (0..64).filter(|n| shard_of(n * step, 2) == 0).count();
            assert_eq!(on_first, 32, "every {step}th user");
        }
    }
}
