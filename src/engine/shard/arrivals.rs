//! Handles arrivals of a shard: serves them, passes them on to a shard that has room, or drops them.

use super::Shard;
use super::channels::Channels;
use crate::engine::load_model::crew::Crew;
use crate::engine::load_model::dispatch_pool::Service;
use crate::engine::load_model::dispatcher::{Arrival, Dispatcher};
use crate::engine::user::stop::Stop;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::time::Instant;

/// The most arrivals served in a row before other tasks get their turn.
const BATCH: usize = 64;

impl Shard {
    /// Serves arrivals of a lane that are due, up to [`BATCH`]; ends the lane when its time has come.
    pub(crate) fn serve_due(&mut self, channels: &Channels, lane: usize, elapsed: Duration) {
        for _ in 0..BATCH {
            match self.take_due(lane) {
                Some(arrival) => self.serve(channels, arrival, true),
                None => {
                    let end = self.directive.timetable.early_end(lane);
                    if end.is_some_and(|end| elapsed >= end) {
                        self.crews[lane].dismiss_all();
                    }
                    return;
                }
            }
        }
    }

    /// Serves the last arrivals before the end of the run: no shard is left to pass them on to.
    pub(crate) fn serve_last(&mut self, channels: &Channels) {
        for lane in 0..self.crews.len() {
            while let Some(arrival) = self.take_due(lane) {
                self.serve(channels, arrival, false);
            }
        }
    }

    /// Takes the next arrival of a lane if it is due.
    fn take_due(&mut self, lane: usize) -> Option<Arrival> {
        let timetable = self.directive.timetable.clone();
        let dispatcher = self.dispatcher(lane)?;
        let (number, time) = dispatcher.next(&timetable.lanes[lane])?;
        let moment = self.directive.clock.moment(time)?;
        let scheduled = self.context.instant(moment)?;
        if scheduled > Instant::now() {
            return None;
        }
        self.dispatcher(lane)?.arrivals.advance();
        Some(Arrival {
            lane,
            number,
            scheduled,
        })
    }

    /// Returns the dispatcher of a lane; `None` if it has a number of users.
    fn dispatcher(&mut self, lane: usize) -> Option<&mut Dispatcher> {
        match &mut self.crews[lane] {
            Crew::Arrivals(dispatcher) => Some(dispatcher),
            Crew::Users(_) => None,
        }
    }

    /// Serves an arrival. Passes it on if nobody here can and it is the shard's `own`, else drops and counts it.
    pub(crate) fn serve(&mut self, channels: &Channels, arrival: Arrival, own: bool) {
        let Arrival { lane, number, .. } = arrival;
        let scenario = self.directive.plan_version.lanes.scenario_of(lane, number);
        let going = self.going;
        let Some(dispatcher) = self.dispatcher(lane) else {
            return;
        };
        let service = if going && !dispatcher.pool.is_closed() {
            dispatcher.pool.serve(scenario, arrival.scheduled)
        } else {
            Service::Nobody
        };
        match service {
            Service::Taken => {}
            Service::New(start, member) => {
                let role = self.roles[scenario].clone();
                let stop = Rc::<Stop>::default();
                match self.user(lane, start, role, stop.clone()) {
                    Ok(user) => {
                        if let Some(dispatcher) = self.dispatcher(lane) {
                            dispatcher.pool.started(member.clone(), stop);
                        }
                        let key = (lane, start.number);
                        self.users.spawn_local(user.live_on_call(member, key));
                    }
                    Err(error) => self.fail(channels, error),
                }
            }
            Service::Nobody if own && self.pass_on(channels, arrival) => {}
            Service::Nobody => self.shared.recorder.borrow_mut().dropped(),
        }
    }

    /// Gives an arrival to a shard that has room, if there is one.
    fn pass_on(&self, channels: &Channels, arrival: Arrival) -> bool {
        let spare = |room: u64| room.checked_sub(1);
        let order = Ordering::Relaxed;
        self.context.rooms[arrival.lane]
            .iter()
            .zip(&channels.transfers.others)
            .any(|(room, shard)| {
                room.try_update(order, order, spare).is_ok() && shard.send(arrival).is_ok()
            })
    }

    /// Tells the other shards how many arrivals this one could take over.
    pub(crate) fn publish_room(&self) {
        for (crew, rooms) in self.crews.iter().zip(&self.context.rooms) {
            if let Crew::Arrivals(dispatcher) = crew {
                let room = if self.going {
                    dispatcher.pool.room()
                } else {
                    0
                };
                rooms[self.index].store(room, Ordering::Relaxed);
            }
        }
    }

    /// Drops and counts the arrivals that other shards passed on too late.
    pub(crate) fn drop_incoming(&self, channels: &mut Channels) {
        while channels.transfers.incoming.try_recv().is_ok() {
            self.shared.recorder.borrow_mut().dropped();
        }
    }
}
