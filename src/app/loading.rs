//! Loads a plan on its own thread, and calls its function for the report on one: if the plan's code hangs in a call that
//! cannot be interrupted, this ends with a message. Such a thread is left behind and ends with the process.

use crate::config::Settings;
use crate::engine::{StuckShard, Watchdog, stuck_loading_error, stuck_report_error};
use crate::error::Error;
use crate::lua::{self, EnvVariables, Heartbeat, LOADING_TIME, Program, Written};
use crate::machine;
use crate::plan::Plan;
use std::slice;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;
use tokio::time::Instant;

/// Processor time after which a top level counts as endless: hooks end one that has computed for [`LOADING_TIME`].
const PATIENCE: Duration = LOADING_TIME.saturating_add(Duration::from_secs(5));

/// Interval at which the watchdog checks.
const LOOK: Duration = Duration::from_millis(250);

/// Stack size of the thread in bytes, as large as that of the main thread.
const STACK: usize = 8 << 20;

/// Clock that runs only while the process uses a processor: a plan that waits for a slow disk, or gets little time on a
/// busy machine, does not count as endless. During a run, its threads use processors, too, and the clock runs like any
/// other.
struct WorkClock {
    now: Instant,
    seen: (Instant, Duration),
}

impl WorkClock {
    fn new() -> WorkClock {
        let now = Instant::now();
        WorkClock {
            now,
            seen: (now, machine::process_time()),
        }
    }

    fn advance(&mut self) -> Instant {
        let (moment, used) = self.seen;
        self.seen = (Instant::now(), machine::process_time());
        let passed = self.seen.0.duration_since(moment);
        self.now += passed.min(self.seen.1.saturating_sub(used));
        self.now
    }
}

/// Loads a plan as [`lua::load`] does, and gives it up if its top level cannot be ended. Without a typed seed, a plan
/// that sets one is loaded again, so that its top level sees that seed, too; `usual` is the seed if it sets none.
///
/// # Errors
/// The mistake in the plan.
pub(super) fn load(
    name: &str,
    source: &str,
    variables: EnvVariables,
    typed_seed: Option<u64>,
    usual: u64,
) -> Result<Loaded, Error> {
    let with_seed = |seed| {
        let (of, text, variables) = (name.to_owned(), source.to_owned(), variables.clone());
        watched(name, move |heartbeat| {
            lua::load_watched(&of, &text, variables, seed, heartbeat)
        })
    };
    let seed = typed_seed.unwrap_or(usual);
    let loaded = with_seed(seed)?;
    match (typed_seed, loaded.2.seed) {
        (None, Some(planned)) if planned != seed => with_seed(planned),
        _ => Ok(loaded),
    }
}

/// Result of loading a plan.
pub(super) type Loaded = (Arc<Program>, Plan, Settings);

/// Loads the plan of that name on its own thread, with a function that reports its progress in the heartbeat, and gives
/// it up if its top level cannot be ended.
///
/// # Errors
/// Returns the error of the function, or says that the plan was given up.
pub(super) fn watched(
    name: &str,
    load: impl FnOnce(&Arc<Heartbeat>) -> Result<Loaded, Error> + Send + 'static,
) -> Result<Loaded, Error> {
    on_its_own_thread(load, |caught| stuck_loading_error(name, caught))
}

/// Passes a report to the plan's function as [`lua::report`] does, and gives it up if it cannot be ended.
pub(super) fn report(
    program: &Arc<Program>,
    report: serde_json::Value,
) -> Result<Vec<Written>, Error> {
    let program = program.clone();
    let call = move |heartbeat: &Arc<Heartbeat>| lua::report(&program, &report, heartbeat);
    on_its_own_thread(call, stuck_report_error)
}

/// Runs a plan's code on a thread of its own until it ends, or the watchdog has caught it.
fn on_its_own_thread<T: Send + 'static>(
    run: impl FnOnce(&Arc<Heartbeat>) -> Result<T, Error> + Send + 'static,
    to_error: impl FnOnce(StuckShard) -> Error,
) -> Result<T, Error> {
    let heartbeat = Arc::<Heartbeat>::default();
    let mut clock = WorkClock::new();
    let mut watchdog = Watchdog::with_patience(slice::from_ref(&heartbeat), PATIENCE, clock.now);
    let (ended, result) = mpsc::channel();
    let thread = std::thread::Builder::new()
        .name("plan".to_owned())
        .stack_size(STACK)
        .spawn(move || {
            heartbeat.run_here();
            // Nobody receives it if the plan was given up.
            let _abandoned = ended.send(run(&heartbeat));
        })
        .map_err(|error| Error::cannot("start a thread for the plan", error))?;
    loop {
        match result.recv_timeout(LOOK) {
            Ok(ended) => {
                // The thread has nothing left to do.
                let _joined = thread.join();
                return ended;
            }
            Err(RecvTimeoutError::Timeout) => {
                if let Some(caught) = watchdog.look(clock.advance()) {
                    return Err(to_error(caught));
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                let fault = "the plan's code ended because of a bug in lgoose; please report it";
                return Err(Error::trouble(fault));
            }
        }
    }
}
