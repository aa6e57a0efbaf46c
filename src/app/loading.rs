//! Loads a plan on its own thread, and calls its function for the report on one: if the plan's code hangs in a call that
//! cannot be interrupted, takes too much memory, or is no longer wanted, this ends with a message. Such a thread is left
//! behind and ends with the process.

use lgoose_base::error::Error;
use lgoose_base::files::{DataMemory, PlanFolder};
use lgoose_base::foreign_formats;
use lgoose_base::machine;
use lgoose_engine::{MemoryWatch, StuckShard, Watchdog, stuck_loading_error, stuck_report_error};
use lgoose_lua::{EnvVariables, Heartbeat, LOADING_TIME, Program, REPORT_TIME, Written};
use lgoose_metrics::Report;
use lgoose_plan::Plan;
use lgoose_plan::config::Settings;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;
use tokio::time::Instant;

/// Processor time after which a top level counts as endless: hooks end one that has computed for [`LOADING_TIME`].
const PATIENCE: Duration = LOADING_TIME.saturating_add(Duration::from_secs(5));

/// The same for the function of `on("report")`.
const REPORT_PATIENCE: Duration = REPORT_TIME.saturating_add(Duration::from_secs(1));

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

/// The memory that the process of a plan may take, in bytes; `None` for the memory of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MemoryLimits {
    pub(super) process: Option<u64>,
    /// The part that data files may take; `None` for all that is left of it.
    pub(super) data: Option<u64>,
}

impl MemoryLimits {
    /// Makes the memory that the data files of one plan may take together.
    pub(super) fn data_memory(self) -> DataMemory {
        let left = |most: u64| most.saturating_sub(machine::taken_memory().unwrap_or(0));
        let process = self.process.or_else(machine::usual_memory);
        let limit = self.data.or(process.map(left));
        limit.map_or_else(DataMemory::default, DataMemory::new)
    }
}

/// Loads a plan as [`lgoose_lua::load`] does, and gives it up if its top level cannot be ended. Without a typed seed, a plan
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
    folder: &PlanFolder,
    memory: MemoryLimits,
) -> Result<Loaded, Error> {
    let with_seed = |seed| {
        let (of, text, variables) = (name.to_owned(), source.to_owned(), variables.clone());
        let (folder, data_memory) = (folder.clone(), memory.data_memory());
        watched(name, memory.process, move |heartbeat| {
            lgoose_lua::load_watched(
                &of,
                &text,
                variables,
                seed,
                &folder,
                &data_memory,
                heartbeat,
            )
        })
    };
    let seed = typed_seed.unwrap_or(usual);
    let loaded = with_seed(seed).map_err(|error| match foreign_formats::recognise(source) {
        // Only a text that is no plan is checked for other formats.
        Some(tool) if matches!(error, Error::Mistake(_)) => tool.mistake(name).into(),
        _ => error,
    })?;
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
    most_memory: Option<u64>,
    load: impl FnOnce(&Arc<Heartbeat>) -> Result<Loaded, Error> + Send + 'static,
) -> Result<Loaded, Error> {
    let memory = MemoryWatch::of("the loading of the plan", most_memory);
    let to_error = |caught| stuck_loading_error(name, caught);
    on_its_own_thread(load, (memory, PATIENCE), || None, to_error)
}

/// Passes a report to the plan's function as [`lgoose_lua::report`] does, and gives it up if it cannot be ended, if the process
/// takes more than `most_memory` bytes or than the machine can give, or once `is_given_up`.
fn report(
    program: &Arc<Program>,
    report: serde_json::Value,
    most_memory: Option<u64>,
    is_given_up: &AtomicBool,
) -> Result<Vec<Written>, Error> {
    let program = program.clone();
    let call = move |heartbeat: &Arc<Heartbeat>| lgoose_lua::report(&program, &report, heartbeat);
    let memory = MemoryWatch::of("the function of on(\"report\")", most_memory);
    let given_up = || {
        let message = "a signal ended on(\"report\"): what it returns is not written";
        let is_given_up = is_given_up.load(Ordering::Relaxed);
        is_given_up.then(|| Error::trouble(message))
    };
    on_its_own_thread(
        call,
        (memory, REPORT_PATIENCE),
        given_up,
        stuck_report_error,
    )
}

/// Returns the call that passes the report to the plan's `on("report")` function: within that memory of the process in bytes, until it is
/// given up.
///
/// # Errors
/// Trouble with the report as a value.
pub(super) fn summary_call(
    program: &Arc<Program>,
    figures: &Report,
    most_memory: Option<u64>,
    is_given_up: Arc<AtomicBool>,
) -> Result<impl FnOnce() -> Result<Vec<Written>, Error> + Send + use<>, Error> {
    let (program, figures) = (program.clone(), lgoose_report::json::to_value(figures)?);
    Ok(move || report(&program, figures, most_memory, &is_given_up))
}

/// Runs a plan's code on a thread of its own until it ends, the watchdog or `memory` has caught it, or it is `given_up`.
fn on_its_own_thread<T: Send + 'static>(
    run: impl FnOnce(&Arc<Heartbeat>) -> Result<T, Error> + Send + 'static,
    (mut memory, patience): (MemoryWatch, Duration),
    given_up: impl Fn() -> Option<Error>,
    to_error: impl FnOnce(StuckShard) -> Error,
) -> Result<T, Error> {
    let heartbeat = Arc::<Heartbeat>::default();
    let mut clock = WorkClock::new();
    let mut watchdog = Watchdog::with_patience(slice::from_ref(&heartbeat), patience, clock.now);
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
        let pause = memory.due().saturating_duration_since(Instant::now());
        match result.recv_timeout(pause) {
            Ok(ended) => {
                // The thread has nothing left to do.
                let _joined = thread.join();
                return ended;
            }
            Err(RecvTimeoutError::Timeout) => {
                if let Some(error) = memory.look().or_else(&given_up) {
                    return Err(error);
                }
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
