//! Conclusions from the figures of a run: the verdict with its exit code, and a diagnosis: where the run fails, since
//! when and why.
//!
//! Pure functions over reports and snapshots of `metrics`. Used by the program, by the views and by all outputs, which take
//! the wording of thresholds and errors from here, too, so that they agree.
//!
//! ```
//! use lgoose_judgement::judge;
//! use lgoose_metrics::{Report, VerdictResult};
//!
//! let verdict = judge(&Report::default(), None);
//! assert_eq!(verdict.result, VerdictResult::Failed);
//! assert_eq!(verdict.text, "failed: no request was made");
//! ```

mod diagnosis;
mod errors;
#[cfg(any(test, feature = "test-support"))]
pub mod fixture;
mod thresholds;
mod verdict;

pub use diagnosis::{Diagnosis, clock_of, measured_from, measured_until_now, worst_first};
pub use errors::{
    ListedError, describe_response, first_task_error, latest_response, listed_errors, task_error,
};
pub use thresholds::{broken_line, threshold_figure, threshold_name, threshold_parts};
pub use verdict::{all_lost, beside_errors, judge};
