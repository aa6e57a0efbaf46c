//! A snapshot as JSON, for programs that follow a run from outside. Names and shapes are those of the report; current
//! values end in `_now`: `users_now`, `rate_now`.

use super::requests::{JsonRequest, JsonTotal};
use lgoose_judgement::{Diagnosis, measured_until_now};
use lgoose_metrics::{
    Check, ErrorRow, Event, LiveLoad, LiveWorker, Metric, ScenarioArrivals, ScenarioRow,
    SeriesPoint, Snapshot, ThresholdRow, WorkerState,
};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// A snapshot of a run, with the names of a report.
#[derive(Debug, Serialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
#[cfg_attr(any(test, feature = "test-support"), schemars(rename = "Live"))]
pub struct JsonSnapshot<'a> {
    /// `running`, `paused` or `stopping`.
    pub phase: &'static str,
    /// The load that the run aims at.
    pub wanted: JsonAim,
    /// Seconds since the start of the run, including pauses and the time before a reset.
    pub run_s: f64,
    /// Seconds since the run began.
    pub elapsed_s: f64,
    paused_s: f64,
    /// Users at work.
    pub users_now: u64,
    warnings: &'a [String],
    /// The diagnosis of the run; `null` if nothing is wrong.
    diagnosis: Option<JsonDiagnosis>,
    requests: Vec<JsonRequest<'a>>,
    /// All requests together.
    pub aggregated: JsonTotal,
    /// Tags that requests have, such as `region=eu`; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<&'a str>,
    scenarios: Vec<JsonScenario<'a>>,
    /// Points of the last two minutes.
    series: &'a [SeriesPoint],
    checks: &'a [Check],
    metrics: &'a [Metric],
    /// The most frequent errors.
    errors: &'a [ErrorRow],
    thresholds: &'a [ThresholdRow],
    /// The last 50 events.
    events: &'a [Event],
    #[serde(skip_serializing_if = "Option::is_none")]
    arrivals: Option<JsonArrivals>,
    connections_now: u64,
    /// Only in a run on workers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    workers: Vec<JsonWorker<'a>>,
}

/// The diagnosis of a run.
#[derive(Debug, Serialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
#[cfg_attr(any(test, feature = "test-support"), schemars(rename = "Diagnosis"))]
pub(crate) struct JsonDiagnosis {
    /// Whether more than a few fail, or a limit is broken.
    failing: bool,
    /// The kind of trouble, and since when, on the clock of the measurement and by wall clock.
    heading: String,
    /// `where`, `why`, and the part of lgoose itself: `not` or `but`; each with a sentence.
    answers: Vec<(&'static str, String)>,
}

impl JsonDiagnosis {
    fn of(diagnosis: &Diagnosis, snapshot: &Snapshot) -> JsonDiagnosis {
        JsonDiagnosis {
            failing: diagnosis.is_failing(),
            heading: diagnosis.heading(Some(measured_until_now(snapshot))),
            answers: diagnosis.findings(),
        }
    }
}

/// A worker; names are those of the report, and current values end in `_now`.
#[derive(Debug, Serialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
#[cfg_attr(any(test, feature = "test-support"), schemars(rename = "Worker"))]
pub(crate) struct JsonWorker<'a> {
    name: &'a str,
    labels: &'a BTreeMap<String, String>,
    version: &'a str,
    threads: u64,
    users_now: u64,
    requests: u64,
    failures: u64,
    rate_now: f64,
    p95_ms: Option<f64>,
    busy_now: f64,
    lag_now_ms: f64,
    saturated_now: bool,
    offset_ms: f64,
    offset_within_ms: f64,
    state: WorkerState,
}

/// The load that the run aims at.
#[derive(Debug, Serialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
#[cfg_attr(any(test, feature = "test-support"), schemars(rename = "Wanted"))]
pub struct JsonAim {
    /// Users.
    pub users: u64,
    /// Iterations per second; `null` in a run of users.
    rate: Option<f64>,
    /// The planned end of the run, on the clock of `run_s`; `null` for none.
    ends_s: Option<f64>,
    /// Each load, if scenarios have their own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    loads: Vec<JsonLoad>,
}

/// One of several loads of a run.
#[derive(Debug, Serialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
#[cfg_attr(any(test, feature = "test-support"), schemars(rename = "Load"))]
pub(crate) struct JsonLoad {
    /// The scenario that has this load of its own; `null` for the load that all others share.
    scenario: Option<String>,
    /// The target number of users, even before the load begins; for a load at a rate, the most users at the same time.
    users: u64,
    /// The target iterations per second; `null` for a load of users.
    rate: Option<f64>,
    /// Whether the load has begun and not yet ended.
    under_way: bool,
}

#[derive(Debug, Serialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
#[cfg_attr(any(test, feature = "test-support"), schemars(rename = "Scenario"))]
pub(crate) struct JsonScenario<'a> {
    name: &'a str,
    users_now: u64,
    iterations: u64,
    /// Iterations that were due in a run at a rate.
    arrivals: Option<ScenarioArrivals>,
    /// Users that an error ended in `on_start`.
    users_lost: u64,
}

#[derive(Debug, Serialize)]
#[cfg_attr(any(test, feature = "test-support"), derive(schemars::JsonSchema))]
#[cfg_attr(any(test, feature = "test-support"), schemars(rename = "Arrivals"))]
pub(crate) struct JsonArrivals {
    dropped: u64,
}

impl<'a> JsonSnapshot<'a> {
    /// Makes the snapshot as it is written.
    pub fn of(snapshot: &'a Snapshot) -> JsonSnapshot<'a> {
        let aim = snapshot.progress.wanted;
        let scenario = |row: &'a ScenarioRow| JsonScenario {
            name: &row.name,
            users_now: row.users,
            iterations: row.iterations,
            arrivals: row.arrivals,
            users_lost: row.users_lost,
        };
        JsonSnapshot {
            phase: snapshot.progress.phase.name(),
            wanted: JsonAim {
                users: aim.users,
                rate: aim.rate,
                ends_s: aim.ends.map(|ends| ends.as_secs_f64()),
                loads: snapshot.loads.iter().map(JsonLoad::of).collect(),
            },
            run_s: snapshot.progress.elapsed.as_secs_f64(),
            elapsed_s: snapshot.progress.active.as_secs_f64(),
            paused_s: snapshot
                .progress
                .measured
                .saturating_sub(snapshot.progress.active)
                .as_secs_f64(),
            users_now: snapshot.users,
            warnings: &snapshot.warnings,
            diagnosis: Diagnosis::of_snapshot(snapshot)
                .map(|diagnosis| JsonDiagnosis::of(&diagnosis, snapshot)),
            requests: snapshot.requests.rows.iter().map(JsonRequest::of).collect(),
            aggregated: JsonTotal::of(&snapshot.requests),
            tags: snapshot.tags.iter().map(|tag| &**tag).collect(),
            scenarios: snapshot.scenarios.iter().map(scenario).collect(),
            series: &snapshot.recent,
            checks: &snapshot.checks,
            metrics: &snapshot.metrics,
            errors: &snapshot.errors,
            thresholds: &snapshot.thresholds,
            events: &snapshot.events,
            arrivals: aim.rate.map(|_| JsonArrivals {
                dropped: snapshot.arrivals.dropped,
            }),
            connections_now: snapshot.connections,
            workers: snapshot.workers.iter().map(JsonWorker::of).collect(),
        }
    }
}

impl JsonLoad {
    fn of(load: &LiveLoad) -> JsonLoad {
        JsonLoad {
            scenario: load.scenario.as_deref().map(str::to_owned),
            users: load.users,
            rate: load.rate,
            under_way: load.is_under_way,
        }
    }
}

impl JsonWorker<'_> {
    fn of(row: &LiveWorker) -> JsonWorker<'_> {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        JsonWorker {
            name: &row.name,
            labels: &row.labels,
            version: &row.version,
            threads: row.threads,
            users_now: row.users,
            requests: row.requests,
            failures: row.failures,
            rate_now: row.rate_now,
            p95_ms: (row.requests > 0).then(|| ms(row.p95)),
            busy_now: row.busy,
            lag_now_ms: ms(row.lag),
            saturated_now: row.saturated,
            offset_ms: row.offset_ms,
            offset_within_ms: row.offset_within_ms,
            state: row.state,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::json::snapshot;
    use lgoose_metrics::fixture as stories;
    use lgoose_metrics::{Aim, LiveRequests, LiveRow, Progress};
    use serde_json::Value;
    use std::path::Path;

    /// A snapshot of a run at a rate that has everything a snapshot can have.
    fn moment() -> Snapshot {
        let report = fixture::report();
        let row = LiveRow {
            method: "GET".into(),
            name: "front \u{1b}page".into(),
            count: 7,
            failures: 1,
            rate: 2.5,
            rate_now: 3.5,
            failures_now: 0.5,
            p50: Duration::from_millis(4),
            p95: Duration::from_millis(5),
            p99: Duration::from_millis(6),
            max: Duration::from_millis(7),
            ..LiveRow::default()
        };
        Snapshot {
            progress: Progress {
                wanted: Aim {
                    users: 20,
                    rate: Some(3.0),
                    ends: Some(Duration::from_secs(60)),
                    lasts: Some(Duration::from_secs(60)),
                    ..Aim::default()
                },
                elapsed: Duration::from_secs(9),
                measured: Duration::from_secs(7),
                active: Duration::from_secs(5),
                ..Progress::default()
            },
            requests: LiveRequests {
                bytes: 99,
                bytes_sent: 9,
                total: row.clone(),
                rows: vec![row, LiveRow::default()],
                ..LiveRequests::default()
            },
            loads: [LiveLoad {
                scenario: Some("buyers".into()),
                users: 9,
                rate: Some(3.0),
                is_under_way: true,
            }]
            .into(),
            tags: ["region=eu \u{1b}".into()].into(),
            users: 12,
            scenarios: report.scenarios.clone(),
            checks: report.checks.clone().into(),
            metrics: report.metrics.clone().into(),
            errors: report.errors.clone(),
            thresholds: report.thresholds.clone(),
            recent: report.series.clone(),
            warnings: report.warnings.clone().into(),
            workers: [LiveWorker {
                requests: 1,
                labels: fixture::gaggle().workers[0].labels.clone().into(),
                ..LiveWorker::default()
            }]
            .into(),
            ..Snapshot::default()
        }
    }

    /// The schema of reports in which every key is optional.
    fn partial(schema: &Value) -> Value {
        match schema {
            Value::Object(map) => map
                .iter()
                .filter(|(key, value)| *key != "required" || !value.is_array())
                .map(|(key, value)| (key.clone(), partial(value)))
                .collect(),
            Value::Array(values) => values.iter().map(partial).collect(),
            other => other.clone(),
        }
    }

    /// The keys of `live` that `report` does not have at that place, as `requests/rate_now`.
    fn more_than(live: &Value, report: &Value, at: &str, found: &mut Vec<String>) {
        match (live, report) {
            (Value::Object(live), Value::Object(report)) => {
                for (key, value) in live {
                    let at = format!("{at}/{key}");
                    match report.get(key) {
                        Some(same) => more_than(value, same, &at, found),
                        None => found.push(at),
                    }
                }
            }
            (Value::Array(live), Value::Array(report)) => {
                if let (Some(live), Some(report)) = (live.first(), report.first()) {
                    more_than(live, report, at, found);
                }
            }
            _ => {}
        }
    }

    #[test]
    fn what_a_report_has_too_has_its_names_and_types() {
        let text = snapshot(&moment()).expect("plain data");
        let live: Value = serde_json::from_str(&text).expect("JSON");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema/report.schema.json");
        let schema = std::fs::read_to_string(path).expect("it is checked in");
        let schema: Value = serde_json::from_str(&schema).expect("JSON");
        let validator = jsonschema::validator_for(&partial(&schema)).expect("a schema");
        let errors = validator.iter_errors(&live);
        let errors: Vec<_> = errors
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{errors:#?}");
        let mut report = fixture::gaggle();
        report.arrivals = Some(lgoose_metrics::ArrivalsRow {
            started: 1,
            dropped: 0,
            delay_ms: None,
            missing: 0,
        });
        let report = serde_json::to_value(report).expect("plain data");
        let mut more = Vec::new();
        more_than(&live, &report, "", &mut more);
        more.sort_unstable();
        let of_a_moment = [
            "/aggregated/failures_now",
            "/aggregated/rate_now",
            "/connections_now",
            "/diagnosis",
            "/phase",
            "/requests/failures_now",
            "/requests/rate_now",
            "/run_s",
            "/scenarios/users_now",
            "/tags",
            "/users_now",
            "/wanted",
            "/workers/busy_now",
            "/workers/lag_now_ms",
            "/workers/rate_now",
            "/workers/saturated_now",
            "/workers/users_now",
        ];
        assert_eq!(more, of_a_moment, "keys that no report has");
    }

    #[test]
    fn the_page_is_given_whether_all_is_well_and_else_where_since_when_and_why() {
        for story in stories::stories() {
            let snapshot = &*story.snapshot;
            let live = serde_json::to_value(JsonSnapshot::of(snapshot)).expect("JSON");
            let diagnosis = &live["diagnosis"];
            let answers = diagnosis["answers"].as_array().into_iter().flatten();
            let answers = answers.map(|pair| pair[1].as_str().expect("a text"));
            let shown: Vec<&str> = diagnosis["heading"]
                .as_str()
                .into_iter()
                .chain(answers)
                .collect();
            let measured = jiff::SignedDuration::try_from(snapshot.progress.measured);
            let clocks =
                stories::clocks(&story, jiff::Timestamp::now() - measured.expect("a time"));
            let missing = stories::unanswered(&story, &shown.join("\n"), &clocks);
            assert!(
                missing.is_empty(),
                "{}: {missing:?} in {diagnosis}",
                story.title
            );
        }
    }

    #[test]
    fn figures_are_those_of_the_snapshot() {
        let text = snapshot(&moment()).expect("plain data");
        assert!(!text.contains(['\n', '\u{1b}']), "{text}");
        let live: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(live["phase"], "running");
        assert_eq!(live["wanted"]["ends_s"], 60.0);
        let times = ["run_s", "elapsed_s", "paused_s"].map(|key| live[key].as_f64());
        assert_eq!(times, [Some(9.0), Some(5.0), Some(2.0)]);
        assert_eq!(live["requests"][0]["latency_ms"]["p95"], 5.0);
        assert_eq!(live["requests"][1]["latency_ms"], Value::Null);
        assert_eq!(live["aggregated"]["bytes"], 99);
        assert_eq!(live["aggregated"]["bytes_sent"], 9);
        let load =
            serde_json::json!({ "scenario": "buyers", "users": 9, "rate": 3.0, "under_way": true });
        assert_eq!(live["wanted"]["loads"], serde_json::json!([load]));
        assert_eq!(live["tags"][0], "region=eu \u{1b}");
        let users = Snapshot::default();
        let text = snapshot(&users).expect("plain data");
        assert!(
            ["arrivals", "workers", "tags", "loads"]
                .iter()
                .all(|key| !text.contains(key)),
            "{text}"
        );
    }
}
