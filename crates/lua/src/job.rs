//! A function of a plan that runs beside the task of its user: its coroutine and its part of the user's state, which
//! takes the place of the task's during each step. The engine decides which of them takes a step.

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
    /// Makes the state of a job begun by the running code.
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
