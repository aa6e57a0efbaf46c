//! A second, slow and plain implementation of thresholds, which judges by the log of requests and tasks alone: random
//! plans whose requests, tasks, transactions, checks and metrics share few names are judged by both, with pauses and resets
//! of the figures, and limits that stop the run; some are played on workers, too. Plans judge responses late, users are lost
//! in `on_start`, and the site falls silent for single names.

use lgoose_base::threshold::{FigureKind, LatencySubset, Threshold, Unit};
use lgoose_engine::fixture::TestRun;
use lgoose_metrics::control::Command;
use lgoose_metrics::{Event, EventKind, LogEntry, LogMessage, Report, RunLogs, ThresholdRow, join};
use lgoose_plan::config::{LoadPart, Settings};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::mpsc;
use std::time::Duration;

/// Kind of a row of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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
    /// Its end, in nanoseconds since the measurement began; below 0 in the warm-up.
    end: i64,
    ms: f64,
    failed: bool,
    /// Amount added to a counter.
    added: f64,
}

/// Reads the log. Actions of the plan right after a request are in its path: `c=x.1` is the check 'x' that held, `m=x.3`
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
        // Only requests have this tag, not their tasks, of which checks and metrics have theirs.
        Some(_) => row.kind == Kind::Request && row.tags.split(", ").any(|one| one == tag),
    };
    // Without a name, tags are about requests, and where checks are judged, about all of them.
    let has_all = |kind: Kind| {
        kind == Kind::Request || kind == Kind::Check && of.figure == FigureKind::Checks
    };
    let fitting = meanings.iter().filter(|(kind, _)| can_have(*kind, of));
    for (kind, name) in fitting {
        let of_tags = *kind != Kind::Task || tag.starts_with("scenario=");
        if !tag.is_empty() && !of_tags {
            continue;
        }
        let is_of = |row: &&Row| {
            row.kind == *kind
                && is_tagged(row)
                && (row.name == *name || name.is_empty() && has_all(row.kind))
        };
        let rows: Vec<&Row> = all.iter().filter(is_of).collect();
        if !rows.is_empty() || (*kind == Kind::Counter && declared && tag.is_empty()) {
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
    let per_second = |amount: f64| Some(if seconds > 0.0 { amount / seconds } else { 0.0 });
    match of.figure {
        FigureKind::Failures if kind == Kind::Counter => None,
        FigureKind::Failures if of.unit == Unit::Percent => share(failures),
        FigureKind::Failures => (count > 0.0).then_some(failures),
        FigureKind::Checks => share(count - failures),
        FigureKind::Rate if of.unit == Unit::Percent => {
            share(count - failures).filter(|_| kind == Kind::Check)
        }
        FigureKind::Rate if kind == Kind::Counter => per_second(sum),
        FigureKind::Rate => per_second(count),
        FigureKind::Value if kind == Kind::Counter => Some(sum),
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

/// Course of a run beside its rows, in nanoseconds since the measurement began.
struct Course {
    /// The seed and the commands to the run.
    steps: String,
    /// Beginning of the stop, and the end.
    stop: i64,
    end: i64,
    /// Times in which no task started, from and to.
    pauses: Vec<(i64, i64)>,
    /// Whether the measurement began with the run.
    is_whole: bool,
}

impl Course {
    fn of(report: &Report, steps: String) -> Course {
        let ns = |seconds: f64| (seconds * 1e9).round() as i64;
        let of_kind = |kind| report.events.iter().filter(move |event| event.kind == kind);
        let pauses = of_kind(EventKind::Pause);
        let span = |pause: &Event| (pause.at_s, pause.at_s + pause.lasted_s.unwrap_or(0.0));
        let at = |kind| of_kind(kind).next().map(|event| ns(event.at_s));
        // Events are those of the first part, which may not be the last to end.
        let end = at(EventKind::End).unwrap_or(0).max(ns(report.elapsed_s));
        let is_anew = |event: &Event| matches!(event.kind, EventKind::Reset | EventKind::Reload);
        let settings = report.settings.as_ref();
        let has_warmup = settings.is_some_and(|settings| settings.warmup.is_some());
        Course {
            steps,
            is_whole: !has_warmup && !report.events.iter().any(is_anew),
            stop: at(EventKind::Stop).unwrap_or(end),
            end,
            pauses: pauses
                .map(span)
                .map(|(from, to)| (ns(from), ns(to)))
                .collect(),
        }
    }

    /// Returns how much of a stretch was no pause.
    fn lasted(&self, from: i64, to: i64) -> i64 {
        let pauses = self.pauses.iter();
        let paused: i64 = pauses
            .map(|(since, until)| (to.min(*until) - from.max(*since)).max(0))
            .sum();
        to - from - paused
    }
}

/// The steps of sliding windows, and of the moments at which limits are looked at that stop a run.
const GRID: i64 = 250_000_000;

/// Returns whether a figure is that of the log, as exactly as histograms are.
fn near(figure: f64, own: f64) -> bool {
    (figure - own).abs() <= 1.2e-3 * own.abs() + 6e-4
}

/// Returns the figure of a stretch with the requests that users would have sent while they waited and no response came to any of
/// these; `None` if there was no such time.
fn with_waiting(rows: &[&Row], of: &Threshold, from: i64, to: i64, course: &Course) -> Option<f64> {
    let start = |row: &Row| row.end - (row.ms * 1e6).round() as i64;
    let ended = |from: i64, to: i64| rows.iter().filter(move |row| (from..to).contains(&row.end));
    let mut all: Vec<f64> = ended(from, to).map(|row| row.ms).collect();
    all.sort_by(f64::total_cmp);
    let median = all.get((all.len().max(1) - 1) / 2).copied().unwrap_or(0.0);
    let least = 1e9_f64.max(median * 10.0 * 1e6);
    // From, to and the most that waited, quarter of a second by quarter of a second.
    let mut silences: Vec<(i64, i64, usize)> = Vec::new();
    let (mut responded, mut goes_on) = (i64::MIN, false);
    for slice in (from..to).step_by(GRID as usize) {
        let border = slice + GRID;
        let waiting = rows.iter().filter(|row| {
            start(row) < border && row.end >= border && border - start(row) >= 2 * GRID
        });
        let oldest = waiting.clone().map(|row| start(row)).min();
        match oldest {
            _ if ended(slice, border).next().is_some() => (responded, goes_on) = (border, false),
            None => goes_on = false,
            Some(oldest) => {
                match silences.last_mut().filter(|_| goes_on) {
                    Some(last) => *last = (last.0, border, last.2.max(waiting.count())),
                    None => silences.push((oldest.max(responded), border, waiting.count())),
                }
                goes_on = true;
            }
        }
    }
    silences.retain(|(since, until, _)| (until - since) as f64 >= least);
    let mut times: Vec<f64> = ended(from, to)
        .filter(|row| !(row.failed && of.among == LatencySubset::Ok))
        .map(|row| row.ms)
        .collect();
    let (mut count, mut sum) = (all.len() as u64, all.iter().sum::<f64>());
    let lasted = course.lasted(from, to) as f64;
    if silences.is_empty() {
        return None;
    }
    for (since, until, waiting) in silences {
        // One that began before the stretch counts from its beginning on.
        let silent = (until - since.max(from)) as f64;
        let responsive = lasted - silent;
        let unsent = if responsive > 0.1 * lasted {
            (count as f64 * silent / responsive) as u64
        } else {
            count
        };
        let unsent = unsent.max(waiting as u64);
        for step in 0..100 {
            let until = |part: u64| unsent * part / 100;
            let longest = silent / 1e6 * (100 - step) as f64 / 100.0;
            times.extend((until(99 - step)..until(100 - step)).map(|_| longest));
        }
        count += unsent;
        sum += unsent as f64 * silent / 2e6;
    }
    times.sort_by(f64::total_cmp);
    match of.figure {
        FigureKind::Avg if of.among == LatencySubset::All => Some(sum / count as f64),
        FigureKind::Avg => Some(times.iter().sum::<f64>() / times.len() as f64),
        FigureKind::Percentile(percent) => {
            let rank = (percent / 100.0 * times.len() as f64).ceil().max(1.0) as usize;
            times.get(rank - 1).copied()
        }
        _ => times.last().copied(),
    }
}

/// Judges a threshold that is about these rows: returns its figure; `None` if it has none.
fn judge(
    kind: Kind,
    rows: &[&Row],
    declared: bool,
    of: &Threshold,
    row: &ThresholdRow,
    course: &Course,
) -> Option<f64> {
    // Requests that ended at the very end count, too.
    let between = |from: i64, to: i64| -> Option<f64> {
        let until = if to == course.end { to + 1 } else { to };
        let part = rows.iter().filter(|row| row.end >= from && row.end < until);
        let part: Vec<&Row> = part.copied().collect();
        figure(kind, &part, of, course.lasted(from, to) as f64 / 1e9)
    };
    let after = of.after.map_or(0, |after| after.as_nanos() as i64);
    // Sums leave nothing out: 'after' says when they are looked at.
    let begin = if of.only_grows() && of.during.is_none() {
        0
    } else {
        after
    };
    // A name without rows in the judged time has no data, but a counter that is known is 0.
    let is_known = match kind {
        Kind::Counter => declared || rows.iter().any(|row| row.end >= 0),
        // A run that sent nothing at all has no stretch to judge.
        Kind::Request if of.name.is_none() && of.during.is_some() => {
            rows.iter().any(|row| row.end >= 0)
        }
        Kind::Request if of.name.is_none() && begin == 0 => true,
        _ => rows.iter().any(|row| row.end >= begin),
    };
    if !is_known || begin > course.end {
        return None;
    }
    if let Some(during) = of.during {
        let length = during.as_nanos() as i64;
        let step = (length / 60 / GRID * GRID).max(GRID);
        let ends = (1..)
            .map(|n| n * step)
            .take_while(|to| *to <= course.stop.min(course.end));
        let mut stretches = ends.filter(|to| *to >= after + length).peekable();
        if stretches.peek().is_some() {
            // A number that is to be reached may be too small only because a part was a pause.
            let is_number = matches!(of.figure, FigureKind::Failures) && of.unit == Unit::None
                || of.only_grows();
            let counts = |from: i64, to: i64| {
                let lasted = course.lasted(from, to);
                lasted * 2 >= to - from
                    && (!is_number || of.is_upper() || lasted + 1_000_000 >= to - from)
            };
            let spans = stretches.map(|to| (((to - length) / step * step).max(after), to));
            let value = |(from, to): (i64, i64)| {
                let seen = between(from, to);
                let counts_waiting = kind == Kind::Request
                    && of.name.is_some()
                    && of.is_upper()
                    && matches!(
                        of.figure,
                        FigureKind::Percentile(_) | FigureKind::Avg | FigureKind::Max
                    );
                let waiting = counts_waiting
                    .then(|| with_waiting(rows, of, from, to, course))
                    .flatten();
                seen.into_iter().chain(waiting).reduce(f64::max)
            };
            let values = spans
                .filter(|(from, to)| counts(*from, *to))
                .filter_map(value);
            return values.reduce(if of.is_upper() { f64::max } else { f64::min });
        }
    }
    if of.abort {
        let scale = of.unit.per_millisecond().unwrap_or(1.0);
        // Figures that a look at that moment may see: some threads may have got further than others.
        let seen_at = |at: i64| {
            let later = rows.iter().map(|row| row.end + 1);
            let later = later.filter(move |end| (at..at + GRID).contains(end));
            // As long as no judged row has come, there is no data.
            let has_come = move |to: &i64| rows.iter().any(|row| (begin..*to).contains(&row.end));
            [at].into_iter()
                .chain(later)
                .filter(move |to| begin == 0 || has_come(to))
                .filter_map(|to| between(begin, to))
        };
        if let Some(broken) = row.broken_s {
            let at = (broken * 1e9).round() as i64;
            assert!(
                (after..=course.stop).contains(&at),
                "{at} in {}",
                course.steps
            );
            let is_it = |value: &f64| row.value.is_some_and(|figure| near(figure, value * scale));
            return seen_at(at).find(is_it).or_else(|| between(begin, at));
        }
        let is_rate = of.figure == FigureKind::Rate && after > 0;
        let first = after + if is_rate { 1_000_000_000 } else { 0 };
        // The last requests of a run may be seen only when it is over.
        let looks = (1..)
            .map(|n| n * GRID)
            .take_while(|at| *at + 2 * GRID < course.stop);
        let breaks = |at: &i64| {
            let mut values = seen_at(*at).peekable();
            let has_some = values.peek().is_some();
            has_some
                && values.all(|value| !of.holds(value * scale) && !near(of.limit, value * scale))
        };
        // Verdicts that the plan speaks later are waited for, and the run may be over before.
        let waits = kind == Kind::Request
            && (of.figure == FigureKind::Failures || of.among == LatencySubset::Ok);
        let broken = looks
            .filter(|at| *at >= first && course.is_whole && !waits)
            .find(breaks);
        assert!(
            broken.is_none(),
            "{of} was broken at {broken:?} in {}",
            course.steps
        );
    }
    between(begin, course.end)
}

/// A random plan with random thresholds.
struct Case {
    source: String,
    settings: Settings,
    threads: usize,
    /// Parts that are run for themselves and joined.
    parts: u64,
    commands: Vec<(Duration, Command)>,
    /// Time at which the same plan is loaded again.
    reloaded: Option<Duration>,
    /// Whether the same run is played again, on two workers with one of its two threads each.
    on_workers: bool,
}

const NAMES: [&str; 3] = ["front", "x", "A"];
/// Counters that the top level makes, and others.
const DECLARED: &str = "local counters = {}
for _, name in ipairs { 'front', 'x', 'A' } do counters[name] = metric.counter(name) end\n";
const MADE: &str = "local counters = setmetatable({}, { __index = function(_, name) return metric.counter(name) end })\n";

const AREAS: [&str; 2] = ["eu", "us"];

impl Case {
    fn new(seed: u64) -> Case {
        let random = &mut StdRng::seed_from_u64(seed);
        // Declared counters have a row from the start: half of the plans have none.
        let counters = if random.random() { DECLARED } else { MADE };
        let mut source = counters.to_owned();
        for scenario in ["A", "B"].iter().take(random.random_range(1..=2)) {
            source += &format!("scenario {{ '{scenario}',\n");
            if random.random_bool(0.15) {
                let every = random.random_range(1..=3);
                source += &format!(
                    "  task {{ 'log in', on_start = true, function(user) if user.id % {every} == 0 then error 'no' end end }},\n"
                );
            }
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
            warmup: random
                .random_bool(0.2)
                .then_some(Duration::from_millis(400)),
            ..Settings::default()
        };
        let thresholds: &Vec<Threshold> = settings.thresholds.as_ref().expect("some");
        let of_all = |of: &Threshold| of.name.is_none() && of.during.is_some();
        if thresholds.iter().any(of_all) {
            // Silences of the whole site are no part of the model.
            source = source.replace("/slow?", "/p?");
        }
        let mut case = Case {
            source,
            settings,
            threads: random.random_range(1..=2),
            parts: 1,
            on_workers: false,
            commands: Vec::new(),
            reloaded: None,
        };
        let mut limits = case.settings.thresholds.iter().flatten();
        let abort = limits.clone().any(|of| of.abort);
        let over_time = limits.any(|of| of.during.is_some());
        match random.random_range(0..10) {
            // Each part has its own beginning of the measurement.
            0..2 if !abort && case.settings.warmup.is_none() => case.parts = 2,
            2 => case.reloaded = Some(random_ms(random, 100..=900)),
            // A run on workers ends later, since they deliver their figures once a second: a limit that aborts stops it
            // later, and there is more of it to judge stretch by stretch.
            3..5 if !abort && !over_time => {
                case.on_workers = true;
                case.threads = 2;
            }
            _ => case.commands = commands(random),
        }
        case
    }
}

/// Returns a pause, a reset of the figures before or after it, both or none.
fn commands(random: &mut StdRng) -> Vec<(Duration, Command)> {
    let mut commands = Vec::new();
    if random.random_bool(0.15) {
        commands.push((random_ms(random, 100..=400), Command::ResetStatistics));
    }
    if random.random_bool(0.2) {
        commands.push((random_ms(random, 450..=800), Command::Pause));
        commands.push((random_ms(random, 850..=2_000), Command::Resume));
    }
    if random.random_bool(0.1) {
        commands.push((random_ms(random, 2_050..=2_600), Command::ResetStatistics));
    }
    commands
}

fn random_ms(random: &mut StdRng, range: RangeInclusive<u64>) -> Duration {
    Duration::from_millis(random.random_range(range))
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
    // More values of a tag than lgoose distinguishes.
    if random.random_bool(0.05) {
        body += "    for id = 1, 40 do
      local tags = { area = 'eu', id = tostring(user.id * 1000 + user.iteration * 100 + id) }
      user:get('/p?', { name = 'x', tags = tags, expect = { status = id % 2 == 0 and 404 or 200 } })
    end\n";
    }
    for _ in 0..random.random_range(1..=3) {
        let name = NAMES.choose(random).expect("some");
        let mut path = "'/p?'".to_owned();
        if random.random_bool(0.1) {
            path = format!("({} and '/slow?' or '/p?')", sometimes(random));
        }
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
                "tags = {{ area = '{}' }}, ",
                AREAS.choose(random).expect("some")
            )
        } else {
            String::new()
        };
        let fails = sometimes(random);
        let request = format!(
            "    user:get({path}, {{ {own}{tags}expect = {{ status = ({fails}) and 404 or 200 }} }})\n{then}"
        );
        let request = match random.random_range(0..10) {
            // The plan changes its mind, at once or after a wait.
            verdict @ 0..3 => {
                let changes = if verdict == 0 {
                    "pass()"
                } else {
                    "fail 'late'"
                };
                let wait = if random.random_bool(0.7) {
                    format!(
                        "user:wait({})",
                        random.random_range(1..=9) as f64 / 10.0 + 0.0137
                    )
                } else {
                    String::new()
                };
                let request = request.trim_start();
                let when = sometimes(random);
                format!(
                    "    do local response = {request}    {wait} if {when} then response:{changes} end end\n"
                )
            }
            _ => request,
        };
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
        7 => "area=eu: ".to_owned(),
        8 => format!("area=us, {name}: "),
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
        " abort",
        " abort after 0.7s",
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
        parts,
        commands,
        reloaded,
        on_workers,
    } = Case::new(seed);
    let thresholds = settings.thresholds.clone().unwrap_or_default();
    let steps = format!("seed {seed}, {parts} parts, {commands:?}, reloaded at {reloaded:?}");
    let source: &'static str = Box::leak(source.into_boxed_str());
    let run = || TestRun {
        threads,
        commands: commands.clone(),
        plan_versions: reloaded.map(|at| (at, source)).into_iter().collect(),
        response_time: if on_workers { by_path } else { by_time },
        ..TestRun::new(source, settings.clone())
    };
    let (mut all, mut reports) = (Vec::new(), Vec::new());
    for part in 0..parts {
        let (out, log) = mpsc::channel();
        let run = TestRun {
            part: LoadPart::of_shares(part..part + 1, parts),
            run_logs: Some(RunLogs::new([true, true, false, false], out, 1 << 26)),
            ..run()
        };
        let report = run.play().await.1.report;
        all.extend(rows(&log, report.origin_ns));
        reports.push((format!("{part}.json"), report));
    }
    let is_reset = |(_, command): &(Duration, Command)| *command == Command::ResetStatistics;
    if commands.iter().any(is_reset) && all.iter().any(|row| row.end == 0) {
        // Requests that end in the very moment of a reset, whose time only the thread knows, may count before or after it.
        return;
    }
    let report = match parts {
        1 => reports.remove(0).1,
        _ => join(reports).expect("parts of one load"),
    };
    if reloaded.is_some() {
        // The names of the edited plan belong to its own rows.
        all.retain(|row| row.end >= 0);
    }
    let course = Course::of(&report, steps.clone());
    let declared = source.starts_with(DECLARED);
    let mut all_hold = true;
    for (of, row) in thresholds.iter().zip(&report.thresholds) {
        let shown = || {
            format!(
                "'{}: {of}', {steps}\n{source}",
                row.name.as_deref().unwrap_or("")
            )
        };
        let in_warmup = report
            .ending
            .as_ref()
            .is_some_and(|ending| ending.in_warmup);
        let subject = subject(&all, declared, of).filter(|_| !in_warmup);
        let value = subject.and_then(|(kind, rows)| judge(kind, &rows, declared, of, row, &course));
        // Times are milliseconds here, and have the unit of the limit in the row.
        let value = value.map(|value| value * of.unit.per_millisecond().unwrap_or(1.0));
        match (value, row.value) {
            (None, None) => {}
            (Some(own), Some(figure)) if near(figure, own) => {}
            (own, figure) => panic!("{figure:?} where the log has {own:?}: {}", shown()),
        }
        let holds = value.is_some_and(|value| of.holds(value));
        let at_limit = value.is_some_and(|value| near(of.limit, value));
        assert!(
            row.passed == holds || at_limit,
            "{}: {}",
            row.passed,
            shown()
        );
        assert!(
            !(of.abort && row.broken_s.is_some() && row.passed),
            "{}",
            shown()
        );
        all_hold &= row.passed;
    }
    let failed = !all_hold || fails_otherwise(&all, declared, &thresholds, &report);
    let verdict = lgoose_judgement::judge(&report, None);
    assert_eq!(
        verdict.exit_code,
        u8::from(failed),
        "{steps}: {verdict:?}\n{source}"
    );
    if on_workers {
        let run = TestRun {
            workers: vec![1; threads],
            ..run()
        };
        let on_workers = run.play().await.1.report;
        for (one, other) in report.thresholds.iter().zip(&on_workers.thresholds) {
            let same = match (one.value, other.value) {
                (Some(one), Some(other)) => near(one, other),
                (one, other) => one == other,
            };
            let same = same && one.passed == other.passed;
            assert!(same, "{one:?} and {other:?} on workers: {steps}\n{source}");
        }
        let again = lgoose_judgement::judge(&on_workers, None);
        assert_eq!(again.exit_code, verdict.exit_code, "{steps}: {again:?}");
    }
}

/// Response time of paths that begin with `/slow`.
const SLOW: Duration = Duration::from_millis(2_300);

/// Returns how long the site takes to respond to a request that arrives at a moment.
fn by_time(at: Duration, path: &str) -> Duration {
    if path.starts_with("/slow") {
        return SLOW;
    }
    let mixed = at.as_micros() as u64 * 7_919 + path.len() as u64 * 104_729;
    Duration::from_micros(1_300 + mixed % 40_009)
}

/// Returns the same at every moment, since requests of workers may come a moment later.
fn by_path(_: Duration, path: &str) -> Duration {
    if path.starts_with("/slow") {
        return SLOW;
    }
    Duration::from_micros(3_300 + path.len() as u64 * 4_729 % 40_009)
}

/// Returns whether a run fails even if its thresholds hold: nothing succeeded, or a task or check never did.
fn fails_otherwise(all: &[Row], declared: bool, thresholds: &[Threshold], report: &Report) -> bool {
    let in_warmup = report
        .ending
        .as_ref()
        .is_some_and(|ending| ending.in_warmup);
    let measured: Vec<&Row> = all.iter().filter(|row| row.end >= 0).collect();
    let mut requests = measured.iter().filter(|row| row.kind == Kind::Request);
    let mut successes = BTreeMap::new();
    for row in &measured {
        let scenario = if row.kind == Kind::Task {
            &*row.scenario
        } else {
            ""
        };
        *successes
            .entry((row.kind, &*row.name, scenario))
            .or_insert(0) += u64::from(!row.failed);
    }
    // The subject of a bare name depends on the rows of the whole run.
    let is_accepted = |kind: Kind, name: &str, scenario: &str| {
        thresholds.iter().any(|of| {
            let of_failures = match of.figure {
                FigureKind::Failures | FigureKind::Checks => true,
                FigureKind::Rate => of.unit == Unit::Percent,
                _ => false,
            };
            let text = of.name.as_deref().unwrap_or("");
            // Of checks with a tag, the limit is not one on all of them.
            let is_part = kind == Kind::Check && text.contains('=');
            let rows = subject(all, declared, of).filter(|(own, _)| *own == kind && !is_part);
            of_failures
                && rows.is_some_and(|(_, rows)| {
                    let mut rows = rows.iter();
                    rows.any(|row| {
                        row.name == name && (kind == Kind::Check || row.scenario == scenario)
                    })
                })
        })
    };
    let never = successes
        .iter()
        .any(|((kind, name, scenario), successes)| match kind {
            Kind::Task | Kind::Check => *successes == 0 && !is_accepted(*kind, name, scenario),
            Kind::Request | Kind::Counter => false,
        });
    let all_lost = report.ending.as_ref().is_some_and(|ending| ending.all_lost);
    all_lost
        || in_warmup
        || requests.all(|row| row.failed)
        || never
        || loses_judged_users(all, declared, thresholds, report)
}

/// Returns whether more than one of a hundred users of a scenario were lost in `on_start` that some threshold is about.
fn loses_judged_users(
    all: &[Row],
    declared: bool,
    thresholds: &[Threshold],
    report: &Report,
) -> bool {
    let losing = report.scenarios.iter().filter(|row| {
        let is_login = |task: &&Row| {
            task.kind == Kind::Task && task.name == "log in" && task.scenario == row.name
        };
        let lost = all
            .iter()
            .filter(is_login)
            .filter(|task| task.failed)
            .count();
        lost as f64 > row.users_started as f64 * 0.01
    });
    let mut losing = losing.map(|row| &*row.name).peekable();
    let all_lost = report.ending.as_ref().is_some_and(|ending| ending.all_lost);
    losing.peek().is_some()
        && !all_lost
        && losing.any(|scenario| {
            thresholds.iter().any(|of| {
                let text = of.name.as_deref().unwrap_or("");
                let other = |name: &&str| {
                    *name != scenario && text.starts_with(&format!("scenario={name}"))
                };
                if ["A", "B"].iter().any(other) {
                    return false;
                }
                let Some((kind @ (Kind::Request | Kind::Task), rows)) = subject(all, declared, of)
                else {
                    return true;
                };
                let own = |row: &&Row| {
                    row.kind == kind && row.scenario == scenario && row.name != "log in"
                };
                text.is_empty()
                    || rows.iter().any(|row| row.scenario == scenario)
                    || !all.iter().any(|row| own(&row))
            })
        })
}

/// Plays a run of up to two scenarios with their own rates and one request an iteration, and compares the dropped iterations of the
/// report with the arrivals at the site.
async fn compare_rate(seed: u64) {
    let random = &mut StdRng::seed_from_u64(seed);
    let seconds = random.random_range(2..=4);
    let mut source = String::new();
    let mut rates = Vec::new();
    for scenario in ["A", "B"].iter().take(random.random_range(1..=2)) {
        let (rate, users) = (random.random_range(5..=60_u32), random.random_range(1..=4));
        rates.push((*scenario, rate));
        source += &format!(
            "scenario {{ '{scenario}', rate = '{rate}/s', max_users = {users}, task {{ 't', function(user) user:get '/{scenario}' end }} }}\n"
        );
    }
    let limit = random.random_range(0..=30);
    let texts: Vec<String> = match random.random_range(0..6) {
        0 => vec!["max < 10s".to_owned()],
        1 => vec!["failures < 5% after 0.5s".to_owned()],
        2 => vec!["scenario=A: max < 10s".to_owned()],
        3 => vec![
            "GET t: max < 10s".to_owned(),
            format!("scenario=A: dropped <= {limit}%"),
        ],
        4 => vec![
            "scenario=B: max < 10s".to_owned(),
            format!("dropped <= {limit}%"),
        ],
        _ => vec![format!("dropped <= {limit}%")],
    };
    // A scenario that there is not has no data.
    let texts: Vec<&String> = texts
        .iter()
        .filter(|text| rates.len() > 1 || !text.contains("scenario="))
        .collect();
    let read = |text: &&String| Threshold::read(text).expect("a threshold");
    let settings = Settings {
        run_time: Some(Duration::from_secs(seconds)),
        thresholds: Some(texts.iter().map(read).collect()),
        ..Settings::default()
    };
    let source: &'static str = Box::leak(source.into_boxed_str());
    let run = TestRun {
        response_time: |at, _| {
            Duration::from_micros(1_300 + at.as_micros() as u64 * 7_919 % 150_013)
        },
        ..TestRun::new(source, settings)
    };
    let (arrived, outcome) = run.play().await;
    let dropped = |of: &str| {
        let mut sum = (0, 0);
        for (scenario, rate) in rates
            .iter()
            .filter(|(name, _)| of.is_empty() || *name == of)
        {
            let due = u64::from(*rate) * seconds;
            let path = format!("/{scenario}");
            let came = arrived
                .iter()
                .filter(|(_, arrived)| *arrived == path)
                .count() as u64;
            sum = (sum.0 + due - came, sum.1 + due);
        }
        sum
    };
    let share = |of: &str| 100.0 * dropped(of).0 as f64 / dropped(of).1 as f64;
    let shown = format!("seed {seed}: {texts:?}\n{source}");
    let own = |text: &str, scenario: &str| text.starts_with(&format!("scenario={scenario}:"));
    let mut fails = false;
    for (text, row) in texts.iter().zip(&outcome.report.thresholds) {
        if text.contains("dropped") {
            let of = if own(text, "A") { "A" } else { "" };
            assert!(
                row.value.is_some_and(|figure| near(figure, share(of))),
                "{shown}: {row:?}"
            );
            fails |= share(of) > f64::from(limit);
        }
    }
    for (scenario, _) in &rates {
        let other = if *scenario == "A" { "B" } else { "A" };
        let is_judged = texts.is_empty() || texts.iter().any(|text| !own(text, other));
        let of_arrivals = |text: &&&String| text.contains("dropped") && !own(text, other);
        let allowed = if texts.iter().any(|text| of_arrivals(&text)) {
            f64::from(limit)
        } else {
            1.0
        };
        fails |= is_judged && !texts.is_empty() && share(scenario) > allowed;
        let row = outcome
            .report
            .scenarios
            .iter()
            .find(|row| row.name == *scenario);
        let counts = row
            .and_then(|row| row.arrivals)
            .map(|counts| (counts.dropped, counts.due()));
        assert_eq!(counts, Some(dropped(scenario)), "{shown}");
    }
    let verdict = lgoose_judgement::judge(&outcome.report, None);
    assert_eq!(verdict.exit_code, u8::from(fails), "{shown}: {verdict:?}");
}

/// Seeds of the runs that each test of the suite plays.
const SEEDS: u64 = 100;

#[tokio::test(start_paused = true)]
async fn random_plans_are_judged_as_their_logs_say() {
    for seed in 0..SEEDS {
        compare(seed).await;
        compare_rate(seed).await;
    }
}

/// As many as `LGOOSE_RUNS` says, from the seed `LGOOSE_FIRST` on:
/// `LGOOSE_RUNS=20000 cargo test --lib verdict_model -- --ignored`.
#[tokio::test(start_paused = true)]
#[ignore = "takes as long as there are runs"]
async fn many_random_plans_are_judged_as_their_logs_say() {
    let runs = std::env::var("LGOOSE_RUNS").map_or(1_000, |runs| runs.parse().expect("a number"));
    let first =
        std::env::var("LGOOSE_FIRST").map_or(SEEDS, |first| first.parse().expect("a number"));
    for seed in first..first + runs {
        compare(seed).await;
        compare_rate(seed).await;
    }
}
