//! Pump between the director of a run and its workers: directives go down as orders, signals come up.

use super::hand_out::hand_out;
use super::outages::Outages;
use super::roll::Roll;
use super::streams::{Failing, Line, publish, read};
use super::terms::{Latest, Pack};
use crate::control::Refusal;
use crate::engine::{
    Begun, Directive, EventTask, Offer, Offers, Order, PlanVersions, Signal, SignalKind,
};
use crate::error::Error;
use crate::gaggle::broker::Contact;
use crate::gaggle::messages::{self, Numbered, Request, RequestKind, Revised};
use async_nats::Message;
use futures_util::StreamExt as _;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

/// Time that a worker has to answer.
pub(super) const ANSWER: Duration = Duration::from_secs(5);

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
    signals: mpsc::UnboundedSender<Signal>,
    begins: Option<oneshot::Receiver<Begun>>,
    events: mpsc::UnboundedReceiver<EventTask>,
    offered: Offers,
    loaded: PlanVersions,
    pub(super) plan: PackedPlan,
    replaces: bool,
    /// The value that `test_start` returned, as JSON.
    pub(super) shared: Option<String>,
    /// When users began, on the clock of the manager, and since the origin of the logs.
    begun: Option<(u64, Duration)>,
    /// Workers that were told to end, and are to be replaced if that is wanted.
    leaving: Vec<usize>,
    /// The latest order.
    order: watch::Sender<Option<Revised>>,
    up_since: Instant,
    outages: Outages,
}

impl Pump {
    pub(super) fn new(
        line: Line,
        roll: Roll,
        ends: Ends,
        plan: PackedPlan,
        replaces: bool,
    ) -> Pump {
        Pump {
            line,
            roll,
            signals: ends.signals,
            begins: Some(ends.begins),
            events: ends.events,
            offered: ends.offered,
            loaded: ends.loaded,
            plan,
            replaces,
            shared: None,
            begun: None,
            leaving: Vec::new(),
            order: watch::channel(None).0,
            up_since: Instant::now(),
            outages: Outages::default(),
        }
    }

    /// Pumps until the run is over, then lets the workers go.
    pub(super) async fn run(mut self, mut over: oneshot::Receiver<()>) {
        let mut contact = self.line.broker.contact();
        let mut look = tokio::time::interval(Duration::from_millis(250));
        let (sender, mut received) = mpsc::unbounded_channel();
        let (told, mut troubles) = mpsc::unbounded_channel();
        let reading = read(
            self.line.broker.clone(),
            self.line.run.clone(),
            sender,
            Failing::new(told.clone()),
        );
        let publishing = publish(
            self.line.broker.clone(),
            self.line.run.clone(),
            self.order.subscribe(),
            Failing::new(told),
        );
        let (reading, publishing) = (tokio::spawn(reading), tokio::spawn(publishing));
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
                // What has come is heard before anybody counts as lost.
                biased;
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
                Some(message) = self.line.told.next() => self.warn_of(&message),
                Some(trouble) = troubles.recv() => self.signal(0, SignalKind::Failed(trouble)),
                Some(task) = self.events.recv() => self.event(task).await,
                Some(offer) = self.offered.next() => self.hand_out(offer).await,
                _ = contact.changed() => self.note(*contact.borrow_and_update()),
                _ = look.tick() => if *contact.borrow() == Contact::Up {
                    self.look().await;
                },
            }
        }
        reading.abort();
        publishing.abort();
        self.release().await;
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
        self.begun = Some((self.line.clock.at(begun.at.into_std()), begun.since_origin));
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
                self.signal(number, SignalKind::Away(text));
            }
        }
        directives
    }

    pub(super) fn begin_request(&self) -> Request {
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

    pub(super) fn request(&self, kind: RequestKind) -> Request {
        Request {
            run: self.line.run.clone(),
            kind,
        }
    }

    pub(super) fn signal(&self, from: usize, kind: SignalKind) {
        // The director is at its end.
        let _over = self.signals.send(Signal { from, kind });
    }

    /// Warns that a worker cannot hand its figures over, and why.
    fn warn_of(&self, message: &Message) {
        let id = message.subject.rsplit_once(".told.").map(|(_, id)| id);
        let number = id.and_then(|id| self.roll.number_of(id));
        if let (Some(number), Ok(why)) = (number, messages::decode::<String>(&message.payload)) {
            let name = self.roll.0[number].name();
            let text = format!("figures of worker '{name}' do not arrive: it {why}");
            self.signal(number, SignalKind::Warning(text));
        }
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
                match kind {
                    SignalKind::Ended { .. } => self.roll.0[number].ended = true,
                    SignalKind::Away(_) => {
                        self.roll.0[number].left = true;
                        self.leaving.push(number);
                    }
                    _ => {}
                }
                self.signal(number, kind);
            }
            Err(error) => self.signal(number, SignalKind::Failed(error)),
        }
    }

    /// Lets a worker that another has replaced come to its end.
    fn dismiss(&self, number: usize) {
        let (broker, request) = (self.line.broker.clone(), self.request(RequestKind::Dismiss));
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
        let mut lost = std::mem::take(&mut self.leaving);
        for number in self.roll.newly_away(self.up_since) {
            let name = self.roll.0[number].name().to_owned();
            let text = format!("worker '{name}' was lost: nothing has been heard of it for 5 s");
            self.signal(number, SignalKind::Away(text));
            lost.push(number);
        }
        for number in lost {
            if self.replaces && self.order_goes_on() {
                self.replace(number).await;
            }
        }
    }

    pub(super) fn order_goes_on(&self) -> bool {
        let latest = self.order.borrow();
        latest.as_ref().is_some_and(|latest| latest.order.goes_on())
    }

    /// Gives another version of the plan to all workers, and offers it to the director once they have loaded it.
    async fn hand_out(&mut self, offer: Offer) {
        let Offer {
            plan_version,
            reply,
        } = offer;
        let number = plan_version.number;
        let loaded = async {
            let packed = (self.plan.pack)(&plan_version)?;
            hand_out(
                &self.line.broker,
                &self.line.run,
                &mut self.roll,
                &packed,
                number,
            )
            .await?;
            Ok::<_, Error>(packed)
        };
        let packed = match loaded.await {
            Ok(packed) => packed,
            Err(error) => {
                let _unheard = reply.send(Err(Refusal::Plan(Arc::new(error))));
                return;
            }
        };
        (self.plan.number, self.plan.bytes) = (number, packed);
        let loaded = self.loaded.clone();
        tokio::spawn(async move {
            let _unheard = reply.send(loaded.offer(plan_version).await);
        });
    }

    /// Lets all workers go, and removes what the broker has kept.
    async fn release(&mut self) {
        let request = self.request(RequestKind::Release);
        let present = self.roll.0.iter().filter(|member| !member.away);
        let asked = present.map(|member| {
            self.line
                .broker
                .request(&member.presence.id, &request, ANSWER)
        });
        // Whoever is gone needs no release.
        let _gone = futures_util::future::join_all(asked).await;
        self.line.broker.remove_stream(&self.line.run).await;
    }
}
