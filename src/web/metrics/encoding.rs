//! The two ways in which metrics are written, both by the crate `prometheus-client`.

use super::exemplars::{self, PREFIX};
use crate::telemetry::{Distribution, Family, Figure, SCALE};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, MetricEncoder, NativeHistogram, NativeHistogramBuckets, NoLabelSet,
    prometheus_protobuf, text,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use prost::Message as _;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Ways of writing metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    /// OpenMetrics, for people and most programs.
    Text,
    /// Prometheus' protobuf, which alone has native histograms.
    Protobuf,
}

impl Encoding {
    /// Returns what the `Accept` headers of a request ask for.
    pub(super) fn wanted<'a>(mut accepted: impl Iterator<Item = &'a str>) -> Encoding {
        let protobuf = |part: &str| {
            part.contains("application/vnd.google.protobuf")
                && part.contains("proto=io.prometheus.client.MetricFamily")
                && part.contains("encoding=delimited")
        };
        if accepted.any(|header| header.split(',').any(protobuf)) {
            Encoding::Protobuf
        } else {
            Encoding::Text
        }
    }

    pub(super) fn content_type(self) -> &'static str {
        match self {
            Encoding::Text => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Encoding::Protobuf => {
                "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"
            }
        }
    }

    /// Writes metrics.
    ///
    /// # Errors
    /// None that plain figures can cause.
    pub(super) fn write(self, families: Vec<Family>) -> Result<Vec<u8>, String> {
        let families = Arc::new(families);
        let mut registry = Registry::with_prefix(PREFIX);
        registry.register_collector(Box::new(Metrics {
            encoding: self,
            families: families.clone(),
        }));
        match self {
            Encoding::Text => {
                let mut written = String::new();
                text::encode(&mut written, &registry).map_err(|error| error.to_string())?;
                Ok(exemplars::add_to_text(written, &families).into_bytes())
            }
            Encoding::Protobuf => {
                let messages = prometheus_protobuf::encode(&registry);
                let mut messages = messages.map_err(|error| error.to_string())?;
                exemplars::add_to_messages(&mut messages, &families);
                let all = messages.iter();
                Ok(all
                    .flat_map(|one| one.encode_length_delimited_to_vec())
                    .collect())
            }
        }
    }
}

#[derive(Debug)]
struct Metrics {
    encoding: Encoding,
    families: Arc<Vec<Family>>,
}

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        for family in self.families.iter() {
            let Some((_, first)) = family.rows.first() else {
                continue;
            };
            let kind = match first {
                Figure::Counter(_) => MetricType::Counter,
                Figure::Gauge(_) => MetricType::Gauge,
                Figure::Histogram(_) => MetricType::Histogram,
            };
            let mut metric = encoder.encode_descriptor(family.name, family.help, None, kind)?;
            for (labels, figure) in &family.rows {
                if labels.is_empty() {
                    self.write(&mut metric, figure)?
                } else {
                    self.write(&mut metric.encode_family(labels)?, figure)?
                }
            }
        }
        Ok(())
    }
}

impl Metrics {
    fn write(&self, metric: &mut MetricEncoder<'_>, figure: &Figure) -> Result<(), fmt::Error> {
        match figure {
            Figure::Counter(value) => metric.encode_counter::<NoLabelSet, _, f64>(value, None),
            Figure::Gauge(value) => metric.encode_gauge(value),
            Figure::Histogram(distribution) => self.write_histogram(metric, distribution),
        }
    }

    fn write_histogram(
        &self,
        metric: &mut MetricEncoder<'_>,
        of: &Distribution,
    ) -> Result<(), fmt::Error> {
        if self.encoding == Encoding::Text {
            let all = [&of.classic[..], &[(f64::INFINITY, of.beyond)]].concat();
            return metric.encode_histogram::<NoLabelSet>(of.sum, of.count, &all, None);
        }
        let none = NativeHistogramBuckets {
            spans: &[],
            deltas: &[],
        };
        let (spans, deltas) = spans(&of.exponential);
        // A histogram without buckets would not be known for a native one.
        let empty = spans.is_empty();
        let native = NativeHistogram {
            schema: SCALE,
            zero_threshold: 0.0,
            zero_count: of.zero,
            negative: none,
            positive: NativeHistogramBuckets {
                spans: if empty { &[(0, 0)] } else { &spans },
                deltas: &deltas,
            },
            created: None,
        };
        metric.encode_histogram_with_native::<NoLabelSet>(
            of.sum,
            of.count,
            &of.classic,
            None,
            native,
        )
    }
}

/// Returns buckets as native histograms have them: gap from the end of the row before and length of each row, the first
/// gap being an index; and differences of their counts.
fn spans(buckets: &BTreeMap<i32, u64>) -> (Vec<(i32, u32)>, Vec<i64>) {
    let (mut spans, mut deltas) = (Vec::<(i32, u32)>::new(), Vec::new());
    let (mut next, mut before) = (0, 0);
    for (index, count) in buckets {
        match spans.last_mut() {
            Some((_, length)) if *index == next => *length += 1,
            _ => spans.push((index - next, 1)),
        }
        next = index + 1;
        let count = i64::try_from(*count).unwrap_or(i64::MAX);
        deltas.push(count - before);
        before = count;
    }
    (spans, deltas)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn native_buckets_are_rows_and_differences() {
        let buckets = BTreeMap::from([(-3, 2), (-2, 5), (1, 1), (2, 4), (9, 4)]);
        let (spans, deltas) = spans(&buckets);
        assert_eq!(spans, [(-3, 2), (2, 2), (6, 1)]);
        assert_eq!(deltas, [2, 3, -4, 3, 0]);
    }

    #[test]
    fn protobuf_is_written_for_whoever_asks_for_it() {
        // As Prometheus 2.42 asks with native histograms, and without.
        let native = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,\
            application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        let plain =
            "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        let spaced = "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";
        for (accept, expected) in [
            (native, Encoding::Protobuf),
            (spaced, Encoding::Protobuf),
            (plain, Encoding::Text),
            ("*/*", Encoding::Text),
        ] {
            assert_eq!(Encoding::wanted([accept].into_iter()), expected, "{accept}");
        }
        assert_eq!(Encoding::wanted(std::iter::empty()), Encoding::Text);
    }
}
