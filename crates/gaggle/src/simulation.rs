//! Simulated workers for benchmarks of a manager: they respond like workers, drive no users, and deliver the figures
//! of a given number of requests each second.

use super::broker::Broker;
use super::clock::{ClockOffset, ProcessClock};
use super::messages::{
    self, NumberedSignal, RequestKind, RevisedOrder, WorkerAssignment, WorkerPresence, WorkerReply,
    WorkerRequest,
};
use super::names;
use super::worker::compare_clocks;
use crate::BrokerAddress;
use futures_util::StreamExt as _;
use lgoose_base::error::Error;
use lgoose_engine::WorkerSignal;
use lgoose_metrics::{Effort, Phases, PortableDelta, Recorder, Sample, SampleResponse, Traffic};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Number of different request names.
const NAMES: usize = 12;
/// Number of different deliveries for one second; workers share them.
const PATTERNS: u64 = 16;
const SECOND: Duration = Duration::from_secs(1);

/// Serves one run as `workers` workers on one thread, each with `requests` requests a second. Returns how many
/// requests were delivered in all, and the largest delay of a delivery in milliseconds.
///
/// # Errors
/// Trouble with the broker.
pub fn simulate(url: &str, workers: usize, requests: usize) -> Result<[u64; 2], Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::cannot("start the runtime", error))?;
    runtime.block_on(serve(url, workers, requests))
}

async fn serve(url: &str, workers: usize, requests: usize) -> Result<[u64; 2], Error> {
    let broker = Broker::connect(&BrokerAddress::parse(url)?, "simulation", SECOND * 5).await?;
    let clock = ProcessClock::start();
    let mut hellos = broker.listen(names::HELLO.to_owned()).await?;
    let mut inbox = broker.listen(names::worker(">")).await?;
    let mut orders = broker.listen(names::order("*")).await?;
    let mut claimed: BTreeMap<String, String> = BTreeMap::new();
    let mut places: BTreeMap<String, WorkerAssignment> = BTreeMap::new();
    let mut offset: Option<ClockOffset> = None;
    let mut source: Option<SimulatedFigures> = None;
    let (stop, stopped) = watch::channel(false);
    let (delivered, late) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let mut working = tokio::task::JoinSet::new();
    loop {
        tokio::select! {
            Some(hello) = hellos.next() => if let Some(inbox) = hello.reply {
                for number in 0..workers {
                    let presence = presence(number, &claimed);
                    broker.send(inbox.to_string(), messages::encode(&presence)).await;
                }
            },
            Some(message) = inbox.next() => {
                let Some(inbox) = message.reply else {
                    continue;
                };
                let id = names::addressed_worker(&message.subject).to_owned();
                let request: WorkerRequest = messages::decode(&message.payload)?;
                let reply = match request.kind {
                    RequestKind::Claim => {
                        claimed.insert(id, request.run);
                        WorkerReply::Done
                    }
                    RequestKind::Load { place, .. } => {
                        if offset.is_none() {
                            offset = compare_clocks(&broker, &request.run, clock).await;
                        }
                        places.extend(place.map(|place| (id, place)));
                        WorkerReply::Loaded(offset)
                    }
                    RequestKind::Start { at, .. } => {
                        let start = clock.moment(at, &offset.unwrap_or(ClockOffset::NONE));
                        let source = source.get_or_insert_with(|| SimulatedFigures::new(start, requests));
                        let worker = SimulatedWorker {
                            broker: broker.clone(),
                            run: request.run,
                            first_shard: places.get(&id).map_or(0, |place| place.first_shard),
                            slot: places.get(&id).and_then(|place| place.slot.clone()),
                            id,
                            start,
                            source: source.clone(),
                            delivered: delivered.clone(),
                            late: late.clone(),
                        };
                        working.spawn(worker.work(stopped.clone()));
                        WorkerReply::Done
                    }
                    RequestKind::Release => {
                        claimed.remove(&id);
                        if claimed.is_empty() && working.is_empty() {
                            broker.send(inbox.to_string(), messages::encode(&WorkerReply::Done)).await;
                            return Ok([&delivered, &late].map(|sum| sum.load(Ordering::Relaxed)));
                        }
                        WorkerReply::Done
                    }
                    _ => WorkerReply::Done,
                };
                broker.send(inbox.to_string(), messages::encode(&reply)).await;
            }
            Some(order) = orders.next() => {
                let revised: RevisedOrder = messages::decode(&order.payload)?;
                stop.send_replace(!revised.order.goes_on());
            }
            Some(_) = working.join_next() => {}
        }
    }
}

fn presence(number: usize, claimed: &BTreeMap<String, String>) -> WorkerPresence {
    let name = format!("w{number}");
    let id = names::identity(&name, number as u64);
    let region = ["eu", "us", "ap"][number % 3];
    WorkerPresence {
        run: claimed.get(&id).cloned(),
        name,
        id,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        labels: [("region".to_owned(), region.to_owned())].into(),
        threads: 1,
        cores: 1,
        wall: 0,
        process: number as u64,
    }
}

struct SimulatedWorker {
    broker: Broker,
    run: String,
    id: String,
    first_shard: u64,
    slot: Option<String>,
    start: Instant,
    source: SimulatedFigures,
    delivered: Arc<AtomicU64>,
    /// The largest delay of a delivery, in milliseconds.
    late: Arc<AtomicU64>,
}

impl SimulatedWorker {
    async fn work(self, mut stopped: watch::Receiver<bool>) {
        // Like real workers: a little after the second, each at its own time.
        let after = Duration::from_micros(60_000 + self.first_shard * 137 % 300_000);
        let mut sequence = 0;
        for second in 1.. {
            let due = self.start + SECOND * second + after;
            tokio::select! {
                () = tokio::time::sleep_until(due.into()) => {}
                _ = stopped.wait_for(|stopped| *stopped) => break,
            }
            let (bytes, requests) = self.source.figures(self.first_shard, second);
            self.delivered.fetch_add(requests, Ordering::Relaxed);
            sequence += 1;
            let figures = WorkerSignal::Figures { reached: 0, bytes };
            self.deliver(sequence, figures).await;
            let late = due.elapsed().as_millis() as u64;
            self.late.fetch_max(late, Ordering::Relaxed);
        }
        let ended = WorkerSignal::Ended {
            departures: Default::default(),
            at: self.start.elapsed(),
        };
        self.deliver(sequence + 1, ended).await;
    }

    async fn deliver(&self, sequence: u64, signal: WorkerSignal) {
        let subject = names::signals(&self.run, self.slot.as_deref(), &self.id);
        let bytes = messages::encode(&NumberedSignal { sequence, signal });
        let id = format!("{}:{sequence}", self.id);
        // Until the manager has ended the run and removed its stream.
        while let Err((_, true)) = self.broker.store(subject.clone(), &id, bytes.clone()).await {}
    }
}

/// Figures that workers deliver. A second of one pattern is recorded once for all workers that share it, so that the cores of
/// the machine are left to the manager: real workers record their figures on other machines.
#[derive(Clone)]
struct SimulatedFigures {
    start: Instant,
    requests: usize,
    patterns: Arc<Mutex<Vec<FigurePattern>>>,
}

struct FigurePattern {
    recorder: Recorder,
    /// The deltas of all seconds so far.
    seconds: Vec<PortableDelta>,
}

impl SimulatedFigures {
    fn new(start: Instant, requests: usize) -> SimulatedFigures {
        let pattern = |_| {
            let mut recorder = Recorder::new(0).of_run(start, start, None);
            recorder.user_started("visitor", start);
            FigurePattern {
                recorder,
                seconds: Vec::new(),
            }
        };
        SimulatedFigures {
            start,
            requests,
            patterns: Arc::new(Mutex::new((0..PATTERNS).map(pattern).collect())),
        }
    }

    /// Returns the encoded figures of one second, counted from 1, for the worker with that first shard, and the
    /// number of requests in them.
    fn figures(&self, shard: u64, second: u32) -> (Vec<u8>, u64) {
        let number = shard % PATTERNS;
        let mut patterns = self.patterns.lock().unwrap_or_else(PoisonError::into_inner);
        let pattern = &mut patterns[number as usize];
        while pattern.seconds.len() < second as usize {
            let next = pattern.seconds.len() as u32 + 1;
            self.record(&mut pattern.recorder, number + u64::from(next), next);
            let delta = PortableDelta::from(&pattern.recorder.take());
            pattern.seconds.push(delta);
        }
        let delta = pattern.seconds[second as usize - 1].clone();
        (delta.shift_shards(shard).encode(), self.requests as u64)
    }

    /// Records the requests of a second that is over, with latencies spread over two decades.
    fn record(&self, recorder: &mut Recorder, pattern: u64, second: u32) {
        let from = self.start + SECOND * (second - 1);
        let step = SECOND / (self.requests as u32 + 1);
        for number in 0..self.requests {
            let end = from + step * (number as u32 + 1);
            let mixed = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (pattern << 17);
            let part = (mixed >> 40) as f64 / (1_u64 << 24) as f64;
            // 1 to 150 ms; several are under way at a time.
            let latency = Duration::from_secs_f64(0.001 * (part * 5.0).exp()).min(end - self.start);
            let start = end - latency;
            let name = format!("page {}", number % NAMES);
            let request = recorder.request("GET", &name);
            let flight = recorder.start_request(end, request);
            recorder.end_request(flight, end, Duration::ZERO, true);
            recorder.record(&Sample {
                request,
                start,
                latency,
                delay: None,
                phases: Phases::default(),
                response: SampleResponse::of_status(200),
                redirects: 0,
                retries: 0,
                traffic: Traffic::received(500),
                failure: None,
                context: None,
            });
        }
        recorder.effort(Effort {
            wall: SECOND,
            busy: SECOND / 3,
            connections: 10,
            ..Effort::default()
        });
        recorder.come_to(self.start + SECOND * second);
    }
}
