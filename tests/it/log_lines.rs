//! The lines of a run's logs, and the figures that its report has of them.

use crate::program::scratch;
use crate::report::Report;
use serde_json::Value;
use std::collections::BTreeMap;

/// Reads the rows of a log in CSV, each by the names of its columns. Rows of another length are refused.
pub(crate) fn rows(path: &str) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_path(path).expect("the log is there");
    let rows: Result<_, _> = reader.deserialize().collect();
    rows.expect("a log is CSV")
}

/// Reads the lines of a log in JSON.
pub(crate) fn objects(path: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(path).expect("the log is text");
    let read = |line| serde_json::from_str(line).expect("a line is JSON");
    text.lines().map(read).collect()
}

pub(crate) fn path(name: &str) -> String {
    scratch(name).display().to_string()
}

/// Returns the figures of one log in a report: its lines, and those that were left out.
pub(crate) fn log_row(report: &Report, log: &str) -> (u64, u64) {
    let logs = report.json["logs"].as_array().expect("logs are a list");
    let row = logs
        .iter()
        .find(|row| row["log"] == log)
        .expect("it was kept");
    let figure = |key: &str| row[key].as_u64().expect("a number");
    (figure("lines"), figure("left_out"))
}
