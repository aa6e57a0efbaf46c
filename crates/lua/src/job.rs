//! A function of a plan that runs beside the task of its user: its coroutine, and the part of the user's state that is
//! its own. That is exchanged for the task's as long as the function takes a step; the engine knows which of them takes
//! one.

use crate::limits::Coroutine;
use crate::requests::Transaction;
use crate::sandbox::VmHost;
use std::time::Duration;

/// The state of a job while it waits; while it takes a step, that of the code that waits meanwhile.
#[derive(Debug)]
pub struct JobState {
    coroutine: Coroutine,
    /// Index of declaration of the task whose requests it makes.
    task: Option<usize>,
    /// The transactions that its code is in.
    transactions: Vec<Transaction>,
    /// For how long lgoose has held it up, which does not count in its transactions.
    held_up: Duration,
    /// The time that it took before it was preempted.
    used: Option<Duration>,
}

impl JobState {
    /// Makes the state of a job that the code begins which runs now.
    pub(super) fn new(host: &VmHost, coroutine: Coroutine) -> JobState {
        let tags = host.tags.borrow();
        JobState {
            coroutine,
            task: host.task.get(),
            transactions: tags
                .as_ref()
                .map_or_else(Vec::new, |tags| tags.transactions()),
            held_up: host.held_up.get(),
            used: None,
        }
    }

    /// Exchanges it for the state of the code that runs now, whose coroutine is `coroutine`.
    pub(super) fn exchange(&mut self, host: &VmHost, coroutine: &mut Coroutine) {
        std::mem::swap(&mut self.coroutine, coroutine);
        self.task = host.task.replace(self.task);
        self.held_up = host.held_up.replace(self.held_up);
        host.limits.exchange_used(&mut self.used);
        let mut tags = host.tags.borrow_mut();
        if tags.is_some() || !self.transactions.is_empty() {
            tags.get_or_insert_default()
                .exchange(&mut self.transactions);
        }
    }
}
