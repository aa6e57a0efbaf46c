//! Metrics as the messages `io.prometheus.client.MetricFamily`, which alone have native histograms. Numbers of fields are
//! those of
//! <https://github.com/prometheus/client_model/blob/master/io/prometheus/client/metrics.proto>; fields that lgoose never sets
//! are left out.

use super::text::{LABEL, PREFIX};
use lgoose_report::telemetry::{Distribution, Family, FigureValue, Labels, SCALE, TraceExemplar};
use prost::Message as _;
use std::collections::BTreeMap;

/// Writes all metrics, each family after its length.
pub(super) fn write(families: &[Family]) -> Vec<u8> {
    let messages = families.iter().filter_map(family);
    messages
        .flat_map(|message| message.encode_length_delimited_to_vec())
        .collect()
}

#[derive(Clone, PartialEq, prost::Message)]
struct MetricFamily {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    help: String,
    #[prost(enumeration = "MetricType", tag = "3")]
    r#type: i32,
    #[prost(message, repeated, tag = "4")]
    metric: Vec<Metric>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, prost::Enumeration)]
enum MetricType {
    Counter = 0,
    Gauge = 1,
    Histogram = 4,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Metric {
    #[prost(message, repeated, tag = "1")]
    label: Vec<LabelPair>,
    #[prost(message, optional, tag = "2")]
    gauge: Option<Gauge>,
    #[prost(message, optional, tag = "3")]
    counter: Option<Counter>,
    #[prost(message, optional, tag = "7")]
    histogram: Option<NativeHistogram>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct LabelPair {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    value: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Gauge {
    #[prost(double, tag = "1")]
    value: f64,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Counter {
    #[prost(double, tag = "1")]
    value: f64,
    #[prost(message, optional, tag = "2")]
    exemplar: Option<ExemplarMessage>,
}

/// A `Histogram` with classic and native buckets; the threshold of its bucket for zero is 0.
#[derive(Clone, PartialEq, prost::Message)]
struct NativeHistogram {
    #[prost(uint64, tag = "1")]
    sample_count: u64,
    #[prost(double, tag = "2")]
    sample_sum: f64,
    #[prost(message, repeated, tag = "3")]
    bucket: Vec<ClassicBucket>,
    #[prost(sint32, tag = "5")]
    schema: i32,
    #[prost(uint64, tag = "7")]
    zero_count: u64,
    #[prost(message, repeated, tag = "12")]
    positive_span: Vec<BucketSpan>,
    #[prost(sint64, repeated, tag = "13")]
    positive_delta: Vec<i64>,
    #[prost(message, repeated, tag = "16")]
    exemplars: Vec<ExemplarMessage>,
}

/// A `Bucket` of a classic histogram.
#[derive(Clone, PartialEq, prost::Message)]
struct ClassicBucket {
    #[prost(uint64, tag = "1")]
    cumulative_count: u64,
    #[prost(double, tag = "2")]
    upper_bound: f64,
    #[prost(message, optional, tag = "3")]
    exemplar: Option<ExemplarMessage>,
}

/// A row of buckets without a gap: the gap from the end of the row before, for the first one an index, and its length.
#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
struct BucketSpan {
    #[prost(sint32, tag = "1")]
    offset: i32,
    #[prost(uint32, tag = "2")]
    length: u32,
}

/// An `Exemplar`: the trace of a request.
#[derive(Clone, PartialEq, prost::Message)]
struct ExemplarMessage {
    #[prost(message, repeated, tag = "1")]
    label: Vec<LabelPair>,
    #[prost(double, tag = "2")]
    value: f64,
    #[prost(message, optional, tag = "3")]
    timestamp: Option<UnixTime>,
}

/// A `google.protobuf.Timestamp`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
struct UnixTime {
    #[prost(int64, tag = "1")]
    seconds: i64,
    #[prost(int32, tag = "2")]
    nanos: i32,
}

/// Returns the message of a family; `None` if it has no rows.
fn family(family: &Family) -> Option<MetricFamily> {
    let (kind, suffix) = match family.rows.first()?.1 {
        FigureValue::Counter(_) => (MetricType::Counter, "_total"),
        FigureValue::Gauge(_) => (MetricType::Gauge, ""),
        FigureValue::Histogram(_) => (MetricType::Histogram, ""),
    };
    let mut rows: Vec<Metric> = family.rows.iter().map(metric).collect();
    for ((row, bucket), one) in &family.exemplars {
        if let Some(metric) = rows.get_mut(*row) {
            metric.add_exemplar(*bucket, one);
        }
    }
    Some(MetricFamily {
        name: format!("{PREFIX}_{}{suffix}", family.name),
        help: family.help.to_owned(),
        r#type: kind.into(),
        metric: rows,
    })
}

fn metric((labels, figure): &(Labels, FigureValue)) -> Metric {
    let mut metric = Metric {
        label: labels
            .iter()
            .map(|(name, value)| label(name, value))
            .collect(),
        ..Metric::default()
    };
    match figure {
        FigureValue::Counter(value) => {
            metric.counter = Some(Counter {
                value: *value,
                exemplar: None,
            });
        }
        FigureValue::Gauge(value) => metric.gauge = Some(Gauge { value: *value }),
        FigureValue::Histogram(of) => metric.histogram = Some(histogram(of)),
    }
    metric
}

impl Metric {
    fn add_exemplar(&mut self, bucket: usize, one: &TraceExemplar) {
        if let Some(counter) = &mut self.counter {
            counter.exemplar = Some(exemplar(one));
        }
        if let Some(histogram) = &mut self.histogram {
            // Native buckets have a list of their own, from which Prometheus takes those of any bucket.
            histogram.exemplars.push(exemplar(one));
            if let Some(bucket) = histogram.bucket.get_mut(bucket) {
                bucket.exemplar = Some(exemplar(one));
            }
        }
    }
}

fn histogram(of: &Distribution) -> NativeHistogram {
    let mut below = 0;
    let classic = of.classic.iter().map(|(border, count)| {
        below += count;
        ClassicBucket {
            cumulative_count: below,
            upper_bound: *border,
            exemplar: None,
        }
    });
    let bucket = classic.collect();
    let (mut positive_span, positive_delta) = spans(&of.exponential);
    if positive_span.is_empty() {
        // A histogram without buckets would not be known for a native one.
        positive_span.push(BucketSpan::default());
    }
    NativeHistogram {
        sample_count: of.count,
        sample_sum: of.sum,
        bucket,
        schema: SCALE,
        zero_count: of.zero,
        positive_span,
        positive_delta,
        exemplars: Vec::new(),
    }
}

/// Returns buckets as native histograms have them: rows of them without a gap, and differences of their counts.
fn spans(buckets: &BTreeMap<i32, u64>) -> (Vec<BucketSpan>, Vec<i64>) {
    let (mut spans, mut deltas) = (Vec::<BucketSpan>::new(), Vec::new());
    let (mut next, mut before) = (0, 0);
    for (index, count) in buckets {
        match spans.last_mut() {
            Some(row) if *index == next => row.length += 1,
            _ => spans.push(BucketSpan {
                offset: index - next,
                length: 1,
            }),
        }
        next = index + 1;
        let count = i64::try_from(*count).unwrap_or(i64::MAX);
        deltas.push(count - before);
        before = count;
    }
    (spans, deltas)
}

fn label(name: &str, value: &str) -> LabelPair {
    LabelPair {
        name: name.to_owned(),
        value: value.to_owned(),
    }
}

fn exemplar(one: &TraceExemplar) -> ExemplarMessage {
    ExemplarMessage {
        label: vec![label(LABEL, &one.trace_id)],
        value: one.value,
        timestamp: Some(UnixTime {
            seconds: one.at_s as i64,
            nanos: (one.at_s.fract() * 1e9) as i32,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn native_buckets_are_rows_and_differences() {
        let buckets = BTreeMap::from([(-3, 2), (-2, 5), (1, 1), (2, 4), (9, 4)]);
        let (spans, deltas) = spans(&buckets);
        let spans: Vec<_> = spans.iter().map(|row| (row.offset, row.length)).collect();
        assert_eq!(spans, [(-3, 2), (2, 2), (6, 1)]);
        assert_eq!(deltas, [2, 3, -4, 3, 0]);
    }

    #[test]
    fn what_is_written_is_read_as_the_same_figures() {
        let labels = |name: &str| vec![("name", name.to_owned())];
        let families = [
            Family {
                name: "requests",
                help: "Requests",
                rows: vec![
                    (labels("a"), FigureValue::Counter(7.0)),
                    (labels("b"), FigureValue::Counter(0.0)),
                ],
                exemplars: BTreeMap::new(),
            },
            Family {
                name: "seconds",
                help: "Latency",
                rows: vec![(
                    labels("a"),
                    FigureValue::Histogram(Box::new(Distribution {
                        count: 9,
                        sum: 4.5,
                        classic: vec![(0.5, 6), (1.0, 2)],
                        beyond: 1,
                        zero: 2,
                        exponential: BTreeMap::from([(-64, 4), (64, 3)]),
                    })),
                )],
                exemplars: BTreeMap::new(),
            },
        ];
        let written = write(&families);
        let mut rest = &written[..];
        let mut read = || MetricFamily::decode_length_delimited(&mut rest).expect("a message");
        let counts = read();
        assert_eq!((&*counts.name, counts.r#type), ("lgoose_requests_total", 0));
        let values = counts.metric.iter().map(|row| {
            let value = row.counter.as_ref().map(|counter| counter.value);
            (row.label[0].value.as_str(), value)
        });
        let values: Vec<_> = values.collect();
        assert_eq!(values, [("a", Some(7.0)), ("b", Some(0.0))]);
        let latencies = read();
        assert_eq!((&*latencies.name, latencies.r#type), ("lgoose_seconds", 4));
        let histogram = latencies.metric[0].histogram.clone().expect("one");
        let classic = histogram.bucket.iter();
        let classic: Vec<_> = classic
            .map(|bucket| (bucket.upper_bound, bucket.cumulative_count))
            .collect();
        assert_eq!(classic, [(0.5, 6), (1.0, 8)]);
        assert_eq!((histogram.sample_count, histogram.zero_count), (9, 2));
        assert_eq!((histogram.sample_sum, histogram.schema), (4.5, SCALE));
        assert_eq!(histogram.positive_delta, [4, -1]);
        assert!(rest.is_empty());
    }
}
