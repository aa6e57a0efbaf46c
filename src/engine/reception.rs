//! Arrivals at one shard: each is served on schedule by a user of the shard, passed on to a shard that has
//! one to spare, or dropped and counted.

use super::desk::{Desk, Post, Service};
use super::directive::{Clock, Directive, Timetable, arrivals};
use super::plant::Plant;
use super::shard::{Shard, Wires, shard_of};
use super::stop::Stop;
use super::user::User;
use crate::plan::{Arrivals, RateLine};
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// Arrivals served in a row before others get their turn.
const BATCH: usize = 64;

/// An iteration that is to start.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrival {
    /// Counted from 0 over the whole run.
    number: u64,
    scheduled: Instant,
}

/// How shards pass arrivals on.
#[derive(Debug)]
pub(super) struct Transfers {
    pub(super) others: Vec<mpsc::UnboundedSender<Arrival>>,
    pub(super) incoming: mpsc::UnboundedReceiver<Arrival>,
}

#[derive(Debug)]
pub(super) struct Reception {
    index: usize,
    shards: usize,
    pub(super) desk: Desk,
    arrivals: Arrivals,
}

impl Reception {
    /// None in a run of users.
    pub(super) fn new(index: usize, plant: &Plant, directive: &Directive) -> Option<Reception> {
        let Timetable::Arrivals { most, .. } = &*directive.timetable else {
            return None;
        };
        let scenarios = directive.edition.plan.scenarios.len();
        Some(Reception {
            index,
            shards: plant.shards,
            desk: Desk::new(index, plant.shards, scenarios, *most),
            arrivals: arrivals(&plant.config),
        })
    }

    /// The next arrival of this shard; those of the others are passed over.
    fn next(&mut self, line: &RateLine, end: Option<Duration>) -> Option<(u64, Duration)> {
        loop {
            let (number, time) = self.arrivals.peek(line)?;
            if end.is_some_and(|end| time >= end) {
                return None;
            }
            if shard_of(number, self.shards) == self.index {
                return Some((number, time));
            }
            self.arrivals.advance();
        }
    }

    /// When the next arrival is due.
    pub(super) fn due(
        &mut self,
        clock: &Clock,
        line: &RateLine,
        end: Option<Duration>,
    ) -> Option<Instant> {
        let (_, time) = self.next(line, end)?;
        clock.instant(time)
    }

    /// Takes the next arrival if it is due.
    fn take(&mut self, clock: &Clock, timetable: &Timetable) -> Option<Arrival> {
        let Timetable::Arrivals { line, end, .. } = timetable else {
            return None;
        };
        let (number, time) = self.next(line, *end)?;
        let scheduled = clock
            .instant(time)
            .filter(|moment| *moment <= Instant::now())?;
        self.arrivals.advance();
        Some(Arrival { number, scheduled })
    }
}

impl Shard {
    /// Serves what is due, as much as others can wait for.
    pub(super) fn serve_due(&mut self, wires: &Wires) {
        for _ in 0..BATCH {
            match self.take_due() {
                Some(arrival) => self.serve(wires, arrival, true),
                None => return,
            }
        }
    }

    /// The last arrivals before the end of the run: nobody is left to pass them on to.
    pub(super) fn serve_last(&mut self, wires: &Wires) {
        while let Some(arrival) = self.take_due() {
            self.serve(wires, arrival, false);
        }
    }

    fn take_due(&mut self) -> Option<Arrival> {
        let directive = &self.directive;
        let reception = self.reception.as_mut()?;
        reception.take(&directive.clock, &directive.timetable)
    }

    /// Serves an arrival. One that another shard has passed on is not passed on again.
    pub(super) fn serve(&mut self, wires: &Wires, arrival: Arrival, own: bool) {
        let scenario = self.directive.edition.deal.scenario_of(arrival.number);
        let Some(reception) = self.reception.as_mut() else {
            return;
        };
        let service = match self.going {
            true => reception.desk.serve(scenario, arrival.scheduled),
            false => Service::Nobody,
        };
        match service {
            Service::Taken => {}
            Service::New(start, post) => {
                let role = self.roles[scenario].clone();
                let stop = Rc::<Stop>::default();
                match User::new(start, role, self.shared.clone(), stop.clone()) {
                    Ok(user) => self.employ(user, start.number, post, stop),
                    Err(error) => self.fail(wires, error),
                }
            }
            Service::Nobody if own && self.pass_on(wires, arrival) => {}
            Service::Nobody => self.shared.recorder.borrow_mut().dropped(),
        }
    }

    fn employ(&mut self, user: User, number: u64, post: Post, stop: Rc<Stop>) {
        if let Some(reception) = &mut self.reception {
            reception.desk.started(post.clone(), stop);
        }
        let life = user.live_on_call(post);
        self.users.spawn_local(async move {
            life.await;
            number
        });
    }

    /// Gives an arrival to a shard that has room, if there is one.
    fn pass_on(&self, wires: &Wires, arrival: Arrival) -> bool {
        let spare = |room: u64| room.checked_sub(1);
        let order = Ordering::Relaxed;
        self.plant
            .rooms
            .iter()
            .zip(&wires.transfers.others)
            .any(|(room, shard)| {
                room.try_update(order, order, spare).is_ok() && shard.send(arrival).is_ok()
            })
    }

    /// Tells the other shards how many arrivals this one could take over.
    pub(super) fn publish_room(&self, index: usize) {
        if let Some(reception) = &self.reception {
            let room = match self.going {
                true => reception.desk.room(),
                false => 0,
            };
            self.plant.rooms[index].store(room, Ordering::Relaxed);
        }
    }

    /// What others passed on too late is dropped.
    pub(super) fn drop_incoming(&self, wires: &mut Wires) {
        while wires.transfers.incoming.try_recv().is_ok() {
            self.shared.recorder.borrow_mut().dropped();
        }
    }
}
