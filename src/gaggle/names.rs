//! Names on the broker: subjects and the stream of a run.

/// Subject on which managers and listings ask who is there.
pub(super) const HELLO: &str = "lgoose.hello";

/// Returns the subject of requests to one worker.
pub(super) fn worker(id: &str) -> String {
    format!("lgoose.worker.{id}")
}

/// Returns the stream of a run, which keeps its last order and all signals of its workers.
pub(super) fn stream(run: &str) -> String {
    format!("LGOOSE_{run}")
}

/// Returns the run of a stream; `None` if it is not lgoose's.
pub(super) fn run_of_stream(stream: &str) -> Option<&str> {
    stream.strip_prefix("LGOOSE_")
}

/// Returns the subject of the order that all workers of a run follow.
pub(super) fn order(run: &str) -> String {
    format!("lgoose.run.{run}.down.order")
}

/// Returns the subject of what another manager needs to go on with a run.
pub(super) fn record(run: &str) -> String {
    format!("lgoose.run.{run}.kept.record")
}

/// Returns the subject of what the director of a run is told beside signals.
pub(super) fn journal(run: &str) -> String {
    format!("lgoose.run.{run}.kept.journal")
}

/// Returns the subject on which whoever leads a run says so.
pub(super) fn lead(run: &str) -> String {
    format!("lgoose.run.{run}.kept.lead")
}

/// Returns all that the stream of a run keeps.
pub(super) fn kept(run: &str) -> Vec<String> {
    vec![
        all_signals(run),
        order(run),
        format!("lgoose.run.{run}.kept.*"),
    ]
}

/// Returns the subject of the manager's sign of life, once a second.
pub(super) fn beat(run: &str) -> String {
    format!("lgoose.run.{run}.down.beat")
}

/// Returns the subject on which workers ask for the manager's time.
pub(super) fn clock(run: &str) -> String {
    format!("lgoose.run.{run}.clock")
}

/// Returns the subject of one worker's signals.
pub(super) fn signals(run: &str, worker: &str) -> String {
    format!("lgoose.run.{run}.up.{worker}")
}

/// Returns the subjects of all signals of a run.
pub(super) fn all_signals(run: &str) -> String {
    format!("lgoose.run.{run}.up.*")
}

/// Returns the worker whose signals have that subject.
pub(super) fn worker_of_signals(subject: &str) -> Option<&str> {
    subject.rsplit_once(".up.").map(|(_, worker)| worker)
}
