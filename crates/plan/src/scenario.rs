//! The parts of a plan as plain data: scenarios, their tasks and the order of these, events and hooks. The Lua layer
//! builds them.

use super::wait::Wait;
use crate::config::OwnLoad;
use http::HeaderMap;
use lgoose_base::tags::Tags;
use std::time::Duration;

/// A moment of a test for which a plan may have a function, run once by a user of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum PlanEvent {
    /// Before the first user starts.
    TestStart,
    /// After the last user has stopped.
    TestStop,
}

impl PlanEvent {
    /// Every event, in chronological order.
    pub const ALL: [PlanEvent; 2] = [PlanEvent::TestStart, PlanEvent::TestStop];

    /// Returns the name that plans use.
    pub fn name(self) -> &'static str {
        match self {
            PlanEvent::TestStart => "test_start",
            PlanEvent::TestStop => "test_stop",
        }
    }
}

/// Something in a run for which a plan may have a function, which is given facts and no user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hook {
    /// A request has been counted.
    Request,
    /// The run is over, and its report is there.
    Report,
}

impl Hook {
    /// Every hook.
    pub const ALL: [Hook; 2] = [Hook::Request, Hook::Report];

    /// Returns the name that plans use.
    pub fn name(self) -> &'static str {
        match self {
            Hook::Request => "request",
            Hook::Report => "report",
        }
    }
}

/// A kind of user: its tasks, their order, and how many such users there are.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// Unique within the plan.
    pub name: String,
    /// Its share of the users, relative to the other scenarios' weights; at least 1.
    pub weight: u32,
    /// A fixed number of users, which replaces the weight.
    pub users: Option<u32>,
    /// A load of its own, which replaces its share of the run's.
    pub load: Option<OwnLoad>,
    /// The iterations of each of its users, if that is not the run's limit.
    pub iterations: Option<u64>,
    /// The iterations of all its users together.
    pub shared_iterations: Option<u64>,
    /// The most requests per second of all its users together.
    pub throttle_requests: Option<f64>,
    /// Headers of its requests, in addition to those of the run.
    pub headers: HeaderMap,
    /// The base URL of its users, if it is not the plan's.
    pub host: Option<String>,
    /// The order of the tasks within one iteration.
    pub order: TaskOrder,
    /// The pause after each task without one of its own.
    pub wait: Wait,
    /// The tags by which `--tags` may choose it, with all its tasks.
    pub tags: Vec<String>,
    /// The tags of its requests in figures.
    pub request_tags: Tags,
    /// The tasks in the order of their declaration.
    pub tasks: Vec<Task>,
}

impl Scenario {
    /// Creates a scenario without tasks, which has the weight 1 and the default of every field.
    pub fn new(name: impl Into<String>) -> Scenario {
        Scenario {
            name: name.into(),
            weight: 1,
            users: None,
            load: None,
            iterations: None,
            shared_iterations: None,
            throttle_requests: None,
            headers: HeaderMap::new(),
            host: None,
            order: TaskOrder::default(),
            wait: Wait::None,
            tags: Vec::new(),
            request_tags: Tags::default(),
            tasks: Vec::new(),
        }
    }
}

/// One task of a scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// The name in reports; requests without a name of their own are counted under it.
    pub name: Option<String>,
    /// The number of runs in one pass; at least 1.
    pub weight: u32,
    /// Tasks with a sequence run before those without, in ascending order; equal values form a group.
    pub sequence: Option<i64>,
    /// Whether it runs when a user begins, outside the iterations.
    pub on_start: bool,
    /// Whether it runs when a user ends, outside the iterations.
    pub on_stop: bool,
    /// The tags by which `--tags` may choose it.
    pub tags: Vec<String>,
    /// The tags of its requests in figures, those of the scenario and the plan among them.
    pub request_tags: Tags,
    /// The pause after this task; the scenario's if there is none.
    pub wait: Option<Wait>,
    /// The index of the task's function, in the order in which the plan declares its tasks.
    pub function: usize,
    /// The line of the plan that declares the task, counted from 1.
    pub line: u32,
}

impl Task {
    /// Creates a task with that function, declared in that line, which has the weight 1 and the default of every field.
    pub fn new(name: Option<String>, function: usize, line: u32) -> Task {
        Task {
            name,
            weight: 1,
            sequence: None,
            on_start: false,
            on_stop: false,
            tags: Vec::new(),
            request_tags: Tags::default(),
            wait: None,
            function,
            line,
        }
    }

    /// Returns the task's name, or where it is declared.
    pub fn title(&self) -> String {
        match &self.name {
            Some(name) => name.clone(),
            None => format!("task of line {}", self.line),
        }
    }
}

impl Scenario {
    /// Returns the pause after `task`: its own, else the scenario's.
    pub fn wait_of<'a>(&'a self, task: &'a Task) -> &'a Wait {
        task.wait.as_ref().unwrap_or(&self.wait)
    }

    /// Returns the mean sum of the declared pauses between the tasks of an iteration. Pauses that tasks make by themselves are
    /// not declared.
    pub fn pauses(&self) -> Duration {
        let tasks = self.tasks.iter();
        let tasks = tasks.filter(|task| !task.on_start && !task.on_stop);
        let (mut sum, mut runs) = (Duration::ZERO, 0_u32);
        for task in tasks {
            let pause = self.wait_of(task).mean();
            sum = sum.saturating_add(pause.saturating_mul(task.weight));
            runs = runs.saturating_add(task.weight);
        }
        // There is none after the last one.
        sum - sum.checked_div(runs).unwrap_or_default()
    }

    /// Returns the tags of a request: those of the task at that index, with its `own` on top; an event has no task.
    pub fn tags_of_request(&self, task: Option<usize>, own: Option<&Tags>) -> Tags {
        let task = task.and_then(|task| self.tasks.get(task));
        match (task.map(|task| &task.request_tags), own) {
            (Some(declared), Some(own)) => declared.with(own),
            (Some(tags), None) | (None, Some(tags)) => tags.clone(),
            (None, None) => Tags::default(),
        }
    }
}

/// The order of the tasks of one sequence group within an iteration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TaskOrder {
    /// A new shuffle for every user and every iteration.
    #[default]
    Shuffled,
    /// One run of each task in turn: weights 3 and 1 run A B A A.
    RoundRobin,
    /// All runs of the first task, then all of the second.
    Serial,
    /// Tasks drawn by weight, with replacement.
    Random,
}

impl TaskOrder {
    /// All orders, the default first.
    pub const ALL: [TaskOrder; 4] = [
        TaskOrder::Shuffled,
        TaskOrder::RoundRobin,
        TaskOrder::Serial,
        TaskOrder::Random,
    ];

    /// Returns the word for the order in a plan.
    pub fn name(self) -> &'static str {
        match self {
            TaskOrder::Shuffled => "shuffled",
            TaskOrder::RoundRobin => "round-robin",
            TaskOrder::Serial => "serial",
            TaskOrder::Random => "random",
        }
    }

    /// Returns the order that a plan calls `name`, if there is one.
    pub fn parse(name: &str) -> Option<TaskOrder> {
        TaskOrder::ALL
            .into_iter()
            .find(|order| order.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pauses_of_an_iteration_are_those_between_its_tasks() {
        let task = |weight| Task {
            weight,
            ..Task::new(None, 0, 1)
        };
        let seconds = Duration::from_secs;
        let mut scenario = Scenario {
            wait: Wait::Uniform(seconds(2), seconds(8)),
            tasks: vec![task(4), task(8), task(2), task(1)],
            ..Scenario::new("reader")
        };
        assert_eq!(scenario.pauses(), seconds(70));
        scenario.tasks[3].on_start = true;
        assert_eq!(scenario.pauses(), seconds(65));
        scenario.tasks.clear();
        assert_eq!(scenario.pauses(), Duration::ZERO);
    }

    #[test]
    fn an_order_is_read_by_the_name_it_prints() {
        for order in TaskOrder::ALL {
            assert_eq!(TaskOrder::parse(order.name()), Some(order));
        }
        assert_eq!(TaskOrder::parse("Serial"), None);
        assert_eq!(TaskOrder::default().name(), "shuffled");
    }
}
