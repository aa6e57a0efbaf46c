//! Traces of requests: how they are shown, and the slowest of them.

use lgoose_base::line::{cut_middle, one_line, request_name};
use lgoose_metrics::{Report, RequestRow, SlowRequest, TraceRow};

/// The columns of a trace id.
const ID_WIDTH: usize = 32;

/// Returns the slowest requests of all names with these, slowest first.
pub(crate) fn slowest(
    report: &Report,
    of: impl Fn(&RequestRow) -> Vec<&SlowRequest>,
) -> Vec<(String, &SlowRequest)> {
    let rows = report.requests.iter();
    let all = rows.flat_map(|row| {
        let name = request_name(&row.method, &row.name);
        of(row).into_iter().map(move |one| (name.clone(), one))
    });
    let mut all: Vec<_> = all.collect();
    let response = |one: &SlowRequest| one.latency_ms + one.delay_ms;
    all.sort_by(|(_, a), (_, b)| response(b).total_cmp(&response(a)));
    all
}

/// Returns a trace in the form in which people search for it.
pub(crate) fn trace_text(trace: &TraceRow) -> String {
    let id = cut_middle(&one_line(&trace.trace_id), ID_WIDTH);
    if trace.sampled {
        id
    } else {
        format!("{id} (not sampled)")
    }
}

/// Returns the status of a response, or that there was none.
pub(crate) fn status_text(status: u16) -> String {
    match status {
        0 => "no response".to_owned(),
        status => status.to_string(),
    }
}
