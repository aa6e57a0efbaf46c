//! Figures of one name with their labels, and what several kinds of them share.

use super::distribution::Distribution;
use crate::metrics::Figures;
use crate::output::hdr;

/// Labels of a figure.
pub(super) type Labels = Vec<(&'static str, String)>;

/// Figures of one name.
#[derive(Debug)]
pub(super) struct Family {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(super) rows: Vec<(Labels, Figure)>,
}

/// A figure.
#[derive(Debug)]
pub(super) enum Figure {
    /// One that only rises, until the figures begin anew.
    Counter(f64),
    /// One of now.
    Gauge(f64),
    /// Latencies.
    Histogram(Box<Distribution>),
}

pub(super) fn family(
    name: &'static str,
    help: &'static str,
    rows: impl IntoIterator<Item = (Labels, Figure)>,
) -> Family {
    Family {
        name,
        help,
        rows: rows.into_iter().collect(),
    }
}

pub(super) fn gauge(name: &'static str, help: &'static str, value: f64) -> Family {
    family(name, help, [(Labels::new(), Figure::Gauge(value))])
}

pub(super) fn counter(value: u64) -> Figure {
    Figure::Counter(value as f64)
}

/// Returns 1 for what is so, else 0.
pub(super) fn flag(is: bool) -> Figure {
    Figure::Gauge(f64::from(u8::from(is)))
}

/// Adds a label.
pub(super) fn with(mut labels: Labels, name: &'static str, value: &str) -> Labels {
    labels.push((name, value.to_owned()));
    labels
}

/// Returns requests by their status.
pub(super) fn by_status(labels: &Labels, figures: &Figures) -> Vec<(Labels, Figure)> {
    let rows = figures.status.iter();
    rows.map(|(status, count)| (with(labels.clone(), "status", status), counter(*count)))
        .collect()
}

/// Returns the latencies of requests; `None` without any.
pub(super) fn latencies(figures: &Figures) -> Option<Figure> {
    let histogram = hdr::decoded(&figures.histogram)?;
    let mean_ms = figures.latency_ms.map_or(0.0, |latency| latency.avg);
    let sum = mean_ms * histogram.len() as f64 / 1e3;
    Some(Figure::Histogram(Box::new(Distribution::of(
        &histogram, sum,
    ))))
}
