//! Display of a report's contents, independent of the format: names and texts as harmless lines, figures with their
//! units, thresholds, and the facts of a run.
//!
//! All readable formats and the verdict take their wording from here, so that they agree. Knows no format.

mod capacity;
mod comparison;
mod diagnosis;
mod errors;
mod facts;
mod figures;
mod line;
mod thresholds;
mod traces;
mod workers;

pub(super) use capacity::{capacity_facts, load_unit, scalability_facts, step_cells, step_result};
pub(super) use comparison::{
    outcome, row_change, row_interval, row_name, row_requests, row_value, side, starts_name,
};
pub use diagnosis::{Diagnosis, measured_until_now};
pub(super) use diagnosis::{clock_of, measured_from, worst_first};
pub(super) use errors::{first_task_error, listed_errors, task_error};
pub(super) use facts::{facts, marked_events};
pub(super) use figures::{moment, number, per_second, rate, share, time, with_share};
pub use line::{cut_apart, cut_middle};
pub(super) use line::{describe_response, one_line, request_name, wrapped};
pub(super) use thresholds::{broken_line, threshold_figure, threshold_name, threshold_parts};
pub(super) use traces::{slowest, status_text, trace_text};
pub(super) use workers::{is_saturated, labels_text, offset_text, worker_state, workers_in_order};
