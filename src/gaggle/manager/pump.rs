//! Pump between the director of a run and its workers: directives go down as orders, signals come up.

use super::hand_out::{hand_out, hand_to};
use super::recruit::claim_one;
use super::roll::Roll;
use super::{Latest, Pack};
use crate::control::Refusal;
use crate::engine::{
    Begun, Directive, EventEnd, EventTask, Offer, Offers, Order, PlanVersions, Signal, SignalKind,
};
use crate::error::Error;
use crate::gaggle::broker::{Broker, Contact};
use crate::gaggle::clock::Clock;
use crate::gaggle::messages::{self, Numbered, Reply, Request, RequestKind, Revised};
use crate::gaggle::names;
use crate::plan::Event;
use futures_util::StreamExt as _;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// Time between two signs of life.
const BEAT: Duration = Duration::from_secs(1);
/// Time that a worker has to answer.
const ANSWER: Duration = Duration::from_secs(5);
/// Time that an event's function may take at most: its own limits end it long before.
const EVENT: Duration = Duration::from_secs(24 * 3_600);
/// Time between two attempts of something that failed.
const AGAIN: Duration = Duration::from_millis(250);

/// The pump's ends of the channels to the director and to whoever loads the plan anew.
pub(super) struct Ends {
    pub(super) signals: mpsc::UnboundedSender<Signal>,
    pub(super) begins: oneshot::Receiver<Begun>,
    pub(super) events: mpsc::UnboundedReceiver<EventTask>,
    /// Versions of the plan that workers are to load.
    pub(super) offered: Offers,
    /// Takes those that they have loaded.
    pub(super) loaded: PlanVersions,
}

/// Joins the director of a run to its workers.
pub(super) struct Pump {
    broker: Broker,
    run: String,
    clock: Clock,
    roll: Roll,
    signals: mpsc::UnboundedSender<Signal>,
    begins: Option<oneshot::Receiver<Begun>>,
    events: mpsc::UnboundedReceiver<EventTask>,
    offered: Offers,
    loaded: PlanVersions,
    beating: JoinHandle<()>,
    pack: Pack,
    /// The version of the plan that workers run, packed.
    packed: (u64, Vec<u8>),
    replaces: bool,
    /// The value that `test_start` returned, as JSON.
    shared: Option<String>,
    /// When users began, on the clock of the manager, and since the origin of the logs.
    begun: Option<(u64, Duration)>,
    /// The latest order.
    order: watch::Sender<Option<Revised>>,
    up_since: Instant,
}

/// Answers questions for the time and gives signs of life from now on.
///
/// # Errors
/// Trouble with the broker.
pub(super) async fn beat(
    broker: &Broker,
    run: &str,
    clock: Clock,
) -> Result<JoinHandle<()>, Error> {
    let mut asked = broker.listen(names::clock(run)).await?;
    let (broker, beat) = (broker.clone(), names::beat(run));
    Ok(tokio::spawn(async move {
        let mut tick = tokio::time::interval(BEAT);
        loop {
            tokio::select! {
                biased;
                Some(question) = asked.next() => if let Some(inbox) = question.reply {
                    let reading = messages::encode(&clock.read());
                    broker.send(inbox.to_string(), reading).await;
                },
                _ = tick.tick() => broker.send(beat.clone(), Vec::new()).await,
            }
        }
    }))
}

impl Pump {
    #[expect(
        clippy::too_many_arguments,
        reason = "each is of another kind, and there is one caller"
    )]
    pub(super) fn new(
        broker: Broker,
        run: String,
        clock: Clock,
        roll: Roll,
        ends: Ends,
        beating: JoinHandle<()>,
        pack: Pack,
        packed: Vec<u8>,
        replaces: bool,
    ) -> Pump {
        Pump {
            broker,
            run,
            clock,
            roll,
            signals: ends.signals,
            begins: Some(ends.begins),
            events: ends.events,
            offered: ends.offered,
            loaded: ends.loaded,
            beating,
            pack,
            packed: (0, packed),
            replaces,
            shared: None,
            begun: None,
            order: watch::channel(None).0,
            up_since: Instant::now(),
        }
    }

    /// Pumps until the run is over, then lets the workers go.
    pub(super) async fn run(mut self, mut over: oneshot::Receiver<()>) {
        let mut contact = self.broker.contact();
        let mut look = tokio::time::interval(Duration::from_millis(250));
        let (sender, mut received) = mpsc::unbounded_channel();
        let reading = tokio::spawn(read(self.broker.clone(), self.run.clone(), sender));
        let publishing = tokio::spawn(publish(
            self.broker.clone(),
            self.run.clone(),
            self.order.subscribe(),
        ));
        let mut directives: Option<Latest<Directive>> = None;
        loop {
            let begins = async {
                match &mut self.begins {
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
                _ = &mut over => break,
                begun = begins => {
                    self.begins = None;
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
                Some((worker, bytes)) = received.recv() => self.hear(&worker, &bytes),
                Some(task) = self.events.recv() => self.event(task).await,
                Some(offer) = self.offered.next() => self.hand_out(offer).await,
                _ = contact.changed() => if *contact.borrow_and_update() == Contact::Up {
                    self.up_since = Instant::now();
                },
                _ = look.tick() => if *contact.borrow() == Contact::Up {
                    self.look().await;
                },
            }
        }
        reading.abort();
        publishing.abort();
        self.release().await;
        self.beating.abort();
    }

    /// Gives a new order to all workers.
    fn tell(&self, order: Order) {
        self.order.send_modify(|latest| {
            let revision = latest.as_ref().map_or(1, |latest| latest.revision + 1);
            *latest = Some(Revised { revision, order });
        });
    }

    /// Tells all workers when users begin, and what they are to do.
    async fn begin(&mut self, begun: Begun) -> Latest<Directive> {
        let mut directives = begun.directives;
        self.tell(Order::from(&*directives.borrow_and_update()));
        self.begun = Some((self.clock.at(begun.at.into_std()), begun.since_origin));
        let numbers: Vec<usize> = (0..self.roll.0.len()).collect();
        let asked = numbers.into_iter().map(|number| {
            let begin = self.begin_request();
            let (broker, id) = (&self.broker, &self.roll.0[number].presence.id);
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
                self.signal(number, SignalKind::Away(text));
            }
        }
        directives
    }

    fn begin_request(&self) -> Request {
        let (at, since_origin) = self.begun.unwrap_or_default();
        let latest = self.order.borrow().clone();
        let Revised { revision, order } = latest.expect("a run that begins has an order");
        self.request(RequestKind::Begin {
            at,
            since_origin,
            revision,
            order: Box::new(order),
        })
    }

    fn request(&self, kind: RequestKind) -> Request {
        Request {
            run: self.run.clone(),
            kind,
        }
    }

    fn signal(&self, from: usize, kind: SignalKind) {
        // The director is at its end.
        let _over = self.signals.send(Signal { from, kind });
    }

    /// Passes a worker's signal on to the director, once.
    fn hear(&mut self, worker: &str, bytes: &[u8]) {
        let Some(number) = self.roll.number_of(worker) else {
            return;
        };
        let now = Instant::now();
        let member = &mut self.roll.0[number];
        let silent = now.duration_since(member.heard);
        member.heard = now;
        let name = member.presence.name.clone();
        let numbered = match messages::decode::<Numbered>(bytes) {
            Ok(numbered) => numbered,
            Err(error) => return self.signal(number, SignalKind::Failed(error)),
        };
        let Numbered { sequence, signal } = numbered;
        if sequence <= member.sequence {
            return;
        }
        let missing = sequence - member.sequence - 1;
        member.sequence = sequence;
        if std::mem::take(&mut member.away) {
            let seconds = silent.as_secs_f64();
            let text = format!(
                "worker '{name}' is back after {seconds:.0} s; what it measured meanwhile counts"
            );
            let replaced = member.replaced;
            self.signal(number, SignalKind::Back(text));
            if replaced {
                self.dismiss(number);
            }
        }
        if missing > 0 {
            let text = format!(
                "{missing} deliveries of worker '{name}' are missing: it could not keep them for so long"
            );
            self.signal(number, SignalKind::Warning(text));
        }
        match signal.kind(sequence, &name) {
            Ok(kind) => {
                if matches!(kind, SignalKind::Ended { .. }) {
                    self.roll.0[number].ended = true;
                }
                self.signal(number, kind);
            }
            Err(error) => self.signal(number, SignalKind::Failed(error)),
        }
    }

    /// Lets a worker that another has replaced come to its end.
    fn dismiss(&self, number: usize) {
        let (broker, request) = (self.broker.clone(), self.request(RequestKind::Dismiss));
        let id = self.roll.0[number].presence.id.clone();
        tokio::spawn(async move {
            let _gone_again = broker.request(&id, &request, ANSWER).await;
        });
    }

    /// Looks for workers of whom nothing has been heard for too long.
    async fn look(&mut self) {
        if self.begun.is_none() {
            return;
        }
        for number in self.roll.newly_away(self.up_since) {
            let name = self.roll.0[number].name().to_owned();
            let text = format!("worker '{name}' was lost: nothing has been heard of it for 5 s");
            self.signal(number, SignalKind::Away(text));
            if self.replaces && self.order_goes_on() {
                self.replace(number).await;
            }
        }
    }

    fn order_goes_on(&self) -> bool {
        let latest = self.order.borrow();
        latest.as_ref().is_some_and(|latest| latest.order.goes_on())
    }

    /// Lets a free worker take the place of another.
    async fn replace(&mut self, number: usize) {
        let known: Vec<String> = self
            .roll
            .0
            .iter()
            .map(|one| one.presence.id.clone())
            .collect();
        let threads = self.roll.0[number].shards.len() as u64;
        let lost = self.roll.0[number].name().to_owned();
        let Some(presence) = claim_one(&self.broker, &self.run, threads, &known).await else {
            let text = format!("no free worker could take the place of '{lost}'");
            return self.signal(number, SignalKind::Warning(text));
        };
        let new = self.roll.replace(number, presence);
        let name = self.roll.0[new].name().to_owned();
        let text = format!("worker '{name}' took the place of '{lost}'");
        let identity = self.roll.0[new].identity();
        self.signal(new, SignalKind::Joined { identity, text });
        if let Err(why) = self.bring_in(new).await {
            self.roll.0[new].away = true;
            self.signal(
                new,
                SignalKind::Away(format!("worker '{name}' did not begin: {why}")),
            );
        }
    }

    /// Gives a worker that joins a run under way all that the others have.
    async fn bring_in(&mut self, number: usize) -> Result<(), String> {
        let (version, packed) = &self.packed;
        let member = &self.roll.0[number];
        let offset = hand_to(&self.broker, &self.run, member, packed, 0).await?;
        if *version > 0 {
            hand_to(&self.broker, &self.run, member, packed, *version).await?;
        }
        let id = member.presence.id.clone();
        if let Some(shared) = &self.shared {
            let share = self.request(RequestKind::Share(shared.clone()));
            self.broker.request(&id, &share, ANSWER).await?;
        }
        let begin = self.begin_request();
        self.broker.request(&id, &begin, ANSWER).await?;
        self.roll.0[number].offset = offset;
        self.roll.0[number].heard = Instant::now();
        Ok(())
    }

    /// Runs an event on a worker, and gives the others what it returned.
    async fn event(&mut self, task: EventTask) {
        let EventTask {
            event,
            mut ordered,
            result,
            ..
        } = task;
        let failed = move |why: String| {
            let why = format!("{}: {why}", event.name());
            Ok(EventEnd::failed(why))
        };
        let Some(member) = self.roll.any_present() else {
            // The director may not wait any more.
            let _given_up = result.send(failed("no worker is left to run it".to_owned()));
            return;
        };
        let (id, name) = (member.presence.id.clone(), member.name().to_owned());
        let others: Vec<String> = self
            .roll
            .0
            .iter()
            .map(|one| one.presence.id.clone())
            .collect();
        let asked = self.request(RequestKind::Event(event));
        let (shared, told) = oneshot::channel();
        let (broker, run) = (self.broker.clone(), self.run.clone());
        let running = async move {
            let asking = broker.request(&id, &asked, EVENT);
            tokio::pin!(asking);
            let reply = loop {
                tokio::select! {
                    reply = &mut asking => break reply,
                    changed = ordered.changed() => {
                        if changed.is_err() {
                            return failed("it was given up".to_owned());
                        }
                        let order = *ordered.borrow_and_update();
                        let request = Request { run: run.clone(), kind: RequestKind::EventOrder(order) };
                        let _gone = broker.request(&id, &request, ANSWER).await;
                    }
                }
            };
            let ended = match reply {
                Ok(Reply::Event(ended)) => ended,
                Ok(_) => return failed("its worker gave no fitting answer".to_owned()),
                Err(why) => return failed(format!("worker '{name}': {why}")),
            };
            if let Some(json) = &ended.shared {
                let request = Request {
                    run,
                    kind: RequestKind::Share(json.clone()),
                };
                let others = others.iter().filter(|other| **other != id);
                let asked = others.map(|other| broker.request(other, &request, ANSWER));
                let answers = futures_util::future::join_all(asked).await;
                if let Some(why) = answers.into_iter().find_map(Result::err) {
                    return failed(format!(
                        "what it returned did not reach every worker: {why}"
                    ));
                }
                let _no_run = shared.send(json.clone());
            }
            ended.end()
        };
        match event {
            Event::TestStart => {
                // Nothing else is to be pumped before users begin.
                let ended = running.await;
                self.shared = told.await.ok();
                let _given_up = result.send(ended);
            }
            Event::TestStop => {
                tokio::spawn(async move {
                    let _given_up = result.send(running.await);
                });
            }
        }
    }

    /// Gives another version of the plan to all workers, and offers it to the director once they have loaded it.
    async fn hand_out(&mut self, offer: Offer) {
        let Offer {
            plan_version,
            reply,
        } = offer;
        let number = plan_version.number;
        let loaded = async {
            let packed = (self.pack)(&plan_version)?;
            hand_out(&self.broker, &self.run, &mut self.roll, &packed, number).await?;
            Ok::<_, Error>(packed)
        };
        let packed = match loaded.await {
            Ok(packed) => packed,
            Err(error) => {
                let _unheard = reply.send(Err(Refusal::Plan(Arc::new(error))));
                return;
            }
        };
        self.packed = (number, packed);
        let loaded = self.loaded.clone();
        tokio::spawn(async move {
            let _unheard = reply.send(loaded.offer(plan_version).await);
        });
    }

    /// Lets all workers go, and removes what the broker has kept.
    async fn release(&mut self) {
        let request = self.request(RequestKind::Release);
        let present = self.roll.0.iter().filter(|member| !member.away);
        let asked =
            present.map(|member| self.broker.request(&member.presence.id, &request, ANSWER));
        // Whoever is gone needs no release.
        let _gone = futures_util::future::join_all(asked).await;
        self.broker.remove_stream(&self.run).await;
    }
}

/// Reads all signals of a run in order, from the first on. What is broken off begins anew where it was, and at once when
/// the broker is back: a reader would notice only after half a minute.
async fn read(broker: Broker, run: String, heard: mpsc::UnboundedSender<(String, Vec<u8>)>) {
    let mut contact = broker.contact();
    let mut next = 1;
    loop {
        contact.mark_unchanged();
        let mut signals = match broker.signals(&run, next).await {
            Ok(signals) => signals,
            Err(error) => {
                tracing::debug!(target: "lgoose::gaggle", "{error}");
                tokio::time::sleep(AGAIN).await;
                continue;
            }
        };
        loop {
            let message = tokio::select! {
                message = signals.next() => message,
                changed = contact.changed() => match changed {
                    Ok(()) if *contact.borrow() != Contact::Up => continue,
                    _ => break,
                },
            };
            match message {
                Some(Ok(message)) => {
                    if let Ok(info) = message.info() {
                        next = info.stream_sequence + 1;
                    }
                    let worker = names::worker_of_signals(&message.subject).unwrap_or_default();
                    let signal = (worker.to_owned(), message.payload.to_vec());
                    if heard.send(signal).is_err() {
                        return;
                    }
                }
                Some(Err(error)) => {
                    tracing::debug!(target: "lgoose::gaggle", "{error}");
                    tokio::time::sleep(AGAIN).await;
                }
                None => break,
            }
        }
    }
}

/// Publishes the latest order whenever there is a new one, until the broker has it.
async fn publish(broker: Broker, run: String, mut order: Latest<Option<Revised>>) {
    while order.changed().await.is_ok() {
        loop {
            let Some(latest) = order.borrow_and_update().clone() else {
                break;
            };
            let id = format!("order:{}", latest.revision);
            let bytes = messages::encode(&latest);
            match broker.keep(names::order(&run), &id, bytes).await {
                Ok(()) => break,
                Err((error, _)) => {
                    tracing::debug!(target: "lgoose::gaggle", "{error}");
                    tokio::time::sleep(AGAIN).await;
                }
            }
        }
    }
}
