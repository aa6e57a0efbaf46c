//! Requests of a snapshot as JSON: by name, in total, and for one tag. The figures have the names of the report.

use lgoose_metrics::LiveTag;
use lgoose_metrics::{LiveRequests, LiveRow};
use serde::Serialize;
use std::time::Duration;

/// The requests with one tag.
#[derive(Debug, Serialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
#[cfg_attr(any(test, feature = "test-support"), schemars(rename = "OneTag"))]
pub struct JsonTag<'a> {
    /// The tag with its value, such as `region=eu`.
    tag: &'a str,
    requests: Vec<JsonRequest<'a>>,
    aggregated: JsonTotal,
}

#[derive(Debug, Serialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
#[cfg_attr(any(test, feature = "test-support"), schemars(rename = "Row"))]
pub(crate) struct JsonRequest<'a> {
    method: &'a str,
    name: &'a str,
    #[serde(flatten)]
    figures: JsonFigures,
}

/// Figures of all requests together.
#[derive(Debug, Serialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
#[cfg_attr(any(test, feature = "test-support"), schemars(rename = "Total"))]
pub struct JsonTotal {
    #[serde(flatten)]
    figures: JsonFigures,
    bytes: u64,
    bytes_sent: u64,
    /// Percentiles of the successful requests alone; `null` if there were none.
    latency_ok_ms: Option<JsonPercentiles>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
#[cfg_attr(any(test, feature = "test-support"), schemars(rename = "Percentiles"))]
pub(crate) struct JsonPercentiles {
    p50: f64,
    p95: f64,
    p99: f64,
}

#[derive(Debug, Serialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
#[cfg_attr(any(test, feature = "test-support"), schemars(rename = "Figures"))]
pub(crate) struct JsonFigures {
    count: u64,
    failures: u64,
    rate: f64,
    /// Requests per second over the last 10 s; `failures_now` covers the same time.
    rate_now: f64,
    failures_now: f64,
    latency_ms: Option<JsonLatency>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
#[cfg_attr(any(test, feature = "test-support"), schemars(rename = "Latency"))]
pub(crate) struct JsonLatency {
    max: f64,
    p50: f64,
    p95: f64,
    p99: f64,
}

impl<'a> JsonTag<'a> {
    /// Makes the tag as it is written.
    pub fn of(tag: &'a LiveTag) -> JsonTag<'a> {
        JsonTag {
            tag: &tag.tag,
            requests: tag.requests.rows.iter().map(JsonRequest::of).collect(),
            aggregated: JsonTotal::of(&tag.requests),
        }
    }
}

impl<'a> JsonRequest<'a> {
    pub(super) fn of(row: &'a LiveRow) -> JsonRequest<'a> {
        JsonRequest {
            method: &row.method,
            name: &row.name,
            figures: JsonFigures::of(row),
        }
    }
}

impl JsonTotal {
    pub(super) fn of(requests: &LiveRequests) -> JsonTotal {
        JsonTotal {
            figures: JsonFigures::of(&requests.total),
            bytes: requests.bytes,
            bytes_sent: requests.bytes_sent,
            latency_ok_ms: (requests.total.count > requests.total.failures).then(|| {
                let [p50, p95, p99] = requests.ok.map(|time| time.as_secs_f64() * 1e3);
                JsonPercentiles { p50, p95, p99 }
            }),
        }
    }
}

impl JsonFigures {
    fn of(row: &LiveRow) -> JsonFigures {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        JsonFigures {
            count: row.count,
            failures: row.failures,
            rate: row.rate,
            rate_now: row.rate_now,
            failures_now: row.failures_now,
            latency_ms: (row.count > 0).then(|| JsonLatency {
                max: ms(row.max),
                p50: ms(row.p50),
                p95: ms(row.p95),
                p99: ms(row.p99),
            }),
        }
    }
}
