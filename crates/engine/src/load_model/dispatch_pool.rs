//! Pool of a shard's users that serve arrivals. An arrival takes a free user of its scenario, or else a new one;
//! where there may be no more users, nobody serves it. The pool knows numbers, not VMs: the shard starts the users
//! that it names.

use super::share::ShardShare;
use crate::load_model::user_pool::UserStart;
use crate::user::stop::StopSignal;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use tokio::sync::Notify;
use tokio::time::Instant;

/// Free users by scenario; the one that was freed last is at the back.
type FreeUsers = Rc<RefCell<Vec<VecDeque<u64>>>>;

/// A user's place in the pool, where it waits for its next arrival.
#[derive(Debug, Clone)]
pub(crate) struct PoolMember {
    number: u64,
    scenario: usize,
    free: FreeUsers,
    call: Rc<DispatchNotice>,
}

#[derive(Debug, Default)]
struct DispatchNotice {
    scheduled: Cell<Option<Instant>>,
    notice: Notify,
}

impl PoolMember {
    /// Takes the call, if there is one, and returns when its arrival was due.
    pub(crate) fn called(&self) -> Option<Instant> {
        self.call.scheduled.take()
    }

    /// Waits for a call and returns when its arrival was due; `None` after a stop.
    pub(crate) async fn next(&self, stop: &StopSignal) -> Option<Instant> {
        self.free.borrow_mut()[self.scenario].push_back(self.number);
        loop {
            if let Some(scheduled) = self.called() {
                return Some(scheduled);
            }
            if stop.is_requested() {
                if let Some(free) = self.free.borrow_mut().get_mut(self.scenario) {
                    free.retain(|number| *number != self.number);
                }
                return None;
            }
            tokio::select! {
                () = self.call.notice.notified() => {}
                () = stop.requested() => {}
            }
        }
    }

    fn call(&self, scheduled: Instant) {
        self.call.scheduled.set(Some(scheduled));
        self.call.notice.notify_one();
    }
}

/// Ways in which an arrival is served.
#[derive(Debug)]
pub(crate) enum Service {
    /// A free user serves it.
    Taken,
    /// The shard is to start a new user for this member, which has been called already.
    New(UserStart, PoolMember),
    /// No user is free, and no more may be made.
    Nobody,
}

#[derive(Debug)]
pub(crate) struct DispatchPool {
    share: ShardShare,
    /// The most users over all shards.
    most: u64,
    free: FreeUsers,
    users: HashMap<u64, (PoolMember, Rc<StopSignal>)>,
    /// The most users that this shard may have, and how many it has, without those that have to stop.
    capacity: u64,
    staff: u64,
    /// The lowest number that was never given out, and those that were given back.
    fresh: u64,
    returned: Vec<u64>,
    lives: HashMap<u64, u64>,
    /// Whether all were released for good.
    closed: bool,
}

impl DispatchPool {
    /// Makes a shard's pool; all shards together may have at most `most` users.
    pub(crate) fn new(share: ShardShare, scenarios: usize, most: u64) -> Self {
        let mut pool = DispatchPool {
            share,
            most: 0,
            free: Rc::new(RefCell::new(vec![VecDeque::new(); scenarios])),
            users: HashMap::new(),
            capacity: 0,
            staff: 0,
            fresh: 0,
            returned: Vec::new(),
            lives: HashMap::new(),
            closed: false,
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
        let own = (0..most).filter(|number| self.share.has(*number));
        self.capacity = own.count() as u64;
        self.shrink();
    }

    /// Returns whether all users were released for good.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Returns whether it has no user.
    pub(crate) fn is_empty(&self) -> bool {
        self.users.is_empty()
    }

    /// Returns how many more arrivals the pool could serve now.
    pub(crate) fn room(&self) -> u64 {
        if self.closed {
            return 0;
        }
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
        if self.staff >= self.capacity && (self.capacity == 0 || !self.release_free()) {
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
        Service::New(UserStart { number, life }, member)
    }

    fn number(&mut self) -> u64 {
        self.returned.pop().unwrap_or_else(|| {
            while !self.share.has(self.fresh) {
                self.fresh += 1;
            }
            self.fresh += 1;
            self.fresh - 1
        })
    }

    pub(crate) fn started(&mut self, member: PoolMember, stop: Rc<StopSignal>) {
        self.staff += 1;
        self.users.insert(member.number, (member, stop));
    }

    pub(crate) fn ended(&mut self, number: u64) {
        let Some((_, stop)) = self.users.remove(&number) else {
            return;
        };
        // A user that has to stop is no longer counted.
        self.staff -= u64::from(!stop.is_requested());
        *self.lives.entry(number).or_default() += 1;
        self.returned.push(number);
    }

    fn shrink(&mut self) {
        while self.staff > self.capacity && self.release_free() {}
    }

    /// Releases the user that has been free the longest, from the scenario that has the most free users; false if no
    /// user is free.
    fn release_free(&mut self) -> bool {
        let mut free = self.free.borrow_mut();
        let most = free.iter_mut().max_by_key(|free| free.len());
        let Some(number) = most.and_then(VecDeque::pop_front) else {
            return false;
        };
        drop(free);
        self.release(number);
        true
    }

    /// Releases all users, the busy ones when their iteration has ended. New users run another version of the plan,
    /// which has `scenarios` scenarios.
    pub(crate) fn renew(&mut self, scenarios: usize) {
        self.release_at_iteration_end();
        *self.free.borrow_mut() = vec![VecDeque::new(); scenarios];
    }

    /// Releases all users for good, the busy ones when their iteration has ended.
    pub(crate) fn retire(&mut self) {
        self.closed = true;
        self.release_at_iteration_end();
    }

    fn release_at_iteration_end(&mut self) {
        while self.release_free() {}
        for (_, stop) in self.users.values() {
            stop.request_at_iteration_end();
        }
    }

    fn release(&mut self, number: u64) {
        if let Some((_, stop)) = self.users.get(&number)
            && !stop.is_requested()
        {
            self.staff -= 1;
            stop.request();
        }
    }

    /// Releases all users for good.
    pub(crate) fn release_all(&mut self) {
        self.closed = true;
        let numbers: Vec<u64> = self.users.keys().copied().collect();
        numbers.into_iter().for_each(|number| self.release(number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(index: usize, shards: usize) -> ShardShare {
        ShardShare::new(lgoose_plan::config::LoadPart::WHOLE, index, shards)
    }

    /// Serves an arrival and returns who served it: `+3` is a new user 3, `=` a free one, `-` nobody.
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
        let mut pool = DispatchPool::new(share(0, 1), 1, 2);
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
        let mut pool = DispatchPool::new(share(0, 1), 2, 2);
        assert_eq!(arrive(&mut pool, 0), "+0");
        assert_eq!(arrive(&mut pool, 0), "+1");
        assert_eq!(arrive(&mut pool, 1), "-");
        be_free(&pool, 0);
        assert_eq!(arrive(&mut pool, 1), "+2");
        assert!(pool.users[&0].1.is_requested(), "it goes, with its on_stop");
        assert_eq!(arrive(&mut pool, 0), "-");
        pool.ended(0);
        assert_eq!(arrive(&mut pool, 0), "-", "two are there");
    }

    #[test]
    fn a_lower_limit_lets_free_users_go_first() {
        let mut pool = DispatchPool::new(share(0, 1), 1, 3);
        (0..3).for_each(|_| drop(arrive(&mut pool, 0)));
        be_free(&pool, 2);
        pool.limit(1);
        assert!(pool.users[&2].1.is_requested() && !pool.users[&1].1.is_requested());
        be_free(&pool, 0);
        be_free(&pool, 1);
        assert_eq!(arrive(&mut pool, 0), "=");
        assert!(pool.users[&0].1.is_requested(), "one too many");
    }

    #[test]
    fn shards_share_the_limit() {
        for shards in 1..5 {
            let capacity = |index| DispatchPool::new(share(index, shards), 1, 7).capacity;
            assert_eq!((0..shards).map(capacity).sum::<u64>(), 7);
        }
    }
}
