//! Protocol between the director and the shards: the context of the run, the directive that goes to the shards and the
//! events that come back.

pub(super) mod context;
pub(super) mod departures;
pub(super) mod directive;
pub(super) mod host_recovery;
pub(super) mod journal;
pub(super) mod offer;
pub(super) mod order;
pub(super) mod plan_requests;
pub(super) mod plan_version;
pub(super) mod shard_event;
pub(super) mod worker_logs;
