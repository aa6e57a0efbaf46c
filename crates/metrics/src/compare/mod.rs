//! Comparison of runs before and after a change: slower and faster figures, and changes that chance explains.
//!
//! Driven by `lgoose compare`. Reads only reports, prints nothing and knows no format. First looks for reasons why the
//! runs cannot be compared (`reasons`) and for a warm-up that is to be left out (`transient`); then estimates each figure of each name for both sides (`figure`), with its
//! error by a moving-block bootstrap over the seconds of the runs (`bootstrap`, `block_length`) or by how much runs of
//! one side differ (`run_spread`), and corrects the verdicts for the number of rows (`verdict`).

mod block_length;
mod bootstrap;
mod comparison;
mod figure;
#[cfg(test)]
mod fixture;
mod limit;
mod reasons;
mod row;
mod rows;
mod run_spread;
mod side;
mod student;
#[cfg(test)]
mod tests;
mod track;
mod transient;
mod verdict;

pub use comparison::{Comparison, NamedReport, RunFacts};
pub use figure::Figure;
pub use limit::{GRAMMAR, RegressionLimit};
pub use row::{Row, RowVerdict};

/// Compares runs; both sides have at least one.
pub fn compare(
    before: &[NamedReport],
    after: &[NamedReport],
    limits: Vec<RegressionLimit>,
) -> Comparison {
    let mut reasons = reasons::reasons(before, after);
    let (mut rows, mut notes, left_out_s) = rows::rows(before, after);
    notes.extend(reasons::notes(before, after, left_out_s));
    notes.extend(verdict::decide(&mut rows, &limits));
    reasons.extend(limits.iter().filter_map(|limit| limit.unjudged(&rows)));
    Comparison {
        comparable: reasons.is_empty(),
        reasons,
        notes,
        before: before.iter().map(RunFacts::of).collect(),
        after: after.iter().map(RunFacts::of).collect(),
        left_out_s,
        limits,
        rows,
    }
}
