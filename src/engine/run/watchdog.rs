//! Watchdog for threads that are caught in one call of a plan's code that no hook can end, such as a search of many
//! matches in a huge text: the shards of a run, the user of an event, and the thread that loads a plan. Asked at
//! every tick; pure but for the heartbeats it reads.

use crate::error::Error;
use crate::lua::{Heartbeat, RunningCode};
use crate::plan::{Plan, PlanEvent};
use crate::units;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Processor time beyond twice the hooks' limit after which a call counts as endless.
const GRACE: Duration = Duration::from_secs(5);

/// How many times that a call may sleep in the kernel, which uses no processor time: a disk may be slow.
const WITHOUT_PROCESSOR: u32 = 10;

/// The most time that one look counts: a process that was stopped, or a late tick, must not look like a long wait.
const MOST_PER_LOOK: Duration = Duration::from_secs(1);

/// Watches the shards of a run, or one other thread.
#[derive(Debug)]
pub(crate) struct Watchdog {
    shards: Vec<WatchedShard>,
    patience: Duration,
    looked: Instant,
}

#[derive(Debug)]
struct WatchedShard {
    heartbeat: Arc<Heartbeat>,
    seen: Option<RunningCode>,
    /// The processor time of its thread at the latest look.
    processor_time: Option<Duration>,
    /// Processor time that the code has used.
    used: Duration,
    /// Time for which it has been seen to sleep.
    time: Duration,
}

impl Watchdog {
    /// Makes a watchdog; `lua_time` is the limit of the hooks.
    pub(crate) fn new(heartbeats: &[Arc<Heartbeat>], lua_time: Duration, now: Instant) -> Watchdog {
        Watchdog::with_patience(heartbeats, lua_time * 2 + GRACE, now)
    }

    /// Makes a watchdog that counts a call as endless after that processor time, or after what `LGOOSE_PATIENCE` says.
    pub(crate) fn with_patience(
        heartbeats: &[Arc<Heartbeat>],
        patience: Duration,
        now: Instant,
    ) -> Watchdog {
        let watched = |heartbeat: &Arc<Heartbeat>| WatchedShard {
            heartbeat: heartbeat.clone(),
            seen: None,
            processor_time: None,
            used: Duration::ZERO,
            time: Duration::ZERO,
        };
        Watchdog {
            shards: heartbeats.iter().map(watched).collect(),
            patience: configured_patience().unwrap_or(patience),
            looked: now,
        }
    }

    /// Returns the shard whose code has been running far too long.
    pub(crate) fn look(&mut self, now: Instant) -> Option<StuckShard> {
        let passed = now.duration_since(self.looked).min(MOST_PER_LOOK);
        self.looked = now;
        let mut shards = self.shards.iter_mut().enumerate();
        shards.find_map(|(index, shard)| {
            let running = shard.heartbeat.read();
            let processor_time = shard.heartbeat.processor_time();
            let used = processor_time.zip(shard.processor_time);
            let used = used.map_or(passed, |(now, before)| {
                now.saturating_sub(before).min(passed)
            });
            (shard.used, shard.time) = if running.is_none() || running != shard.seen {
                (Duration::ZERO, Duration::ZERO)
            } else if shard.heartbeat.is_runnable() {
                // A busy machine may give it nothing for as long as it likes.
                (shard.used + used, shard.time)
            } else {
                (shard.used + used, shard.time + passed)
            };
            (shard.seen, shard.processor_time) = (running, processor_time);
            let line = shard.heartbeat.line();
            let is_endless =
                shard.used > self.patience || shard.time > self.patience * WITHOUT_PROCESSOR;
            let running = running.filter(|_| is_endless)?;
            Some(StuckShard {
                shard: index,
                running,
                line,
            })
        })
    }
}

/// The time after which a call counts as endless, for machines on which the usual one does not fit.
fn configured_patience() -> Option<Duration> {
    let configured = std::env::var("LGOOSE_PATIENCE").ok()?;
    units::duration(&configured).ok()
}

/// A shard that is caught in a call that does not end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StuckShard {
    pub(crate) shard: usize,
    running: RunningCode,
    /// The line where it was last seen.
    line: Option<u32>,
}

impl StuckShard {
    /// Describes it to people who can tell whose code it was: `caught in …, in one call that cannot be interrupted`.
    fn describe(&self, place: &str) -> String {
        let seen = self
            .line
            .map_or_else(String::new, |line| format!(", last seen at line {line}"));
        format!("caught in {place}{seen}, in one call that cannot be interrupted")
    }
}

/// Describes an event's function that cannot be ended. `file` is the plan's name.
pub(crate) fn stuck_event_error(event: PlanEvent, file: &str, caught: StuckShard) -> Error {
    let description = caught.describe(&format!("the function of '{}' ({file})", event.name()));
    Error::trouble(format!(
        "the run is {description}; it ends here\n  give the calls of that function less to work on"
    ))
}

/// Describes a top level that cannot be ended while the plan is loaded. `file` is the plan's name.
pub(crate) fn stuck_loading_error(file: &str, caught: StuckShard) -> Error {
    let description = caught.describe(&format!("the top level of {file}"));
    Error::trouble(format!(
        "the loading of the plan is {description}\n  give the calls of the top level less to work on"
    ))
}

/// Describes a function for the report that cannot be ended.
pub(crate) fn stuck_report_error(caught: StuckShard) -> Error {
    let description = caught.describe("the function of on(\"report\")");
    Error::trouble(format!(
        "the run is over, but {description}\n  give the calls of that function less to work on"
    ))
}

/// Describes a task that cannot be ended. `file` is the plan's name.
pub(crate) fn stuck_task_error(plan: &Plan, file: &str, caught: StuckShard) -> Error {
    let running = caught.running;
    let tasks = plan.scenarios.iter().flat_map(|scenario| {
        let named = scenario.tasks.iter().map(|task| (&scenario.name, task));
        named.collect::<Vec<_>>()
    });
    let running_task = running
        .task
        .and_then(|index| tasks.into_iter().find(|(_, task)| task.function == index));
    let who = match running_task {
        Some((scenario, task)) => format!(
            "task '{}' of scenario '{scenario}' ({file}:{})",
            task.title(),
            task.line
        ),
        None => format!("the top level of {file}"),
    };
    Error::trouble(format!(
        "user {} is {}; the run ends here, its figures are those until then\n  \
         give the calls of that task less to work on",
        running.user,
        caught.describe(&who)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Scenario, Task};

    const TICK: Duration = Duration::from_millis(250);

    fn running(user: u64) -> Arc<Heartbeat> {
        let heartbeat = Arc::<Heartbeat>::default();
        heartbeat.enter(user, Some(0));
        heartbeat
    }

    #[test]
    fn a_call_without_end_is_noticed_after_patience_and_not_before() {
        let start = Instant::now();
        let heartbeats = [Arc::<Heartbeat>::default(), running(7)];
        let mut watchdog = Watchdog::new(&heartbeats, Duration::from_secs(1), start);
        let looks = (1..).map(|tick| start + TICK * tick);
        let ticks = looks
            .take_while(|now| watchdog.look(*now).is_none())
            .count();
        assert_eq!(
            ticks, 29,
            "7 s of 250 ms each, and the look that saw it first"
        );
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_call_that_gets_no_processor_time_has_ten_times_as_long() {
        let start = Instant::now();
        let (named, name) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let heartbeats = [running(7)];
        let heartbeat = heartbeats[0].clone();
        let asleep = std::thread::spawn(move || {
            heartbeat.run_here();
            named.send(()).expect("the test waits for it");
            let _dropped = ended.recv();
        });
        name.recv().expect("it names itself");
        while heartbeats[0].is_runnable() {
            std::thread::yield_now();
        }
        let mut watchdog = Watchdog::new(&heartbeats, Duration::from_secs(1), start);
        let looks = (1..).map(|tick| start + TICK * tick);
        let ticks = looks
            .take_while(|now| watchdog.look(*now).is_none())
            .count();
        assert_eq!(ticks, 281, "70 s, and the look that saw it first");
        drop(end);
        asleep.join().expect("it ends");
    }

    #[test]
    fn a_shard_that_goes_on_is_never_caught() {
        let start = Instant::now();
        let heartbeats = [running(7)];
        let mut watchdog = Watchdog::new(&heartbeats, Duration::from_secs(1), start);
        for tick in 1..100 {
            heartbeats[0].enter(7, Some(0));
            assert_eq!(watchdog.look(start + TICK * tick), None);
        }
    }

    #[test]
    fn a_process_that_was_stopped_is_not_caught() {
        let start = Instant::now();
        let heartbeats = [running(7)];
        let mut watchdog = Watchdog::new(&heartbeats, Duration::from_secs(1), start);
        assert_eq!(watchdog.look(start + TICK), None);
        for burst in 0..100 {
            let late = start + Duration::from_secs(3600) + Duration::from_micros(burst);
            assert_eq!(watchdog.look(late), None);
        }
    }

    #[test]
    fn the_error_names_user_task_and_line() {
        let task = Task::new(Some("read".to_owned()), 0, 3);
        let plan = Plan {
            scenarios: vec![Scenario {
                tasks: vec![task],
                ..Scenario::new("visitor")
            }],
            ..Plan::default()
        };
        let caught = StuckShard {
            shard: 0,
            running: running(7).read().expect("it runs"),
            line: Some(5),
        };
        let text = stuck_task_error(&plan, "plan.lua", caught).to_string();
        assert!(
            text.contains("user 7 is caught in task 'read' of scenario 'visitor' (plan.lua:3), last seen at line 5"),
            "{text}"
        );
    }
}
