//! Workers of a run in simulated time, joined to its director by messages that are encoded and decoded again, as if
//! they were sent.

use super::rehearsal::{plan_version, start_beside, start_event_beside};
use crate::config::{Part, RunConfig};
use crate::engine::protocol::directive::Directive;
use crate::engine::protocol::journal::{Entry, Moment, Past, What};
use crate::engine::protocol::order::Order;
use crate::engine::protocol::plan_version::PlanVersion;
use crate::engine::protocol::signal::{Signal, SignalKind};
use crate::engine::run::Run;
use crate::engine::run::event_user::EventTask;
use crate::engine::run::shards::{Begun, Link};
use crate::engine::run::worker::{Work, WorkerSignal};
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
    stream: Stream,
    begun: oneshot::Receiver<Begun>,
    events: mpsc::UnboundedReceiver<EventTask>,
    entries: Option<mpsc::UnboundedReceiver<Entry>>,
    /// When all workers fall silent for good, after the run has begun.
    pub(super) silent: Option<Duration>,
}

/// Time after which a manager notices that nothing is heard from a worker.
const NOTICED: Duration = Duration::from_millis(4_500);

/// What the broker keeps of a run, for a director that goes on with it.
#[derive(Debug, Clone)]
pub(super) struct Stream(Arc<Mutex<Kept>>);

#[derive(Debug)]
struct Kept {
    workers: Vec<WorkerIdentity>,
    messages: Vec<(Duration, Message)>,
    begun: Option<(Instant, Duration)>,
    test_start: Option<Vec<u8>>,
    /// Takes the signals for the current director.
    signals: mpsc::UnboundedSender<Signal>,
    /// When all workers fall silent for good.
    silent: Option<Duration>,
    /// The directive that each worker follows, and the versions of the plan that it has.
    following: Vec<(watch::Sender<Directive>, Vec<Arc<PlanVersion>>)>,
}

#[derive(Debug, Clone)]
enum Message {
    Signal(usize, u64, WorkerSignal),
    Away(usize),
    Entry(Entry),
    Order(Order),
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

impl Stream {
    /// Silences all workers that long after the run has begun, and tells the director as late as a manager does.
    async fn silence(self, after: Duration) {
        let (begin, workers) = {
            let mut kept = self.0.lock().expect("one thread");
            kept.silent = Some(after);
            (kept.begun.expect("it has begun").0, kept.workers.len())
        };
        tokio::time::sleep_until(begin + after + NOTICED).await;
        for worker in 0..workers {
            self.keep(Message::Away(worker));
        }
    }

    fn keep(&self, message: Message) {
        let mut kept = self.0.lock().expect("one thread");
        let at = kept.begun.map_or(Duration::ZERO, |(at, _)| at.elapsed());
        let is_silent = kept.silent.is_some_and(|silent| at >= silent);
        if is_silent && matches!(message, Message::Signal(..)) {
            return;
        }
        if let Some(signal) = message.signal() {
            // Fails once the run is over.
            let _over = kept.signals.send(signal);
        }
        kept.messages.push((at, message));
    }

    fn keep_journal(&self, mut entries: mpsc::UnboundedReceiver<Entry>) {
        let stream = self.clone();
        tokio::task::spawn_local(async move {
            while let Some(entry) = entries.recv().await {
                stream.keep(Message::Entry(sent(&entry)));
            }
        });
    }

    /// Gives workers the orders of a director.
    async fn follow(&self, mut told: watch::Receiver<Directive>) {
        loop {
            let order = sent(&Order::from(&*told.borrow_and_update()));
            self.keep(Message::Order(order.clone()));
            for (directives, versions) in &self.0.lock().expect("one thread").following {
                let version = versions[order.plan_version as usize].clone();
                directives.send_replace(order.directive(version));
            }
            if told.changed().await.is_err() {
                return;
            }
        }
    }

    /// Makes the link of a director that takes the run over.
    pub(super) fn take_over(&self) -> Link {
        let (signals, received) = mpsc::unbounded_channel();
        let (begun, begins) = oneshot::channel::<Begun>();
        let (journal, entries) = mpsc::unbounded_channel();
        let (moments, played) = mpsc::channel(1);
        let (events, _) = mpsc::unbounded_channel();
        let mut kept = self.0.lock().expect("one thread");
        kept.signals = signals;
        let messages = kept.messages.clone();
        tokio::task::spawn_local(async move {
            for (at, message) in messages {
                let signal = message.signal();
                let (at, what) = match message {
                    Message::Signal(..) | Message::Away(_) => {
                        (at, What::Signal(signal.expect("it is one")))
                    }
                    Message::Entry(Entry { at, told }) => (at, What::Told(told)),
                    Message::Order(order) => (at, What::Order(order)),
                };
                moments
                    .send(Moment { at, what })
                    .await
                    .expect("it is played");
            }
        });
        let stream = self.clone();
        tokio::task::spawn_local(async move {
            if let Ok(begun) = begins.await {
                stream.keep_journal(entries);
                stream.follow(begun.directives).await;
            }
        });
        let (begin, since_origin) = kept.begun.expect("it has begun");
        Link {
            workers: kept.workers.clone(),
            lead: Duration::ZERO,
            stops_on_loss: false,
            signals: received,
            begun,
            events,
            journal,
            past: Some(Past {
                begin,
                since_origin,
                started: SystemTime::UNIX_EPOCH,
                test_start: kept.test_start.clone(),
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
        let (journal, entries) = mpsc::unbounded_channel();
        let workers: Vec<WorkerIdentity> = ranges
            .iter()
            .zip(["region=eu", "region=us"].into_iter().cycle())
            .enumerate()
            .map(|(number, (range, label))| identity(number, range, label))
            .collect();
        let stream = Stream(Arc::new(Mutex::new(Kept {
            workers: workers.clone(),
            messages: Vec::new(),
            begun: None,
            test_start: None,
            signals,
            silent: None,
            following: Vec::new(),
        })));
        let link = Link {
            workers,
            lead: Duration::ZERO,
            stops_on_loss: false,
            signals: received,
            begun,
            events,
            journal,
            past: None,
        };
        let gaggle = Gaggle {
            ranges,
            sources,
            run: run.clone(),
            stream,
            begun: begins,
            events: wanted,
            entries: Some(entries),
            silent: None,
        };
        (link, gaggle)
    }

    /// Returns what the broker keeps of the run.
    pub(super) fn stream(&self) -> Stream {
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
                Some(task) = self.events.recv() => {
                    let figures = event(task, &runs).await;
                    self.stream.0.lock().expect("one thread").test_start = Some(figures);
                }
                begun = &mut self.begun => match begun {
                    Ok(begun) => break begun,
                    Err(_) => return,
                },
            }
        };
        self.stream.0.lock().expect("one thread").begun = Some((begun.at, begun.since_origin));
        for (number, (run, versions)) in runs.iter().enumerate() {
            self.begin(number, run, versions, &begun);
        }
        if let Some(after) = self.silent {
            tokio::task::spawn_local(self.stream().silence(after));
        }
        let entries = self.entries.take().expect("it begins once");
        self.stream.keep_journal(entries);
        let (stream, directives) = (self.stream.clone(), begun.directives);
        tokio::task::spawn_local(async move { stream.follow(directives).await });
        while let Some(task) = self.events.recv().await {
            event(task, &runs).await;
        }
    }

    fn begin(&self, number: usize, run: &Run, versions: &[Arc<PlanVersion>], begun: &Begun) {
        let order = sent(&Order::from(&*begun.directives.borrow()));
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
        let stream = self.stream.clone();
        tokio::task::spawn_local(async move {
            let mut sequence = 0;
            while let Some(signal) = received.recv().await {
                sequence += 1;
                stream.keep(Message::Signal(number, sequence, sent(&signal)));
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
    let _given_up = task.result.send(ended.end());
    figures
}
