//! The length of pauses: a site notes when each request arrives, and pacing, throughput and short
//! waits are compared with what it saw.

use crate::alone;
use crate::logging_site::LoggingSite;
use crate::program::{plan, scratch};
use crate::report::run;
use serde_json::Value;
use std::time::Duration;

/// One user each, for as long as the slowest needs to tell its pace.
const PACED: &str = r#"
local function user_of(name, rule)
  scenario { name, users = 1, wait = rule,
    task { name, function(user) user:get("/" .. name) end },
  }
end
user_of("5", wait.pacing(0.005))
user_of("8", wait.throughput(125))
user_of("20", wait.pacing(0.02))
user_of("100", wait.pacing(0.1))
user_of("1000", wait.pacing(1))
plan { run_time = 7.5, hatch_rate = 1000, users = 5 }
"#;

/// What begins later than this after it was due moves the schedule (`crates/plan/src/wait.rs`).
const CATCH_UP: f64 = 0.05;

/// By how much the schedule of the tasks of that name had moved before each of them, in seconds. A machine that keeps
/// a task from its end within its share, or stands still, moves it; lgoose's log of tasks says by how much.
fn moved(log: &str, name: &str, every: f64) -> Vec<f64> {
    let lines = log.lines().map(|line| {
        let line: Value = serde_json::from_str(line).expect("a line is JSON");
        line
    });
    let time = |line: &Value, key: &str| line[key].as_f64().expect("nanoseconds") / 1e9;
    let tasks = lines.filter(|line| line["name"] == name);
    let mut moved = Vec::new();
    let (mut due, mut sum) = (None, 0.0);
    for [start, end] in tasks.map(|line| ["start_ns", "end_ns"].map(|key| time(&line, key))) {
        moved.push(sum);
        let this = due.unwrap_or(start);
        let overran = (end - start - every).max(0.0);
        let behind = end - (this + every + overran);
        let skipped = if behind > CATCH_UP { behind } else { 0.0 };
        sum += overran + skipped;
        due = Some(this + every + overran + skipped);
    }
    moved
}

/// How far apart arrivals are, compared with how far they should be, as a share. Each comes after its moment, some
/// later than others, so of the first and the last third of them those tell the schedule that came least late.
fn drift(arrivals: &[f64], every: f64) -> f64 {
    let late = |(n, at): (usize, &f64)| (at - n as f64 * every, n);
    let all: Vec<(f64, usize)> = arrivals.iter().enumerate().map(late).collect();
    let third = all.len().div_ceil(3);
    let least = |part: &[(f64, usize)]| part.iter().copied().min_by(|a, b| a.0.total_cmp(&b.0));
    let first = least(&all[..third]).expect("there are some");
    let last = least(&all[all.len() - third..]).expect("there are some");
    (last.0 - first.0) / ((last.1 - first.1) as f64 * every)
}

#[test]
fn pacing_and_throughput_are_met_within_half_a_percent() {
    let _alone = alone();
    let site = LoggingSite::start(|_, _| Duration::ZERO);
    let (path, url) = (plan("pacing_rates.lua", PACED), site.url());
    let log = scratch("pacing_tasks.jsonl");
    let report = run([&path, "-H", &url, "--task-log", &log.display().to_string()]);
    assert_eq!(report.ended.code, 0, "{}", report.ended.stderr);
    let log = std::fs::read_to_string(log).expect("the log was written");
    let visits = site.visits();
    for (name, every) in [
        ("5", 0.005),
        ("8", 0.008),
        ("20", 0.02),
        ("100", 0.1),
        ("1000", 1.0),
    ] {
        let own = visits.iter().filter(|visit| visit.part(0) == name);
        let moved = moved(&log, name, every);
        let arrivals = own.map(|visit| visit.arrived as f64 / 1e9);
        let arrivals: Vec<f64> = arrivals.zip(&moved).map(|(at, moved)| at - moved).collect();
        assert_eq!(arrivals.len(), moved.len());
        // The first opens the connection, which belongs to what came before its arrival.
        let drift = drift(&arrivals[1..], every);
        eprintln!(
            "every {name:>4} ms: {:4} arrivals, the schedule moved by {:.3} s, off by {:+.3} %",
            arrivals.len(),
            moved.last().copied().unwrap_or(0.0),
            drift * 100.0
        );
        let length = arrivals[arrivals.len() - 1] - arrivals[1];
        assert!(
            drift.abs() < 0.005 && length > 2.9,
            "every {name} ms: off by {drift} over {length} s"
        );
    }
}

/// A machine that is busy makes waits longer in one run and not in another; a timer that is too coarse makes every wait
/// too long, in all of them.
const ATTEMPTS: usize = 5;

const WAIT: Duration = Duration::from_millis(10);

/// More than waking takes (0.2 to 0.4 ms) and less than a timer of milliseconds is late (0.85 to 1.3 ms).
const TOO_LONG: Duration = Duration::from_micros(700);

#[test]
fn a_short_wait_is_no_millisecond_too_long() {
    let _alone = alone();
    let pause = format!("user:wait({})", WAIT.as_secs_f64());
    let mut late = Duration::MAX;
    for attempt in 1..=ATTEMPTS {
        // The way there and back, and what lgoose does in between, which takes long in a build without optimization and
        // after a pause, when its code has left the caches: here while the site takes its time.
        let way = gaps("", WAIT);
        let waits = gaps(&pause, Duration::ZERO);
        assert!(waits[0] >= WAIT, "too short: {waits:?}");
        late = usual(&waits).saturating_sub(usual(&way) + WAIT);
        eprintln!(
            "{attempt}: late by {late:?}, beside a way of {:?}",
            usual(&way)
        );
        if late <= TOO_LONG {
            return;
        }
    }
    panic!("a wait of {WAIT:?} is too long by {late:?}");
}

/// The length that a tenth of them have at most: those that nothing else held up.
fn usual(gaps: &[Duration]) -> Duration {
    gaps[gaps.len() / 10]
}

/// Runs a plan that does this after each request to a site that takes so long, and returns the times from one response
/// to the next request, the shortest first.
fn gaps(pause: &str, takes: Duration) -> Vec<Duration> {
    let text = format!("task {{ function(user)\n  user:get \"/\"\n  {pause}\nend }}");
    let path = plan("pacing_waits.lua", &text);
    let site = LoggingSite::start(move |_, _| takes);
    let url = site.url();
    let report = run([&path, "-H", &url, "-u", "1", "-t", "1s"]);
    assert_eq!(report.ended.code, 0, "{}", report.ended.stderr);
    let visits = site.visits();
    let mut gaps: Vec<Duration> = visits
        .windows(2)
        .map(|two| Duration::from_nanos(two[1].arrived - two[0].left))
        .collect();
    gaps.sort_unstable();
    gaps
}
