//! Lanes of a run: the scenarios that share the run's load are in one, and each scenario with a load of its own has
//! another. Each lane counts its users and iterations from 0, and deals them to its scenarios.

use super::{Deal, Scenario};
use std::collections::BTreeSet;

/// The lanes of a plan, and which scenario each of their users plays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lanes(Vec<PlanLane>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct PlanLane {
    /// The scenario that has this load to itself; `None` for the load that all others share.
    owner: Option<String>,
    /// The most users at a time.
    users: u64,
    /// Its scenarios, by their places in the plan.
    scenarios: Vec<usize>,
    deal: Deal,
}

impl Lanes {
    /// Makes the lanes of a plan's scenarios; those without a load of their own share `total_users` users. The shared
    /// lane is the first, if there is one; the others follow by name, wherever they stand in the plan.
    pub(crate) fn new(scenarios: &[Scenario], total_users: u64) -> Lanes {
        let lane = |owner, users, places: Vec<usize>| PlanLane {
            owner,
            users,
            deal: Deal::new(places.iter().map(|place| &scenarios[*place]), users),
            scenarios: places,
        };
        let (shared, mut own): (Vec<usize>, Vec<usize>) =
            (0..scenarios.len()).partition(|place| scenarios[*place].load.is_none());
        own.sort_by_key(|place| &scenarios[*place].name);
        let own = own.into_iter().map(|place| {
            let Scenario { name, load, .. } = &scenarios[place];
            let users = load.as_ref().map_or(0, |own| own.users);
            lane(Some(name.clone()), users, vec![place])
        });
        let shared = (!shared.is_empty()).then(|| lane(None, total_users, shared));
        Lanes(shared.into_iter().chain(own).collect())
    }

    /// Returns the number of lanes.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns the scenario that has each lane to itself; `None` for the lane that all others share.
    pub fn owners(&self) -> impl Iterator<Item = Option<&str>> {
        self.0.iter().map(|lane| lane.owner.as_deref())
    }

    /// Returns the most users at a time of each lane.
    pub fn users(&self) -> impl Iterator<Item = u64> {
        self.0.iter().map(|lane| lane.users)
    }

    /// Returns the places of the scenarios that no user plays: their weights are too small for so few users, or fixed
    /// numbers of others leave them none.
    pub(crate) fn without_users(&self) -> Vec<usize> {
        let mut without = Vec::new();
        for lane in &self.0 {
            let mut missing: BTreeSet<usize> = (0..lane.scenarios.len()).collect();
            for user in 0..lane.users {
                if missing.is_empty() {
                    break;
                }
                missing.remove(&lane.deal.scenario_of(user));
            }
            without.extend(missing.into_iter().map(|place| lane.scenarios[place]));
        }
        without
    }

    /// Returns how many users of the shared load play each of its scenarios, by their places in the plan; nothing for
    /// more than a million users.
    pub(crate) fn shares(&self) -> Vec<(usize, u64)> {
        /// More users would take too long to count.
        const MAX_USERS: u64 = 1_000_000;
        let Some(lane) = self.0.iter().find(|lane| lane.owner.is_none()) else {
            return Vec::new();
        };
        let mut users = vec![0; lane.scenarios.len()];
        for user in 0..lane.users.min(MAX_USERS) {
            users[lane.deal.scenario_of(user)] += 1;
        }
        if lane.users > MAX_USERS {
            return Vec::new();
        }
        lane.scenarios.iter().copied().zip(users).collect()
    }

    /// Returns whether the lanes of another version of the plan have the same owners, so that each can go on with it.
    pub fn fit(&self, other: &Lanes) -> bool {
        self.owners().eq(other.owners())
    }

    /// Returns the place in the plan of the scenario that user or iteration `number` of a lane plays.
    pub fn scenario_of(&self, lane: usize, number: u64) -> usize {
        let lane = &self.0[lane];
        lane.scenarios[lane.deal.scenario_of(number)]
    }

    /// Returns the number of user `number` of a lane in the whole run, which no other user has.
    pub fn number_of(&self, lane: usize, number: u64) -> u64 {
        number * self.count() as u64 + lane as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::OwnLoad;
    use std::time::Duration;

    fn scenario(name: &str, own: bool) -> Scenario {
        Scenario {
            load: own.then(|| OwnLoad::of_users(3, Duration::ZERO)),
            ..Scenario::new(name)
        }
    }

    #[test]
    fn scenarios_without_a_load_of_their_own_share_the_first_lane() {
        let plan = [
            scenario("z", true),
            scenario("a", false),
            scenario("m", true),
            scenario("b", false),
        ];
        let lanes = Lanes::new(&plan, 4);
        let owners: Vec<_> = lanes.owners().collect();
        assert_eq!(owners, [None, Some("m"), Some("z")]);
        let shared: Vec<usize> = (0..4).map(|user| lanes.scenario_of(0, user)).collect();
        assert_eq!(shared, [1, 3, 1, 3]);
        assert_eq!((lanes.scenario_of(1, 9), lanes.scenario_of(2, 0)), (2, 0));
        let numbers: BTreeSet<u64> = (0..3)
            .flat_map(|lane| (0..10).map(move |user| (lane, user)))
            .map(|(lane, user)| lanes.number_of(lane, user))
            .collect();
        assert_eq!(numbers.len(), 30, "no number twice");
        let turned: Vec<Scenario> = plan.into_iter().rev().collect();
        assert!(lanes.fit(&Lanes::new(&turned, 9)));
        assert!(!lanes.fit(&Lanes::new(&turned[..3], 9)));
    }

    #[test]
    fn scenarios_that_get_no_user_are_found() {
        let weighted = |name, weight| Scenario {
            weight,
            ..Scenario::new(name)
        };
        let plan = [weighted("a", 97), weighted("b", 2), weighted("c", 1)];
        let without = |users| Lanes::new(&plan, users).without_users();
        assert_eq!(without(3), [1, 2]);
        assert!(without(100).is_empty());
        let mut plan = plan;
        plan[0].users = Some(5);
        assert_eq!(Lanes::new(&plan, 5).without_users(), [1, 2]);
        assert!(Lanes::new(&plan, 8).without_users().is_empty());
    }

    #[test]
    fn a_plan_whose_scenarios_share_one_load_counts_users_as_ever() {
        let lanes = Lanes::new(&[scenario("a", false), scenario("b", false)], 9);
        assert_eq!((lanes.count(), lanes.number_of(0, 7)), (1, 7));
    }
}
