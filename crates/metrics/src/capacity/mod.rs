//! The search for the greatest load that a site can take.
//!
//! Driven by `lgoose capacity`, which runs the steps. Everything here is a pure function of the figures: the load that
//! is next ([`Search`]), whether a step has settled and whether it held (`Watch`, `trend`), and what all steps
//! show together (`usl`, `knee`). Knows neither the engine nor a clock.

mod estimate;
mod iterations;
mod judgement;
mod knee;
mod recovery;
mod search;
mod summary;
#[cfg(test)]
mod tests;
mod trend;
mod usl;
mod watch;

pub use estimate::CapacityEstimate;
pub use iterations::{IterationCounts, ShortStep, StepIterations};
pub use judgement::Judgement;
pub use recovery::Recovery;
#[cfg(test)]
use search::SearchEnd;
pub use search::{Search, SearchAction, SearchAims, SearchTime};
pub use summary::{SearchSummary, summary};
pub use watch::{Decision, StepLengths, StepWatch, StepWindow};
