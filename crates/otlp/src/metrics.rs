//! Figures as OpenTelemetry has them: sums since the beginning, levels, exponential histograms.

use super::messages::{
    Buckets, Data, ExponentialHistogram, ExponentialHistogramDataPoint,
    ExportMetricsServiceRequest, Gauge, KeyValue, Metric, Number, NumberDataPoint, ResourceMetrics,
    ScopeMetrics, Sum,
};
use super::resource::{TelemetryScope, attribute};
use lgoose_report::telemetry::{Distribution, Family, FigureValue, Labels, SCALE};
use std::collections::BTreeMap;

/// Most buckets of a histogram, as OpenTelemetry's own programs have them: beyond that two of them become one.
const BUCKETS: usize = 160;

/// The `AggregationTemporality` of figures that count since the beginning.
const CUMULATIVE: i32 = 2;

/// The time that figures cover, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy)]
pub(super) struct FigureSpan {
    pub(super) start: u64,
    pub(super) end: u64,
}

/// Returns the request that hands over the figures of that time.
pub(super) fn request(
    families: Vec<Family>,
    scope: &TelemetryScope,
    span: FigureSpan,
) -> ExportMetricsServiceRequest {
    let metrics = families
        .into_iter()
        .filter_map(|family| metric(family, span));
    ExportMetricsServiceRequest {
        resource_metrics: vec![ResourceMetrics {
            resource: Some(scope.resource.clone()),
            scope_metrics: vec![ScopeMetrics {
                scope: Some(scope.instrumentation.clone()),
                metrics: metrics.collect(),
            }],
        }],
    }
}

fn metric(family: Family, span: FigureSpan) -> Option<Metric> {
    let (name, unit) = named(family.name);
    let data = match family.rows.first()?.1 {
        FigureValue::Counter(_) => Data::Sum(Sum {
            data_points: numbers(&family.rows, span),
            aggregation_temporality: CUMULATIVE,
            is_monotonic: true,
        }),
        FigureValue::Gauge(_) => Data::Gauge(Gauge {
            data_points: numbers(&family.rows, span),
        }),
        FigureValue::Histogram(_) => {
            let points = family
                .rows
                .iter()
                .filter_map(|(labels, figure)| match figure {
                    FigureValue::Histogram(distribution) => Some(point(labels, distribution, span)),
                    FigureValue::Counter(_) | FigureValue::Gauge(_) => None,
                });
            Data::ExponentialHistogram(ExponentialHistogram {
                data_points: points.collect(),
                aggregation_temporality: CUMULATIVE,
            })
        }
    };
    Some(Metric {
        // A name of OpenTelemetry's own conventions stays what it is.
        name: if name.contains('.') {
            name.to_owned()
        } else {
            format!("lgoose.{name}")
        },
        description: family.help.to_owned(),
        unit: unit.to_owned(),
        data: Some(data),
    })
}

/// Returns a name without its unit, and the unit as UCUM has it: collectors that write for Prometheus put them together
/// again, and its names are those of `GET /metrics`.
fn named(name: &str) -> (&str, &'static str) {
    let units = [
        ("_seconds", "s"),
        ("_bytes", "By"),
        ("_ratio", "1"),
        ("_tokens", "{token}"),
    ];
    let found = units
        .into_iter()
        .find_map(|(end, unit)| Some((name.strip_suffix(end)?, unit)));
    found.unwrap_or((name, ""))
}

fn numbers(rows: &[(Labels, FigureValue)], span: FigureSpan) -> Vec<NumberDataPoint> {
    let points = rows.iter().filter_map(|(labels, figure)| {
        let (start, value) = match figure {
            // A count is whole, as far as a double can count.
            FigureValue::Counter(value) => (span.start, Number::AsInt(*value as i64)),
            FigureValue::Gauge(value) => (0, Number::AsDouble(*value)),
            FigureValue::Histogram(_) => return None,
        };
        Some(NumberDataPoint {
            attributes: attributes(labels),
            start_time_unix_nano: start,
            time_unix_nano: span.end,
            value: Some(value),
        })
    });
    points.collect()
}

fn point(labels: &Labels, of: &Distribution, span: FigureSpan) -> ExponentialHistogramDataPoint {
    let (scale, buckets) = buckets(&of.exponential);
    ExponentialHistogramDataPoint {
        attributes: attributes(labels),
        start_time_unix_nano: span.start,
        time_unix_nano: span.end,
        count: of.count,
        sum: Some(of.sum),
        scale,
        zero_count: of.zero,
        positive: Some(buckets),
    }
}

/// Returns dense buckets and their scale: as fine as [`BUCKETS`] allow. OpenTelemetry's bucket of index `i` begins with
/// 2^(i / 2^scale), which does not belong to it; ours ends there, and has the index after it.
fn buckets(exponential: &BTreeMap<i32, u64>) -> (i32, Buckets) {
    let (Some((first, _)), Some((last, _))) =
        (exponential.first_key_value(), exponential.last_key_value())
    else {
        return (SCALE, Buckets::default());
    };
    let (first, last) = (first - 1, last - 1);
    let fits = |coarser: &u32| ((last >> coarser) - (first >> coarser)) < BUCKETS as i32;
    let coarser = (0..i32::BITS - 1).find(fits).unwrap_or_default();
    let offset = first >> coarser;
    let mut counts = vec![0; ((last >> coarser) - offset) as usize + 1];
    for (index, count) in exponential {
        counts[(((index - 1) >> coarser) - offset) as usize] += count;
    }
    let buckets = Buckets {
        offset,
        bucket_counts: counts,
    };
    (SCALE - coarser as i32, buckets)
}

fn attributes(labels: &Labels) -> Vec<KeyValue> {
    let all = labels.iter();
    all.map(|(key, value)| attribute(key, value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;

    fn distribution(values: impl IntoIterator<Item = u64>) -> Distribution {
        let mut histogram = Histogram::<u64>::new(3).expect("three digits");
        for value in values {
            histogram.record(value).expect("it grows");
        }
        Distribution::of(&histogram, 1.0)
    }

    /// Returns the value below which that share of a histogram's counts lie, by its buckets' borders alone.
    fn upper_border(scale: i32, buckets: &Buckets, share: f64) -> f64 {
        let all: u64 = buckets.bucket_counts.iter().sum();
        let mut below = 0;
        for (index, count) in (buckets.offset..).zip(&buckets.bucket_counts) {
            below += count;
            if below as f64 >= share * all as f64 {
                return (f64::from(index + 1) / 2f64.powi(scale)).exp2();
            }
        }
        panic!("no bucket has that share")
    }

    #[test]
    fn buckets_hold_every_latency_and_are_as_fine_as_they_may() {
        for (values, scale) in [
            ((10_000..30_000).step_by(7), 6),
            ((1_000..600_000).step_by(91), 4),
            ((1..100_000_000).step_by(30_011), 2),
        ] {
            let of = distribution(values.clone());
            let (found, buckets) = buckets(&of.exponential);
            assert_eq!(found, scale, "{values:?}");
            assert!(buckets.bucket_counts.len() <= BUCKETS);
            let all: u64 = buckets.bucket_counts.iter().sum();
            assert_eq!(all + of.zero, of.count);
            let exact: Vec<u64> = values.collect();
            let median = exact[exact.len() / 2] as f64 / 1e6;
            let border = upper_border(found, &buckets, 0.5);
            let widest = (1.0 / 2f64.powi(found)).exp2() * 1.002;
            assert!(
                (1.0 / 1.002..widest).contains(&(border / median)),
                "{border} for {median}"
            );
        }
        assert_eq!(buckets(&BTreeMap::new()), (SCALE, Buckets::default()));
    }

    #[test]
    fn a_border_belongs_to_the_bucket_that_ends_with_it() {
        // One second, 2^0, is in OpenTelemetry's bucket -1.
        let (_, buckets) = buckets(&BTreeMap::from([(0, 3)]));
        assert_eq!((buckets.offset, buckets.bucket_counts), (-1, vec![3]));
    }

    #[test]
    fn names_and_units_come_apart() {
        assert_eq!(named("request_duration_seconds"), ("request_duration", "s"));
        assert_eq!(named("received_bytes"), ("received", "By"));
        assert_eq!(named("requests"), ("requests", ""));
    }
}
