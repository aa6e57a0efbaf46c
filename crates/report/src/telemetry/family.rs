//! Figures of one name with their labels, and the parts that several kinds of them share.

use super::distribution::Distribution;
use lgoose_metrics::{Figures, read_histogram};
use std::collections::BTreeMap;

/// Labels of a figure.
pub type Labels = Vec<(&'static str, String)>;

/// Figures of one name.
#[derive(Debug)]
pub struct Family {
    /// The name, without a unit or ending.
    pub name: &'static str,
    /// A sentence that describes it.
    pub help: &'static str,
    /// The values by their labels.
    pub rows: Vec<(Labels, FigureValue)>,
    /// Requests that stand for a figure, by the number of its row and, in a histogram, of its bucket.
    pub exemplars: BTreeMap<(usize, usize), TraceExemplar>,
}

/// A request that stands for a figure: its trace is found in the site's tracing.
#[derive(Debug)]
pub struct TraceExemplar {
    /// The trace, in hexadecimal digits.
    pub trace_id: String,
    /// The latency in seconds, or 1 for one that is counted.
    pub value: f64,
    /// Its end, in seconds since 1970.
    pub at_s: f64,
}

/// A figure.
#[derive(Debug)]
pub enum FigureValue {
    /// One that only rises, until the figures begin anew.
    Counter(f64),
    /// One of now.
    Gauge(f64),
    /// Latencies.
    Histogram(Box<Distribution>),
}

pub(crate) fn family(
    name: &'static str,
    help: &'static str,
    rows: impl IntoIterator<Item = (Labels, FigureValue)>,
) -> Family {
    Family {
        name,
        help,
        rows: rows.into_iter().collect(),
        exemplars: BTreeMap::new(),
    }
}

pub(crate) fn gauge(name: &'static str, help: &'static str, value: f64) -> Family {
    family(name, help, [(Labels::new(), FigureValue::Gauge(value))])
}

pub(crate) fn counter(value: u64) -> FigureValue {
    FigureValue::Counter(value as f64)
}

/// Returns 1 for true, else 0.
pub(crate) fn flag(is: bool) -> FigureValue {
    FigureValue::Gauge(f64::from(u8::from(is)))
}

/// Adds a label.
pub(crate) fn with(mut labels: Labels, name: &'static str, value: &str) -> Labels {
    labels.push((name, value.to_owned()));
    labels
}

/// Returns requests by their status.
pub(crate) fn by_status(labels: &Labels, figures: &Figures) -> Vec<(Labels, FigureValue)> {
    let rows = figures.status.iter();
    rows.map(|(status, count)| (with(labels.clone(), "status", status), counter(*count)))
        .collect()
}

/// Returns the latencies of requests; `None` without any.
pub(crate) fn latencies(figures: &Figures) -> Option<FigureValue> {
    let histogram = read_histogram(&figures.histogram)?;
    let mean_ms = figures.latency_ms.map_or(0.0, |latency| latency.avg);
    let sum = mean_ms * histogram.len() as f64 / 1e3;
    Some(FigureValue::Histogram(Box::new(Distribution::of(
        &histogram, sum,
    ))))
}
