//! Whether each second of a report is that second of the site's log: requests, failures, latencies, of all and of each
//! name, requests under way and users at its border.
//!
//! The site cannot see when lgoose had an answer, but it knows between which two moments that was. What those put
//! within one second must be counted in it; what they put on either side of a border may be counted on either side.

use crate::alone;
use crate::log_lines::{path, rows};
use crate::logging_site::{LoggingSite, Visit};
use crate::percentiles::{Seen, seen};
use crate::program::plan;
use crate::report::{Report, run};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

const SECOND: u64 = 1_000_000_000;
/// The wait after each iteration.
const WAIT: u64 = 30_000_000;
/// Users come within 2.2 s, stay, and go again: the n-th is due at n parts of that time, and none at a border.
const STAGES: [&str; 3] = ["2.2s:24", "800ms:24", "1.6s:2"];
const USERS: u64 = 24;
const COMING: u64 = 2_200_000_000;

/// What comes before the load moves the origin of the figures away from that of the logs.
const VISITORS: &str = r#"
on("test_start", function(user) user:get "/event" user:wait(0.37) end)
scenario { "visitor",
  task { "come", on_start = true, function(user) user:get("/come/" .. user.id, { name = "come" }) end },
  task { "look", wait = 0.03, function(user)
    local at = "/" .. user.id .. "/" .. user.iteration
    user:get("/quick" .. at, { name = "quick" })
    user:get((user.iteration % 3 == 0 and "/broken" or "/slow") .. at, { name = "slow" })
  end },
  task { "go", on_stop = true, function(user) user:get("/go/" .. user.id, { name = "go" }) end },
}
"#;

/// From 3 to 8 ms, or from 15 to 60, another time for each path.
fn service_time(path: &str) -> Duration {
    let numbers = path.bytes().map(u64::from);
    let spread = numbers.fold(7, |sum, byte| (sum * 31 + byte) % 1_000);
    Duration::from_micros(if path.starts_with("/quick") {
        3_000 + 5 * spread
    } else {
        15_000 + 45 * spread
    })
}

/// The name that a request is counted under.
fn name(visit: &Visit) -> &str {
    match visit.part(0) {
        "broken" => "slow",
        other => other,
    }
}

fn pause(before: &Visit, after: &Visit) -> u64 {
    // A user that is told to go does not wait.
    if name(before) == "slow" && name(after) == "quick" {
        WAIT
    } else {
        0
    }
}

/// A moment on the site's clock, at the earliest and at the latest.
#[derive(Debug, Clone, Copy)]
struct Moment {
    earliest: u64,
    latest: u64,
}

impl Moment {
    fn after(self, ns: u64) -> Moment {
        Moment {
            earliest: self.earliest + ns,
            latest: self.latest + ns,
        }
    }
}

/// When the clock of lgoose's logs began. Both clocks run alike, so this one number relates them, and it is found as
/// NTP does: no request arrives before it was begun, and no answer is there before it has left. The quickest ways of
/// some thousand leave some microseconds between the two bounds. If any time of the log were wrong by more, the bounds
/// would contradict each other.
fn log_began(visits: &[Visit], log: &str) -> Moment {
    let by_path: BTreeMap<&str, &Visit> = visits.iter().map(|v| (v.path.as_str(), v)).collect();
    let rows = rows(log);
    assert_eq!((rows.len(), by_path.len()), (visits.len(), visits.len()));
    let mut began = Moment {
        earliest: 0,
        latest: u64::MAX,
    };
    for row in &rows {
        let ns = |column: &str| row[column].parse::<u64>().expect("nanoseconds");
        let path = row["url"].splitn(4, '/').last().expect("a path");
        let visit = by_path[format!("/{path}").as_str()];
        began.earliest = began.earliest.max(visit.left.saturating_sub(ns("end_ns")));
        began.latest = began.latest.min(visit.arrived - ns("start_ns"));
    }
    assert!(began.earliest <= began.latest, "{began:?}");
    began
}

/// The requests that ended in a second: those that surely did, and those that may have.
struct Ended<'a> {
    surely: Vec<&'a Seen>,
    maybe: Vec<&'a Seen>,
}

impl<'a> Ended<'a> {
    fn within(from: Moment, all: impl Iterator<Item = &'a Seen>) -> Ended<'a> {
        let to = from.after(SECOND);
        let maybe: Vec<&Seen> = all
            .filter(|one| one.ended_before >= from.earliest && one.visit.left < to.latest)
            .collect();
        let surely = maybe.iter().copied();
        let surely = surely
            .filter(|one| one.visit.left >= from.latest && one.ended_before < to.earliest)
            .collect();
        Ended { surely, maybe }
    }

    /// Holds figures to what they may be.
    fn hold(&self, told: impl Fn(&str) -> f64, of: &str) {
        let hold = |key: &str, least: f64, most: f64| {
            let told = told(key);
            // Percentiles are those of a histogram, and some figures are rounded to a microsecond.
            let fits = told >= least * 0.999 - 0.001 && told <= most * 1.001 + 0.001;
            assert!(fits, "{key} of {of}: {told}, not {least} to {most}");
        };
        let failed = |seen: &[&Seen]| {
            let broken = seen.iter().filter(|one| one.visit.part(0) == "broken");
            broken.count() as f64
        };
        let (count, sure) = (told("count"), self.surely.len());
        assert!(
            count >= sure as f64 && count <= self.maybe.len() as f64,
            "count of {of}: {count}, not {sure} to {}",
            self.maybe.len()
        );
        let failures = told("failures");
        assert!(
            failures >= failed(&self.surely) && failures <= failed(&self.maybe),
            "failures of {of}: {failures}"
        );
        let rising = |seen: &[&Seen], bound: usize| {
            let mut took: Vec<f64> = seen.iter().map(|one| one.took_ms()[bound]).collect();
            took.sort_unstable_by(f64::total_cmp);
            took
        };
        let [least, most] = [rising(&self.surely, 0), rising(&self.maybe, 1)];
        hold("sum_ms", least.iter().sum(), most.iter().sum());
        if count == 0.0 {
            return;
        }
        let longest = *most.last().expect("there is one");
        hold("max_ms", least.last().copied().unwrap_or(0.0), longest);
        // Of more figures, the one at a rank is no larger; of fewer, no smaller.
        let [least, most] = [rising(&self.maybe, 0), rising(&self.surely, 1)];
        for (key, q) in [("p50_ms", 0.5), ("p95_ms", 0.95), ("p99_ms", 0.99)] {
            let rank = (q * count).ceil() as usize - 1;
            hold(key, least[rank], most.get(rank).copied().unwrap_or(longest));
        }
    }
}

/// The users of whom something is so at a moment: surely, and maybe.
fn users_at(
    users: &[Vec<Seen>],
    surely: impl Fn(&Seen) -> bool,
    maybe: impl Fn(&Seen) -> bool,
) -> [u64; 2] {
    let of = |so: &dyn Fn(&Seen) -> bool| {
        let users = users.iter().filter(|user| user.iter().any(so));
        users.count() as u64
    };
    [of(&surely), of(&maybe)]
}

fn hold_between(told: &Value, [least, most]: [u64; 2], what: &str) {
    let told = told.as_u64().expect("a number");
    assert!(
        (least..=most).contains(&told),
        "{what}: {told}, not {least} to {most}"
    );
}

fn hold_seconds(report: &Report, users: &[Vec<Seen>], origin: Moment) {
    let mut either_side = 0;
    for point in report.json["series"].as_array().expect("a series") {
        let second = point["second"].as_u64().expect("a number");
        let from = origin.after(second * SECOND);
        let ended = Ended::within(from, users.iter().flatten());
        either_side += ended.maybe.len() - ended.surely.len();
        let told = |key: &str| point[key].as_f64().expect("a figure");
        ended.hold(told, &format!("second {second}"));
        if point["seconds"] != 1.0 {
            continue;
        }
        let border = from.after(SECOND);
        let under_way = users_at(
            users,
            |one| one.visit.arrived < border.earliest && one.visit.left >= border.latest,
            |one| one.begun_after < border.latest && one.ended_before >= border.earliest,
        );
        let at = format!("at the end of second {second}");
        hold_between(&point["under_way"], under_way, &format!("under way {at}"));
        let there: Vec<Vec<Seen>> = users.iter().map(|user| vec![stay(user)]).collect();
        let there = users_at(
            &there,
            |stay| stay.visit.arrived < border.earliest && stay.visit.left >= border.latest,
            |stay| stay.begun_after < border.latest && stay.ended_before >= border.earliest,
        );
        hold_between(&point["users"], there, &format!("users {at}"));
        eprintln!(
            "{at}: {} requests, {} to {}; {} under way, {under_way:?}; {} users, {there:?}",
            point["count"],
            ended.surely.len(),
            ended.maybe.len(),
            point["under_way"],
            point["users"],
        );
    }
    eprintln!("{either_side} may be counted on either side of a border");
}

/// A user's whole stay, as if it were one request.
fn stay(user: &[Seen]) -> Seen {
    let (first, last) = (&user[0], &user[user.len() - 1]);
    Seen {
        visit: Visit {
            left: last.visit.left,
            ..first.visit.clone()
        },
        begun_after: first.begun_after,
        ended_before: last.ended_before,
    }
}

fn hold_names(report: &Report, users: &[Vec<Seen>], origin: Moment) {
    let seconds = report.json["series"].as_array().expect("a series").len() as u64;
    let names: BTreeSet<&str> = users.iter().flatten().map(|one| name(&one.visit)).collect();
    let rows = report.json["requests"].as_array().expect("rows");
    assert_eq!(rows.len(), names.len());
    for row in rows {
        let (wanted, series) = (row["name"].as_str().expect("a name"), &row["series"]);
        let listed = series["second"].as_array().expect("a column");
        for second in 0..seconds {
            let own = users
                .iter()
                .flatten()
                .filter(|one| name(&one.visit) == wanted);
            let ended = Ended::within(origin.after(second * SECOND), own);
            // A second without requests is left out.
            let place = listed.iter().position(|known| *known == second);
            let told = |key: &str| match place {
                Some(place) => series[key][place].as_f64().expect("a figure"),
                None => 0.0,
            };
            ended.hold(told, &format!("{wanted} in second {second}"));
        }
    }
}

#[test]
fn each_second_is_that_of_the_site_but_for_answers_on_their_way_at_its_borders() {
    let _alone = alone();
    let site = LoggingSite::start(|path, _| service_time(path));
    let (plan, url) = (plan("accuracy_over_time.lua", VISITORS), site.url());
    let log = path("accuracy_over_time.csv");
    let before = SystemTime::now();
    let fixed = [&plan, "-H", &url, "--threads", "2", "--request-log", &log];
    let stages = STAGES.iter().flat_map(|stage| ["--stage", *stage]);
    let report = run(fixed.into_iter().chain(stages));
    assert_eq!(report.ended.code, 0, "{}", report.ended.stderr);

    let visits = site.visits();
    let began = log_began(&visits, &log);
    let origin_ns = report.json["origin_ns"].as_u64().expect("a number");
    assert!(
        origin_ns >= 370_000_000,
        "the load begins after 'test_start'"
    );
    let origin = began.after(origin_ns);
    eprintln!(
        "the clock of the logs began at {} ns of the site's, known within {} µs",
        began.earliest,
        (began.latest - began.earliest) / 1_000
    );
    // Between the start of the program and that of its clock; it is told in whole milliseconds.
    let started: jiff::Timestamp = report.json["started"]
        .as_str()
        .and_then(|text| text.parse().ok())
        .expect("a date");
    let started = SystemTime::from(started);
    let ms = Duration::from_millis(1);
    assert!(started + ms >= before && started <= site.date(began.latest) + ms);

    let mut users = seen(&site, pause);
    users.retain(|user| user[0].visit.part(0) == "come");
    assert_eq!(users.len() as u64, USERS);
    for user in &mut users {
        let number: u64 = user[0].visit.part(1).parse().expect("a user's number");
        user[0].begun_after = origin.earliest + (number - 1) * COMING / USERS;
    }
    let total: usize = users.iter().map(Vec::len).sum();
    assert_eq!(report.total("count") as usize, total);
    let points = report.json["series"].as_array().expect("a series");
    let counted = points.iter().filter_map(|point| point["count"].as_u64());
    assert_eq!(counted.sum::<u64>() as usize, total);
    hold_seconds(&report, &users, origin);
    hold_names(&report, &users, origin);
}
