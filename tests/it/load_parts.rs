//! A load in parts (`--part`): together they do what one run does, and their reports join into the one of that run.

use crate::program::{Ended, Lgoose, plan, scratch};
use crate::report::{Report, read, run};
use crate::server::Server;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Two scenarios with chance in what they ask for, whose users are all there before the first of them has done its part.
const CHANCE: &str = "scenario { \"reader\", weight = 3,\n  \
    task { on_start = true, function(user) user:wait(0.5) end },\n  \
    task { \"read\", function(user) user:get(\"/status/200?user=\" .. user.id .. \"&n=\" .. random.int(1, 1e9), { name = \"read\" }) end },\n  \
    task { \"list\", function(user) user:get(\"/status/200?user=\" .. user.id .. \"&list\", { name = \"list\" }) end },\n}\n\
    scenario { \"writer\", weight = 1,\n  \
    task { on_start = true, function(user) user:wait(0.5) end },\n  \
    task { \"write\", function(user) user:get(\"/status/404?user=\" .. user.id, { name = \"write\" }) end },\n}";

/// Runs one part of a plan, or all of it, with its JSON in a file of that name.
fn run_part(
    path: &str,
    server: &Server,
    part: Option<&str>,
    more: &[&str],
    name: &str,
) -> (PathBuf, Ended) {
    let file = scratch(name);
    let output = format!("json={}", file.display());
    let url = server.url();
    let mut arguments = vec![path, "-H", &url, "--seed", "7", "-q", "-o", &output];
    arguments.extend(more);
    if let Some(part) = part {
        arguments.extend(["--part", part]);
    }
    (file, Lgoose::new(&arguments).finish())
}

fn joined(files: &[PathBuf]) -> Report {
    let mut arguments = vec!["report".to_owned()];
    arguments.extend(files.iter().map(|file| file.display().to_string()));
    arguments.extend(["-o".to_owned(), "json=-".to_owned()]);
    read(Lgoose::new(arguments).finish())
}

fn refused(files: &[&PathBuf]) -> String {
    let mut arguments = vec!["report".to_owned()];
    arguments.extend(files.iter().map(|file| file.display().to_string()));
    let ended = Lgoose::new(arguments).finish();
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    ended.stderr
}

fn sorted(server: &Server) -> Vec<String> {
    let mut requests = server.requests();
    requests.sort();
    requests
}

#[test]
fn four_parts_make_user_for_user_the_requests_of_one_run_and_join_into_its_report() {
    let path = plan("load_parts.lua", CHANCE);
    let more = [
        "-u",
        "10",
        "-r",
        "1000",
        "-i",
        "6",
        "--threshold",
        "write: failures < 1%",
    ];
    let whole = Server::start();
    let (file, _) = run_part(&path, &whole, None, &more, "parts-whole.json");
    let expected: Value =
        serde_json::from_slice(&std::fs::read(file).expect("a report")).expect("JSON");

    let parted = Server::start();
    let mut files = Vec::new();
    for number in 1..=4 {
        let part = format!("{number}/4");
        // The number of threads is each machine's own.
        let threads = (number % 3 + 1).to_string();
        let more = [&more[..], &["--threads", &threads]].concat();
        let (file, ended) = run_part(
            &path,
            &parted,
            Some(&part),
            &more,
            &format!("parts-{number}.json"),
        );
        assert!(ended.code < 2, "{}", ended.stderr);
        files.push(file);
    }
    assert_eq!(sorted(&parted), sorted(&whole));

    let report = joined(&files);
    assert_eq!(report.ended.code, 0, "{}", report.ended.stderr);
    let json = &report.json;
    assert_eq!(json["users"], 10);
    for key in ["count", "failures", "bytes", "status"] {
        assert_eq!(
            json["aggregated"][key], expected["aggregated"][key],
            "{key}"
        );
    }
    let rows = |json: &Value| {
        let rows = json["requests"].as_array().expect("rows").iter();
        let row = |row: &Value| {
            (
                row["name"].to_string(),
                row["count"].to_string(),
                row["status"].to_string(),
            )
        };
        rows.map(row).collect::<BTreeSet<_>>()
    };
    assert_eq!(rows(json), rows(&expected));
    let tasks = |json: &Value| {
        let tasks = json["tasks"].as_array().expect("rows").iter();
        let row = |row: &Value| {
            (
                row["scenario"].to_string(),
                row["name"].to_string(),
                row["runs"].to_string(),
            )
        };
        tasks.map(row).collect::<Vec<_>>()
    };
    assert_eq!(tasks(json), tasks(&expected));
    let counts = |json: &Value| -> Vec<[Value; 3]> {
        let rows = json["scenarios"].as_array().expect("scenarios").iter();
        rows.map(|row| ["name", "users", "iterations"].map(|key| row[key].clone()))
            .collect()
    };
    assert_eq!(counts(json), counts(&expected));
    let verdict = |json: &Value| {
        (
            json["verdict"]["result"].clone(),
            json["thresholds"][0]["passed"].clone(),
        )
    };
    assert_eq!(verdict(json), verdict(&expected));
    assert_eq!(json["thresholds"][0]["value"], 100.0);
    assert_eq!(json["errors"][0]["count"], expected["errors"][0]["count"]);
    let points = json["series"].as_array().expect("points").iter();
    let sum: u64 = points
        .map(|point| point["count"].as_u64().expect("a count"))
        .sum();
    assert_eq!(sum, report.total("count"));
    assert!(json["part"].is_null());

    let without = joined(&[files[0].clone(), files[2].clone(), files[3].clone()]);
    let warnings = without.json["warnings"].to_string();
    assert!(
        warnings.contains("of 4 parts, one is missing: 2"),
        "{warnings}"
    );
}

#[test]
fn arrivals_unique_rows_and_the_ceiling_on_requests_are_shared_out() {
    let folder = scratch("parts-data");
    std::fs::create_dir_all(&folder).expect("a folder");
    let rows: Vec<String> = (0..40).map(|n| format!("row-{n}")).collect();
    std::fs::write(folder.join("rows.txt"), rows.join("\n")).expect("rows");
    let path = folder.join("plan.lua");
    let source = "local rows = data.lines(\"rows.txt\", { order = \"unique\" })\n\
        task { function(user)\n  local row = rows:next()\n  user:get(\"/status/200?\" .. row, { name = \"row\" })\nend }";
    std::fs::write(&path, source).expect("a plan");
    let path = path.display().to_string();
    let server = Server::start();
    for part in ["1/3", "2/3", "3/3"] {
        let more = ["-u", "3", "-r", "1000", "-t", "20s"];
        let (_, ended) = run_part(&path, &server, Some(part), &more, "parts-unique.json");
        assert!(ended.code < 2, "{}", ended.stderr);
    }
    let mut expected: Vec<String> = rows
        .iter()
        .map(|row| format!("GET /status/200?{row}"))
        .collect();
    expected.sort();
    assert_eq!(
        sorted(&server),
        expected,
        "no row twice over all parts, and none left out"
    );

    let path = plan(
        "parts_rate.lua",
        "task { function(user) user:get(\"/status/200\", { name = \"a\" }) end }",
    );
    let server = Server::start();
    let mut files = Vec::new();
    for part in ["1/3", "2/3", "3/3"] {
        let more = ["--rate", "50", "-t", "2s"];
        let name = format!("parts-rate-{}.json", &part[..1]);
        files.push(run_part(&path, &server, Some(part), &more, &name).0);
    }
    let report = joined(&files);
    assert_eq!((report.total("count"), server.received()), (100, 100));
    assert_eq!(report.json["arrivals"]["started"], 100);
    let second = |at: usize| {
        report.json["series"][at]["count"]
            .as_u64()
            .expect("a count")
    };
    assert!((48..=52).contains(&second(0)), "{}", second(0));

    let url = server.url();
    let report = run([
        &path,
        "-H",
        &url,
        "-u",
        "4",
        "-r",
        "1000",
        "-t",
        "2s",
        "--throttle-requests",
        "40",
        "--part",
        "1/2",
    ]);
    let count = report.total("count");
    assert!(
        (38..=43).contains(&count),
        "{count} requests at 20 a second"
    );
}

#[test]
fn reports_that_do_not_belong_together_are_refused_in_words() {
    let path = plan("parts_refused.lua", CHANCE);
    let server = Server::start();
    let run_one = |part: Option<&str>, more: &[&str], name: &str| {
        let more = [&["-u", "4", "-r", "1000", "-i", "1"], more].concat();
        run_part(&path, &server, part, &more, name).0
    };
    let first = run_one(Some("1/2"), &[], "refused-1.json");
    let again = run_one(Some("1/2"), &[], "refused-again.json");
    let other = run_one(Some("2/3"), &[], "refused-other.json");
    let long = run_one(Some("2/2"), &["-t", "1s"], "refused-long.json");
    let whole = run_one(None, &[], "refused-whole.json");
    assert!(refused(&[&first, &again]).contains("are both part 1 of 2"));
    assert!(refused(&[&first, &other]).contains("is part 2 of 3"));
    assert!(refused(&[&first, &long]).contains("their options differ"));
    assert!(refused(&[&first, &whole]).contains("only runs with '--part' can be joined"));

    let url = server.url();
    let ended = Lgoose::new([&path, "-H", &url, "-u", "2", "--part", "3/3"]).finish();
    assert_eq!(ended.code, 2);
    assert!(
        ended.stderr.contains("part 3 of 3 of 2 users has none"),
        "{}",
        ended.stderr
    );
}
