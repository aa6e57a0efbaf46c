//! Watchdog for threads that do not come back: the shards of a run, which have a loop for all of their users, and the user of
//! an event and the thread that loads a plan, which have none and are caught in one call of the plan's code that no hook can
//! end, such as a search of many matches in a huge text. Called at every tick; pure but for the heartbeats it reads.

use lgoose_base::error::Error;
use lgoose_base::units;
use lgoose_lua::{Heartbeat, RunningCode};
use lgoose_plan::{Plan, PlanEvent};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Processor time beyond twice the hooks' limit after which a thread counts as caught.
const GRACE: Duration = Duration::from_secs(5);

/// Multiple of that time for which a thread may sleep in the kernel, which uses no processor time: a disk may be slow.
const WITHOUT_PROCESSOR: u32 = 10;

/// The most time that one look counts: a process that was stopped, or a late tick, must not look like a long wait.
const MAX_TIME_PER_LOOK: Duration = Duration::from_secs(1);

/// Watches the shards of a run, or one other thread.
#[derive(Debug)]
pub struct Watchdog {
    shards: Vec<WatchedShard>,
    patience: Duration,
    looked: Instant,
}

#[derive(Debug)]
struct WatchedShard {
    heartbeat: Arc<Heartbeat>,
    /// Returns of the thread to its loop at the latest look, if it has one.
    returns: Option<u64>,
    /// The plan's code that was seen since.
    seen: SeenCode,
    /// The processor time of its thread at the latest look.
    processor_time: Option<Duration>,
    /// Processor time that it has used since.
    used: Duration,
    /// Time for which it has been seen to sleep.
    time: Duration,
}

/// The code of a plan that was seen while its thread did not come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SeenCode {
    /// None: the thread does something of lgoose's own.
    None,
    /// One call.
    Call(RunningCode),
    /// One call after another of the same user, the latest of them.
    Calls(RunningCode),
}

impl SeenCode {
    /// Adds the code that runs now to the code seen before; `None` if that is of another user, since users whose
    /// turns are long follow one another.
    fn and(self, running: Option<RunningCode>) -> Option<SeenCode> {
        let Some(running) = running else {
            return Some(self);
        };
        match self {
            SeenCode::None => Some(SeenCode::Call(running)),
            SeenCode::Call(before) if before == running => Some(self),
            SeenCode::Call(before) | SeenCode::Calls(before) => {
                (before.user == running.user).then_some(SeenCode::Calls(running))
            }
        }
    }
}

impl WatchedShard {
    /// Looks at the thread, and returns whether it has made no progress since the latest look.
    fn is_held(&mut self) -> bool {
        let (returns, running) = (self.heartbeat.returns(), self.heartbeat.read());
        let came_back = std::mem::replace(&mut self.returns, returns) != returns;
        let seen = self.seen.and(running).filter(|seen| match returns {
            Some(_) => !came_back,
            // A thread without a loop comes back after each call.
            None => running.is_some() && *seen == self.seen,
        });
        self.seen = seen.unwrap_or(running.map_or(SeenCode::None, SeenCode::Call));
        seen.is_some()
    }
}

impl Watchdog {
    /// Makes a watchdog; `lua_time` is the limit of the hooks.
    pub(crate) fn new(heartbeats: &[Arc<Heartbeat>], lua_time: Duration, now: Instant) -> Watchdog {
        Watchdog::with_patience(heartbeats, lua_time * 2 + GRACE, now)
    }

    /// Makes a watchdog that counts a thread as caught after that processor time, or after that of `LGOOSE_PATIENCE`.
    pub fn with_patience(
        heartbeats: &[Arc<Heartbeat>],
        patience: Duration,
        now: Instant,
    ) -> Watchdog {
        let watched = |heartbeat: &Arc<Heartbeat>| WatchedShard {
            heartbeat: heartbeat.clone(),
            returns: None,
            seen: SeenCode::None,
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

    /// Returns the shard that has not come back for far too long.
    pub fn look(&mut self, now: Instant) -> Option<StuckShard> {
        let passed = now.duration_since(self.looked).min(MAX_TIME_PER_LOOK);
        self.looked = now;
        let mut shards = self.shards.iter_mut().enumerate();
        shards.find_map(|(index, shard)| {
            let is_held = shard.is_held();
            let processor_time = shard.heartbeat.processor_time();
            let used = processor_time.zip(shard.processor_time);
            let used = used.map_or(passed, |(now, before)| {
                now.saturating_sub(before).min(passed)
            });
            (shard.used, shard.time) = if !is_held {
                (Duration::ZERO, Duration::ZERO)
            } else if shard.heartbeat.is_runnable() {
                // A busy machine may give it nothing for as long as it likes.
                (shard.used + used, shard.time)
            } else {
                (shard.used + used, shard.time + passed)
            };
            shard.processor_time = processor_time;
            let is_caught =
                shard.used > self.patience || shard.time > self.patience * WITHOUT_PROCESSOR;
            is_caught.then(|| StuckShard {
                shard: index,
                seen: shard.seen,
                line: shard.heartbeat.line(),
            })
        })
    }
}

/// The time after which a thread counts as caught, for machines on which the usual one does not fit.
fn configured_patience() -> Option<Duration> {
    let configured = std::env::var("LGOOSE_PATIENCE").ok()?;
    units::duration(&configured).ok()
}

/// A shard that does not come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StuckShard {
    pub(crate) shard: usize,
    seen: SeenCode,
    /// The line where it was last seen.
    line: Option<u32>,
}

impl StuckShard {
    /// Describes it for people who know the plan: `caught in …, in one call that cannot be interrupted`.
    fn describe(&self, place: &str) -> String {
        let seen = self
            .line
            .map_or_else(String::new, |line| format!(", last seen at line {line}"));
        let calls = match self.seen {
            SeenCode::Calls(_) => "in calls that let nothing else of their thread go on",
            SeenCode::None | SeenCode::Call(_) => "in one call that cannot be interrupted",
        };
        format!("caught in {place}{seen}, {calls}")
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
pub fn stuck_loading_error(file: &str, caught: StuckShard) -> Error {
    let description = caught.describe(&format!("the top level of {file}"));
    Error::trouble(format!(
        "the loading of the plan is {description}\n  give the calls of the top level less to work on"
    ))
}

/// Describes a function for the report that cannot be ended.
pub fn stuck_report_error(caught: StuckShard) -> Error {
    let description = caught.describe("the function of on(\"report\")");
    Error::trouble(format!(
        "the run is over, but {description}\n  give the calls of that function less to work on"
    ))
}

/// Describes a shard that does not come back, by the task that holds it. `file` is the plan's name.
pub(crate) fn stuck_task_error(plan: &Plan, file: &str, caught: StuckShard) -> Error {
    let (SeenCode::Call(running) | SeenCode::Calls(running)) = caught.seen else {
        return Error::trouble(
            "a thread of users does not come back because of a bug in lgoose; the run ends here, its figures are those until \
             then\n  please report it",
        );
    };
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
    use lgoose_lua::WatchedLoop;
    use lgoose_plan::{Scenario, Task};

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
            seen: SeenCode::Call(running(7).read().expect("it runs")),
            line: Some(5),
        };
        let text = stuck_task_error(&plan, "plan.lua", caught).to_string();
        assert!(
            text.contains("user 7 is caught in task 'read' of scenario 'visitor' (plan.lua:3), last seen at line 5"),
            "{text}"
        );
    }

    /// Returns how many looks find nothing while the thread does something between them, 100 if none finds anything.
    fn looks(heartbeat: &Arc<Heartbeat>, between: impl Fn(u64)) -> (usize, Option<StuckShard>) {
        let start = Instant::now();
        let heartbeats = [heartbeat.clone()];
        let mut watchdog = Watchdog::new(&heartbeats, Duration::from_secs(1), start);
        for tick in 1..=100 {
            between(u64::from(tick));
            let caught = watchdog.look(start + TICK * tick);
            if caught.is_some() {
                return (tick as usize - 1, caught);
            }
        }
        (100, None)
    }

    #[test]
    fn a_thread_that_does_not_come_back_to_its_loop_is_caught_whatever_it_does() {
        let heartbeat = Arc::<Heartbeat>::default();
        let _in_loop = WatchedLoop::begin(heartbeat.clone());
        let plan = Plan::default();
        let nothing = |_| {};
        let calls = |_| heartbeat.enter(7, Some(0));
        let now_and_then = |tick| match tick % 3 {
            0 => heartbeat.leave(),
            _ => heartbeat.enter(7, Some(0)),
        };
        let one_call = |tick| {
            if tick == 1 {
                heartbeat.enter(7, Some(0));
            }
        };
        let does: [(&dyn Fn(u64), &str); 4] = [
            (
                &nothing,
                "a thread of users does not come back because of a bug in lgoose",
            ),
            (
                &calls,
                "in calls that let nothing else of their thread go on",
            ),
            (
                &now_and_then,
                "in calls that let nothing else of their thread go on",
            ),
            (&one_call, "in one call that cannot be interrupted"),
        ];
        for (does, described) in does {
            let (ticks, caught) = looks(&heartbeat, does);
            assert_eq!(
                ticks, 29,
                "7 s, and the look that saw it first: {described}"
            );
            let caught = caught.expect("it is caught");
            let text = stuck_task_error(&plan, "plan.lua", caught).to_string();
            assert!(text.contains(described), "{text}");
            heartbeat.leave();
        }
    }

    #[test]
    fn a_thread_that_comes_back_to_its_loop_or_serves_others_is_not_caught() {
        let heartbeat = Arc::<Heartbeat>::default();
        let in_loop = WatchedLoop::begin(heartbeat.clone());
        heartbeat.enter(7, Some(0));
        let comes_back = |tick| {
            if tick % 20 == 0 {
                in_loop.returned();
            }
        };
        assert_eq!(looks(&heartbeat, comes_back), (100, None));
        let serves_others = |tick| heartbeat.enter(1 + tick / 20, Some(0));
        assert_eq!(looks(&heartbeat, serves_others), (100, None));
        heartbeat.leave();
        drop(in_loop);
        assert_eq!(looks(&heartbeat, |_| {}), (100, None), "it has ended");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_real_thread_that_never_comes_back_is_caught_in_every_step() {
        let in_calls = |heartbeat: &Heartbeat| {
            heartbeat.enter(7, Some(0));
            heartbeat.leave();
        };
        let in_one_call = |heartbeat: &Heartbeat| {
            if heartbeat.read().is_none() {
                heartbeat.enter(7, Some(0));
            }
        };
        let steps: [fn(&Heartbeat); 3] = [|_| {}, in_calls, in_one_call];
        for step in steps {
            let heartbeat = Arc::<Heartbeat>::default();
            let watched = [heartbeat.clone()];
            let (named, name) = std::sync::mpsc::channel();
            let (end, ended) = std::sync::mpsc::channel::<()>();
            let thread = std::thread::spawn(move || {
                heartbeat.run_here();
                let _in_loop = WatchedLoop::begin(heartbeat.clone());
                named.send(()).expect("the test waits for it");
                while ended.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
                    step(&heartbeat);
                }
            });
            name.recv().expect("it names itself");
            let patience = Duration::from_millis(50);
            let mut watchdog = Watchdog::with_patience(&watched, patience, Instant::now());
            while watchdog.look(Instant::now()).is_none() {
                std::thread::yield_now();
            }
            drop(end);
            thread.join().expect("it ends");
        }
    }
}
