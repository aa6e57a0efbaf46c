//! The users of one shard that are there for arrivals: an arrival takes a free user of its scenario, a new
//! one if there is none, and is dropped if there may be no more. Knows numbers, not VMs; the shard starts whom
//! it names.

use crate::engine::load_model::shard_of;
use crate::engine::load_model::user_pool::Start;
use crate::engine::user::stop::Stop;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use tokio::sync::Notify;
use tokio::time::Instant;

/// Users without an arrival, by scenario; who was free last is at the back.
type Free = Rc<RefCell<Vec<VecDeque<u64>>>>;

/// Where a user that is there for arrivals waits for the next one.
#[derive(Debug, Clone)]
pub(crate) struct PoolMember {
    number: u64,
    scenario: usize,
    free: Free,
    call: Rc<Call>,
}

#[derive(Debug, Default)]
struct Call {
    scheduled: Cell<Option<Instant>>,
    notice: Notify,
}

impl PoolMember {
    /// When the arrival was due that this user is to serve, if it was called for one.
    pub(crate) fn called(&self) -> Option<Instant> {
        self.call.scheduled.take()
    }

    /// Is free until called; none if told to stop instead.
    pub(crate) async fn next(&self, stop: &Stop) -> Option<Instant> {
        self.free.borrow_mut()[self.scenario].push_back(self.number);
        loop {
            if let Some(scheduled) = self.called() {
                return Some(scheduled);
            }
            if stop.is_told() {
                if let Some(free) = self.free.borrow_mut().get_mut(self.scenario) {
                    free.retain(|number| *number != self.number);
                }
                return None;
            }
            tokio::select! {
                () = self.call.notice.notified() => {}
                () = stop.told() => {}
            }
        }
    }

    fn call(&self, scheduled: Instant) {
        self.call.scheduled.set(Some(scheduled));
        self.call.notice.notify_one();
    }
}

/// What became of an arrival.
#[derive(Debug)]
pub(crate) enum Service {
    /// A free user serves it.
    Taken,
    /// This user is to be started at this member, where it is called already.
    New(Start, PoolMember),
    /// Nobody is free, and no more users may be made.
    Nobody,
}

#[derive(Debug)]
pub(crate) struct DispatchPool {
    index: usize,
    shards: usize,
    /// The most users over all shards.
    most: u64,
    free: Free,
    users: HashMap<u64, (PoolMember, Rc<Stop>)>,
    /// How many users this shard may have, and how many it has who are not on their way out.
    capacity: u64,
    staff: u64,
    /// The first number that was never given out, and those that were given back.
    fresh: u64,
    returned: Vec<u64>,
    lives: HashMap<u64, u64>,
}

impl DispatchPool {
    /// For a shard's part of at most `most` users over all shards.
    pub(crate) fn new(index: usize, shards: usize, scenarios: usize, most: u64) -> Self {
        let mut pool = DispatchPool {
            index,
            shards,
            most: 0,
            free: Rc::new(RefCell::new(vec![VecDeque::new(); scenarios])),
            users: HashMap::new(),
            capacity: 0,
            staff: 0,
            fresh: 0,
            returned: Vec::new(),
            lives: HashMap::new(),
        };
        pool.limit(most);
        pool
    }

    /// Allows at most `most` users over all shards from now on.
    pub(crate) fn limit(&mut self, most: u64) {
        if most == self.most {
            return;
        }
        self.most = most;
        let own = (0..most).filter(|number| shard_of(*number, self.shards) == self.index);
        self.capacity = own.count() as u64;
        self.shrink();
    }

    /// How many more arrivals could be served at once.
    pub(crate) fn room(&self) -> u64 {
        let free: usize = self.free.borrow().iter().map(VecDeque::len).sum();
        free as u64 + self.capacity.saturating_sub(self.staff)
    }

    /// Finds a user for an arrival of a scenario that was due at `scheduled`.
    pub(crate) fn serve(&mut self, scenario: usize, scheduled: Instant) -> Service {
        self.shrink();
        let last = self.free.borrow_mut()[scenario].pop_back();
        if let Some((member, _)) = last.and_then(|number| self.users.get(&number)) {
            member.call(scheduled);
            return Service::Taken;
        }
        if self.staff >= self.capacity && (self.capacity == 0 || !self.dismiss_free()) {
            return Service::Nobody;
        }
        let number = self.number();
        let member = PoolMember {
            number,
            scenario,
            free: self.free.clone(),
            call: Rc::default(),
        };
        member.call(scheduled);
        let life = self.lives.get(&number).copied().unwrap_or(0);
        Service::New(Start { number, life }, member)
    }

    fn number(&mut self) -> u64 {
        self.returned.pop().unwrap_or_else(|| {
            while shard_of(self.fresh, self.shards) != self.index {
                self.fresh += 1;
            }
            self.fresh += 1;
            self.fresh - 1
        })
    }

    pub(crate) fn started(&mut self, member: PoolMember, stop: Rc<Stop>) {
        self.staff += 1;
        self.users.insert(member.number, (member, stop));
    }

    pub(crate) fn ended(&mut self, number: u64) {
        let Some((_, stop)) = self.users.remove(&number) else {
            return;
        };
        // Who was told to stop is no longer counted.
        self.staff -= u64::from(!stop.is_told());
        *self.lives.entry(number).or_default() += 1;
        self.returned.push(number);
    }

    fn shrink(&mut self) {
        while self.staff > self.capacity && self.dismiss_free() {}
    }

    /// Lets the user go that has been free the longest, of the scenario that has the most to spare.
    fn dismiss_free(&mut self) -> bool {
        let mut free = self.free.borrow_mut();
        let most = free.iter_mut().max_by_key(|free| free.len());
        let Some(number) = most.and_then(VecDeque::pop_front) else {
            return false;
        };
        drop(free);
        self.dismiss(number);
        true
    }

    /// Lets nobody serve two arrivals more: the users to come are of another plan, with so many scenarios.
    pub(crate) fn renew(&mut self, scenarios: usize) {
        while self.dismiss_free() {}
        *self.free.borrow_mut() = vec![VecDeque::new(); scenarios];
        for (_, stop) in self.users.values() {
            stop.tell_at_iteration_end();
        }
    }

    fn dismiss(&mut self, number: u64) {
        if let Some((_, stop)) = self.users.get(&number)
            && !stop.is_told()
        {
            self.staff -= 1;
            stop.tell();
        }
    }

    pub(crate) fn dismiss_all(&mut self) {
        let numbers: Vec<u64> = self.users.keys().copied().collect();
        numbers.into_iter().for_each(|number| self.dismiss(number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Serves an arrival; `+3` is a new user 3, `=` one that was free, `-` nobody.
    fn arrive(pool: &mut DispatchPool, scenario: usize) -> String {
        match pool.serve(scenario, Instant::now()) {
            Service::Taken => "=".to_owned(),
            Service::Nobody => "-".to_owned(),
            Service::New(start, member) => {
                member.called().expect("it is called for its first arrival");
                pool.started(member, Rc::default());
                format!("+{}", start.number)
            }
        }
    }

    fn be_free(pool: &DispatchPool, number: u64) {
        let (member, _) = &pool.users[&number];
        member.called();
        pool.free.borrow_mut()[member.scenario].push_back(number);
    }

    #[test]
    fn users_are_made_up_to_the_limit_and_reused_when_they_are_free() {
        let mut pool = DispatchPool::new(0, 1, 1, 2);
        assert_eq!(pool.room(), 2);
        assert_eq!(arrive(&mut pool, 0), "+0");
        assert_eq!(arrive(&mut pool, 0), "+1");
        assert_eq!((arrive(&mut pool, 0).as_str(), pool.room()), ("-", 0));
        be_free(&pool, 1);
        be_free(&pool, 0);
        assert_eq!(pool.room(), 2);
        assert_eq!(arrive(&mut pool, 0), "=");
        let called = pool.users[&0].0.called();
        assert!(called.is_some(), "who was busy last is called first");
        pool.ended(0);
        assert_eq!(arrive(&mut pool, 0), "=");
        assert_eq!(arrive(&mut pool, 0), "+0", "the number of who has gone");
        assert_eq!(arrive(&mut pool, 0), "-");
    }

    #[test]
    fn a_free_user_of_another_scenario_makes_room() {
        let mut pool = DispatchPool::new(0, 1, 2, 2);
        assert_eq!(arrive(&mut pool, 0), "+0");
        assert_eq!(arrive(&mut pool, 0), "+1");
        assert_eq!(arrive(&mut pool, 1), "-");
        be_free(&pool, 0);
        assert_eq!(arrive(&mut pool, 1), "+2");
        assert!(pool.users[&0].1.is_told(), "it goes, with its on_stop");
        assert_eq!(arrive(&mut pool, 0), "-");
        pool.ended(0);
        assert_eq!(arrive(&mut pool, 0), "-", "two are there");
    }

    #[test]
    fn a_lower_limit_lets_free_users_go_first() {
        let mut pool = DispatchPool::new(0, 1, 1, 3);
        (0..3).for_each(|_| drop(arrive(&mut pool, 0)));
        be_free(&pool, 2);
        pool.limit(1);
        assert!(pool.users[&2].1.is_told() && !pool.users[&1].1.is_told());
        be_free(&pool, 0);
        be_free(&pool, 1);
        assert_eq!(arrive(&mut pool, 0), "=");
        assert!(pool.users[&0].1.is_told(), "one too many");
    }

    #[test]
    fn shards_share_the_limit() {
        for shards in 1..5 {
            let capacity = |index| DispatchPool::new(index, shards, 1, 7).capacity;
            assert_eq!((0..shards).map(capacity).sum::<u64>(), 7);
        }
    }
}
