//! Journal of a run on workers: actions of its director that no signal of a worker shows, and their times. From it, the
//! signals and the orders, another director can replay the run from its beginning and take it over.

use crate::messages::order::RunOrder;
use crate::messages::plan_version::PlanVersion;
use crate::messages::shard_event::ShardEvent;
use lgoose_base::error::Error;
use lgoose_lua::EnvVariables;
use lgoose_metrics::Cause;
use lgoose_metrics::control::Command;
use lgoose_plan::config::{OwnLoad, RunConfig};
use lgoose_plan::{Plan, PlanEvent, Scenario, Task};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::sync::mpsc;
use tokio::time::Instant;

/// An entry of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DirectorLogEntry {
    /// Time since the run began.
    pub at: Duration,
    /// The director's action.
    pub action: DirectorEvent,
}

/// An action of the director that no signal of a worker shows: a command, or a decision of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum DirectorEvent {
    /// A command that was executed.
    Command(Command),
    /// Users were stopped.
    Stop {
        /// Why.
        cause: Cause,
        /// The threshold or the plan's reason.
        why: Option<String>,
    },
    /// Users were given another version of the plan.
    PlanVersion(Box<PlanFacts>),
    /// `test_stop` began.
    TestStop,
    /// Another manager took the run over.
    TakenOver,
}

/// Facts of a version of the plan that a director needs; holds no secrets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanFacts {
    number: u64,
    digest: String,
    order: Vec<(String, String)>,
    events: Vec<PlanEvent>,
    /// The own loads of scenarios, by name.
    own_loads: BTreeMap<String, OwnLoad>,
    /// The counters that the plan declares.
    counters: Vec<String>,
    /// The configuration of the run.
    pub config: RunConfig,
}

impl From<&PlanVersion> for PlanFacts {
    fn from(version: &PlanVersion) -> PlanFacts {
        PlanFacts {
            number: version.number,
            digest: version.digest(),
            order: version.order(),
            events: version.plan.events.clone(),
            own_loads: version.plan.own_loads(),
            counters: version.plan.counters.clone(),
            config: version.config.without_secrets(),
        }
    }
}

impl PlanFacts {
    /// Returns a version that stands in for the plan where the plan itself is not at hand: it has the plan's names,
    /// and its tasks do nothing.
    ///
    /// # Errors
    /// Trouble with Lua.
    pub fn stand_in(&self) -> Result<PlanVersion, Error> {
        let source = "task { function() end }";
        let (program, ..) = lgoose_lua::load("stand-in", source, EnvVariables::default(), 0)?;
        let named_alike = |one: &(String, String), other: &(String, String)| one.0 == other.0;
        let scenarios = self.order.chunk_by(named_alike).map(|tasks| {
            let task = |(_, task): &(String, String)| Task::new(Some(task.clone()), 0, 0);
            Scenario {
                tasks: tasks.iter().map(task).collect(),
                load: self.own_loads.get(&tasks[0].0).cloned(),
                ..Scenario::new(&tasks[0].0)
            }
        });
        let plan = Plan {
            events: self.events.clone(),
            hooks: Vec::new(),
            scenarios: scenarios.collect(),
            counters: self.counters.clone(),
        };
        let version = PlanVersion::new(program, plan, Vec::new(), Arc::new(self.config.clone()));
        Ok(PlanVersion {
            stands_for: Some(self.digest.clone()),
            ..version.numbered(self.number)
        })
    }
}

/// A run that another director leads, or led until it was lost.
#[derive(Debug)]
pub struct PastRun {
    /// Start of the users.
    pub start: Instant,
    /// Time from the origin of the times in logs to that start.
    pub since_origin: Duration,
    /// Start of the run, by the clock of its first manager.
    pub started: SystemTime,
    /// Figures of `test_start`, encoded.
    pub test_start: Option<Vec<u8>>,
    /// Moments of the run in order; closed when this process is to lead the run.
    pub moments: mpsc::Receiver<ReplayMoment>,
}

/// A moment of a run that another director has led.
#[derive(Debug)]
pub struct ReplayMoment {
    /// Time since the run began.
    pub at: Duration,
    /// The event of that moment.
    pub what: ReplayEvent,
}

/// Event of a moment.
#[derive(Debug)]
pub enum ReplayEvent {
    /// An event of a participant.
    Event(ShardEvent),
    /// The director did something.
    Action(DirectorEvent),
    /// A worker got an order.
    Order(RunOrder),
    /// Nothing happened, but time has passed.
    Nothing,
    /// The run is over: its manager has ended it.
    End,
    /// The run cannot be followed any further.
    Failed(Error),
}

#[cfg(test)]
mod tests {
    use super::*;
    use lgoose_plan::config::{Config, Settings, Value};
    use std::collections::BTreeMap;

    #[test]
    fn a_stand_in_has_the_names_of_its_plan_and_no_secret() {
        let source = "on('test_stop', function() end) \
            scenario { 'a', task { 'one', function() end }, task { 'two', function() end } } \
            scenario { 'b', task { 'one', function() end } }";
        let (program, plan, _) =
            lgoose_lua::load("plan.lua", source, BTreeMap::new(), 1).expect("a plan");
        let mut settings = Settings::default();
        let proxy = Value::Text("http://me:hidden@proxy:8080".to_owned());
        settings.set("proxy", &proxy).expect("it fits");
        let header = ("Authorization".to_owned(), "Bearer hidden".to_owned());
        settings.headers = Some(BTreeMap::from([header]));
        let config = Config::new(settings, 2, 1).expect("it fits").run;
        let digest = program.digest();
        let version = PlanVersion::new(program, plan, Vec::new(), Arc::new(config)).numbered(3);
        let facts = PlanFacts::from(&version);
        let json = serde_json::to_string(&facts).expect("plain data");
        assert!(
            !json.contains("hidden") && json.contains("proxy:8080"),
            "{json}"
        );
        let stand_in = facts.stand_in().expect("a stand-in");
        assert_eq!(stand_in.order(), version.order());
        assert_eq!((stand_in.number, stand_in.digest()), (3, digest));
        assert_eq!(stand_in.plan.events, [PlanEvent::TestStop]);
        assert_eq!(PlanFacts::from(&stand_in), facts);
    }
}
