//! Names on the broker: subjects and the stream of a run.

/// Subject on which managers and listings look for workers.
pub(super) const HELLO: &str = "lgoose.hello";

/// Returns the identity of a worker: its name as one token of a subject, so that permissions can name it, and a
/// unique number.
pub fn identity(name: &str, number: u64) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let token = name.chars().map(|c| if plain(c) { c } else { '_' });
    let token: String = token.take(64).collect();
    format!(
        "{}.{number:016x}",
        if token.is_empty() { "_" } else { &token }
    )
}

/// Returns the number in a worker's identity, by which the records of gathers name the worker; `None` for other
/// names.
pub(super) fn worker_number(id: &str) -> Option<u64> {
    let (_, number) = id.rsplit_once('.')?;
    u64::from_str_radix(number, 16).ok()
}

/// Returns the prefix of the subjects on which a worker receives replies.
pub fn inbox(worker: &str) -> String {
    format!("lgoose.inbox.{worker}")
}

/// Returns the subject of requests to one worker.
pub(super) fn worker(id: &str) -> String {
    format!("lgoose.worker.{id}")
}

/// Returns the worker that a subject of requests is about; empty for other subjects.
pub(super) fn addressed_worker(subject: &str) -> &str {
    subject.strip_prefix("lgoose.worker.").unwrap_or_default()
}

/// Returns the name of a run's stream, which keeps its last order and all signals of its workers.
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

/// Returns the subject of the record that another manager needs to go on with a run.
pub(super) fn record(run: &str) -> String {
    format!("lgoose.run.{run}.kept.record")
}

/// Returns the subject of the journal of a run's director.
pub(super) fn journal(run: &str) -> String {
    format!("lgoose.run.{run}.kept.journal")
}

/// Returns the subject on which a manager says that it leads a run.
pub(super) fn lead(run: &str) -> String {
    format!("lgoose.run.{run}.kept.lead")
}

/// Returns the prefix of all subjects of a run.
pub(super) fn of_run(run: &str) -> String {
    format!("lgoose.run.{run}.")
}

/// Returns the prefixes of the subjects on which a reader requests the messages of a run's stream from JetStream.
pub(super) fn reading(run: &str) -> [String; 2] {
    let stream = stream(run);
    [
        format!("$JS.API.CONSUMER.CREATE.{stream}"),
        format!("$JS.API.CONSUMER.MSG.NEXT.{stream}"),
    ]
}

/// Returns the subjects that the stream of a run keeps.
pub(super) fn stored_subjects(run: &str) -> Vec<String> {
    vec![
        all_signals(run),
        format!("lgoose.run.{run}.part.>"),
        order(run),
        format!("lgoose.run.{run}.kept.*"),
        format!("lgoose.run.{run}.reserved.>"),
    ]
}

/// Returns the subject of the manager's sign of life, once a second.
pub(super) fn beat(run: &str) -> String {
    format!("lgoose.run.{run}.down.beat")
}

/// Returns the subjects of everything that is sent to all workers of a run.
pub(super) fn down(run: &str) -> String {
    format!("lgoose.run.{run}.down.*")
}

/// Returns the subject on which workers request the manager's time.
pub(super) fn clock(run: &str) -> String {
    format!("lgoose.run.{run}.clock")
}

/// Returns the subject of calls to the state that workers of a run share. It is none of the run's, so that a broker whose
/// permissions lack it does not end runs that share nothing.
pub(super) fn shared(run: &str) -> String {
    format!("lgoose.shared.{run}")
}

/// Returns the subject of one worker's signals; `slot` is that of its gather, if it has one.
pub(super) fn signals(run: &str, slot: Option<&str>, worker: &str) -> String {
    match slot {
        Some(slot) => format!("lgoose.run.{run}.part.{slot}.{worker}"),
        None => format!("lgoose.run.{run}.up.{worker}"),
    }
}

/// Returns the subjects of everything that a manager reads: signals of workers without a gather, and records.
pub(super) fn all_signals(run: &str) -> String {
    format!("lgoose.run.{run}.up.>")
}

/// Returns the name of the stream that keeps the log entries of a run's workers. Its prefix is not that of
/// [`stream`], so it is not listed as a run.
pub(super) fn log_stream(run: &str) -> String {
    format!("LGOOSELOGS_{run}")
}

/// Returns the subject of one worker's log entries.
pub(super) fn logs(run: &str, worker: &str) -> String {
    format!("lgoose.run.{run}.log.{worker}")
}

/// Returns the subjects of all log entries of a run.
pub(super) fn all_logs(run: &str) -> String {
    format!("lgoose.run.{run}.log.>")
}

/// Returns the subject on which a worker says why it cannot hand over its signals.
pub(super) fn failures(run: &str, worker: &str) -> String {
    format!("lgoose.run.{run}.told.{worker}")
}

/// Returns the subjects on which any worker of a run says so.
pub(super) fn all_failures(run: &str) -> String {
    format!("lgoose.run.{run}.told.>")
}

/// Returns the worker in a subject of [`logs`] or [`told`]; `None` for other subjects.
pub(super) fn worker_of_subject(subject: &str) -> Option<&str> {
    let mut words = subject.splitn(5, '.').skip(3);
    let kind = words.next()?;
    words.next().filter(|_| matches!(kind, "log" | "told"))
}

/// Returns the subject of one worker's reservations.
pub(super) fn reserved(run: &str, worker: &str) -> String {
    format!("lgoose.run.{run}.reserved.{worker}")
}

/// Returns the subjects of the signals that a gather adds up.
pub(super) fn signals_of_slot(run: &str, slot: &str) -> String {
    format!("lgoose.run.{run}.part.{slot}.>")
}

/// Returns the subject of a slot's records.
pub(super) fn records(run: &str, slot: &str) -> String {
    format!("lgoose.run.{run}.up.{slot}")
}

/// Returns the name of the slot with that number. It has no dot, so it differs from every worker's identity.
pub(super) fn slot(number: usize) -> String {
    format!("slot{number}")
}

/// Name under which a manager sends itself probes of the way of signals. No worker has it: theirs have a number.
pub(super) const PROBE: &str = "probe";

/// Subject on which a manager repeats its latest order, for workers that have missed it.
pub(super) fn repeated_order(run: &str) -> String {
    format!("lgoose.run.{run}.down.latest")
}

/// Returns whether `name` is the name of a slot.
pub(super) fn is_slot(name: &str) -> bool {
    name.starts_with("slot") && !name.contains('.')
}

/// Returns the run of a subject.
pub(super) fn run_of_subject(subject: &str) -> &str {
    subject.split('.').nth(2).unwrap_or_default()
}

/// Returns the worker whose signals have that subject, or the slot whose records do; empty for others.
pub(super) fn sender(subject: &str) -> &str {
    let mut words = subject.splitn(5, '.').skip(3);
    match (words.next(), words.next()) {
        (Some("up"), Some(sender)) => sender,
        (Some("part"), Some(sender)) => sender.split_once('.').map_or("", |(_, worker)| worker),
        _ => "",
    }
}

/// Subject on which managers and listings look for gathers.
pub(super) const GATHERS: &str = "lgoose.gather.hello";

/// Returns the subject of requests to one gather.
pub(super) fn gather(id: &str) -> String {
    format!("lgoose.gather.{id}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_names_the_sender_of_its_messages() {
        let worker = identity("up", 7);
        for subject in [
            signals("r", None, &worker),
            signals("r", Some("slot3"), &worker),
        ] {
            assert_eq!(sender(&subject), worker);
            assert!(!is_slot(sender(&subject)));
        }
        assert_eq!(sender(&records("r", "slot3")), "slot3");
        assert!(is_slot(sender(&records("r", "slot3"))));
        assert_eq!((sender(&order("r")), sender("")), ("", ""));
    }

    #[test]
    fn an_identity_is_two_parts_of_a_subject_whatever_the_name() {
        for (name, expected) in [
            ("eu-1", "eu-1.00000000000000ff"),
            ("host.example.org", "host_example_org.00000000000000ff"),
            ("> *", "___.00000000000000ff"),
            ("", "_.00000000000000ff"),
            ("log", "log.00000000000000ff"),
            ("told", "told.00000000000000ff"),
        ] {
            let id = identity(name, 255);
            assert_eq!(id, expected);
            assert_eq!(sender(&signals("run", None, &id)), id);
            assert_eq!(worker_of_subject(&logs("run", &id)), Some(&*id));
            assert_eq!(worker_of_subject(&failures("run", &id)), Some(&*id));
        }
    }
}
