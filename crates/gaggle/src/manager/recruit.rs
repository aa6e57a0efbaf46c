//! Recruiting: finds free workers at the broker and claims as many as the run needs.

use super::terms::{ProgressReporter, REPLY_TIMEOUT, Recruitment};
use crate::broker::Broker;
use crate::messages::{self, RequestKind, WorkerPresence, WorkerRequest};
use crate::names;
use lgoose_base::error::{Error, Trouble};
use lgoose_base::units::{counted, show_count};
use lgoose_plan::config::MOST_THREADS;
use std::fmt;
use std::time::Duration;
use tokio::time::Instant;

/// Time limit for the replies of workers, which is also the time between two requests.
const HELLO: Duration = Duration::from_millis(400);
/// The same for workers that are far away, and the number of requests before one with this limit.
const FAR_HELLO: Duration = Duration::from_secs(2);
const NEAR_HELLOS: u32 = 4;
/// Time limit for the reply to a claim.
const CLAIM: Duration = Duration::from_secs(5);

/// Version of this lgoose.
const OWN: &str = env!("CARGO_PKG_VERSION");

/// A worker that was not claimed.
struct UnclaimedWorker {
    name: String,
    why: ClaimFailure,
}

/// Reasons why a worker was not claimed.
enum ClaimFailure {
    /// It runs that version of lgoose.
    Version(String),
    /// It says that it has so many threads, which no worker has.
    Threads(u64),
    /// It works for that run.
    Busy(String),
    /// It refuses or does not respond; a sentence.
    Refused(String),
}

impl fmt::Display for UnclaimedWorker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "worker '{}': ", self.name)?;
        match &self.why {
            ClaimFailure::Version(version) => {
                write!(f, "it runs lgoose {version}, and this is {OWN}")
            }
            ClaimFailure::Threads(threads) => write!(
                f,
                "it says that it has {}, and a worker has 1 to {}",
                counted(*threads, "thread"),
                show_count(MOST_THREADS)
            ),
            ClaimFailure::Busy(run) => write!(f, "it works for run {run}"),
            ClaimFailure::Refused(why) => f.write_str(why),
        }
    }
}

/// Returns all workers that respond now, each with the time it took.
///
/// # Errors
/// Trouble with the broker.
pub async fn present(broker: &Broker) -> Result<Vec<(WorkerPresence, Duration)>, Error> {
    present_within(broker, FAR_HELLO).await
}

/// Works like [`present`], with a given time limit.
async fn present_within(
    broker: &Broker,
    within: Duration,
) -> Result<Vec<(WorkerPresence, Duration)>, Error> {
    let replies = broker.request_all(names::HELLO, within).await?;
    let all = replies.into_iter().filter_map(|(reply, took)| {
        let presence = messages::decode::<WorkerPresence>(&reply).ok()?;
        Some((presence, took))
    });
    let mut all: Vec<_> = all.collect();
    all.sort_by(|(a, _), (b, _)| (&a.name, &a.id).cmp(&(&b.name, &b.id)));
    Ok(all)
}

/// Claims a free worker of this version with enough threads, not among those left out; `None` if there is none.
pub(super) async fn claim_one(
    broker: &Broker,
    run: &str,
    threads: u64,
    excluded: &[String],
) -> Option<WorkerPresence> {
    for within in [HELLO, FAR_HELLO] {
        for (worker, _) in present_within(broker, within).await.ok()? {
            let fits = worker.run.is_none()
                && worker.threads >= threads
                && unfit(&worker).is_none()
                && !excluded.contains(&worker.id);
            if fits && claim(broker, run, &worker).await.is_ok() {
                return Some(WorkerPresence { threads, ..worker });
            }
        }
    }
    None
}

/// Returns why a worker can take part in no run of this manager, if it cannot.
fn unfit(worker: &WorkerPresence) -> Option<ClaimFailure> {
    if worker.version != OWN {
        return Some(ClaimFailure::Version(worker.version.clone()));
    }
    // For each of them, a manager keeps figures.
    let possible = (1..=MOST_THREADS).contains(&worker.threads);
    (!possible).then_some(ClaimFailure::Threads(worker.threads))
}

async fn claim(broker: &Broker, run: &str, worker: &WorkerPresence) -> Result<(), String> {
    let request = WorkerRequest {
        run: run.to_owned(),
        kind: RequestKind::Claim,
    };
    broker.request(&worker.id, &request, CLAIM).await.map(drop)
}

/// Waits for as many workers as the run needs, and claims them.
///
/// # Errors
/// Trouble that lists the workers that came, and why others were not taken.
pub(super) async fn recruit(
    broker: &Broker,
    run: &str,
    recruitment: &Recruitment,
    notify: &ProgressReporter,
) -> Result<Vec<WorkerPresence>, Error> {
    let until = Instant::now() + recruitment.timeout;
    let mut claimed: Vec<WorkerPresence> = Vec::new();
    let (mut reported, mut questions) = (None, 0);
    loop {
        let is_near = questions % (NEAR_HELLOS + 1) < NEAR_HELLOS;
        let within = if is_near { HELLO } else { FAR_HELLO };
        questions += 1;
        let mut others: Vec<UnclaimedWorker> = Vec::new();
        for (worker, _) in present_within(broker, within).await? {
            if claimed.len() == recruitment.workers {
                break;
            }
            if claimed.iter().any(|one| one.id == worker.id) {
                continue;
            }
            let why = match (unfit(&worker), &worker.run) {
                (Some(why), _) => why,
                (None, Some(other)) => ClaimFailure::Busy(other.clone()),
                (None, None) => match claim(broker, run, &worker).await {
                    Ok(()) => {
                        claimed.push(worker);
                        continue;
                    }
                    Err(why) => ClaimFailure::Refused(why),
                },
            };
            others.push(UnclaimedWorker {
                name: worker.name,
                why,
            });
        }
        if claimed.len() == recruitment.workers {
            for other in &others {
                if let ClaimFailure::Version(_) | ClaimFailure::Threads(_) = other.why {
                    notify(&format!("{other}: it was left out"));
                }
            }
            return Ok(claimed);
        }
        if reported != Some(claimed.len()) {
            reported = Some(claimed.len());
            notify(&format!(
                "waiting for workers at {}: {} of {} are there",
                broker.url(),
                claimed.len(),
                recruitment.workers
            ));
        }
        if Instant::now() >= until {
            return Err(too_few(recruitment, &claimed, &others));
        }
    }
}

fn too_few(
    recruitment: &Recruitment,
    claimed: &[WorkerPresence],
    others: &[UnclaimedWorker],
) -> Error {
    let seconds = recruitment.timeout.as_secs_f64();
    let expected = counted(recruitment.workers as u64, "worker");
    let mut text = format!("of {expected}, {} came within {seconds} s", claimed.len());
    if !claimed.is_empty() {
        let names: Vec<String> = claimed
            .iter()
            .map(|one| format!("'{}'", one.name))
            .collect();
        text += &format!(": {}", names.join(", "));
    }
    for other in others {
        text += &format!("; {other}");
    }
    Trouble::new(text)
        .help("start more with 'lgoose worker URL', ask for fewer, or wait longer with '--workers-timeout'")
        .into()
}

/// Releases all workers of a run that can be reached.
pub(super) async fn release_all(broker: &Broker, run: &str) {
    let Ok(all) = present(broker).await else {
        return;
    };
    for (worker, _) in all {
        if worker.run.as_deref() == Some(run) {
            release(broker, run, &worker.id).await;
        }
    }
}

/// Releases a worker. One that does not receive that gives the run up by itself.
pub(super) async fn release(broker: &Broker, run: &str, id: &str) {
    let request = WorkerRequest::new(run, RequestKind::Release);
    let _gone = broker.request(id, &request, REPLY_TIMEOUT).await;
}
