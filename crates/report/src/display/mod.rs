//! Display of a report's contents, independent of the format: the facts of a run, its capacity, workers and traces, and
//! comparisons.
//!
//! All readable formats take their wording from here, so that they agree. Knows no format.

mod capacity;
mod comparison;
mod facts;
mod traces;
mod workers;

pub(super) use capacity::{capacity_facts, load_unit, scalability_facts, step_cells, step_result};
pub(super) use comparison::{
    outcome, row_change, row_interval, row_name, row_requests, row_value, side, starts_name,
};
pub(super) use facts::{facts, marked_events};
pub(super) use traces::{slowest, status_text, trace_text};
pub(super) use workers::{is_saturated, labels_text, offset_text, worker_state, workers_in_order};
