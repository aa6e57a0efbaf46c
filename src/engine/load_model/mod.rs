//! Load model: starts users according to their number over time and iterations according to their arrival rate, within
//! one limit on requests per second.

pub(super) mod clock;
pub(super) mod crew;
pub(super) mod dispatch_pool;
pub(super) mod dispatcher;
pub(super) mod share;
pub(super) mod throttle;
pub(super) mod tickets;
pub(super) mod timetable;
pub(super) mod user_pool;
