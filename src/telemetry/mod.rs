//! What a run tells monitoring systems: figures by names and labels, made from the report of now. How they are written is
//! the affair of `web`, for Prometheus, and of `otlp`.

mod distribution;
mod families;
mod family;
mod machines;
mod plan;

#[cfg(feature = "web")]
pub(crate) use distribution::BUCKETS;
pub(crate) use distribution::{Distribution, SCALE};
pub(crate) use families::families;
#[cfg(feature = "web")]
pub(crate) use family::Exemplar;
pub(crate) use family::{Family, Figure, Labels};
