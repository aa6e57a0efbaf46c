//! `lgoose audit` beside a real nginx: runs with redirects, requests that are cut off and connections that end, over HTTP/1.1 and HTTP/2,
//! are equal to the byte; what is taken out of a log, or put into it, is named.

use crate::nginx::{FULL, Nginx};
use crate::program::{Ended, Lgoose};
use crate::report::saved;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::Path;

/// A plan with a page of a URL of its own each time, redirects of three hops, a form, and two kinds of errors.
const PLAN: &str = r#"
task { "visit", function(user)
  user:get("/page.html?id=" .. random.int(1, 1000000000), { name = "page" })
  user:get "/moved"
  user:post("/form", "a=b")
  user:get "/nothing"
  user:get "/busy"
end }
"#;

/// Users of a plan for some iterations each, whose report and request log are `run.json` and `requests.csv`.
fn run(folder: &Path, url: &str, plan: &str, more: &[&str]) -> Ended {
    fs::write(folder.join("plan.lua"), plan).expect("the folder takes a file");
    let usual = [
        "plan.lua",
        "-q",
        "-H",
        url,
        "-r",
        "1000",
        "-o",
        "json=run.json",
        "--request-log",
        "requests.csv",
    ];
    let all = usual.iter().chain(more);
    Lgoose::new(all).within(folder).finish()
}

fn audit(folder: &Path, log: &str, more: &[&str]) -> Ended {
    let usual = ["audit", "run.json", "--request-log", "requests.csv", log];
    Lgoose::new(usual.iter().chain(more))
        .within(folder)
        .finish()
}

/// Audits, and reads the result.
fn result(folder: &Path, log: &str, more: &[&str]) -> (i32, Value) {
    let more: Vec<&str> = more
        .iter()
        .copied()
        .chain(["-o", "json=audit.json"])
        .collect();
    let ended = audit(folder, log, &more);
    (ended.code, saved(&folder.join("audit.json")))
}

/// Checks that both sides have the same in each log of the server, to the byte where the log has heads and bodies.
fn assert_agrees(folder: &Path) -> Value {
    let given = ["--log-format", FULL];
    // On a busy machine, the server may log a request seconds after its end.
    let patient = ["--tolerance", "10s"];
    for (log, more) in [
        ("combined.log", &patient[..]),
        ("json.log", &patient),
        ("full.log", &given),
    ] {
        let (code, audit) = result(folder, log, more);
        let shown = self::audit(folder, log, more);
        assert_eq!(code, 0, "{log}: {}{}", shown.stdout, shown.stderr);
        assert!(shown.stdout.contains("agrees: all "), "{}", shown.stdout);
        assert!(
            shown.stdout.lines().all(|line| line.chars().count() <= 80),
            "{}",
            shown.stdout
        );
        let bytes = &audit["findings"]["bytes"];
        let kind = if log == "combined.log" {
            "bodies"
        } else {
            "whole"
        };
        assert_eq!(bytes["kind"], kind, "{log}");
        assert_eq!(bytes["differing"], 0, "{log}");
        if kind == "whole" {
            assert_eq!(bytes["run"], bytes["log"], "{log}");
        }
    }
    result(folder, "full.log", &given).1
}

#[test]
fn a_run_with_redirects_and_errors_is_equal_to_the_byte() {
    let Some(mut nginx) = Nginx::start("redirects") else {
        return;
    };
    let ended = run(&nginx.folder, &nginx.url(), PLAN, &["-u", "6", "-i", "40"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    nginx.end();
    let audit = assert_agrees(&nginx.folder);
    assert_eq!(audit["matched_by"], "time");
    let found = &audit["findings"];
    assert_eq!(found["matched"], 6 * 40 * 5);
    assert_eq!(found["hops"]["run"], 6 * 40 * 4);
    assert_eq!(found["hops"]["log"], 6 * 40 * 4);
    assert_eq!(found["status"]["404"]["log"], 6 * 40);
    let rows = found["travel"].as_array().expect("rows");
    let page = rows.iter().find(|row| row["name"] == "GET page");
    let page = page.expect("the log has the server's time");
    assert_eq!(page["count"], 6 * 40);
    let mean = |key: &str| page[key]["avg"].as_f64().expect("a number");
    assert!(mean("way_ms") <= mean("latency_ms"), "{page}");
}

#[test]
fn http2_and_traces_are_equal_to_the_byte() {
    let Some(mut nginx) = Nginx::start("http2") else {
        return;
    };
    let options = ["-u", "6", "-i", "40", "--http", "2", "--trace"];
    let ended = run(&nginx.folder, &nginx.http2_url(), PLAN, &options);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    nginx.end();
    let audit = assert_agrees(&nginx.folder);
    assert_eq!(audit["matched_by"], "traceparent");
    assert_eq!(audit["findings"]["matched"], 6 * 40 * 5);
}

#[test]
fn requests_that_are_cut_off_and_connections_that_end_are_no_differences() {
    let Some(mut nginx) = Nginx::start("cut_off") else {
        return;
    };
    let plan = r#"
    task { "slow", function(user) user:get "/slow" end }
    task { "quick", weight = 6, function(user)
      user:get("/page.html")
      user:post("/form", "a=b")
      user:wait(0.01)
    end }
    "#;
    fs::write(nginx.folder.join("plan.lua"), plan).expect("the folder takes a file");
    let url = nginx.url();
    let running = Lgoose::new([
        "plan.lua",
        "-q",
        "-H",
        &url,
        "-u",
        "12",
        "-r",
        "1000",
        "-t",
        "2s",
        "--stop-timeout",
        "0",
        "-o",
        "json=run.json",
        "--request-log",
        "requests.csv",
    ])
    .within(&nginx.folder)
    .start();
    crate::program::wait_until("it has sent some", || {
        fs::read_to_string(nginx.folder.join("full.log")).is_ok_and(|log| log.lines().count() > 20)
    });
    nginx.reload();
    let ended = running.end();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    nginx.end();
    let audit = assert_agrees(&nginx.folder);
    let aborted = &audit["findings"]["without_response"]["aborted"];
    assert!(aborted["count"].as_u64() > Some(0), "{audit}");
    assert_eq!(aborted["count"], aborted["logged"]["200"], "{audit}");
    let shown = self::audit(&nginx.folder, "combined.log", &[]).stdout;
    assert!(shown.contains("no response: aborted"), "{shown}");
}

#[test]
fn what_one_side_lacks_is_named_line_by_line() {
    let Some(mut nginx) = Nginx::start("lacks") else {
        return;
    };
    let ended = run(&nginx.folder, &nginx.url(), PLAN, &["-u", "6", "-i", "60"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    nginx.end();
    let folder = &nginx.folder;
    let log = fs::read_to_string(folder.join("full.log")).expect("it was written");
    let given = ["--log-format", FULL, "--lines", "100"];

    // Each seventh page, until there are fifty.
    let mut removed = BTreeSet::new();
    let mut pages = 0;
    let is_kept = |line: &&str| {
        let page = line
            .split(' ')
            .find(|word| word.starts_with("/page.html?id="));
        let Some(page) = page else {
            return true;
        };
        pages += 1;
        pages % 7 != 0 || removed.len() == 50 || !removed.insert(page.to_owned())
    };
    let rest: Vec<&str> = log.lines().filter(is_kept).collect();
    assert_eq!(removed.len(), 50);
    fs::write(folder.join("lacking.log"), rest.join("\n")).expect("the folder takes a file");
    let (code, audit) = result(folder, "lacking.log", &given);
    assert_eq!(code, 1);
    let differences = &audit["findings"]["not_logged"];
    assert_eq!(differences["count"], 50);
    assert_eq!(differences["by_subject"]["GET page"], 50);
    assert_eq!(urls(differences), removed);
    assert_eq!(audit["findings"]["not_sent"]["count"], 0);
    let shown = self::audit(folder, "lacking.log", &given[..2]).stdout;
    assert!(
        shown.contains("differs: 50 not in the log, from "),
        "{shown}"
    );
    assert!(shown.contains("and 40 more ('--lines N')"), "{shown}");

    // Each line twice.
    fs::write(folder.join("twice.log"), log.repeat(2)).expect("the folder takes a file");
    let (code, audit) = result(folder, "twice.log", &given);
    assert_eq!(code, 1);
    let found = &audit["findings"];
    assert_eq!(found["not_sent"]["count"], log.lines().count());
    assert_eq!(found["not_logged"]["count"], 0, "{found}");
    assert_eq!(found["not_sent"]["by_subject"]["GET /nothing"], 6 * 60);

    // Its first half: the hint names the older part.
    let half: Vec<&str> = log.lines().skip(log.lines().count() / 2).collect();
    fs::write(folder.join("late.log"), half.join("\n")).expect("the folder takes a file");
    let shown = self::audit(folder, "late.log", &given[..2]);
    assert_eq!(shown.code, 1);
    assert!(shown.stdout.contains("not in the log"), "{}", shown.stdout);
}

fn urls(differences: &Value) -> BTreeSet<String> {
    let lines = differences["lines"].as_array().expect("lines");
    lines
        .iter()
        .map(|line| line["url"].as_str().expect("a text").to_owned())
        .collect()
}

#[test]
fn requests_of_others_other_times_and_bad_lines_are_counted_apart() {
    let Some(mut nginx) = Nginx::start("others") else {
        return;
    };
    let ended = run(&nginx.folder, &nginx.url(), PLAN, &["-u", "4", "-i", "20"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    nginx.end();
    let folder = &nginx.folder;
    let mut log = fs::read_to_string(folder.join("combined.log")).expect("it was written");
    let own = log.lines().count();
    let first = log.lines().next().expect("a line").to_owned();
    let agent = first.rsplit('"').nth(1).expect("an agent");
    let busy = log
        .lines()
        .find(|line| line.contains("/busy"))
        .expect("a line")
        .to_owned();
    log.push_str(&busy.replace(agent, "curl/7.88.1"));
    log.push('\n');
    log.push_str(&first.replace("/page.html?id=", "/metrics?id="));
    log.push('\n');
    log.push_str(
        "127.0.0.1 - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.0\" 200 2326 \"-\" \"-\"\n",
    );
    log.push_str(&busy.replace("GET /busy HTTP/1.1", ""));
    log.push_str("\nwhat is this?\n");
    // Packed, too.
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(log.as_bytes()).expect("it is in memory");
    let packed = packed.finish().expect("it is in memory");
    fs::write(folder.join("others.log.gz"), packed).expect("the folder takes a file");
    let (code, audit) = result(folder, "others.log.gz", &[]);
    assert_eq!(code, 0, "{audit}");
    assert_eq!(audit["findings"]["other_agents"]["curl/7.88.1"], 1);
    assert_eq!(
        audit["findings"]["other_urls"]["by_subject"]["GET /metrics"],
        1
    );
    assert_eq!(audit["outside"][0], 1);
    assert_eq!(audit["logs"]["without_request"], 1);
    assert_eq!(audit["logs"]["unreadable"], 1);
    assert_eq!(audit["logs"]["first_unreadable"][0]["line"], own + 5);
    let shown = self::audit(folder, "others.log.gz", &[]).stdout;
    for part in [
        "curl/7.88.1 × 1",
        "GET /metrics × 1",
        "1 from before the run",
        "what is this?",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    // Without a request log, totals are compared.
    let ended = Lgoose::new(["audit", "run.json", "combined.log"])
        .within(folder)
        .finish();
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    assert!(
        ended.stdout.contains("agrees in totals"),
        "{}",
        ended.stdout
    );
    let lacking: Vec<&str> = log.lines().skip(30).collect();
    fs::write(folder.join("fewer.log"), lacking.join("\n")).expect("the folder takes a file");
    let ended = Lgoose::new(["audit", "run.json", "fewer.log"])
        .within(folder)
        .finish();
    assert_eq!(ended.code, 1, "{}{}", ended.stdout, ended.stderr);
    assert!(
        ended.stdout.contains("differs in totals"),
        "{}",
        ended.stdout
    );
}

#[test]
fn files_that_are_something_else_are_refused() {
    let folder = crate::program::empty_folder("audit_refused");
    let report = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/crates/report/src/golden/report.json"
    );
    fs::write(folder.join("text.txt"), "this is no log\nnor this\n")
        .expect("the folder takes a file");
    fs::write(folder.join("requests.csv"), "a,b\n1,2\n").expect("the folder takes a file");
    fs::write(folder.join("cut.gz"), b"\x1f\x8b\x08\x00").expect("the folder takes a file");
    for (arguments, message) in [
        (
            &[report, "none.log"][..],
            "cannot read the access log 'none.log'",
        ),
        (
            &[report, "text.txt"],
            "no line of 'text.txt' is one of an access log",
        ),
        (&[report, "cut.gz"], "'cut.gz'"),
        (&["text.txt", "text.txt"], "text.txt"),
        (
            &[report, "--request-log", "requests.csv", "text.txt"],
            "'requests.csv' is no request log of lgoose: line 2",
        ),
        (
            &[report, "--log-format", "$status", "text.txt"],
            "'--log-format $status': it has no request",
        ),
        (
            &[report, "text.txt", "-o", "html=x.html"],
            "write json=PATH",
        ),
        (&[report, "text.txt", "-o", "json=text.txt"], "text.txt"),
        (&[report, "text.txt", "--clock-offset", "soon"], "soon"),
    ] {
        let all = ["audit"].into_iter().chain(arguments.iter().copied());
        let ended = Lgoose::new(all).within(&folder).finish();
        assert_eq!(
            ended.code, 2,
            "{arguments:?}: {}{}",
            ended.stdout, ended.stderr
        );
        assert!(
            ended.stderr.contains(message),
            "{arguments:?}: {}",
            ended.stderr
        );
    }
}
