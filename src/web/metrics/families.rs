//! What is told as metrics, and under which names and labels. `docs/web.md` lists them.

use super::family::{Family, Figure, Labels, by_status, counter, family, flag, gauge, latencies};
use super::{machines, plan};
use crate::metrics::{Figures, Report, RequestRow, RunPhase, Snapshot};

/// Returns all metrics of a run.
pub(super) fn of(report: &Report, now: &Snapshot) -> Vec<Family> {
    let mut families = requests(report);
    families.extend(load(report, now));
    families.extend(plan::judged(report));
    families.extend(plan::custom(&report.metrics));
    families.extend(machines::generator(now));
    families.extend(machines::workers(report, now));
    families
}

/// Returns the labels of a request.
fn named(row: &RequestRow) -> Labels {
    vec![("method", row.method.clone()), ("name", row.name.clone())]
}

fn requests(report: &Report) -> Vec<Family> {
    let rows = &report.requests;
    let each = |figure: fn(&Figures) -> Figure| {
        rows.iter()
            .map(move |row| (named(row), figure(&row.figures)))
    };
    vec![
        family(
            "requests",
            "Requests by the status of their final answer; 0 is no answer",
            rows.iter()
                .flat_map(|row| by_status(&named(row), &row.figures)),
        ),
        family(
            "request_failures",
            "Failed requests",
            each(|all| counter(all.failures)),
        ),
        family(
            "received_bytes",
            "Bytes received",
            each(|all| counter(all.bytes)),
        ),
        family(
            "request_duration_seconds",
            "Latency of all requests, failed ones at the time they took",
            rows.iter()
                .filter_map(|row| Some((named(row), latencies(&row.figures)?))),
        ),
    ]
}

fn load(report: &Report, now: &Snapshot) -> Vec<Family> {
    let scenario = |name: &str| vec![("scenario", name.to_owned())];
    let wanted = now.progress.wanted;
    let phase = now.progress.phase;
    let run = vec![
        ("plan", report.plan.clone()),
        ("host", report.host.clone()),
        ("version", report.version.clone()),
    ];
    let mut families = vec![
        family("run", "The run, always 1", [(run, Figure::Gauge(1.0))]),
        family(
            "phase",
            "The phase of the run, 1 for that of now",
            RunPhase::ALL.map(|one| (vec![("phase", one.name().to_owned())], flag(one == phase))),
        ),
        gauge(
            "run_seconds",
            "Seconds since the run began",
            now.progress.elapsed.as_secs_f64(),
        ),
        gauge(
            "measured_seconds",
            "Seconds that the figures cover, without pauses",
            report.elapsed_s,
        ),
        gauge("users", "Users at work now", now.users as f64),
        gauge(
            "users_wanted",
            "Users that the run is on its way to",
            wanted.users as f64,
        ),
        family(
            "scenario_users",
            "Users of a scenario now",
            now.scenarios
                .iter()
                .map(|row| (scenario(&row.name), Figure::Gauge(row.users as f64))),
        ),
        family(
            "iterations",
            "Iterations that were completed",
            now.scenarios
                .iter()
                .map(|row| (scenario(&row.name), counter(row.iterations))),
        ),
        gauge(
            "connections",
            "Connections open now",
            now.connections as f64,
        ),
    ];
    if let Some(rate) = wanted.rate {
        families.push(gauge(
            "rate_wanted",
            "Iterations per second that the run is on its way to",
            rate,
        ));
    }
    if let Some(arrivals) = &report.arrivals {
        let dropped = counter(arrivals.dropped);
        let help = "Iterations that found no free user, in a run at a rate";
        families.push(family(
            "iterations_dropped",
            help,
            [(Labels::new(), dropped)],
        ));
    }
    families
}

#[cfg(test)]
mod tests {
    use super::super::encoding::Encoding;
    use super::*;
    use crate::metrics::{LiveWorker, WorkerState};
    use crate::output::fixture;

    fn text(report: &Report) -> String {
        let text = Encoding::Text.write(of(report, &Snapshot::default()));
        String::from_utf8(text.expect("it is written")).expect("UTF-8")
    }

    /// Returns the sum of all figures of that name.
    fn sum(text: &str, name: &str) -> f64 {
        let lines = text.lines().filter(|line| {
            line.strip_prefix(name)
                .is_some_and(|rest| rest.starts_with(['{', ' ']))
        });
        lines
            .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
            .sum()
    }

    #[test]
    fn figures_are_those_of_the_report() {
        let report = fixture::report();
        let text = text(&report);
        assert!(text.ends_with("# EOF\n"), "{text}");
        assert_eq!(
            sum(&text, "lgoose_requests_total"),
            report.aggregated.count as f64
        );
        assert_eq!(
            sum(&text, "lgoose_request_failures_total"),
            report.aggregated.failures as f64
        );
        assert_eq!(
            sum(&text, "lgoose_request_duration_seconds_count"),
            report.aggregated.count as f64
        );
        for row in &report.requests {
            let labels = format!("{{method=\"{}\",name=\"{}\"", row.method, row.name);
            assert!(text.contains(&labels), "{labels}");
        }
        let workers = self::text(&fixture::gaggle());
        assert!(
            workers.contains("lgoose_label_requests_total{label=\"region="),
            "{workers}"
        );
    }

    #[test]
    fn workers_are_told_apart() {
        let worker = |name: &str, state| LiveWorker {
            name: name.into(),
            requests: 7,
            state,
            ..LiveWorker::default()
        };
        let now = Snapshot {
            workers: [
                worker("one", WorkerState::Running),
                worker("two", WorkerState::Lost),
            ]
            .into(),
            ..Snapshot::default()
        };
        let text = Encoding::Text.write(of(&Report::default(), &now));
        let text = String::from_utf8(text.expect("it is written")).expect("UTF-8");
        for line in [
            "lgoose_worker_requests_total{worker=\"one\"} 7.0",
            "lgoose_worker_up{worker=\"one\"} 1.0",
            "lgoose_worker_up{worker=\"two\"} 0.0",
        ] {
            assert!(text.lines().any(|known| known == line), "{line}: {text}");
        }
    }

    #[test]
    fn hostile_names_stay_within_their_labels() {
        let text = text(&fixture::hostile());
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            assert!(line.starts_with("lgoose_"), "{line}");
            let (_, value) = line.rsplit_once(' ').expect("a value");
            assert!(value.parse::<f64>().is_ok(), "{line}");
        }
    }

    #[test]
    fn every_metric_is_in_the_docs() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/web.md");
        let docs = std::fs::read_to_string(path).expect("it is there");
        for family in of(&fixture::report(), &Snapshot::default()) {
            let name = format!("`lgoose_{}", family.name);
            assert!(docs.contains(&name), "{name} is not in docs/web.md");
        }
    }

    #[test]
    fn protobuf_is_written_too() {
        let report = fixture::report();
        let bytes = Encoding::Protobuf.write(of(&report, &Snapshot::default()));
        let bytes = bytes.expect("it is written");
        assert!(bytes.len() > 1_000, "{} bytes", bytes.len());
    }
}
