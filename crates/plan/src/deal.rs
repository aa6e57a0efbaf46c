//! Assignment of users to scenarios: exactly in the proportion of the weights, from the first user on.
//!
//! Scenarios are paired off, lightest first, into a tree (Huffman, 1952). At each fork, the first n users are divided
//! in the rounded proportion, for any n. So after every user each scenario has its due number within about one user,
//! and any full period of the weights is exact. A user's scenario is a pure function of its number: the threads of the
//! engine need not agree on anything, and weights of a million cost no more than weights of one.

use super::Scenario;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A limit on numbers of users that keeps the products in [`Share::of_larger`] within 128 bits.
const MOST_USERS: u64 = u64::MAX >> 2;

/// The assignment of users to scenarios.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Deal {
    /// The assignment of the first users, if some scenarios have a fixed number of users; [`WEIGHTED`] stands for
    /// the rest.
    fixed: Option<UserShare>,
    /// The number of those first users that the fixed numbers leave to the weights.
    remaining: u64,
    /// The assignment of the remaining users, by weight.
    weighted: UserShare,
}

/// A part of the users: one scenario's, or that of two parts combined.
#[derive(Debug, Clone, PartialEq, Eq)]
enum UserShare {
    Scenario {
        index: usize,
        size: u64,
    },
    Fork {
        larger: Box<UserShare>,
        smaller: Box<UserShare>,
        /// The size of both together, which is needed to find the place of every user.
        size: u64,
    },
}

/// The index that stands for all weighted scenarios among those with a fixed number.
const WEIGHTED: usize = usize::MAX;

impl Deal {
    /// Creates the assignment of `total_users` users. Scenarios with a fixed number of users get exactly that many
    /// of them, spread over the whole; the weights divide the rest, and all users after the total.
    ///
    /// If the fixed numbers exceed the total, or if there is no weighted scenario to take the rest, the
    /// fixed numbers act as weights.
    pub(crate) fn new<'a>(
        scenarios: impl IntoIterator<Item = &'a Scenario>,
        total_users: u64,
    ) -> Self {
        let share = |index, size: u32| UserShare::Scenario {
            index,
            size: size.into(),
        };
        let (mut fixed, mut weighted) = (Vec::new(), Vec::new());
        for (index, scenario) in scenarios.into_iter().enumerate() {
            match scenario.users {
                Some(users) => fixed.push(share(index, users)),
                None => weighted.push(share(index, scenario.weight)),
            }
        }
        let fixed_users: u64 = fixed.iter().map(UserShare::size).sum();
        if fixed.is_empty() || weighted.is_empty() || fixed_users > total_users {
            let all = if fixed.is_empty() { weighted } else { fixed };
            return Deal {
                fixed: None,
                remaining: 0,
                weighted: UserShare::join(all),
            };
        }
        let remaining = total_users.min(MOST_USERS) - fixed_users;
        fixed.push(UserShare::Scenario {
            index: WEIGHTED,
            size: remaining,
        });
        Deal {
            fixed: Some(UserShare::join(fixed)),
            remaining,
            weighted: UserShare::join(weighted),
        }
    }

    /// Returns the index of the scenario that user number `user` plays, counted from 0.
    pub(crate) fn scenario_of(&self, user: u64) -> usize {
        let mut user = user.min(MOST_USERS);
        if let Some(fixed) = &self.fixed {
            if let Some(later) = user.checked_sub(fixed.size()) {
                user = self.remaining + later;
            } else {
                match fixed.deal(user) {
                    (WEIGHTED, nth) => user = nth,
                    (scenario, _) => return scenario,
                }
            }
        }
        self.weighted.deal(user).0
    }
}

impl UserShare {
    /// Combines all `shares`, given in the order of their declaration, into one.
    fn join(shares: Vec<UserShare>) -> UserShare {
        let mut order: BinaryHeap<(Reverse<u64>, i64, usize)> = BinaryHeap::new();
        let mut parts: Vec<Option<UserShare>> = Vec::with_capacity(2 * shares.len());
        for (share, position) in shares.into_iter().zip(0..) {
            order.push((Reverse(share.size()), position, parts.len()));
            parts.push(Some(share));
        }
        // Shares of equal size are paired before the fork, so that the tree stays shallow.
        for position in (i64::MIN..0).rev() {
            let mut lightest = || parts[order.pop()?.2].take();
            let (smaller, larger) = match (lightest(), lightest()) {
                (Some(smaller), Some(larger)) => (smaller, larger),
                (Some(last), None) => return last,
                (None, _) => break,
            };
            let size = larger.size() + smaller.size();
            order.push((Reverse(size), position, parts.len()));
            parts.push(Some(UserShare::Fork {
                larger: larger.into(),
                smaller: smaller.into(),
                size,
            }));
        }
        UserShare::Scenario { index: 0, size: 0 }
    }

    /// Returns how many users of each period the share gets.
    fn size(&self) -> u64 {
        match self {
            UserShare::Scenario { size, .. } => *size,
            UserShare::Fork { size, .. } => *size,
        }
    }

    /// Returns the scenario of user number `user` of this share, and how many users the scenario got before it.
    fn deal(&self, user: u64) -> (usize, u64) {
        match self {
            UserShare::Scenario { index, .. } => (*index, user),
            UserShare::Fork {
                larger, smaller, ..
            } => {
                let before = UserShare::of_larger(larger, smaller, user);
                if UserShare::of_larger(larger, smaller, user + 1) > before {
                    larger.deal(before)
                } else {
                    smaller.deal(user - before)
                }
            }
        }
    }

    /// Returns how many of the first `users` users of a fork go to its larger side: its proportion, rounded half
    /// up.
    fn of_larger(larger: &UserShare, smaller: &UserShare, users: u64) -> u64 {
        let (larger, smaller) = (u128::from(larger.size()), u128::from(smaller.size()));
        let both = (larger + smaller).max(1);
        ((2 * u128::from(users) * larger + both) / (2 * both)) as u64
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    /// Creates a scenario per entry: a weight, or a fixed number of users.
    fn scenarios(kinds: &[(u32, Option<u32>)]) -> Vec<Scenario> {
        kinds
            .iter()
            .map(|(weight, users)| Scenario {
                weight: *weight,
                users: *users,
                ..Scenario::new("")
            })
            .collect()
    }

    fn weights(weights: &[u32]) -> Vec<Scenario> {
        scenarios(
            &weights
                .iter()
                .map(|weight| (*weight, None))
                .collect::<Vec<_>>(),
        )
    }

    fn dealt(deal: &Deal, users: std::ops::Range<u64>) -> Vec<usize> {
        users.map(|user| deal.scenario_of(user)).collect()
    }

    fn counts(deal: &Deal, users: std::ops::Range<u64>, scenarios: usize) -> Vec<u64> {
        let mut counts = vec![0; scenarios];
        dealt(deal, users)
            .into_iter()
            .for_each(|scenario| counts[scenario] += 1);
        counts
    }

    #[test]
    fn the_first_users_are_mixed_already() {
        for (shares, expected) in [
            (&[1][..], vec![0, 0, 0]),
            (&[1, 1], vec![0, 1, 0, 1]),
            (&[4, 1], vec![0, 0, 1, 0, 0, 0, 0, 1, 0, 0]),
            (&[1, 4], vec![1, 1, 0, 1, 1]),
            (&[3, 2, 1], vec![1, 0, 2, 0, 1, 0, 1]),
            (&[4, 1, 1, 1, 1], vec![1, 0, 3, 0, 2, 0, 4, 0]),
        ] {
            let deal = Deal::new(&weights(shares), 30);
            assert_eq!(
                dealt(&deal, 0..expected.len() as u64),
                expected,
                "{shares:?}"
            );
        }
    }

    #[test]
    fn each_of_many_scenarios_gets_its_user() {
        const MANY: usize = 30_000;
        let deal = Deal::new(&weights(&[1; MANY]), MANY as u64);
        let mut scenarios = dealt(&deal, 0..MANY as u64);
        scenarios.sort_unstable();
        assert_eq!(scenarios, (0..MANY).collect::<Vec<_>>());
    }

    #[test]
    fn any_five_consecutive_users_of_weights_four_and_one_are_four_and_one() {
        let deal = Deal::new(&weights(&[4, 1]), 30);
        for first in 0..100 {
            assert_eq!(
                counts(&deal, first..first + 5, 2),
                [4, 1],
                "from user {first}"
            );
        }
        assert_eq!(counts(&deal, 0..30, 2), [24, 6]);
    }

    /// Returns the largest distance, over two periods, of a scenario's users from its due share.
    fn worst_distance(shares: &[u32]) -> f64 {
        let deal = Deal::new(&weights(shares), 1);
        let period: u32 = shares.iter().sum();
        let mut got = vec![0_u64; shares.len()];
        let mut worst: f64 = 0.0;
        for user in 0..u64::from(period) * 2 {
            got[deal.scenario_of(user)] += 1;
            for (count, share) in got.iter().zip(shares) {
                let due = (user + 1) as f64 * f64::from(*share) / f64::from(period);
                worst = worst.max((*count as f64 - due).abs());
            }
        }
        let exact = got
            .iter()
            .zip(shares)
            .all(|(count, share)| *count == u64::from(*share) * 2);
        assert!(exact, "{shares:?} after two periods: {got:?}");
        worst
    }

    #[test]
    fn every_period_is_exact_and_every_prefix_within_one_user_of_its_share() {
        let many_light: Vec<u32> = std::iter::once(40).chain([1; 40]).collect();
        for shares in [
            &[4, 1][..],
            &[7, 5, 3],
            &[50, 20, 20, 9, 1],
            &[1, 1, 1, 1],
            &[97, 13, 13, 2],
            &many_light,
        ] {
            let worst = worst_distance(shares);
            assert!(worst < 1.0, "{shares:?}: {worst}");
        }
    }

    #[test]
    fn many_uneven_weights_hold_every_prefix_within_two_users_of_its_share() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        for _ in 0..300 {
            let shares: Vec<u32> = (0..rng.random_range(2..10))
                .map(|_| rng.random_range(1..=50))
                .collect();
            let worst = worst_distance(&shares);
            assert!(worst < 1.7, "{shares:?}: {worst}");
        }
    }

    #[test]
    fn a_fixed_number_is_met_exactly_and_spread_and_the_rest_goes_by_weight() {
        let deal = Deal::new(&scenarios(&[(1, Some(3)), (4, None), (1, None)]), 33);
        assert_eq!(counts(&deal, 0..33, 3), [3, 24, 6]);
        for third in 0..3 {
            assert_eq!(
                counts(&deal, third * 11..third * 11 + 11, 3)[0],
                1,
                "part {third}"
            );
        }
        assert_eq!(
            counts(&deal, 33..38, 3),
            [0, 4, 1],
            "users beyond the total"
        );
    }

    #[test]
    fn fixed_numbers_act_as_weights_when_they_do_not_fit_or_are_alone() {
        let too_many = Deal::new(&scenarios(&[(1, Some(8)), (1, Some(4)), (9, None)]), 3);
        assert_eq!(counts(&too_many, 0..3, 3), [2, 1, 0]);
        let alone = Deal::new(&scenarios(&[(1, Some(2)), (1, Some(1))]), 6);
        assert_eq!(counts(&alone, 0..6, 2), [4, 2]);
        let all_fixed = Deal::new(&scenarios(&[(1, Some(5)), (1, None)]), 5);
        assert_eq!(
            counts(&all_fixed, 0..6, 2),
            [5, 1],
            "the weighted one comes after the total"
        );
    }

    #[test]
    fn huge_weights_and_user_numbers_cost_nothing_and_stay_exact() {
        let deal = Deal::new(&weights(&[1_000_000, 1]), 1_000_000_000);
        assert_eq!(deal.scenario_of(500_000), 1);
        assert_eq!(deal.scenario_of(500_000 + 1_000_001 * 900), 1);
        assert_eq!(counts(&deal, 499_000..501_000, 2), [1_999, 1]);
        let widest = Deal::new(&weights(&[u32::MAX; 50]), u64::MAX);
        assert!(widest.scenario_of(u64::MAX) < 50);
        let fixed = Deal::new(&scenarios(&[(1, Some(u32::MAX)), (1, None)]), u64::MAX);
        assert!(fixed.scenario_of(u64::MAX - 1) < 2);
    }
}
