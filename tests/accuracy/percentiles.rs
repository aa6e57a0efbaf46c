//! Whether figures are true: a site notes when each request arrived and when its answer left, and what the report says
//! is compared with that. Here every percentile: the site takes a known time for each answer, from a fixed list with
//! two peaks and a tail.

use crate::alone;
use crate::logging_site::{LoggingSite, Visit};
use crate::program::plan;
use crate::report::iterate_at;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// The number of answers whose time is known.
const KNOWN: usize = 2_000;
const USERS: usize = 20;

/// Returns the time of the n-th answer: six in ten around 4 ms, three around 20 ms, and a tail up to 200 ms.
fn service_time(n: usize) -> Duration {
    let spread = (n * 7_919 % 1_000) as u64;
    let us = match n % 100 {
        0..60 => 3_500 + spread,
        60..90 => 18_000 + 4 * spread,
        90..99 => 30_000 + 30 * spread,
        _ => 80_000 + 120 * spread,
    };
    Duration::from_micros(us)
}

/// What the site's log says of one request: when lgoose must have begun it, and when it must have had the answer, in
/// nanoseconds on the site's clock. A user asks for one thing at a time and over one connection, so it began a request
/// after the answer before it had left and before it arrived, and had its answer before its next request arrived. How
/// long a busy machine takes to deliver something is all in there.
pub(crate) struct Seen {
    pub(crate) visit: Visit,
    pub(crate) begun_after: u64,
    pub(crate) ended_before: u64,
}

impl Seen {
    /// What it took in milliseconds, at least and at most.
    pub(crate) fn took_ms(&self) -> [f64; 2] {
        let most = self.ended_before.saturating_sub(self.begun_after);
        [self.visit.left - self.visit.arrived, most].map(|ns| ns as f64 / 1e6)
    }
}

/// All requests as the site has seen them, by user. `pause` is how long a user waits between the two, in nanoseconds.
pub(crate) fn seen(site: &LoggingSite, pause: impl Fn(&Visit, &Visit) -> u64) -> Vec<Vec<Seen>> {
    let mut by_connection: BTreeMap<usize, Vec<Visit>> = BTreeMap::new();
    for visit in site.visits() {
        by_connection
            .entry(visit.connection)
            .or_default()
            .push(visit);
    }
    let of_one = |visits: Vec<Visit>| {
        let mut seen: Vec<Seen> = Vec::new();
        let end = site.end_of(visits[0].connection);
        for (place, visit) in visits.iter().enumerate() {
            let before = place.checked_sub(1).map(|place| &visits[place]);
            let after = visits.get(place + 1);
            seen.push(Seen {
                begun_after: before.map_or(0, |before| before.left + pause(before, visit)),
                ended_before: match after {
                    Some(after) => after.arrived - pause(visit, after),
                    None => end.unwrap_or(u64::MAX),
                },
                visit: visit.clone(),
            });
        }
        seen
    };
    by_connection.into_values().map(of_one).collect()
}

/// The smallest of the rising figures that so much of them, of 1, does not exceed: what a histogram means by a
/// quantile.
pub(crate) fn quantile(figures: &[f64], quantile: f64) -> f64 {
    let rank = (quantile * figures.len() as f64).ceil() as usize;
    figures[rank.clamp(1, figures.len()) - 1]
}

fn figure(row: &Value, key: &str) -> f64 {
    row["latency_ms"][key].as_f64().expect("a figure")
}

#[test]
fn every_percentile_is_that_of_the_site_within_a_thousandth_and_the_way_there_and_back() {
    let _alone = alone();
    let site = LoggingSite::start(|path, _| match path.strip_prefix("/known/") {
        Some(n) => service_time(n.parse().unwrap_or(0)),
        None => Duration::ZERO,
    });
    let url = site.url();
    // Beside the known answers one that the site gives at once; the first of each user opens its connection.
    let text = format!(
        "task {{ on_start = true, function(user) user:get \"/in\" end }}\n\
         task {{ function(user)\n  \
         local n = (user.iteration - 1) * {USERS} + user.id - 1\n  \
         user:get(\"/known/\" .. n, {{ name = \"known\" }})\n  \
         user:get(\"/at-once\", {{ name = \"at once\" }})\nend }}"
    );
    let path = plan("accuracy.lua", &text);
    let report = iterate_at(&path, &url, USERS as u32, (KNOWN / USERS) as u32, &[]);
    assert_eq!(report.ended.code, 0, "{}", report.ended.stderr);

    let rows = report.json["requests"].as_array().expect("rows");
    let row = |name: &str| rows.iter().find(|row| row["name"] == name).expect("a row");
    let users = seen(&site, |_, _| 0);
    let known = users
        .iter()
        .flatten()
        .filter(|one| one.visit.part(0) == "known");
    let took: Vec<[f64; 2]> = known.map(Seen::took_ms).collect();
    assert_eq!(took.len(), KNOWN);
    let [least, most] = [0, 1].map(|bound| {
        let mut figures: Vec<f64> = took.iter().map(|took| took[bound]).collect();
        figures.sort_unstable_by(f64::total_cmp);
        figures
    });
    let mean = |figures: &[f64]| figures.iter().sum::<f64>() / figures.len() as f64;
    let quantiles = [
        ("min", 0.0),
        ("p50", 0.5),
        ("p75", 0.75),
        ("p90", 0.9),
        ("p95", 0.95),
        ("p98", 0.98),
        ("p99", 0.99),
        ("p99.9", 0.999),
        ("p99.99", 0.9999),
        ("max", 1.0),
    ];
    let truths = quantiles.map(|(key, q)| (key, quantile(&least, q), quantile(&most, q)));
    for (key, least, most) in [("avg", mean(&least), mean(&most))]
        .into_iter()
        .chain(truths)
    {
        let told = figure(row("known"), key);
        assert!(
            told >= least * 0.999 && told <= most * 1.001,
            "{key}: {told} ms told; {least} ms at the site, {most} ms with the way there and back"
        );
        eprintln!(
            "{key:>7}  told {told:8.3} ms  at the site {least:8.3} ms  and the way {most:8.3} ms"
        );
    }
    let loopback = |key| figure(row("at once"), key);
    eprintln!(
        "the way there and back: p50 {:.3} ms, max {:.3} ms",
        loopback("p50"),
        loopback("max")
    );
}
