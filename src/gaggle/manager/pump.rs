//! Pump between the director of a run and its workers: sends directives down as orders, and signals up.

use super::folding::Folding;
use super::journal::{Chronicle, keep};
use super::outages::Outages;
use super::playback::Playback;
use super::roll::Roll;
use super::slots::Slots;
use super::streams::{Line, publish};
use super::terms::{Latest, Pack};
use crate::engine::{
    Begun, Directive, Entry, EventTask, Offers, Order, PlanVersions, Signal, SignalKind,
};
use crate::gaggle::broker::Contact;
use crate::gaggle::messages::{
    JournalLine, LineKind, Record, Request, RequestKind, Revised, RunFacts,
};
use crate::gaggle::names;
use crate::gaggle::reading::{Failing, READ_AHEAD, read};
use futures_util::StreamExt as _;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

/// Time limit for an answer of a worker.
pub(super) const ANSWER: Duration = Duration::from_secs(5);

/// The pump's ends of the channels to the director and to the code that reloads the plan.
pub(super) struct Ends {
    pub(super) signals: mpsc::UnboundedSender<Signal>,
    pub(super) journal: mpsc::UnboundedReceiver<Entry>,
    pub(super) begins: Option<oneshot::Receiver<Begun>>,
    pub(super) events: mpsc::UnboundedReceiver<EventTask>,
    /// Versions of the plan that workers should load.
    pub(super) offered: Offers,
    /// Takes the versions that all workers have loaded.
    pub(super) loaded: PlanVersions,
}

/// The version of the plan that workers run, packed.
pub(super) struct PackedPlan {
    pub(super) pack: Pack,
    pub(super) number: u64,
    pub(super) bytes: Vec<u8>,
}

/// Joins the director of a run to its workers.
pub(super) struct Pump {
    pub(super) line: Line,
    pub(super) roll: Roll,
    pub(super) slots: Slots,
    pub(super) folding: Folding,
    pub(super) ends: Ends,
    /// The plan as workers get it; `None` if this process does not have it.
    pub(super) plan: Option<PackedPlan>,
    pub(super) chronicle: Chronicle,
    lines: Option<mpsc::UnboundedReceiver<JournalLine>>,
    /// The value that `test_start` returned, as JSON.
    pub(super) shared: Option<String>,
    /// When users began, and how long that was after the origin of log times.
    begun: Option<(Instant, Duration)>,
    /// Workers that were told to end. They are replaced if the run replaces workers.
    pub(super) leaving: Vec<usize>,
    /// The latest order.
    order: watch::Sender<Option<Revised>>,
    /// The subjects to read (`""` for all), and the sequence number in the stream to start from.
    reads: (String, u64),
    pub(super) up_since: Instant,
    outages: Outages,
}

impl Pump {
    pub(super) fn new(
        line: Line,
        (roll, slots): (Roll, Slots),
        ends: Ends,
        plan: PackedPlan,
        (facts, replaces): (RunFacts, bool),
    ) -> Pump {
        let (sender, lines) = mpsc::unbounded_channel();
        let reads = (names::all_signals(&line.run), 1);
        Pump {
            roll,
            slots,
            folding: Folding::default(),
            ends,
            plan: Some(plan),
            chronicle: Chronicle {
                facts,
                replaces,
                test_start: None,
                leader: line.leader.clone(),
                number: 0,
                lines: sender,
            },
            line,
            lines: Some(lines),
            shared: None,
            begun: None,
            leaving: Vec::new(),
            order: watch::channel(None).0,
            reads,
            up_since: Instant::now(),
            outages: Outages::default(),
        }
    }

    /// Makes the pump of a run that was played up to the present.
    pub(super) fn of(line: Line, playback: Playback, ends: Ends, record: Record) -> Pump {
        let (sender, lines) = mpsc::unbounded_channel();
        let since_origin = record.since_origin;
        Pump {
            plan: None,
            chronicle: playback.chronicle(record, line.leader.clone(), sender),
            begun: Some((playback.begin, since_origin)),
            order: watch::channel(playback.order).0,
            reads: (String::new(), playback.next),
            roll: playback.roll,
            // Without slots, the pump reads the signals of all workers itself, also those that gathers add up.
            slots: Slots::none(),
            folding: Folding::default(),
            line,
            ends,
            lines: Some(lines),
            shared: None,
            leaving: Vec::new(),
            up_since: Instant::now(),
            outages: Outages::default(),
        }
    }

    /// Pumps until the run is over, then lets the workers go, unless another manager has taken over the lead.
    pub(super) async fn run(mut self, mut over: oneshot::Receiver<()>) {
        let mut contact = self.line.broker.contact();
        let mut look = tokio::time::interval(Duration::from_millis(250));
        let (sender, mut received) = mpsc::channel(READ_AHEAD);
        let (told, mut troubles) = mpsc::unbounded_channel();
        let (broker, run) = (&self.line.broker, &self.line.run);
        let (subjects, next) = self.reads.clone();
        let reading = read(
            broker.clone(),
            run.clone(),
            subjects,
            next,
            sender,
            Failing::new(told.clone()),
        );
        let publishing = publish(
            broker.clone(),
            run.clone(),
            self.order.subscribe(),
            Failing::new(told.clone()),
        );
        let mut beside = JoinSet::new();
        beside.spawn(reading);
        beside.spawn(publishing);
        if let Some(lines) = self.lines.take() {
            beside.spawn(keep(broker.clone(), run.clone(), lines, Failing::new(told)));
        }
        let mut directives: Option<Latest<Directive>> = None;
        let mut leads = true;
        loop {
            let begins = async {
                match &mut self.ends.begins {
                    Some(begins) => begins.await,
                    None => std::future::pending().await,
                }
            };
            let changed = async {
                match &mut directives {
                    Some(directives) => directives.changed().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                            // In this order, so that what has come is heard before any worker counts as lost.
                            biased;
                            _ = &mut over => break,
                            Some(trouble) = self.line.deposed.recv() => {
                                self.signal(0, SignalKind::Deposed(trouble));
                                leads = false;
                                break;
                            }
                            begun = begins => {
                                self.ends.begins = None;
                                if let Ok(begun) = begun {
                                    directives = Some(self.begin(begun).await);
                                }
                            }
                            changed = changed => match (changed, &mut directives) {
                                (Ok(()), Some(latest)) => {
                                    let order = Order::from(&*latest.borrow_and_update());
                                    self.tell(order);
                                }
                                _ => directives = None,
                            },
                            Some(Entry { at, told }) = self.ends.journal.recv() => {
                                self.chronicle.write(at, LineKind::Told(told));
                            }
                            Some(heard) = received.recv() => if names::is_slot(&heard.sender) {
            self.hear_record(&heard)
            } else {
            self.hear(&heard)
            },
                            Some(event) = self.slots.next() => self.heed_slot(event),
                            Some(trouble) = troubles.recv() => self.signal(0, SignalKind::Failed(trouble)),
                            Some(task) = self.ends.events.recv() => self.event(task).await,
                            Some(offer) = self.ends.offered.next() => self.hand_out(offer).await,
                            Some(message) = self.line.told.next() => self.warn_of(&message),
                            _ = contact.changed() => self.note(*contact.borrow_and_update()),
                            _ = look.tick() => {
                                self.pass_on();
                                if *contact.borrow() == Contact::Up {
                                    self.look().await;
                                }
                            }
                        }
        }
        drop(beside);
        if leads {
            self.release().await;
        }
        self.line.close();
    }

    /// Notes whether the broker can be reached.
    fn note(&mut self, contact: Contact) {
        if contact == Contact::Up {
            self.up_since = Instant::now();
        }
        if let Some(text) = self.outages.note(contact) {
            self.signal(0, SignalKind::Warning(text));
        }
    }

    /// Publishes a new order to all workers.
    fn tell(&self, order: Order) {
        self.order.send_modify(|latest| {
            let revision = latest.as_ref().map_or(1, |latest| latest.revision + 1);
            *latest = Some(Revised { revision, order });
        });
    }

    /// Tells all workers when users begin and what they should do, unless they already know.
    async fn begin(&mut self, begun: Begun) -> Latest<Directive> {
        let mut directives = begun.directives;
        let order = Order::from(&*directives.borrow_and_update());
        if self.begun.is_some() {
            let known = self.order.borrow().clone();
            if known.is_none_or(|known| known.order != order) {
                self.tell(order);
            }
            return directives;
        }
        self.tell(order);
        self.begun = Some((begun.at, begun.since_origin));
        self.record(begun.at, begun.since_origin).await;
        let numbers: Vec<usize> = (0..self.roll.0.len()).collect();
        let asked = numbers.into_iter().map(|number| {
            let begin = self.begin_request();
            let (broker, id) = (&self.line.broker, &self.roll.0[number].presence.id);
            async move { (number, broker.request(id, &begin, ANSWER).await) }
        });
        let answers = futures_util::future::join_all(asked).await;
        for (number, answer) in answers {
            let now = Instant::now();
            self.roll.0[number].heard = now;
            if let Err(why) = answer {
                let text = format!(
                    "worker '{}' did not begin: {why}",
                    self.roll.0[number].name()
                );
                self.roll.0[number].away = true;
                self.signal_as_seen(number, SignalKind::Away(text));
            }
        }
        directives
    }

    /// Keeps the record that another manager needs to go on with the run.
    async fn record(&mut self, begin: Instant, since_origin: Duration) {
        let ahead = begin.saturating_duration_since(Instant::now());
        let (broker, run) = (&self.line.broker, &self.line.run);
        let times = (ahead, since_origin);
        let kept = self.chronicle.begin(broker, run, &self.roll, times).await;
        if let Err(error) = kept {
            let text = format!("if this manager is lost, no other can go on with the run: {error}");
            self.warn(&text);
        }
    }

    pub(super) fn begin_request(&self) -> Request {
        let (at, since_origin) = self.begun.expect("a run that begins has a beginning");
        let at = self.line.clock.at(at.into_std());
        let latest = self.order.borrow().clone();
        let Revised { revision, order } = latest.expect("a run that begins has an order");
        self.request(RequestKind::Begin {
            at,
            since_origin,
            revision,
            order: Box::new(order),
        })
    }

    pub(super) fn request(&self, kind: RequestKind) -> Request {
        Request {
            run: self.line.run.clone(),
            kind,
        }
    }

    pub(super) fn signal(&self, from: usize, kind: SignalKind) {
        // Nobody receives it once the run is over.
        let _over = self.ends.signals.send(Signal { from, kind });
    }

    /// Sends a warning to views and the report.
    pub(super) fn warn(&self, text: &str) {
        self.signal(0, SignalKind::Warning(text.to_owned()));
    }

    /// Tells the director what this manager has noticed about a worker, which none of the worker's own signals shows.
    pub(super) fn signal_as_seen(&mut self, from: usize, kind: SignalKind) {
        self.chronicle.write_of(self.now(), from, &kind);
        self.signal(from, kind);
    }

    /// Returns the time since the run began.
    pub(super) fn now(&self) -> Duration {
        self.begun
            .map_or(Duration::ZERO, |(begin, _)| begin.elapsed())
    }

    /// Looks for workers that have been silent for too long.
    async fn look(&mut self) {
        if self.begun.is_none() {
            return;
        }
        self.look_at_slots();
        let mut lost = std::mem::take(&mut self.leaving);
        for number in self.roll.newly_away(self.up_since) {
            let text = self.roll.0[number].lost();
            self.signal_as_seen(number, SignalKind::Away(text));
            lost.push(number);
        }
        for number in lost {
            if self.chronicle.replaces && self.order_goes_on() {
                self.replace(number).await;
            }
        }
    }

    pub(super) fn order_goes_on(&self) -> bool {
        let latest = self.order.borrow();
        latest.as_ref().is_some_and(|latest| latest.order.goes_on())
    }

    /// Lets all workers and gathers go, and removes what the broker has kept.
    async fn release(&mut self) {
        let request = self.request(RequestKind::Release);
        let present = self.roll.0.iter().filter(|member| !member.away);
        let asked = present.map(|member| {
            self.line
                .broker
                .request(&member.presence.id, &request, ANSWER)
        });
        // A worker that is gone needs no release.
        let _gone = futures_util::future::join_all(asked).await;
        self.slots.release(&self.line.broker, &self.line.run).await;
        self.line.broker.remove_stream(&self.line.run).await;
        self.line.broker.remove_log_stream(&self.line.run).await;
    }
}
