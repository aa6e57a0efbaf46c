//! A run that is exported to a collector: its sums are those of the report, and a collector that fails costs nothing.

use crate::faulty::{self, Site};
use crate::gaggle::report_of;
use crate::program::{Lgoose, plan, wait_until};
use crate::secure::{self, Authority};
use crate::server::Server;
use messages::{
    Data, ExportMetricsServiceRequest, ExportTraceServiceRequest, KeyValue, Metric, Number, Span,
    Value,
};
use prost::Message as _;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// The program's own: unit tests compare them with what another library writes.
#[path = "../../crates/otlp/src/messages.rs"]
mod messages;

/// Requests that a collector got.
#[derive(Debug, Clone)]
struct Got {
    path: String,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

/// A collector that keeps what it gets, and answers with that status.
pub(crate) struct Collector {
    pub(crate) url: String,
    got: Arc<Mutex<Vec<Got>>>,
}

impl Collector {
    pub(crate) fn start(status: &'static str) -> Collector {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("an address");
        let got = Arc::<Mutex<Vec<Got>>>::default();
        let keeping = got.clone();
        thread::spawn(move || {
            for stream in listener.incoming().filter_map(Result::ok) {
                let keeping = keeping.clone();
                thread::spawn(move || answer(stream, status, &keeping));
            }
        });
        Collector {
            url: format!("http://{address}"),
            got,
        }
    }

    fn at(&self, path: &str) -> Vec<Got> {
        let got = self.got.lock().expect("nobody has panicked");
        got.iter().filter(|one| one.path == path).cloned().collect()
    }
}

/// Answers the requests of a connection until it ends.
fn answer(stream: TcpStream, status: &str, keeping: &Mutex<Vec<Got>>) -> Option<()> {
    let mut reading = BufReader::new(stream);
    loop {
        let mut line = String::new();
        reading.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let path = line.split(' ').nth(1)?.to_owned();
        let mut headers = BTreeMap::new();
        loop {
            let mut line = String::new();
            reading.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim().split_once(": ") else {
                break;
            };
            headers.insert(name.to_lowercase(), value.to_owned());
        }
        let mut body = vec![0; headers.get("content-length")?.parse().ok()?];
        reading.read_exact(&mut body).ok()?;
        let got = Got {
            path,
            headers,
            body,
        };
        keeping.lock().ok()?.push(got);
        let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
        reading.get_mut().write_all(answer.as_bytes()).ok()?;
    }
}

fn text(attributes: &[KeyValue], key: &str) -> String {
    let found = attributes.iter().find(|known| known.key == key);
    match found.and_then(|found| found.value.clone()?.value) {
        Some(Value::StringValue(text)) => text,
        other => panic!("{key}: {other:?}"),
    }
}

/// Returns the metrics of a request by their names.
fn metrics(got: &Got) -> BTreeMap<String, Metric> {
    let request = ExportMetricsServiceRequest::decode(&*got.body).expect("a message");
    let all = request.resource_metrics.into_iter();
    let all = all
        .flat_map(|one| one.scope_metrics)
        .flat_map(|one| one.metrics);
    all.map(|metric| (metric.name.clone(), metric)).collect()
}

/// Returns the sum of all points of a counter.
fn sum(metrics: &BTreeMap<String, Metric>, name: &str) -> u64 {
    let Some(Data::Sum(sum)) = &metrics[name].data else {
        panic!("{name} is no sum");
    };
    assert!(sum.is_monotonic);
    let values = sum.data_points.iter().map(|point| match point.value {
        Some(Number::AsInt(value)) => u64::try_from(value).expect("a count"),
        other => panic!("{other:?}"),
    });
    values.sum()
}

/// Returns the only point of a gauge.
fn gauge(metrics: &BTreeMap<String, Metric>, name: &str) -> f64 {
    match &metrics[name].data {
        Some(Data::Gauge(gauge)) => match gauge.data_points[0].value {
            Some(Number::AsInt(value)) => value as f64,
            Some(Number::AsDouble(value)) => value,
            None => panic!("{name} has no value"),
        },
        other => panic!("{name}: {other:?}"),
    }
}

/// Returns all spans that a collector got.
pub(crate) fn spans(collector: &Collector) -> Vec<Span> {
    let mut spans = Vec::new();
    for got in collector.at("/v1/traces") {
        let request = ExportTraceServiceRequest::decode(&*got.body).expect("a message");
        let all = request.resource_spans.into_iter();
        spans.extend(
            all.flat_map(|one| one.scope_spans)
                .flat_map(|one| one.spans),
        );
    }
    spans
}

const PLAN: &str = "task { function(user)\n  \
    user:get(\"/\", { name = \"front\" }) user:get(\"/status/404?\" .. user.id, { name = \"missing\" })\n  \
    user:wait(0.05)\nend }";

#[test]
fn a_collector_has_the_sums_of_the_report_and_a_span_of_each_exemplar() {
    let (server, path, collector) = (
        Server::start(),
        plan("otlp.lua", PLAN),
        Collector::start("200 OK"),
    );
    let url = server.url();
    let arguments = [
        &*path,
        "-H",
        &url,
        "-u",
        "4",
        "-r",
        "100",
        "-t",
        "3s",
        "-o",
        "json=-",
        "--otlp",
        &collector.url,
    ];
    let run = Lgoose::new(arguments)
        .env("OTEL_METRIC_EXPORT_INTERVAL", "400")
        .env("OTEL_EXPORTER_OTLP_HEADERS", "api-key=k%2C1")
        .env("OTEL_RESOURCE_ATTRIBUTES", "stage=test");
    let (report, warnings) = report_of(run.finish());
    assert!(
        !warnings.iter().any(|text| text.contains("OTLP")),
        "{warnings:?}"
    );
    let exports = collector.at("/v1/metrics");
    assert!(exports.len() >= 4, "{} exports", exports.len());
    for got in &exports {
        assert_eq!(got.headers["content-type"], "application/x-protobuf");
        assert_eq!(got.headers["api-key"], "k,1");
    }
    let counts: Vec<u64> = exports
        .iter()
        .map(|got| sum(&metrics(got), "lgoose.requests"))
        .collect();
    assert!(counts.is_sorted(), "{counts:?}");
    let last = exports.last().expect("there are some");
    let of_run = ExportMetricsServiceRequest::decode(&*last.body).expect("a message");
    let resource = of_run.resource_metrics[0]
        .resource
        .clone()
        .expect("a resource");
    assert_eq!(text(&resource.attributes, "service.name"), "lgoose");
    assert_eq!(text(&resource.attributes, "lgoose.plan"), path);
    assert_eq!(text(&resource.attributes, "stage"), "test");
    let metrics = metrics(last);
    assert_eq!(sum(&metrics, "lgoose.requests"), server.received());
    assert_eq!(
        sum(&metrics, "lgoose.request_failures"),
        report.failures("GET missing")
    );
    let iterations = report.json["scenarios"][0]["iterations"].as_u64();
    assert_eq!(Some(sum(&metrics, "lgoose.iterations")), iterations);
    assert_eq!(gauge(&metrics, "lgoose.users"), 0.0);
    assert_eq!(gauge(&metrics, "lgoose.scenario_users"), 0.0);
    assert_eq!(metrics["lgoose.received"].unit, "By");
    let duration = &metrics["lgoose.request_duration"];
    assert_eq!(duration.unit, "s");
    let Some(Data::ExponentialHistogram(histogram)) = &duration.data else {
        panic!("{duration:?}");
    };
    assert_eq!(histogram.data_points.len(), 2);
    let mut counted = 0;
    for point in &histogram.data_points {
        let buckets = point.positive.as_ref().expect("latencies are above 0");
        let all: u64 = buckets.bucket_counts.iter().sum();
        assert_eq!(all + point.zero_count, point.count);
        counted += point.count;
    }
    assert_eq!(counted, server.received());

    let spans = spans(&collector);
    let errors = report.json["errors"].as_array().expect("a list");
    let exemplars: Vec<_> = errors
        .iter()
        .flat_map(|row| row["exemplars"].as_array().expect("a list"))
        .collect();
    assert!(!exemplars.is_empty() && spans.len() >= exemplars.len());
    for exemplar in exemplars {
        let url = exemplar["url"].as_str().expect("a text");
        let own: Vec<_> = spans
            .iter()
            .filter(|span| text(&span.attributes, "url.full") == url)
            .collect();
        let latency_ns = exemplar["latency_ms"].as_f64().expect("a number") * 1e6;
        let lasted = |one: u64, other: u64| (one - other) as f64;
        assert!(
            own.iter().any(|span| {
                let took = lasted(span.end_time_unix_nano, span.start_time_unix_nano);
                (took - latency_ns).abs() <= 1.0
            }),
            "{exemplar} {own:?}"
        );
    }
}

#[test]
fn requests_of_language_models_have_the_names_of_the_conventions_for_them() {
    let collector = Collector::start("200 OK");
    let text = "local llm = require 'lgoose.llm'\nplan { host = 'demo:llm' }\ntask { function(user)\n  \
                llm.chat(user, { model = 'demo-fast', messages = { { role = 'user', content = 'hello' } }, max_tokens = 4 })\nend }";
    let path = plan("otlp_llm.lua", text);
    let arguments = [
        &*path,
        "-u",
        "2",
        "-i",
        "2",
        "-o",
        "json=-",
        "--otlp",
        &collector.url,
    ];
    let (report, _) = report_of(Lgoose::new(arguments).finish());
    let exports = collector.at("/v1/metrics");
    let last = metrics(exports.last().expect("there are some"));
    let Some(Data::ExponentialHistogram(durations)) =
        &last["gen_ai.client.operation.duration"].data
    else {
        panic!("it is no histogram");
    };
    let [point] = &durations.data_points[..] else {
        panic!("one row");
    };
    assert_eq!(point.count, 4);
    for (key, value) in [
        ("gen_ai.operation.name", "chat"),
        ("gen_ai.provider.name", "openai"),
        ("lgoose.request.name", "chat"),
    ] {
        assert_eq!(self::text(&point.attributes, key), value);
    }
    let rows = report.json["metrics"].as_array().expect("metrics");
    let tokens = rows.iter().filter_map(|row| {
        let name = row["name"].as_str()?;
        name.ends_with("put_tokens")
            .then(|| row["value"].as_f64())?
    });
    let usage = &last["gen_ai.client.token.usage"];
    assert_eq!(usage.unit, "{token}");
    assert_eq!(sum(&last, &usage.name) as f64, tokens.sum::<f64>());
    let first = gauge(&last, "gen_ai.client.operation.time_to_first_chunk");
    assert!(first > 0.0 && last[&usage.name].description.contains("Tokens"));
}

#[test]
fn figures_begin_at_the_end_of_the_warm_up() {
    let (server, collector) = (Server::start(), Collector::start("200 OK"));
    let (url, path) = (server.url(), plan("otlp_warmup.lua", PLAN));
    let load = "-u 4 -r 100 -t 2500ms --warmup 1s -o json=- --otlp".split(' ');
    let arguments = [&*path, "-H", &url].into_iter().chain(load);
    let run = Lgoose::new(arguments.chain([&*collector.url]));
    let run = run.env("OTEL_METRIC_EXPORT_INTERVAL", "200");
    let (report, _) = report_of(run.finish());
    let exports = collector.at("/v1/metrics");
    let starts: Vec<u64> = exports
        .iter()
        .filter_map(|got| match &metrics(got).get("lgoose.requests")?.data {
            Some(Data::Sum(sum)) => Some(sum.data_points[0].start_time_unix_nano),
            other => panic!("{other:?}"),
        })
        .collect();
    let origin = report.json["origin_ns"].as_u64().expect("a number");
    assert!(origin >= 1_000_000_000);
    let (first, last) = (starts[0], starts[starts.len() - 1]);
    assert!(
        (999_000_000..=origin).contains(&(last - first)),
        "{starts:?}"
    );
    // One start before the end of the warm-up, and one after it.
    let mut all = starts.clone();
    all.dedup();
    assert_eq!(all, [first, last]);
}

#[test]
fn a_collector_that_refuses_or_is_away_is_told_and_costs_the_run_nothing() {
    let server = Server::start();
    let url = server.url();
    let path = plan("otlp_away.lua", PLAN);
    let refusing = Collector::start("503 Service Unavailable");
    // Nothing listens there, and no other test can come to.
    let away = "http://127.0.0.1:1".to_owned();
    // Takes connections, and never answers.
    let mute = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let silent = format!("http://{}", mute.local_addr().expect("an address"));
    for (collector, why) in [
        (&refusing.url, "503 Service Unavailable"),
        (&away, "refused"),
        (&silent, "did not answer in time"),
    ] {
        let before = server.received();
        let arguments = [
            &*path, "-H", &url, "-u", "2", "-r", "100", "-t", "2s", "-o", "json=-", "--otlp",
            collector,
        ];
        let run = Lgoose::new(arguments)
            .env("OTEL_METRIC_EXPORT_INTERVAL", "300")
            .env("OTEL_EXPORTER_OTLP_TIMEOUT", "500");
        let (report, warnings) = report_of(run.finish());
        assert_eq!(report.sent(), server.received() - before);
        let told = warnings
            .iter()
            .find(|text| text.contains("exports by OTLP failed"));
        assert!(told.is_some_and(|told| told.contains(why)), "{warnings:?}");
        // None of them has arrived.
        let words: Vec<&str> = told.into_iter().flat_map(|told| told.split(' ')).collect();
        assert_eq!(words[0], words[2], "{warnings:?}");
    }
}

#[test]
fn a_collector_over_tls_is_trusted_and_shown_who_one_is_by_the_files_of_the_variables() {
    let authority = Authority::new();
    let ca = authority.file("otlp_ca.pem");
    let [cert, key] = authority.sign(&["client"]).files("otlp");
    let config = secure::server(&authority.sign(&["127.0.0.1"]), Some(&authority));
    let collector = Site::secure(config, |_| faulty::answer(200, "", ""));
    let (server, path) = (Server::start(), plan("otlp_tls.lua", PLAN));
    let (host, url) = (server.url(), collector.url());
    let arguments = [
        &*path, "-H", &host, "-u", "2", "-r", "100", "-t", "1s", "-o", "json=-", "--otlp", &url,
    ];
    let variable = |name: &str| format!("OTEL_EXPORTER_OTLP_{name}");
    let all = [
        ("CERTIFICATE", &ca),
        ("CLIENT_CERTIFICATE", &cert),
        ("CLIENT_KEY", &key),
    ];
    let run = |files: &[(&str, &String)]| {
        let run = Lgoose::new(arguments);
        let files = files.iter();
        files.fold(run, |run, (name, file)| run.env(&variable(name), file))
    };
    let (_, warnings) = report_of(run(&all).finish());
    let told = |text: &String| text.contains("OTLP");
    assert!(!warnings.iter().any(told), "{warnings:?}");
    let exports = collector.asked_for("/v1/metrics").len();
    assert!(exports > 0);
    for (files, why) in [
        (&all[..1], "CertificateRequired"),
        (&all[1..], "UnknownIssuer"),
    ] {
        let (_, warnings) = report_of(run(files).finish());
        let told = warnings.iter().find(|text| told(text));
        assert!(told.is_some_and(|told| told.contains(why)), "{warnings:?}");
    }
    assert_eq!(collector.asked_for("/v1/metrics").len(), exports);
    let mistaken = run(&all[..2]).finish();
    assert_eq!(mistaken.code, 2, "{}", mistaken.stderr);
    let message = "the variable OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE is set without the other one";
    assert!(mistaken.stderr.contains(message), "{}", mistaken.stderr);
}

#[test]
fn what_cannot_be_exported_is_told_before_anything_is_sent() {
    let server = Server::start();
    let (url, path) = (server.url(), plan("otlp_wrong.lua", PLAN));
    let arguments = [
        &*path,
        "-H",
        &url,
        "-t",
        "1s",
        "--otlp",
        "http://127.0.0.1:9",
    ];
    for (name, value, told) in [
        (
            "OTEL_EXPORTER_OTLP_HEADERS",
            "no pair",
            "OTEL_EXPORTER_OTLP_HEADERS",
        ),
        (
            "OTEL_EXPORTER_OTLP_HEADERS",
            "api key=s3cret",
            "cannot be sent: 'api key'",
        ),
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "zip", "gzip or none"),
    ] {
        // Workers would be waited for at a broker that is not there.
        for workers in [&[][..], &["--workers", "2", "--nats", "nats://127.0.0.1:9"]] {
            let arguments = arguments.iter().chain(workers);
            let ended = Lgoose::new(arguments).env(name, value).finish();
            assert_eq!((ended.code, server.received()), (2, 0), "{}", ended.stderr);
            assert!(ended.stderr.contains(told), "{}", ended.stderr);
            assert!(!ended.stderr.contains("s3cret"), "{}", ended.stderr);
        }
    }
}

#[test]
fn whoever_aborts_waits_for_no_collector() {
    let server = Server::start();
    let (url, path) = (server.url(), plan("otlp_abort.lua", PLAN));
    let mute = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let silent = format!("http://{}", mute.local_addr().expect("an address"));
    let arguments = [
        &*path, "-H", &url, "-t", "60s", "-o", "json=-", "--otlp", &silent,
    ];
    let running = Lgoose::new(arguments).start();
    wait_until("users work", || server.received() > 20);
    running.interrupt();
    // The first one has stopped the run, whose last export is under way.
    thread::sleep(Duration::from_millis(500));
    assert!(!running.has_ended(), "the last export takes five seconds");
    running.interrupt();
    let (report, warnings) = report_of(running.end());
    assert_eq!(report.sent(), server.received());
    assert!(
        warnings
            .iter()
            .any(|text| text.contains("the run was aborted")),
        "{warnings:?}"
    );
}
