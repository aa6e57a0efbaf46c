//! All runs: queued, running and finished. Driven by `web`; the [runner](super::runner) takes runs from the queue.

use super::data::RunFolder;
use super::order::ProcessOrder;
use super::plans::Plans;
use super::record::{RunRecord, RunRow, RunState};
use super::{options, process};
use lgoose_base::error::Error;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, Semaphore, watch};

/// The most queued runs.
const MAX_QUEUED_RUNS: usize = 100;

/// The most plans that are checked for mistakes at the same time.
const CHECKED: usize = 2;

/// A request for a run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RunRequest {
    /// Path of the plan below the folder of plans, as `GET /plans` lists it.
    pub(crate) plan: String,
    /// Options, with the names of the command line's flags: a text, a number or true, or a list of those for a flag
    /// that can be repeated.
    #[serde(default)]
    pub(crate) options: Map<String, Value>,
}

/// The reason why a request is refused.
#[derive(Debug)]
pub(crate) enum RunRefusal {
    /// There is no such run, plan or report.
    Absent(String),
    /// The request itself is wrong.
    Wrong(String),
    /// The plan, or an option's value, has a mistake.
    Mistake(String),
    /// The request makes no sense now.
    Conflict(String),
    /// The folder of runs cannot be written.
    Trouble(String),
}

/// All runs.
#[derive(Debug)]
pub struct Runs {
    pub(crate) plans: Plans,
    pub(super) data: RunFolder,
    /// Arguments of every run, which the operator of the server has given.
    own_arguments: Vec<String>,
    state: Mutex<RunsState>,
    /// Signals that a run was queued, or that no more will be.
    news: Notify,
    checking: Semaphore,
}

#[derive(Debug, Default)]
struct RunsState {
    queue: VecDeque<QueuedRun>,
    current: Option<CurrentRun>,
    /// The last run that ended here.
    last: Option<String>,
    /// Records of finished runs that could not be written.
    unsaved: BTreeMap<String, RunRecord>,
    /// Whether no more runs are begun.
    closed: bool,
}

/// A queued run.
#[derive(Debug, Clone)]
pub(super) struct QueuedRun {
    pub(super) id: String,
    pub(super) record: RunRecord,
    pub(super) plan: PathBuf,
    pub(super) arguments: Vec<String>,
}

/// The current run.
#[derive(Debug, Clone)]
pub(crate) struct CurrentRun {
    /// Name of the run.
    pub(crate) id: String,
    /// Path of the plan.
    pub(crate) plan: String,
    /// Token of the run's interface.
    pub(crate) token: String,
    /// Address of the run's interface; `None` until it is known, closed if it never will be.
    pub(crate) address: watch::Receiver<Option<SocketAddr>>,
    pub(super) record: RunRecord,
}

impl Runs {
    /// Creates an empty queue for a folder of plans and a folder of runs; all runs have these arguments of the operator.
    pub fn new(plans: Plans, data: RunFolder, own_arguments: Vec<String>) -> Runs {
        Runs {
            plans,
            data,
            own_arguments,
            state: Mutex::default(),
            news: Notify::new(),
            checking: Semaphore::new(CHECKED),
        }
    }

    /// Puts a run at the end of the queue, after its plan and options were checked for mistakes.
    ///
    /// # Errors
    /// Returns why the run is refused.
    pub(crate) async fn add(&self, requested: RunRequest) -> Result<RunRow, RunRefusal> {
        let mut arguments = options::arguments(&requested.options).map_err(RunRefusal::Wrong)?;
        arguments.extend(self.own_arguments.iter().cloned());
        let plan = self.plans.find(&requested.plan).ok_or_else(|| {
            RunRefusal::Absent(format!("there is no plan '{}' here", requested.plan))
        })?;
        self.check_room(&self.state())?;
        let mut order = ProcessOrder {
            arguments: arguments.clone(),
            token: String::new(),
            read_only: true,
            check: true,
            files: None,
            lock: None,
        };
        order.arguments.extend(plan_arguments(&plan));
        let turn = self.checking.acquire().await;
        process::check(&order, &requested.plan)
            .await
            .map_err(RunRefusal::Mistake)?;
        drop(turn);
        let record = RunRecord::new(&requested.plan, options::shown(&requested.options));
        let id = self.data.create(&record);
        let id = id.map_err(|error| RunRefusal::Trouble(error.text()))?;
        let mut state = self.state();
        if let Err(refusal) = self.check_room(&state) {
            let _removed = self.data.remove(&id);
            return Err(refusal);
        }
        let row = RunRow::open(&id, &record, RunState::Queued);
        state.queue.push_back(QueuedRun {
            id,
            record,
            plan,
            arguments,
        });
        self.news.notify_one();
        Ok(row)
    }

    fn check_room(&self, state: &RunsState) -> Result<(), RunRefusal> {
        if state.closed {
            return Err(RunRefusal::Conflict("lgoose is shutting down".to_owned()));
        }
        if state.queue.len() < MAX_QUEUED_RUNS {
            Ok(())
        } else {
            Err(RunRefusal::Conflict(format!(
                "{MAX_QUEUED_RUNS} runs wait already: take some out of the queue, or wait"
            )))
        }
    }

    /// Returns all runs: the current one, the queued ones in order, then the finished ones, the latest first. Also
    /// returns the error that keeps other runs from being listed, if there is one.
    pub(crate) fn rows(&self) -> (Vec<RunRow>, Option<String>) {
        let (mut rows, unsaved) = {
            let state = self.state();
            let current = state.current.iter();
            let current = current.map(|run| RunRow::open(&run.id, &run.record, RunState::Running));
            let waiting = state.queue.iter();
            let waiting = waiting.map(|run| RunRow::open(&run.id, &run.record, RunState::Queued));
            let rows: Vec<_> = current.chain(waiting).collect();
            (rows, state.unsaved.clone())
        };
        let (mut over, trouble) = match self.data.rows() {
            Ok(over) => (over, None),
            Err(error) => (Vec::new(), Some(error.text())),
        };
        over.retain(|row| rows.iter().all(|open| open.id != row.id));
        let running = self.data.running();
        let running = over
            .iter_mut()
            .find(|row| Some(&row.id) == running.as_ref());
        if let Some(row) = running {
            row.go_on();
        }
        for (id, record) in unsaved {
            over.retain(|row| row.id != id);
            over.push(RunRow::new(&id, Some(record), None));
        }
        over.sort_by(|a, b| b.time.cmp(&a.time).then_with(|| b.id.cmp(&a.id)));
        rows.append(&mut over);
        (rows, trouble)
    }

    /// Returns a run.
    ///
    /// # Errors
    /// Refuses if there is no such run.
    pub(crate) fn row(&self, id: &str) -> Result<RunRow, RunRefusal> {
        {
            let state = self.state();
            if let Some(run) = state.current.as_ref().filter(|run| run.id == id) {
                return Ok(RunRow::open(id, &run.record, RunState::Running));
            }
            if let Some(run) = state.queue.iter().find(|run| run.id == id) {
                return Ok(RunRow::open(id, &run.record, RunState::Queued));
            }
            if let Some(record) = state.unsaved.get(id) {
                return Ok(RunRow::new(id, Some(record.clone()), None));
            }
        }
        let mut row = self.data.row(id).ok_or_else(|| absent(id))?;
        if self.data.running().is_some_and(|running| running == id) {
            row.go_on();
        }
        Ok(row)
    }

    /// Takes a run out of the queue, or removes the files of a finished one.
    ///
    /// # Errors
    /// Refuses if there is no such run, if it is the current one, or if its files cannot be removed.
    pub(crate) fn remove(&self, id: &str) -> Result<(), RunRefusal> {
        let mut state = self.state();
        let is_running = || self.data.running().is_some_and(|running| running == id);
        if state.current.as_ref().is_some_and(|run| run.id == id) || is_running() {
            let message = format!("run '{id}' is still running: stop it first");
            return Err(RunRefusal::Conflict(message));
        }
        let exists = state.queue.iter().any(|run| run.id == id) || state.unsaved.contains_key(id);
        if !exists && self.data.row(id).is_none() {
            return Err(absent(id));
        }
        state.queue.retain(|run| run.id != id);
        state.unsaved.remove(id);
        let removed = self.data.remove(id);
        removed.map_err(|error| RunRefusal::Trouble(error.text()))
    }

    /// Returns the bytes of the report of a finished run.
    ///
    /// # Errors
    /// Refuses if there is no report, or it cannot be read.
    pub(crate) fn report(&self, id: &str) -> Result<Vec<u8>, RunRefusal> {
        match self.data.report(id) {
            Ok(Some(bytes)) => Ok(bytes),
            Ok(None) => {
                let row = self.row(id)?;
                Err(match row.state {
                    RunState::Queued => {
                        RunRefusal::Conflict(format!("run '{id}' has not begun yet"))
                    }
                    _ => RunRefusal::Absent(format!("run '{id}' has left no report")),
                })
            }
            Err(error) => Err(RunRefusal::Mistake(error)),
        }
    }

    /// Returns the text of the plan that a run was started with.
    ///
    /// # Errors
    /// Refuses if there is no such plan.
    pub(crate) fn plan(&self, id: &str) -> Result<Vec<u8>, RunRefusal> {
        match self.data.plan(id) {
            Some(text) => Ok(text),
            None => {
                let row = self.row(id)?;
                Err(match row.state {
                    RunState::Queued => RunRefusal::Conflict(format!(
                        "run '{id}' has not begun yet: its plan is read then"
                    )),
                    _ => RunRefusal::Absent(format!("no plan is kept of run '{id}'")),
                })
            }
        }
    }

    /// Returns the current run.
    pub(crate) fn current(&self) -> Option<CurrentRun> {
        self.state().current.clone()
    }

    /// Returns the last run that ended here.
    pub(crate) fn last(&self) -> Option<String> {
        self.state().last.clone()
    }

    /// Waits for the next run and takes it out of the queue; `begin` makes it the current one. `None` once no more runs
    /// are begun.
    pub(super) async fn next(
        &self,
        start: impl Fn(&mut QueuedRun) -> CurrentRun,
    ) -> Option<QueuedRun> {
        loop {
            {
                let mut state = self.state();
                if state.closed {
                    return None;
                }
                if let Some(mut waiting) = state.queue.pop_front() {
                    state.current = Some(start(&mut waiting));
                    return Some(waiting);
                }
            }
            self.news.notified().await;
        }
    }

    /// Records the end of the current run.
    ///
    /// # Errors
    /// Returns trouble with the folder of the run; its end is then known only until this process ends.
    pub(super) fn end(&self, id: &str, record: RunRecord) -> Result<(), Error> {
        let written = self.data.write_record(id, &record);
        let mut state = self.state();
        state.current = None;
        state.last = Some(id.to_owned());
        if written.is_err() {
            state.unsaved.insert(id.to_owned(), record);
        }
        written
    }

    /// Lets no more runs begin. Queued runs have no end, and so count as lost.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        state.queue.clear();
        self.news.notify_one();
    }

    fn state(&self) -> MutexGuard<'_, RunsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the arguments that name the plan, even if its name looks like an option.
pub(super) fn plan_arguments(plan: &std::path::Path) -> [String; 2] {
    ["--".to_owned(), plan.to_string_lossy().into_owned()]
}

fn absent(id: &str) -> RunRefusal {
    RunRefusal::Absent(format!("there is no run '{id}'"))
}
