//! lgoose watches itself: the same plan with a generator that has not enough time, and with a slow site.

use crate::program::{Lgoose, plan};
use crate::report::run;
use crate::server::Server;

/// Each request costs the generator some milliseconds of computing.
const PLAN: &str = "task { function(user)\n  user:get(env \"PAGE\")\n  local begin = os.clock()\n  \
     while os.clock() - begin < 0.004 do end\nend }";

#[test]
fn a_starved_generator_is_flagged_and_a_slow_site_is_not() {
    let server = Server::start();
    let (url, path) = (server.url(), plan("saturation.lua", PLAN));
    let arguments = |page: &str| {
        let fixed = [
            "--threads",
            "1",
            "-u",
            "6",
            "-r",
            "1000",
            "-t",
            "3s",
            "--fail-on-saturation",
        ];
        let own = [
            path.clone(),
            "-H".to_owned(),
            url.clone(),
            "-e".to_owned(),
            format!("PAGE={page}"),
        ];
        own.into_iter()
            .chain(fixed.map(str::to_owned))
            .collect::<Vec<_>>()
    };

    let starved = run(arguments("/"));
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

    let slow = run(arguments("/delay/500"));
    let generator = &slow.json["generator"];
    assert_eq!(generator["saturated_s"], 0.0, "{generator}");
    assert!(generator["judged_s"].as_f64() >= Some(2.0), "{generator}");
    assert_eq!(generator["connections"], 6, "{generator}");
    assert_eq!(slow.ended.code, 0, "{}", slow.ended.stderr);
}

#[test]
fn the_warning_is_the_first_line_below_the_title() {
    let server = Server::start();
    let (url, path) = (server.url(), plan("saturation_text.lua", PLAN));
    let ended = Lgoose::new([
        path.as_str(),
        "-H",
        &url,
        "-e",
        "PAGE=/",
        "--threads",
        "1",
        "-u",
        "6",
        "-r",
        "1000",
        "-t",
        "2s",
        "--only-summary",
    ])
    .finish();
    assert_eq!(ended.code, 0, "it is a warning: {}", ended.stderr);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    let warning = lines
        .iter()
        .position(|line| line.contains("the bottleneck in"));
    let title = lines.iter().position(|line| line.contains("lgoose · "));
    assert_eq!(warning, title.map(|line| line + 2), "{}", ended.stdout);
    assert!(
        ended.stdout.contains(" generator    1 thread, "),
        "{}",
        ended.stdout
    );
}
