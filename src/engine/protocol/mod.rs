//! Protocol between the director and the shards: the run that all take part in, the directive that goes one way and
//! the signals that come back.

pub(super) mod asked;
pub(super) mod context;
pub(super) mod departures;
pub(super) mod directive;
pub(super) mod journal;
pub(super) mod offer;
pub(super) mod order;
pub(super) mod plan_version;
pub(super) mod signal;
pub(super) mod worker_logs;
