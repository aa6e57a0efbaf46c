//! Tests of how users are spread over shards.

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
