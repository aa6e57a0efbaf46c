//! Whether figures corrected for coordinated omission are those that an open schedule would have seen: users of a
//! steady pace, a site that freezes, and its log, in which the starts that are missing are put back evenly spaced.

use crate::alone;
use crate::logging_site::LoggingSite;
use crate::percentiles::{Seen, quantile, seen};
use crate::program::plan;
use crate::report::run;
use std::sync::OnceLock;
use std::time::Duration;

const USERS: usize = 10;
/// When the site freezes, after it was first asked, and for how long.
const FREEZES: [u64; 3] = [1_500, 4_000, 6_500];
const FROZEN: Duration = Duration::from_millis(1_000);
/// A figure may be that of a rank so much of all requests away, and a hundredth off. lgoose compares with the mean of the
/// cycles so far, in which a freeze counts as two of them, so it fills in one to five in a hundred fewer; and where users
/// ask almost together, what was filled in has gaps of a cycle, over which a few ranks make a large step.
const RANKS: f64 = 0.005;

/// Starts a site that takes so long for an answer, and gives what would leave during a freeze when that is over.
fn freezing_site(takes: Duration) -> LoggingSite {
    let first = OnceLock::new();
    LoggingSite::start(move |_, now| {
        let now = now - *first.get_or_init(|| now);
        let freezes = FREEZES.map(Duration::from_millis).into_iter();
        let mut frozen = freezes.filter(|from| now + takes > *from && now < *from + FROZEN);
        frozen.next().map_or(takes, |from| from + FROZEN - now)
    })
}

/// The latencies that one user would have had at its pace, in milliseconds, given when it began and had the answer of
/// each request, in nanoseconds. One that would have begun later would have waited for the same end, but for no less
/// than usual.
fn at_its_pace(requests: &[[u64; 2]]) -> (Vec<f64>, usize) {
    let gap = |two: &[[u64; 2]]| two[1][0] - two[0][0];
    let mut gaps: Vec<u64> = requests.windows(2).map(gap).collect();
    gaps.sort_unstable();
    let most = 2 * gaps[gaps.len() / 2];
    gaps.retain(|gap| *gap <= most);
    let pace = gaps.iter().sum::<u64>() / gaps.len() as u64;
    let took = |one: &[u64; 2]| one[1].saturating_sub(one[0]);
    let mut latencies: Vec<u64> = requests.iter().map(took).collect();
    latencies.sort_unstable();
    let usual = latencies[latencies.len() / 2];
    let mut filled = 0;
    for two in requests.windows(2).filter(|two| gap(two) > 2 * pace) {
        let missing = gap(two) / pace - 1;
        filled += missing as usize;
        latencies.extend((1..=missing).map(|n| took(&two[0]).saturating_sub(n * pace).max(usual)));
    }
    (
        latencies.into_iter().map(|ns| ns as f64 / 1e6).collect(),
        filled,
    )
}

fn assert_corrected(name: &str, wait: Duration, takes: Duration) {
    let site = freezing_site(takes);
    let text = format!(
        "task {{ wait = {}, function(user) user:get \"/\" end }}",
        wait.as_secs_f64()
    );
    let (path, url) = (plan(&format!("corrected_{name}.lua"), &text), site.url());
    // They come evenly spread over one cycle.
    let rate = (USERS as f64 / (wait + takes).as_secs_f64()).to_string();
    let users = USERS.to_string();
    let fixed = "-t 8s --co-mitigation average";
    let own = [&path, "-H", &url, "-u", &users, "-r", &rate];
    let report = run(own.into_iter().chain(fixed.split(' ')));
    assert_eq!(report.ended.code, 0, "{}", report.ended.stderr);

    let wait = wait.as_nanos() as u64;
    let users = seen(&site, |_, _| wait);
    assert_eq!(users.len(), USERS);
    // As the site saw it, and at most, with the way there and back.
    let bounds = [
        |one: &Seen| [one.visit.arrived, one.visit.left],
        |one: &Seen| {
            [
                one.begun_after.min(one.visit.arrived),
                one.ended_before.max(one.visit.left),
            ]
        },
    ];
    let [least, most] = bounds.map(|of| {
        // The first opens the connection, and nobody knows when it had the last answer.
        let inner = |user: &Vec<Seen>| user[1..user.len() - 1].iter().map(of).collect::<Vec<_>>();
        let (mut all, mut filled) = (Vec::new(), 0);
        for user in &users {
            let (latencies, missing) = at_its_pace(&inner(user));
            all.extend(latencies);
            filled += missing;
        }
        all.sort_unstable_by(f64::total_cmp);
        (all, filled)
    });
    let corrected = &report.json["co_mitigation"]["aggregated"];
    eprintln!(
        "{name}: {} late cycles, {} requests, {} of them filled in, {} missing by the site's log",
        report.json["co_mitigation"]["late_cycles"],
        corrected["count"],
        corrected["filled"],
        least.1
    );
    for (key, q, ranks) in [
        ("p50", 0.5, RANKS),
        ("p90", 0.9, RANKS),
        ("p99", 0.99, RANKS),
        ("max", 1.0, 0.0),
    ] {
        let measured = report.json["aggregated"]["latency_ms"][key]
            .as_f64()
            .expect("a figure");
        let told = corrected["latency_ms"][key].as_f64().expect("a figure");
        let [low, high] = [&least.0, &most.0].map(|all| quantile(all, q));
        eprintln!(
            "{key:>4}: measured {measured:8.2} ms, corrected {told:8.2} ms, true {low:8.2} to {high:8.2} ms"
        );
        let (low, high) = (quantile(&least.0, q - ranks), quantile(&most.0, q + ranks));
        assert!(
            told >= low * 0.99 && told <= high * 1.01,
            "{name}: {key}: {told} ms told, {low} to {high} ms true"
        );
    }
}

#[test]
fn corrected_figures_of_users_who_pause_are_those_of_an_open_schedule() {
    let _alone = alone();
    assert_corrected(
        "pausing",
        Duration::from_millis(40),
        Duration::from_millis(10),
    );
}

#[test]
fn corrected_figures_of_users_who_ask_again_at_once_are_those_of_an_open_schedule() {
    let _alone = alone();
    assert_corrected("at_once", Duration::ZERO, Duration::from_millis(20));
}
