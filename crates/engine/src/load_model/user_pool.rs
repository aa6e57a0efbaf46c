//! Pool of a shard's users where the load is a number of users: decides which of them start or stop when that number
//! changes. A user's own number decides its shard and its scenario; the highest stops first, and a user that is
//! started again keeps its number. So the proportions of the scenarios hold however many users there are.

use super::share::ShardShare;
use crate::user::stop::StopSignal;
use std::collections::HashMap;
use std::rc::Rc;

/// A user of the pool that runs or is on its way out.
#[derive(Debug)]
struct PoolUser {
    stop: Rc<StopSignal>,
    leaving: bool,
    /// Whether it is to run again when it has ended: two users with one number never run at the same time.
    restarts: bool,
}

#[derive(Debug)]
pub(crate) struct UserPool {
    share: ShardShare,
    /// The number of users over all shards that this shard has followed so far.
    level: u64,
    /// The highest `level` so far, and how many of the users below it are the shard's own.
    highest: u64,
    reached: u64,
    members: HashMap<u64, PoolUser>,
    /// Users that ended by themselves and are to run again.
    again: Vec<u64>,
    /// Count of releases and replacements of the user with a number; numbers without any are not listed.
    lives: HashMap<u64, u64>,
}

/// A user to start: its number, from 0, and how many users had that number before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UserStart {
    pub(crate) number: u64,
    pub(crate) life: u64,
}

impl UserPool {
    pub(crate) fn new(share: ShardShare) -> Self {
        UserPool {
            share,
            level: 0,
            highest: 0,
            reached: 0,
            members: HashMap::new(),
            again: Vec::new(),
            lives: HashMap::new(),
        }
    }

    /// Returns whether the pool has come to `target` users over all shards: none has to be started or stopped.
    pub(crate) fn has_come_to(&self, target: u64) -> bool {
        self.level == target && self.again.is_empty()
    }

    /// Goes on towards `target` users over all shards: stops those beyond it, and returns the next user of
    /// this shard to start; `None` once the target is reached.
    pub(crate) fn next(&mut self, target: u64) -> Option<UserStart> {
        while self.level > target {
            self.level -= 1;
            self.release(self.level);
        }
        while let Some(number) = self.again.pop() {
            if number < self.level && !self.members.contains_key(&number) {
                return Some(self.start(number));
            }
        }
        while self.level < target {
            let number = self.level;
            self.level += 1;
            let is_new = self.level > self.highest;
            self.highest = self.highest.max(self.level);
            if !self.share.has(number) {
                continue;
            }
            self.reached += u64::from(is_new);
            match self.members.get_mut(&number) {
                Some(member) => member.restarts = true,
                None => return Some(self.start(number)),
            }
        }
        None
    }

    /// Returns the highest number of users over all shards for which this shard has started its own.
    pub(crate) fn highest(&self) -> u64 {
        self.highest
    }

    /// Returns how many users of this shard were ever started; one that is started again counts once.
    pub(crate) fn reached(&self) -> u64 {
        self.reached
    }

    fn release(&mut self, number: u64) {
        if !self.share.has(number) {
            return;
        }
        *self.lives.entry(number).or_default() += 1;
        if let Some(member) = self.members.get_mut(&number) {
            (member.leaving, member.restarts) = (true, false);
            member.stop.request();
        }
    }

    /// Restarts every user when its iteration has ended, and at once those that had ended by themselves.
    pub(crate) fn renew(&mut self) {
        let share = self.share;
        let own = |number: &u64| share.has(*number);
        for number in (0..self.level).filter(own) {
            *self.lives.entry(number).or_default() += 1;
            match self.members.get_mut(&number) {
                Some(member) => {
                    (member.leaving, member.restarts) = (true, true);
                    member.stop.request_at_iteration_end();
                }
                None => self.again.push(number),
            }
        }
        // Taken from the end, the lowest number starts first.
        self.again.sort_unstable_by(|a, b| b.cmp(a));
        self.again.dedup();
    }

    fn start(&self, number: u64) -> UserStart {
        let life = self.lives.get(&number).copied().unwrap_or(0);
        UserStart { number, life }
    }

    pub(crate) fn started(&mut self, number: u64, stop: Rc<StopSignal>) {
        let member = PoolUser {
            stop,
            leaving: false,
            restarts: false,
        };
        self.members.insert(number, member);
    }

    /// Records that a user has ended, and returns the one to start in its place if its number is to run again.
    pub(crate) fn ended(&mut self, number: u64) -> Option<UserStart> {
        let member = self.members.remove(&number)?;
        (member.leaving && member.restarts).then(|| self.start(number))
    }

    /// Stops all users.
    pub(crate) fn release_all(&mut self) {
        self.again.clear();
        for member in self.members.values_mut() {
            member.restarts = false;
            member.stop.request();
        }
    }

    /// Returns whether no user runs.
    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Returns whether no user runs although some should: all have ended by themselves.
    pub(crate) fn is_done(&self) -> bool {
        self.members.is_empty() && self.level > 0 && self.again.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steers the pool of one shard to `target`, and returns the users that it starts.
    fn steer(user_pool: &mut UserPool, target: u64) -> Vec<UserStart> {
        std::iter::from_fn(|| {
            let start = user_pool.next(target)?;
            user_pool.started(start.number, Rc::default());
            Some(start)
        })
        .collect()
    }

    fn stopping_users(user_pool: &UserPool) -> Vec<u64> {
        let stopping = user_pool
            .members
            .iter()
            .filter(|(_, member)| member.stop.is_requested());
        let mut numbers: Vec<u64> = stopping.map(|(number, _)| *number).collect();
        numbers.sort_unstable();
        numbers
    }

    fn start(number: u64, life: u64) -> UserStart {
        UserStart { number, life }
    }

    fn share(index: usize, shards: usize) -> ShardShare {
        ShardShare::new(lgoose_plan::config::LoadPart::WHOLE, index, shards)
    }

    #[test]
    fn the_newest_stop_first_and_have_the_same_numbers_when_they_start_again() {
        let mut user_pool = UserPool::new(share(0, 1));
        assert_eq!(
            steer(&mut user_pool, 3),
            [start(0, 0), start(1, 0), start(2, 0)]
        );
        assert_eq!(steer(&mut user_pool, 1), []);
        assert_eq!(stopping_users(&user_pool), [1, 2]);
        assert_eq!(user_pool.ended(2), None);
        assert_eq!(steer(&mut user_pool, 4), [start(2, 1), start(3, 0)]);
        assert_eq!(
            user_pool.ended(1),
            Some(start(1, 1)),
            "it was still on its way out when it was wanted again"
        );
        assert_eq!(user_pool.reached(), 4, "each counts once");
    }

    #[test]
    fn a_user_that_ended_by_itself_starts_again_only_after_the_number_went_down() {
        let mut user_pool = UserPool::new(share(0, 1));
        steer(&mut user_pool, 2);
        assert_eq!((user_pool.ended(0), user_pool.ended(1)), (None, None));
        assert!(user_pool.is_done());
        assert_eq!(steer(&mut user_pool, 3), [start(2, 0)]);
        assert!(!user_pool.is_done());
        assert_eq!(steer(&mut user_pool, 1), []);
        assert_eq!(steer(&mut user_pool, 2), [start(1, 1)]);
    }

    #[test]
    fn all_users_start_anew_under_the_same_number_also_those_that_had_ended() {
        let mut user_pool = UserPool::new(share(0, 1));
        steer(&mut user_pool, 4);
        assert_eq!(user_pool.ended(1), None);
        assert_eq!(steer(&mut user_pool, 3), [], "the last is on its way out");
        user_pool.renew();
        assert!(!user_pool.has_come_to(3));
        assert_eq!(steer(&mut user_pool, 3), [start(1, 1)]);
        assert!(user_pool.has_come_to(3));
        let is_stopping = |number| {
            user_pool.members[&number]
                .stop
                .is_requested_at_iteration_end()
        };
        assert_eq!([0, 1, 2].map(is_stopping), [true, false, true]);
        assert_eq!(user_pool.ended(0), Some(start(0, 1)));
        user_pool.started(0, Rc::default());
        assert_eq!(user_pool.ended(3), None, "nobody wants it back");
        user_pool.renew();
        assert_eq!(steer(&mut user_pool, 1), []);
        assert_eq!(
            user_pool.ended(2),
            None,
            "it was to begin anew and then to go"
        );
    }

    #[test]
    fn shards_share_the_numbers_among_them() {
        let mut pools: Vec<UserPool> = (0..3).map(|index| UserPool::new(share(index, 3))).collect();
        let mut started: Vec<u64> = pools
            .iter_mut()
            .flat_map(|user_pool| steer(user_pool, 50))
            .map(|start| start.number)
            .collect();
        started.sort_unstable();
        assert_eq!(started, (0..50).collect::<Vec<_>>());
        for user_pool in &mut pools {
            steer(user_pool, 20);
        }
        let mut stopping: Vec<u64> = pools.iter().flat_map(stopping_users).collect();
        stopping.sort_unstable();
        assert_eq!(stopping, (20..50).collect::<Vec<_>>());
    }

    #[test]
    fn an_empty_pool_is_not_done_before_anyone_was_to_run() {
        let mut user_pool = UserPool::new(share(1, 2));
        assert!(!user_pool.is_done());
        assert_eq!(steer(&mut user_pool, 1), []);
        assert!(user_pool.is_done(), "the only user is another shard's");
    }
}
