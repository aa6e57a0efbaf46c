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
        everything_up(run),
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

/// Returns the subject of one worker's signals; `slot` is that of its gather, if it has one.
pub(super) fn signals(run: &str, slot: Option<&str>, worker: &str) -> String {
    match slot {
        Some(slot) => format!("lgoose.run.{run}.up.{slot}.{worker}"),
        None => format!("lgoose.run.{run}.up.{worker}"),
    }
}

/// Returns the subjects of all that a manager reads of a run: signals of workers without a gather, and records.
pub(super) fn all_signals(run: &str) -> String {
    format!("lgoose.run.{run}.up.*")
}

/// Returns the subjects of all signals and records of a run.
pub(super) fn everything_up(run: &str) -> String {
    format!("lgoose.run.{run}.up.>")
}

/// Returns the subjects of the signals that a gather adds up.
pub(super) fn signals_of_slot(run: &str, slot: &str) -> String {
    format!("lgoose.run.{run}.up.{slot}.*")
}

/// Returns the subject of the records of a slot.
pub(super) fn records(run: &str, slot: &str) -> String {
    format!("lgoose.run.{run}.up.{slot}")
}

/// Returns the name of the slot of that number. No worker's identity is like it.
pub(super) fn slot(number: usize) -> String {
    format!("slot{number}")
}

/// Returns whether that is the name of a slot.
pub(super) fn is_slot(name: &str) -> bool {
    name.starts_with("slot")
}

/// Returns the run of a subject.
pub(super) fn run_of_subject(subject: &str) -> &str {
    subject.split('.').nth(2).unwrap_or_default()
}

/// Returns the last word of a subject: the worker whose signals have it, or the slot whose records do.
pub(super) fn sender(subject: &str) -> &str {
    subject.rsplit_once('.').map_or("", |(_, sender)| sender)
}

/// Subject on which managers and listings ask which gathers there are.
pub(super) const GATHERS: &str = "lgoose.gather.hello";

/// Returns the subject of requests to one gather.
pub(super) fn gather(id: &str) -> String {
    format!("lgoose.gather.{id}")
}
