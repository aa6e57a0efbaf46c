//! What a plan says, as plain data, and the policies that follow from it: what comes next
//! ([`Schedule`]), who plays whom ([`Deal`]), how many at a time ([`Shape`]) or how often ([`Arrivals`]), how long to wait ([`Wait`]).
//!
//! The Lua layer builds these values and the engine obeys them. Nothing here knows Lua, clocks or
//! sockets: time comes in as elapsed durations, randomness as a generator, and each policy is pure.

mod arrivals;
mod deal;
mod outline;
mod schedule;
mod select;
mod shape;
mod wait;

pub use arrivals::{Arrivals, RateLine};
pub use deal::Deal;
pub use outline::{list, outline};
pub use schedule::{Cursor, Group, Schedule, Slot, Step};
pub use shape::Shape;
pub use wait::{Rest, Wait, Work, scaled};

/// A whole test plan: the kinds of users there are.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    /// The events of a test that it has functions for.
    pub events: Vec<Event>,
    /// The scenarios in the order of their declaration.
    pub scenarios: Vec<Scenario>,
}

/// A moment of a test for which a plan may have a function, run once by a user of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Before the first user starts.
    TestStart,
    /// After the last user has stopped.
    TestStop,
}

impl Event {
    /// All of them, in their order.
    pub const ALL: [Event; 2] = [Event::TestStart, Event::TestStop];

    /// The name that plans use.
    pub fn name(self) -> &'static str {
        match self {
            Event::TestStart => "test_start",
            Event::TestStop => "test_stop",
        }
    }
}

/// A kind of user: what it does, in which order, and how many of it there are.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// Unique within the plan.
    pub name: String,
    /// Its share of the users, relative to the other scenarios' weights; at least 1.
    pub weight: u32,
    /// A fixed number of users, which replaces the weight.
    pub users: Option<u32>,
    /// The base URL of its users, if it is not the plan's.
    pub host: Option<String>,
    /// The order of the tasks within one iteration.
    pub order: Order,
    /// The pause after each task that has none of its own.
    pub wait: Wait,
    /// What `--tags` may choose it by, all its tasks with it.
    pub tags: Vec<String>,
    /// The tasks in the order of their declaration.
    pub tasks: Vec<Task>,
}

/// Something a kind of user does.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// The name in reports; requests without a name of their own are counted under it.
    pub name: Option<String>,
    /// How often it runs in one pass; at least 1.
    pub weight: u32,
    /// Tasks with a sequence run before those without, in ascending order; equal values form a group.
    pub sequence: Option<i64>,
    /// Runs when a user begins, and is no part of the iteration.
    pub on_start: bool,
    /// Runs when a user ends, and is no part of the iteration.
    pub on_stop: bool,
    /// What `--tags` may choose it by.
    pub tags: Vec<String>,
    /// The pause after this task; the scenario's if there is none.
    pub wait: Option<Wait>,
    /// The index of the task's function, in the order in which the plan declares its tasks.
    pub function: usize,
    /// The line of the plan that declares the task, counted from 1.
    pub line: u32,
}

impl Task {
    /// Its name, or where it stands.
    pub fn title(&self) -> String {
        match &self.name {
            Some(name) => name.clone(),
            None => format!("task of line {}", self.line),
        }
    }
}

impl Scenario {
    /// The pause after `task`: its own, else the scenario's.
    pub fn wait_of<'a>(&'a self, task: &'a Task) -> &'a Wait {
        task.wait.as_ref().unwrap_or(&self.wait)
    }
}

/// The order of the tasks of one sequence group within an iteration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    /// A new shuffle for every user and every iteration.
    #[default]
    Shuffled,
    /// One of each in turn: weights 3 and 1 run A B A A.
    RoundRobin,
    /// All of the first, then all of the second.
    Serial,
    /// Drawn by weight, with replacement.
    Random,
}

impl Order {
    /// Every order, the default first.
    pub const ALL: [Order; 4] = [
        Order::Shuffled,
        Order::RoundRobin,
        Order::Serial,
        Order::Random,
    ];

    /// The word for it in a plan.
    pub fn name(self) -> &'static str {
        match self {
            Order::Shuffled => "shuffled",
            Order::RoundRobin => "round-robin",
            Order::Serial => "serial",
            Order::Random => "random",
        }
    }

    /// The order that a plan calls `name`, if there is one.
    pub fn parse(name: &str) -> Option<Order> {
        Order::ALL.into_iter().find(|order| order.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_read_by_the_name_it_prints() {
        for order in Order::ALL {
            assert_eq!(Order::parse(order.name()), Some(order));
        }
        assert_eq!(Order::parse("Serial"), None);
        assert_eq!(Order::default().name(), "shuffled");
    }

    #[test]
    fn a_plan_can_be_shared_by_threads() {
        fn shareable<T: Clone + Send + Sync>() {}
        shareable::<Plan>();
        shareable::<Schedule>();
        shareable::<Deal>();
        shareable::<Shape>();
    }
}
