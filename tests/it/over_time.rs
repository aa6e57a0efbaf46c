//! Reports over time: each second of a report agrees with that second of the request log, and the users at its border
//! with the task log, in real runs however they end.

use crate::log_lines::{path, rows};
use crate::program::{Lgoose, plan, wait_until};
use crate::report::{Report, read};
use crate::server::Server;
use std::collections::BTreeMap;

/// A plan of visitors with their own pace that report their start and stop; some requests fail, some only after a wait.
const VISITORS: &str = r#"
on("test_start", function(user) user:get "/event/start" user:wait(0.3) end)
scenario { "visitor",
  task { "come", on_start = true, function(user) user:get "/in" end },
  task { "look", wait = 0.013, function(user)
    user:get "/"
    user:fetch { "/a", "/b", "/status/500" }
    local page = user:get "/late"
    user:wait(0.21)
    if random.int(1, 3) == 1 then page:fail("not good enough") end
  end },
  task { "go", on_stop = true, function(user) user:get "/out" end },
}
"#;

/// A plan whose users wait for a response when the run is stopped.
const HELD: &str = "task { function(user) user:get \"/\" user:get \"/delay/5000\" end }";

const ONE: &str = "task { function(user) user:get \"/\" end }";

/// The end of a run.
enum Ends {
    ByItself,
    /// By a number of signals, once the site has had a number of requests.
    After(u64, u32),
}

/// Runs a plan with both logs, and compares the report with them.
fn assert_agrees(name: &str, source: &str, arguments: &[&str], ends: Ends) -> Report {
    let server = Server::start();
    let plan = plan(&format!("over_time_{name}.lua"), source);
    let requests = path(&format!("over_time_{name}.csv"));
    let tasks = path(&format!("over_time_{name}_tasks.csv"));
    let url = server.url();
    let own = [
        &plan,
        "-H",
        &url,
        "--request-log",
        &requests,
        "--task-log",
        &tasks,
        "-o",
        "json=-",
        "--threads",
        "2",
    ];
    let running = Lgoose::new(own.iter().chain(arguments)).start();
    if let Ends::After(count, signals) = ends {
        for signal in 0..signals {
            wait_until("enough requests", || server.received() >= count);
            if signal > 0 {
                wait_until("the first signal", || running.stderr().contains("stopping"));
            }
            running.interrupt();
        }
    }
    let report = read(running.end());
    assert_seconds(&report, &requests);
    if source == VISITORS {
        assert_users(&report, &tasks);
    }
    report
}

fn number(row: &BTreeMap<String, String>, column: &str) -> u64 {
    row[column].parse().expect("a number")
}

/// Counts requests and failures of each second, in all and by name.
fn assert_seconds(report: &Report, log: &str) {
    let origin = report.json["origin_ns"].as_u64().expect("a number");
    let mut logged: BTreeMap<(String, u64), (u64, u64)> = BTreeMap::new();
    // What `test_start` and `test_stop` requested stands apart.
    for row in rows(log).iter().filter(|row| number(row, "user") > 0) {
        let Some(end) = number(row, "end_ns").checked_sub(origin) else {
            continue;
        };
        let failed = u64::from(!row["error"].is_empty());
        for name in ["", &row["name"]] {
            let second = logged
                .entry((name.to_owned(), end / 1_000_000_000))
                .or_default();
            *second = (second.0 + 1, second.1 + failed);
        }
    }
    let mut told = BTreeMap::new();
    for point in report.json["series"].as_array().expect("a list") {
        let figure = |key: &str| point[key].as_u64().expect("a number");
        if figure("count") > 0 {
            let second = (String::new(), figure("second"));
            told.insert(second, (figure("count"), figure("failures")));
        }
    }
    for row in report.json["requests"].as_array().expect("a list") {
        let name = row["name"].as_str().expect("a name");
        let column = |key: &str| {
            let values = row["series"][key].as_array().expect("a column");
            let numbers = values.iter().map(|value| value.as_u64().expect("a number"));
            numbers.collect::<Vec<_>>()
        };
        let (counts, failures) = (column("count"), column("failures"));
        for (at, second) in column("second").into_iter().enumerate() {
            told.insert((name.to_owned(), second), (counts[at], failures[at]));
        }
    }
    assert_eq!(told, logged);
}

/// Asserts that the users at each border of two seconds are those that had begun to start and had not ended stopping.
fn assert_users(report: &Report, log: &str) {
    let origin = report.json["origin_ns"].as_u64().expect("a number");
    let rows = rows(log);
    for point in report.json["series"].as_array().expect("a list") {
        if point["seconds"].as_f64() != Some(1.0) {
            continue;
        }
        let second = point["second"].as_u64().expect("a number");
        let border = origin + (second + 1) * 1_000_000_000;
        let past = |task: &str, column: &str| {
            let of = rows.iter().filter(|row| row["name"] == task);
            of.filter(|row| number(row, column) < border).count() as u64
        };
        let users = past("come", "start_ns") - past("go", "end_ns");
        assert_eq!(point["users"], users, "at the end of second {second}");
    }
}

fn cause(report: &Report) -> &str {
    report.json["ending"]["cause"].as_str().expect("a cause")
}

#[test]
fn a_run_of_users() {
    let arguments = ["-u", "12", "-r", "8", "-t", "2s"];
    let report = assert_agrees("closed", VISITORS, &arguments, Ends::ByItself);
    assert_eq!(report.start_stop("count"), 1);
    let origin = report.json["origin_ns"].as_u64().expect("a number");
    assert!(origin >= 300_000_000, "the load began after 'test_start'");
}

#[test]
fn a_run_at_a_rate() {
    let arguments = ["--rate", "300/s", "--max-users", "50", "-t", "3.5s"];
    let report = assert_agrees("open", ONE, &arguments, Ends::ByItself);
    // A machine that stands still for a while makes up for it, but does not make more than was due.
    let counts: Vec<u64> = report.json["series"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|point| point["count"].as_u64())
        .collect();
    assert!(counts.iter().sum::<u64>() <= 1_050, "{counts:?}");
}

#[test]
fn a_run_in_stages() {
    let stages = ["--stage", "1s:20", "--stage", "1s:20", "--stage", "1s:2"];
    let report = assert_agrees("staged", VISITORS, &stages, Ends::ByItself);
    let events = report.json["events"].as_array().expect("a list");
    let kinds = events.iter().map(|event| event["kind"].as_str());
    let stages = kinds.filter(|kind| *kind == Some("stage")).count();
    assert_eq!(stages, 2, "{events:?}");
}

#[test]
fn a_run_with_a_warm_up_and_one_whose_figures_begin_with_the_last_user() {
    let users = ["-u", "10", "-r", "8", "-t", "2s"];
    for more in ["--warmup=1.3s", "--reset-stats"] {
        let arguments = users.iter().copied().chain([more]).collect::<Vec<_>>();
        let name = more.trim_start_matches('-');
        let name = name.split('=').next().unwrap_or(name);
        let report = assert_agrees(name, VISITORS, &arguments, Ends::ByItself);
        let first = &report.json["events"][0];
        assert_eq!(
            (first["kind"].as_str(), first["at_s"].as_f64()),
            (Some("reset"), Some(0.0))
        );
    }
}

#[test]
fn a_run_that_is_stopped_and_one_that_is_aborted() {
    let arguments = ["-u", "12", "-r", "100", "-t", "60s"];
    let report = assert_agrees("stopped", VISITORS, &arguments, Ends::After(300, 1));
    assert_eq!(cause(&report), "signal");
    let report = assert_agrees("aborted", HELD, &arguments, Ends::After(22, 2));
    assert_eq!(cause(&report), "aborted");
}
