//! Workers of a run in simulated time, joined to its director by messages that are encoded and decoded again, as if
//! they were sent.

use super::rehearsal::{plan_version, start_beside, start_event_beside};
use crate::config::{LoadPart, RunConfig};
use crate::engine::messages::directive::Directive;
use crate::engine::messages::journal::{DirectorLogEntry, PastRun, ReplayEvent, ReplayMoment};
use crate::engine::messages::order::RunOrder;
use crate::engine::messages::plan_version::PlanVersion;
use crate::engine::messages::signal::{Signal, SignalKind};
use crate::engine::run::Run;
use crate::engine::run::event_user::EventTask;
use crate::engine::run::shards::{LoadStart, WorkerLink};
use crate::engine::run::worker::{WorkerRun, WorkerSignal};
use crate::engine::run::worker_event::{WorkerEvent, run_event_at};
use crate::metrics::WorkerIdentity;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

/// Workers on the thread of the test.
pub(super) struct Gaggle {
    ranges: Vec<Range<usize>>,
    sources: Vec<&'static str>,
    run: Run,
    stream: BrokerStream,
    start: oneshot::Receiver<LoadStart>,
    events: mpsc::UnboundedReceiver<EventTask>,
    entries: Option<mpsc::UnboundedReceiver<DirectorLogEntry>>,
    /// When the first so many workers fall silent for good, after the run has begun.
    pub(super) silent: Option<(Duration, usize)>,
}

/// Time after which a manager notices that nothing is heard from a worker.
const NOTICED: Duration = Duration::from_millis(4_500);

/// What the broker keeps of a run, for a director that goes on with it.
#[derive(Debug, Clone)]
pub(super) struct BrokerStream(Arc<Mutex<BrokerRecord>>);

#[derive(Debug)]
struct BrokerRecord {
    workers: Vec<WorkerIdentity>,
    messages: Vec<(Duration, Message)>,
    start: Option<(Instant, Duration)>,
    test_start: Option<Vec<u8>>,
    /// Takes the signals for the current director.
    signals: mpsc::UnboundedSender<Signal>,
    /// When the first so many workers fall silent for good.
    silent: Option<(Duration, usize)>,
    /// The directive that each worker follows, and the versions of the plan that it has.
    following: Vec<(watch::Sender<Directive>, Vec<Arc<PlanVersion>>)>,
}

#[derive(Debug, Clone)]
enum Message {
    Signal(usize, u64, WorkerSignal),
    Away(usize),
    Entry(DirectorLogEntry),
    Order(RunOrder),
}

impl Message {
    fn signal(&self) -> Option<Signal> {
        match self {
            Message::Signal(from, sequence, signal) => {
                let kind = signal.clone().kind(*sequence, "w").expect("it can be read");
                Some(Signal { from: *from, kind })
            }
            Message::Away(from) => Some(Signal {
                from: *from,
                kind: SignalKind::Away(format!("worker 'w{from}' was lost")),
            }),
            Message::Entry(_) | Message::Order(_) => None,
        }
    }
}

impl BrokerStream {
    /// Silences the first `workers` that long after the run has begun, and tells the director as late as a manager does.
    async fn silence(self, (after, workers): (Duration, usize)) {
        let start = {
            let mut stored = self.0.lock().expect("one thread");
            stored.silent = Some((after, workers));
            stored.start.expect("it has begun").0
        };
        tokio::time::sleep_until(start + after + NOTICED).await;
        for worker in 0..workers {
            self.store(Message::Away(worker));
        }
    }

    fn store(&self, message: Message) {
        let mut stored = self.0.lock().expect("one thread");
        let at = stored.start.map_or(Duration::ZERO, |(at, _)| at.elapsed());
        if let (Some((after, workers)), Message::Signal(from, ..)) = (stored.silent, &message)
            && at >= after
            && *from < workers
        {
            return;
        }
        if let Some(signal) = message.signal() {
            // Fails once the run is over.
            let _over = stored.signals.send(signal);
        }
        stored.messages.push((at, message));
    }

    fn store_journal(&self, mut entries: mpsc::UnboundedReceiver<DirectorLogEntry>) {
        let stream = self.clone();
        tokio::task::spawn_local(async move {
            while let Some(entry) = entries.recv().await {
                stream.store(Message::Entry(sent(&entry)));
            }
        });
    }

    /// Gives workers the orders of a director.
    async fn follow(&self, mut published: watch::Receiver<Directive>) {
        loop {
            let order = sent(&RunOrder::from(&*published.borrow_and_update()));
            self.store(Message::Order(order.clone()));
            for (directives, versions) in &self.0.lock().expect("one thread").following {
                let version = versions[order.plan_version as usize].clone();
                directives.send_replace(order.directive(version));
            }
            if published.changed().await.is_err() {
                return;
            }
        }
    }

    /// Makes the link of a director that takes the run over.
    pub(super) fn take_over(&self) -> WorkerLink {
        let (signals, received) = mpsc::unbounded_channel();
        let (start, started) = oneshot::channel::<LoadStart>();
        let (journal, entries) = mpsc::unbounded_channel();
        let (moments, played) = mpsc::channel(1);
        let (events, _) = mpsc::unbounded_channel();
        let mut stored = self.0.lock().expect("one thread");
        stored.signals = signals;
        let messages = stored.messages.clone();
        tokio::task::spawn_local(async move {
            for (at, message) in messages {
                let signal = message.signal();
                let (at, what) = match message {
                    Message::Signal(..) | Message::Away(_) => {
                        (at, ReplayEvent::Signal(signal.expect("it is one")))
                    }
                    Message::Entry(DirectorLogEntry { at, action }) => {
                        (at, ReplayEvent::Action(action))
                    }
                    Message::Order(order) => (at, ReplayEvent::Order(order)),
                };
                moments
                    .send(ReplayMoment { at, what })
                    .await
                    .expect("it is played");
            }
        });
        let stream = self.clone();
        tokio::task::spawn_local(async move {
            if let Ok(start) = started.await {
                stream.store_journal(entries);
                stream.follow(start.directives).await;
            }
        });
        let (started_at, since_origin) = stored.start.expect("it has begun");
        WorkerLink {
            workers: stored.workers.clone(),
            lead: Duration::ZERO,
            stops_on_loss: false,
            signals: received,
            start,
            events,
            journal,
            past: Some(PastRun {
                start: started_at,
                since_origin,
                started: SystemTime::UNIX_EPOCH,
                test_start: stored.test_start.clone(),
                moments: played,
            }),
        }
    }
}

/// Returns a message as it arrives on another machine.
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
    /// Makes workers with so many threads each for that run; `sources` holds the versions of its plan.
    pub(super) fn new(
        threads: &[usize],
        sources: Vec<&'static str>,
        run: &Run,
    ) -> (WorkerLink, Gaggle) {
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
        let (start, started) = oneshot::channel();
        let (events, event_tasks) = mpsc::unbounded_channel();
        let (journal, entries) = mpsc::unbounded_channel();
        let workers: Vec<WorkerIdentity> = ranges
            .iter()
            .zip(["region=eu", "region=us"].into_iter().cycle())
            .enumerate()
            .map(|(number, (range, label))| identity(number, range, label))
            .collect();
        let stream = BrokerStream(Arc::new(Mutex::new(BrokerRecord {
            workers: workers.clone(),
            messages: Vec::new(),
            start: None,
            test_start: None,
            signals,
            silent: None,
            following: Vec::new(),
        })));
        let link = WorkerLink {
            workers,
            lead: Duration::ZERO,
            stops_on_loss: false,
            signals: received,
            start,
            events,
            journal,
            past: None,
        };
        let gaggle = Gaggle {
            ranges,
            sources,
            run: run.clone(),
            stream,
            start: started,
            events: event_tasks,
            entries: Some(entries),
            silent: None,
        };
        (link, gaggle)
    }

    /// Returns what the broker keeps of the run.
    pub(super) fn stream(&self) -> BrokerStream {
        self.stream.clone()
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
                run.local.part = LoadPart::of_shares(range.start as u64..range.end as u64, of);
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
        let start = loop {
            tokio::select! {
                Some(task) = self.events.recv() => {
                    let figures = event(task, &runs).await;
                    self.stream.0.lock().expect("one thread").test_start = Some(figures);
                }
                received = &mut self.start => match received {
                    Ok(start) => break start,
                    Err(_) => return,
                },
            }
        };
        self.stream.0.lock().expect("one thread").start = Some((start.at, start.since_origin));
        for (number, (run, versions)) in runs.iter().enumerate() {
            self.start_worker(number, run, versions, &start);
        }
        if let Some(silent) = self.silent {
            tokio::task::spawn_local(self.stream().silence(silent));
        }
        let entries = self.entries.take().expect("it begins once");
        self.stream.store_journal(entries);
        let (stream, directives) = (self.stream.clone(), start.directives);
        tokio::task::spawn_local(async move { stream.follow(directives).await });
        while let Some(task) = self.events.recv().await {
            event(task, &runs).await;
        }
    }

    fn start_worker(
        &self,
        number: usize,
        run: &Run,
        versions: &[Arc<PlanVersion>],
        start: &LoadStart,
    ) {
        let order = sent(&RunOrder::from(&*start.directives.borrow()));
        let version = versions[order.plan_version as usize].clone();
        let (directives, _) = watch::channel(order.directive(version));
        let follows = (directives.clone(), versions.to_vec());
        self.stream
            .0
            .lock()
            .expect("one thread")
            .following
            .push(follows);
        let (sender, mut received) = mpsc::unbounded_channel::<WorkerSignal>();
        let work = WorkerRun {
            run: run.clone(),
            start: start.at,
            since_origin: start.since_origin,
            joins: false,
            first_shard: self.ranges[number].start as u64,
            most_bytes: 2_000,
            worker: format!("w{number}"),
        };
        tokio::task::spawn_local(async move {
            let working = work.run_by(start_beside, directives, sender);
            working.await.expect("it starts");
        });
        let stream = self.stream.clone();
        tokio::task::spawn_local(async move {
            let mut sequence = 0;
            while let Some(signal) = received.recv().await {
                sequence += 1;
                stream.store(Message::Signal(number, sequence, sent(&signal)));
            }
        });
    }
}

/// Runs an event on the first worker, gives what it returned to the others, and returns its figures.
async fn event(task: EventTask, runs: &[(Run, Vec<Arc<PlanVersion>>)]) -> Vec<u8> {
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
    let figures = ended.bytes.clone();
    // Fails if the director has given it up.
    let _abandoned = task.result.send(ended.end());
    figures
}
