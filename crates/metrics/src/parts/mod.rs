//! Parts of a load: recorded by the run of each, and joined into one report.

mod join;
mod recording;

pub use join::join;
pub(crate) use recording::Recording;
