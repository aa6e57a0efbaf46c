//! Latencies in each of their forms: exact figures, a burst on a shard, counts that travel, histograms and sketches.

mod burst;
mod counted;
mod distribution;
mod exact;
mod filled;
pub(crate) mod histogram;
mod part_times;
mod sketch;
mod sum;
mod timed;

pub(crate) use burst::{Burst, FEW};
pub(crate) use counted::Counted;
pub(crate) use distribution::{Bucket, buckets};
pub use distribution::{percentile_ms, read as read_histogram};
pub(crate) use exact::{ExactFigures, nanoseconds, summary};
pub(crate) use filled::FilledLatencies;
pub(crate) use part_times::{PartDeltas, PartTallies};
pub(crate) use sketch::{Coarse, Sketch, Sketcher};
pub(crate) use sum::LatencySum;
pub(crate) use timed::Timed;
