//! Load model: decides when users start and stop or, at a rate, when iterations start, and limits the requests and
//! the iterations that users share.

pub(super) mod arrivals_left;
pub(super) mod clock;
pub(super) mod dispatch_pool;
pub(super) mod dispatcher;
pub(super) mod lane_pool;
pub(super) mod share;
pub(super) mod throttle;
pub(super) mod tickets;
pub(super) mod timetable;
pub(super) mod user_pool;
