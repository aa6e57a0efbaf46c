//! All runs over HTTP: the interface of `lgoose serve`. Requests about the current run are forwarded to its process;
//! requests about all other runs are handled here.

mod forward;
mod page;
mod routes;
mod runs;

pub(super) use routes::router;
#[cfg(test)]
pub(super) use routes::{ServeAction, table};
#[cfg(test)]
pub(super) use runs::{PlanList, RunList};

use super::access::Access;
use super::turns::Permits;
use crate::queue::Runs;
use std::sync::Arc;

/// Lists and reports that are made at the same time.
const MADE: usize = 4;

/// The state of the server.
#[derive(Debug)]
struct ServeSite {
    runs: Arc<Runs>,
    access: Arc<Access>,
    turns: Permits,
}
