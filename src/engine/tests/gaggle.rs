//! Workers of a run in simulated time, joined to its director by messages as they travel: encoded and decoded again.

use super::rehearsal::{plan_version, start_beside, start_event_beside};
use crate::config::{Part, RunConfig};
use crate::engine::protocol::directive::Directive;
use crate::engine::protocol::order::Order;
use crate::engine::protocol::plan_version::PlanVersion;
use crate::engine::protocol::signal::Signal;
use crate::engine::run::Run;
use crate::engine::run::event_user::EventTask;
use crate::engine::run::shards::{Begun, Link};
use crate::engine::run::worker::{Work, WorkerSignal};
use crate::engine::run::worker_event::{WorkerEvent, run_event_at};
use crate::metrics::WorkerIdentity;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};

/// Workers on the thread of the test.
pub(super) struct Gaggle {
    ranges: Vec<Range<usize>>,
    sources: Vec<&'static str>,
    run: Run,
    signals: mpsc::UnboundedSender<Signal>,
    begun: oneshot::Receiver<Begun>,
    events: mpsc::UnboundedReceiver<EventTask>,
}

/// Returns what arrives of a message on another machine.
fn sent<T: Serialize + DeserializeOwned>(message: &T) -> T {
    let bytes = postcard::to_stdvec(message).expect("plain data");
    postcard::from_bytes(&bytes).expect("what was written")
}

/// Returns the identity of a worker with that label.
fn identity(number: usize, shards: &Range<usize>, label: &str) -> WorkerIdentity {
    let label = label.split_once('=').expect("a key and a value");
    WorkerIdentity {
        name: format!("w{number}"),
        labels: [(label.0.to_owned(), label.1.to_owned())].into(),
        version: "1.2.3".to_owned(),
        threads: shards.len(),
        shards: shards.clone(),
        offset: -1_500_000,
        uncertainty: Duration::from_micros(200),
    }
}

impl Gaggle {
    /// Makes workers with so many threads each for that run; `sources` are the versions of its plan.
    pub(super) fn new(threads: &[usize], sources: Vec<&'static str>, run: &Run) -> (Link, Gaggle) {
        let mut first = 0;
        let ranges: Vec<Range<usize>> = threads
            .iter()
            .map(|threads| {
                let range = first..first + threads;
                first = range.end;
                range
            })
            .collect();
        let (signals, received) = mpsc::unbounded_channel();
        let (begun, begins) = oneshot::channel();
        let (events, wanted) = mpsc::unbounded_channel();
        let link = Link {
            workers: ranges
                .iter()
                .zip(["region=eu", "region=us"].into_iter().cycle())
                .enumerate()
                .map(|(number, (range, label))| identity(number, range, label))
                .collect(),
            lead: Duration::ZERO,
            stops_on_loss: false,
            signals: received,
            begun,
            events,
        };
        let gaggle = Gaggle {
            ranges,
            sources,
            run: run.clone(),
            signals,
            begun: begins,
            events: wanted,
        };
        (link, gaggle)
    }

    /// Works until the run is over.
    pub(super) async fn work(mut self) {
        let config: Arc<RunConfig> = Arc::new(sent(&*self.run.config));
        let of = self.ranges.last().map_or(0, |range| range.end) as u64;
        let runs: Vec<(Run, Vec<Arc<PlanVersion>>)> = self
            .ranges
            .iter()
            .map(|range| {
                let mut run = self.run.clone();
                run.config = config.clone();
                run.local.threads = range.len();
                run.local.part = Part::of_shares(range.start as u64..range.end as u64, of);
                let versions = self.sources.iter().zip(0..).map(|(source, number)| {
                    let version = plan_version(source, config.clone()).numbered(number);
                    version.program.serve_part(run.local.part);
                    Arc::new(version)
                });
                let versions: Vec<_> = versions.collect();
                run.plan_version = versions[0].clone();
                (run, versions)
            })
            .collect();
        let begun = loop {
            tokio::select! {
                Some(task) = self.events.recv() => event(task, &runs).await,
                begun = &mut self.begun => match begun {
                    Ok(begun) => break begun,
                    Err(_) => return,
                },
            }
        };
        for (number, (run, versions)) in runs.iter().enumerate() {
            self.begin(number, run, versions, &begun);
        }
        while let Some(task) = self.events.recv().await {
            event(task, &runs).await;
        }
    }

    fn begin(&self, number: usize, run: &Run, versions: &[Arc<PlanVersion>], begun: &Begun) {
        let arrived = |directive: &Directive, versions: &[Arc<PlanVersion>]| {
            let order = sent(&Order::from(directive));
            order.directive(versions[order.plan_version as usize].clone())
        };
        let mut told = begun.directives.clone();
        let first = arrived(&told.borrow_and_update(), versions);
        let (directives, _) = watch::channel(first);
        let (orders, known) = (directives.clone(), versions.to_vec());
        tokio::task::spawn_local(async move {
            while told.changed().await.is_ok() {
                orders.send_replace(arrived(&told.borrow_and_update(), &known));
            }
        });
        let (sender, mut received) = mpsc::unbounded_channel::<WorkerSignal>();
        let work = Work {
            run: run.clone(),
            begin: begun.at,
            since_origin: begun.since_origin,
            first_shard: self.ranges[number].start as u64,
            most_bytes: 2_000,
            worker: format!("w{number}"),
        };
        tokio::task::spawn_local(async move {
            let working = work.run_by(start_beside, directives, sender);
            working.await.expect("it starts");
        });
        let signals = self.signals.clone();
        tokio::task::spawn_local(async move {
            let mut sequence = 0;
            while let Some(signal) = received.recv().await {
                sequence += 1;
                let kind = sent(&signal).kind(sequence, "w").expect("it can be read");
                // Nobody listens any more once the run is over.
                let _over = signals.send(Signal { from: number, kind });
            }
        });
    }
}

/// Runs an event on the first worker, and gives what it returned to the others.
async fn event(task: EventTask, runs: &[(Run, Vec<Arc<PlanVersion>>)]) {
    let (first, others) = runs.split_first().expect("there are workers");
    let ended = run_event_at(
        start_event_beside,
        first.0.clone(),
        task.event,
        task.ordered,
        None,
    )
    .await;
    let ended: WorkerEvent = sent(&ended.expect("it runs"));
    for (run, _) in others {
        if let Some(shared) = &ended.shared {
            let program = &run.plan_version.program;
            program.share(shared).expect("it is JSON");
        }
    }
    // The director may have given it up.
    let _given_up = task.result.send(ended.end());
}
