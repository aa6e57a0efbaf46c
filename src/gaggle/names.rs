//! Names on the broker: subjects and the stream of a run.

/// Subject on which managers and listings ask who is there.
pub(super) const HELLO: &str = "lgoose.hello";

/// Returns the identity of a worker: its name as a part of a subject, so that permissions can name it, and a number that no
/// other has.
pub(crate) fn identity(name: &str, number: u64) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let token = name.chars().map(|c| if plain(c) { c } else { '_' });
    let token: String = token.take(64).collect();
    format!(
        "{}.{number:016x}",
        if token.is_empty() { "_" } else { &token }
    )
}

/// Returns the subjects on which a worker gets answers.
pub(crate) fn inbox(worker: &str) -> String {
    format!("lgoose.inbox.{worker}")
}

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
    format!("lgoose.run.{run}.up.>")
}

/// Returns the stream of what workers have entered into the logs of a run. It is none of those that are listed as runs.
pub(super) fn log_stream(run: &str) -> String {
    format!("LGOOSELOGS_{run}")
}

/// Returns the subject of what one worker has entered into logs.
pub(super) fn logs(run: &str, worker: &str) -> String {
    format!("lgoose.run.{run}.log.{worker}")
}

/// Returns the subjects of everything that was entered into the logs of a run.
pub(super) fn all_logs(run: &str) -> String {
    format!("lgoose.run.{run}.log.>")
}

/// Returns the subject on which a worker tells what it cannot hand over as a signal.
pub(super) fn told(run: &str, worker: &str) -> String {
    format!("lgoose.run.{run}.told.{worker}")
}

/// Returns the subjects of all that workers of a run tell.
pub(super) fn all_told(run: &str) -> String {
    format!("lgoose.run.{run}.told.>")
}

/// Returns the worker of the subject of a piece of a log.
pub(super) fn worker_of_logs(subject: &str) -> Option<&str> {
    subject.rsplit_once(".log.").map(|(_, worker)| worker)
}

/// Returns the worker whose signals have that subject.
pub(super) fn worker_of_signals(subject: &str) -> Option<&str> {
    subject.rsplit_once(".up.").map(|(_, worker)| worker)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_is_two_parts_of_a_subject_whatever_the_name() {
        for (name, expected) in [
            ("eu-1", "eu-1.00000000000000ff"),
            ("host.example.org", "host_example_org.00000000000000ff"),
            ("> *", "___.00000000000000ff"),
            ("", "_.00000000000000ff"),
        ] {
            let id = identity(name, 255);
            assert_eq!(id, expected);
            assert_eq!(worker_of_signals(&signals("run", &id)), Some(&*id));
            assert_eq!(worker_of_logs(&logs("run", &id)), Some(&*id));
        }
    }
}
