//! The metrics of a run for monitoring systems: figures with names and labels, made from the report so far. `web`
//! writes them for Prometheus, `otlp` for OpenTelemetry.

mod distribution;
mod families;
mod family;
mod gen_ai;
mod machines;
mod plan;

pub use distribution::{Distribution, SCALE};
pub use families::families;
pub use family::{Family, FigureValue, Labels, TraceExemplar};
pub use gen_ai::gen_ai;
