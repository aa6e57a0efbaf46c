//! The metrics of a run for monitoring systems: figures with names and labels, made from the report so far. `web`
//! writes them for Prometheus, `otlp` for OpenTelemetry.

mod distribution;
mod families;
mod family;
mod machines;
mod plan;

pub(crate) use distribution::{Distribution, SCALE};
pub(crate) use families::families;
#[cfg(feature = "web")]
pub(crate) use family::TraceExemplar;
pub(crate) use family::{Family, FigureValue, Labels};
