//! Requests of a snapshot as JSON: by name, in total, and for one tag. The figures have the names of the report.

#[cfg(feature = "web")]
use crate::metrics::LiveTag;
use crate::metrics::{LiveRequests, LiveRow};
use serde::Serialize;
use std::time::Duration;

/// The requests with one tag.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg(feature = "web")]
pub(crate) struct OneTag<'a> {
    /// The tag with its value, such as `region=eu`.
    tag: &'a str,
    requests: Vec<Row<'a>>,
    aggregated: Total,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Row<'a> {
    method: &'a str,
    name: &'a str,
    #[serde(flatten)]
    figures: Figures,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Total {
    #[serde(flatten)]
    figures: Figures,
    bytes: u64,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Figures {
    count: u64,
    failures: u64,
    rate: f64,
    /// Requests per second over the last 10 s; `failures_now` covers the same time.
    rate_now: f64,
    failures_now: f64,
    latency_ms: Option<Latency>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Latency {
    max: f64,
    p50: f64,
    p95: f64,
    p99: f64,
}

#[cfg(feature = "web")]
impl<'a> OneTag<'a> {
    pub(crate) fn of(tag: &'a LiveTag) -> OneTag<'a> {
        OneTag {
            tag: &tag.tag,
            requests: tag.requests.rows.iter().map(Row::of).collect(),
            aggregated: Total::of(&tag.requests),
        }
    }
}

impl<'a> Row<'a> {
    pub(super) fn of(row: &'a LiveRow) -> Row<'a> {
        Row {
            method: &row.method,
            name: &row.name,
            figures: Figures::of(row),
        }
    }
}

impl Total {
    pub(super) fn of(requests: &LiveRequests) -> Total {
        Total {
            figures: Figures::of(&requests.total),
            bytes: requests.bytes,
        }
    }
}

impl Figures {
    fn of(row: &LiveRow) -> Figures {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        Figures {
            count: row.count,
            failures: row.failures,
            rate: row.rate,
            rate_now: row.rate_now,
            failures_now: row.failures_now,
            latency_ms: (row.count > 0).then(|| Latency {
                max: ms(row.max),
                p50: ms(row.p50),
                p95: ms(row.p95),
                p99: ms(row.p99),
            }),
        }
    }
}
