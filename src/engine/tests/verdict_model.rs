//! A second, slow and plain implementation of thresholds, which judges by the log of requests and tasks alone: random
//! plans whose requests, tasks, transactions, checks and metrics share few names are judged by both.

use super::ms;
use super::rehearsal::TestRun;
use crate::config::Settings;
use crate::metrics::{EventKind, LogEntry, LogMessage, Report, RunLogs, ThresholdRow};
use crate::threshold::{FigureKind, LatencySubset, Threshold, Unit};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use std::sync::mpsc;
use std::time::Duration;

/// What a row of the log is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Request,
    Task,
    Check,
    Counter,
}

/// One thing that was counted.
#[derive(Debug, Clone)]
struct Row {
    kind: Kind,
    name: String,
    scenario: String,
    tags: String,
    /// When it ended, in nanoseconds since the measurement began; below 0 in the warm-up.
    end: i64,
    ms: f64,
    failed: bool,
    /// What was added to a counter.
    added: f64,
}

/// Reads the log. What a request's plan did right after it is in its path: `c=x.1` is the check 'x' that held, `m=x.3`
/// an addition to the counter 'x'.
fn rows(log: &mpsc::Receiver<LogMessage>, origin: u64) -> Vec<Row> {
    let mut rows = Vec::new();
    let since = |ns: u64| ns as i64 - origin as i64;
    while let Ok(LogMessage::Chunk(chunk)) = log.try_recv() {
        for entry in chunk.entries() {
            match entry {
                LogEntry::Request(entry) => {
                    let row = Row {
                        kind: Kind::Request,
                        name: entry.name.to_owned(),
                        scenario: entry.scenario.to_owned(),
                        tags: entry.tags.to_owned(),
                        end: since(entry.end_ns),
                        ms: (entry.end_ns - entry.start_ns) as f64 / 1e6,
                        failed: entry.error.is_some(),
                        added: 0.0,
                    };
                    let query = entry.url.split_once('?').map_or("", |(_, query)| query);
                    for (key, value) in query.split('&').filter_map(|part| part.split_once('=')) {
                        let (name, value) = value.rsplit_once('.').expect("a name and a number");
                        rows.push(Row {
                            kind: if key == "c" {
                                Kind::Check
                            } else {
                                Kind::Counter
                            },
                            name: name.to_owned(),
                            failed: value == "0",
                            added: value.parse().expect("a number"),
                            ..row.clone()
                        });
                    }
                    rows.push(row);
                }
                LogEntry::Task(entry) => rows.push(Row {
                    kind: Kind::Task,
                    name: entry.name.to_owned(),
                    scenario: entry.scenario.to_owned(),
                    tags: String::new(),
                    end: since(entry.end_ns),
                    ms: (entry.end_ns - entry.start_ns) as f64 / 1e6,
                    failed: entry.error.is_some(),
                    added: 0.0,
                }),
            }
        }
    }
    rows
}

/// Returns whether rows of a kind can have the figure of a threshold.
fn can_have(kind: Kind, of: &Threshold) -> bool {
    match of.figure {
        FigureKind::Checks => kind == Kind::Check,
        FigureKind::Value => kind == Kind::Counter,
        FigureKind::Rate if of.unit == Unit::Percent => kind == Kind::Check,
        FigureKind::Count | FigureKind::Rate => true,
        FigureKind::Failures => kind != Kind::Counter,
        _ if of.among != LatencySubset::All => kind == Kind::Request,
        _ => matches!(kind, Kind::Request | Kind::Task),
    }
}

/// Returns the rows that a threshold is about; `None` if nothing has its name.
fn subject<'a>(all: &'a [Row], declared: bool, of: &Threshold) -> Option<(Kind, Vec<&'a Row>)> {
    let Some(name) = of.name.as_deref() else {
        let kind = match of.figure {
            FigureKind::Checks => Kind::Check,
            _ => Kind::Request,
        };
        let rows: Vec<&Row> = all.iter().filter(|row| row.kind == kind).collect();
        return (kind == Kind::Request || !rows.is_empty()).then_some((kind, rows));
    };
    if name == "checks" {
        let rows: Vec<&Row> = all.iter().filter(|row| row.kind == Kind::Check).collect();
        return (!rows.is_empty()).then_some((Kind::Check, rows));
    }
    // The tag and the scenario before a name.
    let (tag, name) = name
        .split_once(", ")
        .filter(|_| name.contains('='))
        .unwrap_or(("", name));
    let (tag, name) = if name.contains('=') {
        (name, "")
    } else {
        (tag, name)
    };
    let (word, rest) = name.split_once(' ').unwrap_or(("", name));
    let meanings: Vec<(Kind, &str)> = match word {
        "task" => vec![(Kind::Task, rest)],
        "check" => vec![(Kind::Check, rest)],
        "metric" => vec![(Kind::Counter, rest)],
        "GET" => vec![(Kind::Request, rest)],
        _ => vec![
            (Kind::Request, name),
            (Kind::Task, name),
            (Kind::Counter, name),
            (Kind::Check, name),
        ],
    };
    let is_tagged = |row: &Row| match tag.split_once('=') {
        None => true,
        Some(("scenario", scenario)) => row.scenario == scenario,
        Some(_) => row.kind == Kind::Request && row.tags.split(", ").any(|one| one == tag),
    };
    let fitting = meanings.iter().filter(|(kind, _)| can_have(*kind, of));
    for (kind, name) in fitting {
        let of_tags =
            *kind == Kind::Request || (*kind == Kind::Task && tag.starts_with("scenario="));
        if !tag.is_empty() && !of_tags {
            continue;
        }
        let is_of = |row: &&Row| {
            row.kind == *kind
                && is_tagged(row)
                && (row.name == *name || name.is_empty() && row.kind == Kind::Request)
        };
        let rows: Vec<&Row> = all.iter().filter(is_of).collect();
        if !rows.is_empty() || (*kind == Kind::Counter && declared) {
            return Some((*kind, rows));
        }
    }
    None
}

/// Returns the figure of rows over so many seconds; `None` without data.
fn figure(kind: Kind, rows: &[&Row], of: &Threshold, seconds: f64) -> Option<f64> {
    let count = rows.len() as f64;
    let failures = rows.iter().filter(|row| row.failed).count() as f64;
    let sum: f64 = rows.iter().map(|row| row.added).sum();
    let mut times: Vec<f64> = rows
        .iter()
        .filter(|row| !(row.failed && of.among == LatencySubset::Ok))
        .map(|row| row.ms)
        .collect();
    times.sort_by(f64::total_cmp);
    let share = |part: f64| (count > 0.0).then(|| 100.0 * part / count);
    match of.figure {
        FigureKind::Failures if kind == Kind::Counter => None,
        FigureKind::Failures if of.unit == Unit::Percent => share(failures),
        FigureKind::Failures => (count > 0.0).then_some(failures),
        FigureKind::Checks => share(count - failures),
        FigureKind::Rate if of.unit == Unit::Percent => {
            share(count - failures).filter(|_| kind == Kind::Check)
        }
        FigureKind::Rate if kind == Kind::Counter => Some(sum / seconds),
        FigureKind::Rate => Some(count / seconds),
        FigureKind::Count | FigureKind::Value if kind == Kind::Counter => Some(sum),
        FigureKind::Count => Some(count),
        FigureKind::Max => times.last().copied(),
        FigureKind::Min => times.first().copied(),
        FigureKind::Avg => {
            (!times.is_empty()).then(|| times.iter().sum::<f64>() / times.len() as f64)
        }
        FigureKind::Percentile(percent) => {
            let rank = (percent / 100.0 * times.len() as f64).ceil().max(1.0) as usize;
            times.get(rank - 1).copied()
        }
        other => panic!("no test has {other}"),
    }
}

/// Judges a threshold: returns its figure, and whether it holds.
fn judge(all: &[Row], declared: bool, of: &Threshold, report: &Report) -> (Option<f64>, bool) {
    const SECOND: f64 = 1e9;
    let Some((kind, rows)) = subject(all, declared, of) else {
        return (None, false);
    };
    let after = of.after.map_or(0, |after| after.as_nanos() as i64);
    let end = (report.elapsed_s * SECOND).round() as i64;
    let between = |from: i64, to: i64| -> Option<f64> {
        let part: Vec<&Row> = rows
            .iter()
            .filter(|row| row.end >= from && row.end < to)
            .copied()
            .collect();
        figure(kind, &part, of, (to - from) as f64 / SECOND)
    };
    let holds = |value: Option<f64>| value.is_some_and(|value| of.holds(value));
    // Nothing of a name in what is judged is no data, but a counter that is known is 0.
    // Sums leave nothing out: 'after' says when they are looked at.
    let begin = if of.only_grows() && of.during.is_none() {
        0
    } else {
        after
    };
    let is_known = match kind {
        Kind::Counter => declared || rows.iter().any(|row| row.end >= 0),
        _ => of.name.is_none() && kind == Kind::Request || rows.iter().any(|row| row.end >= begin),
    };
    if !is_known || begin > end {
        return (None, false);
    }
    if let Some(during) = of.during {
        let length = during.as_nanos() as i64;
        let grid = 250_000_000;
        let step = (length / 60 / grid * grid).max(grid);
        let stop = report
            .events
            .iter()
            .find(|event| event.kind == EventKind::Stop);
        let stop = stop.map_or(end, |stop| (stop.at_s * SECOND).round() as i64);
        let (mut worst, mut has_stretch): (Option<f64>, bool) = (None, false);
        for to in (1..)
            .map(|n| n * step)
            .take_while(|to| *to <= stop.min(end))
        {
            if to < after + length {
                continue;
            }
            has_stretch = true;
            let from = ((to - length) / step * step).max(after);
            if let Some(value) = between(from, to) {
                worst = Some(match worst {
                    Some(worst) if of.is_upper() => worst.max(value),
                    Some(worst) => worst.min(value),
                    None => value,
                });
            }
        }
        if has_stretch {
            return (worst, holds(worst));
        }
    }
    let whole = between(begin, end + 1);
    (whole, holds(whole))
}

/// A random plan with random thresholds.
struct Case {
    source: String,
    settings: Settings,
    threads: usize,
}

const NAMES: [&str; 3] = ["front", "x", "A"];
/// Counters that the top level makes, and others.
const DECLARED: &str = "local counters = {}
for _, name in ipairs { 'front', 'x', 'A' } do counters[name] = metric.counter(name) end\n";
const MADE: &str = "local counters = setmetatable({}, { __index = function(_, name) return metric.counter(name) end })\n";

const REGIONS: [&str; 2] = ["eu", "us"];

impl Case {
    fn new(seed: u64) -> Case {
        let random = &mut StdRng::seed_from_u64(seed);
        // Declared counters have a row from the start: half of the plans have none.
        let counters = if random.random() { DECLARED } else { MADE };
        let mut source = counters.to_owned();
        for scenario in ["A", "B"].iter().take(random.random_range(1..=2)) {
            source += &format!("scenario {{ '{scenario}',\n");
            for _ in 0..random.random_range(1..=2) {
                let name = NAMES.choose(random).expect("some");
                source += &format!("  task {{ '{name}', function(user)\n{}", body(random));
                if random.random_bool(0.3) {
                    source += &format!("    if {} then error 'bad' end\n", sometimes(random));
                }
                source += "  end },\n";
            }
            source += "}\n";
        }
        let count = random.random_range(1..=4);
        let thresholds = (0..count).map(|_| threshold(random)).collect();
        let settings = Settings {
            users: Some(random.random_range(2..=4)),
            startup_time: Some(Duration::ZERO),
            iterations: Some(random.random_range(2..=6)),
            thresholds: Some(thresholds),
            warmup: random.random_bool(0.2).then(|| ms(400)),
            ..Settings::default()
        };
        Case {
            source,
            settings,
            threads: random.random_range(1..=2),
        }
    }
}

/// Returns a condition that holds in some iterations.
fn sometimes(random: &mut StdRng) -> String {
    let every = random.random_range(1..=3);
    format!(
        "user.iteration % {every} == {}",
        random.random_range(0..every)
    )
}

fn body(random: &mut StdRng) -> String {
    let mut body = String::new();
    for _ in 0..random.random_range(1..=3) {
        let name = NAMES.choose(random).expect("some");
        let mut path = "'/p?'".to_owned();
        let mut then = String::new();
        if random.random_bool(0.3) {
            let held = sometimes(random);
            path += &format!(" .. 'c={name}.' .. ({held} and 1 or 0)");
            then = format!("    check({held}, '{name}')\n");
        } else if random.random_bool(0.3) {
            path += &format!(" .. 'm={name}.2'");
            then = format!("    counters['{name}']:add(2)\n");
        }
        let own = if random.random() {
            format!("name = '{}', ", NAMES.choose(random).expect("some"))
        } else {
            String::new()
        };
        let tags = if random.random_bool(0.4) {
            format!(
                "tags = {{ region = '{}' }}, ",
                REGIONS.choose(random).expect("some")
            )
        } else {
            String::new()
        };
        let fails = sometimes(random);
        let request = format!(
            "    user:get({path}, {{ {own}{tags}expect = {{ status = ({fails}) and 404 or 200 }} }})\n{then}"
        );
        if random.random_bool(0.2) {
            body += &format!("    user:transaction('{name}', function()\n{request}    end)\n");
        } else {
            body += &request;
        }
        if random.random_bool(0.4) {
            body += &format!(
                "    user:wait({})\n",
                random.random_range(1..=7) as f64 / 10.0 + 0.0137
            );
        }
    }
    body
}

fn threshold(random: &mut StdRng) -> Threshold {
    let name = NAMES.choose(random).expect("some");
    let name = match random.random_range(0..12) {
        0 => String::new(),
        1 => format!("GET {name}: "),
        2 => format!("task {name}: "),
        3 => format!("check {name}: "),
        4 => format!("metric {name}: "),
        5 => format!("scenario=A, {name}: "),
        6 => format!("scenario=B, task {name}: "),
        7 => "region=eu: ".to_owned(),
        8 => format!("region=us, {name}: "),
        _ => format!("{name}: "),
    };
    let figures = [
        "failures < 40%",
        "failures < 3",
        "count > 5",
        "count < 9",
        "rate > 2/s",
        "p90 < 25ms",
        "ok p50 < 20ms",
        "max < 300ms",
        "avg < 0.02s",
        "min > 4ms",
        "checks > 60%",
        "value < 9",
        "rate > 50%",
    ];
    let options = [
        "",
        "",
        "",
        " after 0.5s",
        " during 1s",
        " during 1s after 0.3s",
        " abort after 20s",
    ];
    loop {
        let text = format!(
            "{name}{}{}",
            figures.choose(random).expect("some"),
            options.choose(random).expect("some")
        );
        // Not all go together.
        if let Ok(threshold) = Threshold::read(&text)
            && threshold.check().is_ok()
        {
            return threshold;
        }
    }
}

/// Plays a case, and compares each verdict with the model's.
async fn compare(seed: u64) {
    let Case {
        source,
        settings,
        threads,
    } = Case::new(seed);
    let thresholds = settings.thresholds.clone().unwrap_or_default();
    let (out, log) = mpsc::channel();
    let run = TestRun {
        threads,
        response_time: |at, path| {
            let mixed = at.as_micros() as u64 * 7_919 + path.len() as u64 * 104_729;
            Duration::from_micros(1_300 + mixed % 40_009)
        },
        run_logs: Some(RunLogs::new([true, true, false, false], out, 1 << 26)),
        ..TestRun::new(Box::leak(source.clone().into_boxed_str()), settings)
    };
    let report = run.play().await.1.report;
    let all = rows(&log, report.origin_ns);
    let declared = source.starts_with(DECLARED);
    let shown = |row: &ThresholdRow| {
        format!(
            "seed {seed}, '{}: {}'\n{source}",
            row.name.as_deref().unwrap_or(""),
            row.threshold
        )
    };
    for (of, row) in thresholds.iter().zip(&report.thresholds) {
        let (value, holds) = judge(&all, declared, of, &report);
        let near = |a: f64, b: f64| (a - b).abs() <= 1.2e-3 * b.abs() + 6e-4;
        // In milliseconds, as the figures are; the row has the limit's unit.
        let scale = of.unit.per_millisecond().unwrap_or(1.0);
        let value = value.map(|value| value * scale);
        let holds = match of.unit.per_millisecond() {
            Some(_) => value.is_some_and(|value| of.holds(value)),
            None => holds,
        };
        match (value, row.value) {
            (None, None) => {}
            (Some(own), Some(figure)) if near(figure, own) => {}
            (own, figure) => panic!("{figure:?} where the log has {own:?}: {}", shown(row)),
        }
        let at_limit = value.is_some_and(|value| near(of.limit, value));
        assert!(
            row.passed == holds || at_limit,
            "{}: {}",
            row.passed,
            shown(row)
        );
    }
}

/// Seeds of the runs that each test of the suite plays.
const SEEDS: u64 = 150;

#[tokio::test(start_paused = true)]
async fn random_plans_are_judged_as_their_logs_say() {
    for seed in 0..SEEDS {
        compare(seed).await;
    }
}

/// As many as `LGOOSE_RUNS` says: `LGOOSE_RUNS=20000 cargo test --lib verdict_model -- --ignored`.
#[tokio::test(start_paused = true)]
#[ignore = "takes as long as there are runs"]
async fn many_random_plans_are_judged_as_their_logs_say() {
    let runs = std::env::var("LGOOSE_RUNS").map_or(1_000, |runs| runs.parse().expect("a number"));
    for seed in SEEDS..SEEDS + runs {
        compare(seed).await;
    }
}
