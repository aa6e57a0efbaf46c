//! Verdicts of whole runs over real connections: what a run leaves out takes its thresholds along, and a site that refuses does not
//! look like one that holds. What thresholds are about is tested in simulated time (`crates/engine/src/tests/verdicts.rs`).

use crate::faulty::{Site, answer};
use crate::program::{Lgoose, plan};
use crate::report::run;
use std::sync::Mutex;
use std::time::{Duration, Instant};

const LEFT_OUT: &str = "
plan { users = 4, hatch_rate = 100, iterations = 2, thresholds = {
  'p95 < 60s', ['task y'] = 'p95 < 60s', ['scenario=b, task y'] = 'p95 < 60s', ['y'] = 'p95 < 60s', ['z'] = 'p95 < 60s' } }
scenario { 'a', thresholds = 'p95 < 60s', task { 'x', function(user) user:get('/', { name = 'z' }) end } }
scenario { 'b', thresholds = 'p95 < 60s', task { 'y', tags = 'slow', function(user) user:get('/') end } }";

#[test]
fn what_is_left_out_takes_its_thresholds_along() {
    let site = Site::start(|_| answer(200, "", "ok"));
    let (path, url) = (plan("verdicts_left_out.lua", LEFT_OUT), site.url());
    for (flags, names) in [
        (
            &[][..],
            &[
                "",
                "scenario=a",
                "scenario=b",
                "scenario=b, task y",
                "task y",
                "y",
                "z",
            ][..],
        ),
        (&["--scenario", "a"], &["", "scenario=a", "z"]),
        (
            &["--tags", "slow"],
            &["", "scenario=b", "scenario=b, task y", "task y", "y", "z"],
        ),
        (&["--exclude-tags", "slow"], &["", "scenario=a", "z"]),
    ] {
        let report = run([path.as_str(), "-H", &url].iter().chain(flags));
        let rows = report.json["thresholds"].as_array().expect("a list");
        let mut judged: Vec<&str> = rows
            .iter()
            .map(|row| row["name"].as_str().unwrap_or(""))
            .collect();
        judged.sort_unstable();
        assert_eq!(judged, names, "{flags:?}");
        // With 'y' alone, nothing has the name 'z', which is no task: that is a mistake in any case.
        let holds = flags.first() != Some(&"--tags");
        assert_eq!(
            report.ended.code,
            i32::from(!holds),
            "{flags:?}: {}",
            report.ended.stderr
        );
        let notes = report.ended.stderr.matches("is left out with the").count();
        assert_eq!(notes > 0, !flags.is_empty(), "{}", report.ended.stderr);
    }
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_site_that_refuses_what_is_too_much_for_it_holds_what_it_answers() {
    // Forty requests a second are answered, whatever the second; the others are refused at once.
    let seconds = Mutex::new((Instant::now(), 0));
    let site = Site::start(move |_| {
        let mut seconds = seconds.lock().expect("no test fails in here");
        if seconds.0.elapsed() > Duration::from_secs(1) {
            *seconds = (Instant::now(), 0);
        }
        seconds.1 += 1;
        answer(if seconds.1 > 40 { 429 } else { 200 }, "", "ok")
    });
    let path = plan(
        "verdicts_refuses.lua",
        "task { 't', function(user) user:get '/' end }",
    );
    let url = site.url();
    let options = [
        "capacity",
        &path,
        "-H",
        &url,
        "--slo",
        "p95 < 60s",
        "--from",
        "20",
        "--to",
        "80",
        "--within",
        "50%",
        "--step-time",
        "2s",
        "--confirm-time",
        "2s",
        "--recovery-time",
        "0",
        "--step-time-max",
        "8s",
        "-o",
        "json=-",
    ];
    let ended = Lgoose::new(options).finish();
    let report: serde_json::Value = serde_json::from_str(&ended.stdout).expect("a report");
    let capacity = &report["capacity"];
    assert_eq!(
        capacity["slo"],
        serde_json::json!(["p95 < 60s", "failures < 1%"]),
        "{}",
        ended.stderr
    );
    assert_eq!(capacity["limited_by"], "failures < 1%", "{capacity}");
    let rate = capacity["rate"].as_f64().expect("some rate held");
    assert!(rate <= 41.0, "{rate}");
    // A step as short as a confirming run of this search is judged by figures, too.
    let steps = capacity["steps"].as_array().expect("steps");
    let measured = |step: &serde_json::Value| step["measured_s"].as_f64() >= Some(1.0);
    assert!(steps.iter().all(measured), "{capacity}");
}
