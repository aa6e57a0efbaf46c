//! Who starts when: users by their number over time, iterations by the rate at which they arrive, and the ceiling on
//! requests of both.

pub(super) mod clock;
pub(super) mod dispatch_pool;
pub(super) mod dispatcher;
pub(super) mod share;
pub(super) mod throttle;
pub(super) mod timetable;
pub(super) mod user_pool;
