//! Load model: starts users by their number over time and iterations by the rate at which they arrive, under one
//! ceiling on requests.

pub(super) mod clock;
pub(super) mod crew;
pub(super) mod dispatch_pool;
pub(super) mod dispatcher;
pub(super) mod share;
pub(super) mod throttle;
pub(super) mod tickets;
pub(super) mod timetable;
pub(super) mod user_pool;
