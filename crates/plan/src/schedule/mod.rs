//! The order of tasks: the tasks of a scenario by sequence, order and exact weight.
//!
//! All users of a scenario share one read-only [`Schedule`]; each user has a [`Cursor`] that counts down the rest of
//! its iteration. A cursor holds a number per task, not per run of a task, so a weight of a million costs no more than
//! a weight of one.

use std::collections::BTreeMap;

use rand::{Rng, RngExt};

use super::{Scenario, Task, TaskOrder};

/// The tasks that every user of one scenario runs, in groups that follow each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    order: TaskOrder,
    iteration: Vec<TaskGroup>,
    on_start: Vec<TaskGroup>,
    on_stop: Vec<TaskGroup>,
}

/// The tasks of one sequence value, to which order and weight apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TaskGroup {
    /// The sequence value that they share; `None` for the last group, of the tasks without one.
    pub sequence: Option<i64>,
    /// The tasks in the order of their declaration; never empty.
    pub slots: Vec<TaskSlot>,
}

/// A task's place in its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TaskSlot {
    /// The index of the task in its scenario.
    pub task: usize,
    /// The number of runs of the task in one pass.
    pub weight: u32,
}

/// One task to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScheduledTask {
    /// The index of the task in its scenario.
    pub task: usize,
    /// Whether the iteration is over when this task is.
    pub last_of_iteration: bool,
}

/// The position of one user in its iteration; always used with the same schedule.
#[derive(Debug, Clone, Default)]
pub struct ScheduleCursor {
    group: usize,
    /// Runs left in this group; 0 before the group is entered.
    remaining: u64,
    /// Runs left of each task of this group. Random order draws with replacement and leaves them alone.
    runs: Vec<u32>,
    /// The slot that is next in round-robin order.
    turn: usize,
}

impl Schedule {
    /// Creates the schedule of a scenario's tasks.
    pub fn new(scenario: &Scenario) -> Self {
        let groups = |belongs: fn(&Task) -> bool| groups(&scenario.tasks, belongs);
        Schedule {
            order: scenario.order,
            iteration: groups(|task| !task.on_start && !task.on_stop),
            on_start: groups(|task| task.on_start),
            on_stop: groups(|task| task.on_stop),
        }
    }

    /// Returns the groups of one iteration, in the order in which they run.
    pub(crate) fn groups(&self) -> &[TaskGroup] {
        &self.iteration
    }

    /// Returns whether there are tasks besides those at the beginning and the end.
    pub fn has_iterations(&self) -> bool {
        !self.iteration.is_empty()
    }

    /// Returns how many tasks one iteration runs.
    pub fn iteration_len(&self) -> u64 {
        self.iteration.iter().map(TaskGroup::weight).sum()
    }

    /// Returns the tasks that a user runs once at its beginning, in order.
    pub fn on_start<R: Rng + ?Sized>(&self, rng: &mut R) -> Vec<usize> {
        self.once(&self.on_start, rng)
    }

    /// Returns the tasks that a user runs once at its end, in order.
    pub fn on_stop<R: Rng + ?Sized>(&self, rng: &mut R) -> Vec<usize> {
        self.once(&self.on_stop, rng)
    }

    /// Returns one pass over `groups`. Random order is a shuffle here: drawing with replacement would leave out the
    /// login of some users, and these tasks have no next iteration to appear in.
    fn once<R: Rng + ?Sized>(&self, groups: &[TaskGroup], rng: &mut R) -> Vec<usize> {
        let order = match self.order {
            TaskOrder::Random => TaskOrder::Shuffled,
            order => order,
        };
        let mut cursor = ScheduleCursor::default();
        let mut tasks = Vec::new();
        while let Some(step) = cursor.step(groups, order, rng) {
            tasks.push(step.task);
            if step.last_of_iteration {
                break;
            }
        }
        tasks
    }
}

impl TaskGroup {
    /// Returns how many tasks one pass through this group runs.
    pub(crate) fn weight(&self) -> u64 {
        self.slots.iter().map(|slot| u64::from(slot.weight)).sum()
    }
}

impl ScheduleCursor {
    /// Creates the position at the beginning of a user's first iteration.
    pub fn new() -> Self {
        ScheduleCursor::default()
    }

    /// Returns the next task of the user, without end; `None` if the scenario has only `on_start` and `on_stop`
    /// tasks.
    pub fn next<R: Rng + ?Sized>(
        &mut self,
        schedule: &Schedule,
        rng: &mut R,
    ) -> Option<ScheduledTask> {
        self.step(&schedule.iteration, schedule.order, rng)
    }

    fn step<R: Rng + ?Sized>(
        &mut self,
        groups: &[TaskGroup],
        order: TaskOrder,
        rng: &mut R,
    ) -> Option<ScheduledTask> {
        let group = groups.get(self.group)?;
        if self.remaining == 0 {
            self.enter(group);
        }
        let slot = self.pick(group, order, rng);
        self.remaining -= 1;
        if self.remaining == 0 {
            self.group = (self.group + 1) % groups.len();
        }
        Some(ScheduledTask {
            task: group.slots[slot].task,
            last_of_iteration: self.remaining == 0 && self.group == 0,
        })
    }

    fn enter(&mut self, group: &TaskGroup) {
        self.remaining = group.weight();
        self.runs.clear();
        self.runs.extend(group.slots.iter().map(|slot| slot.weight));
        self.turn = 0;
    }

    /// Chooses a slot that has runs left and takes one of them.
    fn pick<R: Rng + ?Sized>(&mut self, group: &TaskGroup, order: TaskOrder, rng: &mut R) -> usize {
        let slot = match order {
            TaskOrder::Random => {
                let weights = group.slots.iter().map(|slot| slot.weight);
                return slot_of(weights, rng.random_range(0..group.weight()));
            }
            // Drawing from the remaining runs, by count, is a uniform shuffle dealt one card at a time.
            TaskOrder::Shuffled => slot_of(
                self.runs.iter().copied(),
                rng.random_range(0..self.remaining),
            ),
            TaskOrder::Serial => self.first_remaining(0),
            TaskOrder::RoundRobin => self.first_remaining(self.turn),
        };
        self.runs[slot] -= 1;
        self.turn = slot + 1;
        slot
    }

    /// Returns the first slot with runs left, searching from `start` on and then from the front.
    fn first_remaining(&self, start: usize) -> usize {
        let slots = self.runs.len();
        (start..start + slots)
            .map(|slot| slot % slots)
            .find(|slot| self.runs[*slot] > 0)
            .unwrap_or_default()
    }
}

/// Returns the slot that holds unit number `unit` when each slot holds `weights` of them.
fn slot_of(weights: impl Iterator<Item = u32>, unit: u64) -> usize {
    let mut end = 0;
    weights
        .take_while(|weight| {
            end += u64::from(*weight);
            end <= unit
        })
        .count()
}

/// Groups the tasks that `belongs` accepts by ascending sequence, those without one last.
fn groups(tasks: &[Task], belongs: fn(&Task) -> bool) -> Vec<TaskGroup> {
    let mut groups: BTreeMap<(bool, Option<i64>), Vec<TaskSlot>> = BTreeMap::new();
    for (index, task) in tasks.iter().enumerate() {
        if belongs(task) && task.weight > 0 {
            let place = (task.sequence.is_none(), task.sequence);
            groups.entry(place).or_default().push(TaskSlot {
                task: index,
                weight: task.weight,
            });
        }
    }
    groups
        .into_iter()
        .map(|((_, sequence), slots)| TaskGroup { sequence, slots })
        .collect()
}

#[cfg(test)]
mod tests;
