//! Single requests that are kept: exemplars of failures, the slowest ones and those with sampled traces.

mod failures;
mod slowest;
mod traced;

pub(crate) use failures::{Exemplars, messages};
pub(crate) use slowest::Slowest;
pub use traced::BORDERS;
pub(crate) use traced::NameTraces;
