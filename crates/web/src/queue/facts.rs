//! The main figures of a report, read without the rest, since a list of runs reads many.

use serde::{Deserialize, Serialize};

/// Largest text from a report, in bytes.
const TEXT: usize = 1_000;

/// Main figures of a report.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Facts"))]
pub(crate) struct ReportFacts {
    /// Path of the plan, as given.
    pub(crate) plan: String,
    /// Base URL of the target.
    pub(crate) host: String,
    /// Version of lgoose that ran the test.
    pub(crate) version: String,
    /// Start of the run, RFC 3339.
    pub(crate) started: String,
    /// Seconds that the figures cover, without pauses.
    pub(crate) elapsed_s: f64,
    /// The most users at the same time.
    pub(crate) users: u64,
    /// Number of requests.
    pub(crate) requests: u64,
    /// Failed requests among them.
    pub(crate) failures: u64,
    /// 95th percentile of the latency in milliseconds; `null` without requests.
    pub(crate) p95_ms: Option<f64>,
    /// The verdict in one line; `null` if the report has none.
    pub(crate) verdict: Option<String>,
    /// Exit code of the verdict; `null` if the report has none.
    pub(crate) exit_code: Option<u8>,
}

/// The parts of a report that are read.
#[derive(Deserialize)]
struct ReportExcerpt {
    version: String,
    plan: String,
    host: String,
    started: String,
    elapsed_s: f64,
    users: u64,
    verdict: Option<FactsVerdict>,
    aggregated: Aggregated,
}

#[derive(Deserialize)]
struct FactsVerdict {
    text: String,
    exit_code: u8,
}

#[derive(Deserialize)]
struct Aggregated {
    count: u64,
    failures: u64,
    latency_ms: Option<FactsLatency>,
}

#[derive(Deserialize)]
struct FactsLatency {
    p95: f64,
}

impl ReportFacts {
    /// Reads the figures from the JSON of a report.
    ///
    /// # Errors
    /// Returns the fault of the report, in words.
    pub(super) fn read(json: &[u8]) -> Result<ReportFacts, String> {
        let read: ReportExcerpt = serde_json::from_slice(json)
            .map_err(|error| short(format!("'report.json' is not a report of lgoose: {error}")))?;
        let exit_code = read.verdict.as_ref().map(|verdict| verdict.exit_code);
        let latency = read.aggregated.latency_ms;
        Ok(ReportFacts {
            plan: short(read.plan),
            host: short(read.host),
            version: short(read.version),
            started: short(read.started),
            elapsed_s: read.elapsed_s,
            users: read.users,
            requests: read.aggregated.count,
            failures: read.aggregated.failures,
            p95_ms: latency
                .filter(|_| read.aggregated.count > 0)
                .map(|latency| latency.p95),
            verdict: read.verdict.map(|verdict| short(verdict.text)),
            exit_code,
        })
    }
}

/// Truncates a text that is longer than any that lgoose writes.
fn short(mut text: String) -> String {
    if text.len() > TEXT {
        text.truncate(text.floor_char_boundary(TEXT));
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use lgoose_metrics::Report;
    use serde_json::{Value, json};

    #[test]
    fn facts_are_those_of_the_report() {
        let mut report = Report {
            plan: "é".repeat(TEXT),
            host: "http://127.0.0.1".to_owned(),
            users: 7,
            ..Report::default()
        };
        report.aggregated.count = 3;
        report.aggregated.failures = 1;
        let json = serde_json::to_vec(&report).expect("a report");
        let facts = ReportFacts::read(&json).expect("it is one");
        assert_eq!((facts.users, facts.requests, facts.failures), (7, 3, 1));
        assert_eq!(facts.plan, format!("{}…", "é".repeat(TEXT / 2)));
        assert_eq!(facts.host, report.host);
        let text = String::from_utf8(json).expect("text");
        let mut value: Value = serde_json::from_str(&text).expect("JSON");
        value["users"] = json!("many");
        let message = ReportFacts::read(value.to_string().as_bytes()).expect_err("it is broken");
        assert!(
            message.contains("users") || message.contains("many"),
            "{message}"
        );
        let deep = "[".repeat(1_000_000);
        let half = &text[..text.floor_char_boundary(text.len() / 2)];
        for wrong in ["", "{}", "null", "\u{0}", half, &deep] {
            let message = ReportFacts::read(wrong.as_bytes()).expect_err(wrong);
            assert!(message.starts_with("'report.json' is not a report of lgoose"));
        }
    }
}
