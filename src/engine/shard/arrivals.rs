//! Handles arrivals of a shard: serves them, passes them on to a shard that has room, or drops them.

use super::Shard;
use super::channels::Channels;
use crate::engine::load_model::dispatch_pool::{PoolMember, Service};
use crate::engine::load_model::dispatcher::Arrival;
use crate::engine::load_model::timetable::Timetable;
use crate::engine::user::User;
use crate::engine::user::stop::Stop;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use tokio::time::Instant;

/// The most arrivals served in a row before other tasks get their turn.
const BATCH: usize = 64;

impl Shard {
    /// Serves arrivals that are due, up to [`BATCH`].
    pub(crate) fn serve_due(&mut self, channels: &Channels) {
        for _ in 0..BATCH {
            match self.take_due() {
                Some(arrival) => self.serve(channels, arrival, true),
                None => return,
            }
        }
    }

    /// Serves the last arrivals before the end of the run: no shard is left to pass them on to.
    pub(crate) fn serve_last(&mut self, channels: &Channels) {
        while let Some(arrival) = self.take_due() {
            self.serve(channels, arrival, false);
        }
    }

    /// Takes the next arrival if it is due.
    fn take_due(&mut self) -> Option<Arrival> {
        let Timetable::Arrivals { line, end, .. } = &*self.directive.timetable else {
            return None;
        };
        let dispatcher = self.dispatcher.as_mut()?;
        let (number, time) = dispatcher.next(line, *end)?;
        let moment = self.directive.clock.moment(time)?;
        let scheduled = self.context.instant(moment)?;
        if scheduled > Instant::now() {
            return None;
        }
        dispatcher.arrivals.advance();
        Some(Arrival { number, scheduled })
    }

    /// Serves an arrival. One that another shard has passed on is not passed on again.
    pub(crate) fn serve(&mut self, channels: &Channels, arrival: Arrival, own: bool) {
        let scenario = self.directive.plan_version.deal.scenario_of(arrival.number);
        let Some(dispatcher) = self.dispatcher.as_mut() else {
            return;
        };
        let service = match self.going {
            true => dispatcher.pool.serve(scenario, arrival.scheduled),
            false => Service::Nobody,
        };
        match service {
            Service::Taken => {}
            Service::New(start, member) => {
                let role = self.roles[scenario].clone();
                let stop = Rc::<Stop>::default();
                match User::new(start, role, self.shared.clone(), stop.clone()) {
                    Ok(user) => self.employ(user, start.number, member, stop),
                    Err(error) => self.fail(channels, error),
                }
            }
            Service::Nobody if own && self.pass_on(channels, arrival) => {}
            Service::Nobody => self.shared.recorder.borrow_mut().dropped(),
        }
    }

    fn employ(&mut self, user: Box<User>, number: u64, member: PoolMember, stop: Rc<Stop>) {
        if let Some(dispatcher) = &mut self.dispatcher {
            dispatcher.pool.started(member.clone(), stop);
        }
        self.users.spawn_local(user.live_on_call(member, number));
    }

    /// Gives an arrival to a shard that has room, if there is one.
    fn pass_on(&self, channels: &Channels, arrival: Arrival) -> bool {
        let spare = |room: u64| room.checked_sub(1);
        let order = Ordering::Relaxed;
        self.context
            .rooms
            .iter()
            .zip(&channels.transfers.others)
            .any(|(room, shard)| {
                room.try_update(order, order, spare).is_ok() && shard.send(arrival).is_ok()
            })
    }

    /// Tells the other shards how many arrivals this one could take over.
    pub(crate) fn publish_room(&self) {
        if let Some(dispatcher) = &self.dispatcher {
            let room = match self.going {
                true => dispatcher.pool.room(),
                false => 0,
            };
            self.context.rooms[dispatcher.index].store(room, Ordering::Relaxed);
        }
    }

    /// Drops the arrivals that others passed on too late.
    pub(crate) fn drop_incoming(&self, channels: &mut Channels) {
        while channels.transfers.incoming.try_recv().is_ok() {
            self.shared.recorder.borrow_mut().dropped();
        }
    }
}
