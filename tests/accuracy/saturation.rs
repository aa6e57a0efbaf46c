//! Saturation of lgoose itself: the same plan with a generator that has not enough time, with one that gets no core,
//! and with a slow site.

use crate::alone;
use crate::program::{Lgoose, plan};
use crate::report::run;
use crate::server::Server;

/// A plan in which each request costs the generator some milliseconds of computing.
const PLAN: &str = "task { function(user)\n  user:get(env \"PAGE\")\n  local begin = os.clock()\n  \
     while os.clock() - begin < 0.004 do end\nend }";

/// The arguments for six users of that plan on one thread.
fn busy<'a>(
    path: &'a str,
    url: &'a str,
    page: &'a str,
    time: &'a str,
    more: &'a str,
) -> [&'a str; 14] {
    [
        path,
        "-H",
        url,
        "-e",
        page,
        "--threads",
        "1",
        "-u",
        "6",
        "-r",
        "1000",
        "-t",
        time,
        more,
    ]
}

#[test]
fn a_starved_generator_is_flagged_and_a_slow_site_is_not() {
    let _alone = alone();
    let server = Server::start();
    let (url, path) = (server.url(), plan("saturation.lua", PLAN));
    let arguments = |page| busy(&path, &url, page, "3s", "--fail-on-saturation");

    let starved = run(arguments("PAGE=/"));
    let generator = &starved.json["generator"];
    assert!(
        generator["saturated_s"].as_f64() >= Some(1.0),
        "{generator}"
    );
    assert!(generator["busiest"].as_f64() >= Some(0.9), "{generator}");
    let warning = starved.json["warnings"][0].to_string();
    assert!(
        warning.contains("lgoose itself was the bottleneck in"),
        "{warning}"
    );
    let series = starved.json["series"].as_array().expect("a series");
    assert!(
        series.iter().any(|point| point["saturated"] == true),
        "{series:?}"
    );
    assert_eq!(starved.ended.code, 1, "{}", starved.ended.stderr);
    assert!(
        starved.ended.stderr.contains("--fail-on-saturation"),
        "{}",
        starved.ended.stderr
    );

    let slow = run(arguments("PAGE=/delay/500"));
    let generator = &slow.json["generator"];
    assert_eq!(generator["saturated_s"], 0.0, "{generator}");
    assert!(generator["judged_s"].as_f64() >= Some(2.0), "{generator}");
    assert_eq!(generator["connections"], 6, "{generator}");
    assert_eq!(slow.ended.code, 0, "{}", slow.ended.stderr);
}

#[test]
fn the_warning_is_the_first_line_below_the_title() {
    let _alone = alone();
    let server = Server::start();
    let (url, path) = (server.url(), plan("saturation_text.lua", PLAN));
    let ended = Lgoose::new(busy(&path, &url, "PAGE=/", "2s", "--only-summary")).finish();
    assert_eq!(ended.code, 0, "it is a warning: {}", ended.stderr);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    let warning = lines
        .iter()
        .position(|line| line.contains("LGOOSE AT ITS LIMIT since +"));
    let title = lines.iter().position(|line| line.contains("lgoose · "));
    assert_eq!(warning, title.map(|line| line + 2), "{}", ended.stdout);
    assert!(lines[warning.unwrap_or_default() + 2].contains("the bottleneck in"));
    assert!(
        ended.stdout.contains(" generator    1 thread, "),
        "{}",
        ended.stdout
    );
}

/// Asserts that its threads are far from busy, and that its timers and the responses that it reads are a few
/// milliseconds late.
#[cfg(target_os = "linux")]
#[test]
fn a_generator_that_is_kept_off_its_core_tells_its_part() {
    use crate::cores::beside_busy_loops;

    let _alone = alone();
    let server = Server::start();
    let path = plan(
        "saturation_starved.lua",
        "task { function(user)\n  user:get(\"/delay/5\")\n  user:wait(0.02)\nend }",
    );
    let url = server.url();
    let fixed = "--threads 1 -u 20 -r 1000 -t 3s";
    let users_are_there = || server.received() >= 20;
    let starved = beside_busy_loops(users_are_there, || {
        let arguments = [path.as_str(), "-H", &url];
        run(arguments.into_iter().chain(fixed.split(' ')))
    });
    let generator = &starved.json["generator"];
    assert!(
        generator["saturated_s"].as_f64() >= Some(0.5),
        "{generator}"
    );
    let p99 = starved.json["aggregated"]["latency_ms"]["p99"]
        .as_f64()
        .expect("there were answers");
    let own = generator["own_p99_ms"].as_f64().expect("there is a probe");
    // How much of the truth that is, `own_part` holds it to.
    assert!((1.0..=p99).contains(&own), "{own} ms of {p99} ms");
    let warning = starved.json["warnings"][0].as_str().expect("a warning");
    assert!(
        warning.contains("other programs kept its threads off the cores"),
        "{warning}"
    );
    assert!(warning.contains("ms is lgoose's own part"), "{warning}");
    let points = starved.json["series"].as_array().expect("a series");
    let told = |point: &serde_json::Value| point["own_p99_ms"].as_f64() > Some(1.0);
    assert!(
        points
            .iter()
            .any(|point| point["saturated"] == true && told(point)),
        "{points:?}"
    );
}

#[test]
fn a_user_whose_code_holds_up_its_thread_for_seconds_marks_them() {
    let _alone = alone();
    let server = Server::start();
    // What C calls cannot be preempted.
    let text = "scenario { \"busy\", users = 1, task { function(user)\n  user:get '/busy'\n  local begin = os.clock()\n  \
                table.sort({ 2, 1 }, function(a, b) while os.clock() - begin < 2.5 do end return a < b end)\nend } }\n\
                scenario { \"held up\", users = 3, wait = 0.02, task { function(user) user:get '/' end } }";
    let path = plan("held_up.lua", text);
    let held_up = run([
        &*path,
        "-H",
        &server.url(),
        "--threads",
        "1",
        "-u",
        "4",
        "-r",
        "1000",
        "-t",
        "4s",
        "--lua-time",
        "10s",
        "--fail-on-saturation",
    ]);
    let generator = &held_up.json["generator"];
    assert!(
        generator["saturated_s"].as_f64() >= Some(1.0),
        "{generator}"
    );
    assert!(generator["busiest"].as_f64() >= Some(0.9), "{generator}");
    assert_eq!(held_up.ended.code, 1, "{}", held_up.ended.stderr);
}
