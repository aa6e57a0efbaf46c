//! The logs of a run: that the report, the request log and the target's own count agree however a run ends,
//! the contents of the lines, and the exemplars of failures.

use crate::log_lines::{log_row, objects, path, rows};
use crate::program::{Lgoose, plan, wait_until};
use crate::report::{Report, iterate_with, read};
use crate::server::Server;
use rustix::process::Signal;
use std::collections::BTreeSet;

/// Asserts that the report, the request log and the target have counted the same.
fn assert_agreement(report: &Report, server: &Server, log: &str) {
    let rows = rows(log);
    assert_eq!(rows.len() as u64, report.whole("count"));
    assert_eq!(log_row(report, "requests"), (report.whole("count"), 0));
    let sum = |name: &str| {
        rows.iter()
            .map(|row| row[name].parse::<u64>().expect("a number"))
            .sum::<u64>()
    };
    assert_eq!(sum("redirects"), report.whole("redirects"));
    assert_eq!(sum("retries"), report.whole("retries"));
    assert_eq!(report.sent(), server.received());
    let failed = rows.iter().filter(|row| !row["error"].is_empty()).count();
    assert_eq!(failed as u64, report.whole("failures"));
}

/// Every kind of request: from events, side by side, redirected, failed with and without an answer, overruled.
const MIXED: &str = r#"
on("test_start", function(user) user:get "/event/start" end)
on("test_stop", function(user) user:get "/event/stop" end)
scenario { "mixed",
  task { "pages", function(user)
    user:get("/a page?x=1", { name = "one" })
    user:get "/redirect/2"
    user:get "/status/500"
    user:get "/close-early"
    user:get "http://127.0.0.1:1/nobody"
    user:fetch { "/1", "/2", "/status/404" }
    local late = user:get "/late"
    late:fail("not good enough")
    user:transaction("pay", function() error("no money") end)
  end },
}
"#;

#[test]
fn the_report_the_log_and_the_target_agree_on_every_kind_of_request() {
    let server = Server::start();
    let (requests, tasks) = (path("logs_mixed.csv"), path("logs_mixed_tasks.jsonl"));
    let (errors, debug) = (
        path("logs_mixed_errors.csv"),
        path("logs_mixed_debug.jsonl"),
    );
    let plan = plan("logs_mixed.lua", MIXED);
    let more = [
        "--request-log",
        &requests,
        "--task-log",
        &tasks,
        "--error-log",
        &errors,
        "--debug-log",
        &debug,
    ];
    let report = iterate_with(&plan, &server, 3, 4, &more);
    let kept = rows(&requests);
    assert_eq!(kept.len() as u64, report.whole("count"));
    assert_eq!(report.total("count"), 3 * 4 * 9);
    assert_eq!(report.start_stop("count"), 2);
    // Nobody listens at port 1.
    let unsent = report.errors_with("connection refused");
    assert_eq!(report.sent() - unsent, server.received());

    let of = |name: &str| {
        kept.iter()
            .filter(|row| row["name"] == name)
            .collect::<Vec<_>>()
    };
    let url = server.url();
    let one = of("one")[0];
    assert_eq!(one["url"], format!("{url}/a%20page?x=1"));
    assert_eq!(
        (one["method"].as_str(), one["status"].as_str()),
        ("GET", "200")
    );
    assert_eq!(
        (one["scenario"].as_str(), one["task"].as_str()),
        ("mixed", "pages")
    );
    assert_eq!((one["final_url"].as_str(), one["error"].as_str()), ("", ""));
    let redirected = kept
        .iter()
        .find(|row| row["url"].ends_with("/redirect/2"))
        .expect("it was made");
    assert_eq!(
        (
            redirected["redirects"].as_str(),
            redirected["final_url"].clone()
        ),
        ("2", format!("{url}/redirect/0"))
    );
    let started = of("test_start")[0];
    assert_eq!(
        (
            started["user"].as_str(),
            started["scenario"].as_str(),
            started["task"].as_str()
        ),
        ("0", "test_start", "")
    );
    let class = |ending: &str| {
        let row = kept
            .iter()
            .find(|row| row["url"].ends_with(ending))
            .expect("it was made");
        row["error_class"].clone()
    };
    assert_eq!(
        (class("/nobody"), class("/close-early"), class("/500")),
        (
            "connection refused".to_owned(),
            "closed early".to_owned(),
            String::new()
        )
    );
    for row in &kept {
        let number = |name: &str| row[name].parse::<u64>().expect("a number");
        let phases = [
            "dns_ns",
            "connect_ns",
            "tls_ns",
            "send_ns",
            "first_byte_ns",
            "receive_ns",
        ];
        let sum: u64 = phases.into_iter().map(number).sum();
        assert!(sum <= number("end_ns") - number("start_ns"), "{row:?}");
    }

    let failures = report.total("failures") + report.task_failures();
    assert_eq!(log_row(&report, "errors"), (failures, 0));
    let kept = rows(&errors);
    assert_eq!(kept.len() as u64, failures);
    let unpaid: Vec<_> = kept
        .iter()
        .filter(|row| row["kind"] == "transaction")
        .collect();
    assert_eq!(
        (unpaid.len(), unpaid[0]["error"].as_str()),
        (12, "no money")
    );
    assert!(
        unpaid[0]["line"].ends_with("logs_mixed.lua:14"),
        "{unpaid:?}"
    );
    let late = kept
        .iter()
        .find(|row| row["error"] == "not good enough")
        .expect("the plan's own verdict");
    assert!(late["url"].ends_with("/late"));

    let runs = objects(&tasks);
    assert_eq!(
        runs.len() as u64,
        report.json["tasks"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|row| row["runs"].as_u64().expect("a number"))
            .sum::<u64>()
    );
    let of = |name: &str| {
        runs.iter()
            .filter(|run| run["name"] == name)
            .collect::<Vec<_>>()
    };
    assert_eq!((of("pages").len(), of("pay").len()), (12, 12));
    assert_eq!(
        (&of("pay")[0]["kind"], &of("pay")[0]["outcome"]),
        (&"transaction".into(), &"failed".into())
    );

    let failed = objects(&debug);
    assert_eq!(failed.len() as u64, report.total("failures"));
    let broken = failed
        .iter()
        .find(|one| one["status"] == 500)
        .expect("a 500");
    assert_eq!(broken["body"], "status 500");
    let headers = broken["request_headers"].as_array().expect("a list");
    assert!(
        headers.contains(&format!("host: {}", url.trim_start_matches("http://")).into()),
        "{headers:?}"
    );
}

#[test]
fn counts_agree_after_ctrl_c_and_after_sigterm() {
    for (signal, name) in [(Signal::INT, "int"), (Signal::TERM, "term")] {
        let server = Server::start();
        let log = path(&format!("logs_{name}.csv"));
        let plan = plan(
            &format!("logs_{name}.lua"),
            "task { function(user) user:get \"/redirect/1\" end }",
        );
        let url = server.url();
        let program = Lgoose::new([
            &plan,
            "-H",
            &url,
            "-u",
            "4",
            "-r",
            "1000",
            "-o",
            "json=-",
            "--request-log",
            &log,
        ])
        .start();
        wait_until("requests arrive", || server.received() > 50);
        program.signal(signal);
        let report = read(program.end());
        assert_eq!(report.ended.code, 0, "{}", report.ended.stderr);
        assert_agreement(&report, &server, &log);
    }
}

#[test]
fn counts_agree_after_a_second_ctrl_c_with_those_that_were_cut_off() {
    let server = Server::start();
    let log = path("logs_abort.csv");
    let plan = plan(
        "logs_abort.lua",
        "task { function(user)\n  user:get \"/ok\"\n  if user.id == 1 then user:get(\"/hold\", { name = \"one\" }) end\n  \
         user:fetch({ \"/hold\", \"/hold?2\" }, { name = \"two\" })\nend }",
    );
    let url = server.url();
    let program = Lgoose::new([
        &plan,
        "-H",
        &url,
        "-u",
        "2",
        "-r",
        "1000",
        "-o",
        "json=-",
        "--request-log",
        &log,
    ])
    .start();
    wait_until("both users hang", || server.received() == 5);
    program.interrupt();
    wait_until("the first Ctrl-C is told", || {
        program.stderr().contains("Ctrl-C again")
    });
    program.interrupt();
    let report = read(program.end());
    assert_eq!(report.ended.code, 130, "{}", report.ended.stderr);
    assert_agreement(&report, &server, &log);
    let aborted: Vec<_> = rows(&log)
        .into_iter()
        .filter(|row| row["error_class"] == "aborted")
        .collect();
    let names: BTreeSet<_> = aborted.iter().map(|row| row["name"].as_str()).collect();
    assert_eq!((aborted.len(), names), (3, BTreeSet::from(["one", "two"])));
    assert!(
        aborted.iter().all(|row| row["url"].contains("/hold")),
        "{aborted:?}"
    );
}

#[test]
fn failures_have_exemplars_with_what_was_sent_and_what_came_back() {
    let server = Server::start();
    let plan = plan(
        "logs_exemplars.lua",
        "task { function(user)\n  for n = 1, 6 do\n    \
         user:get(\"/echo?\" .. n, { name = \"page\", headers = { Cookie = \"a=secret\" }, expect = { status = 418 } })\n  \
         end\nend }",
    );
    let report = iterate_with(&plan, &server, 2, 2, &[]);
    let errors = report.json["errors"].as_array().expect("a list");
    assert_eq!((errors.len(), &errors[0]["count"]), (1, &24.into()));
    let exemplars = errors[0]["exemplars"].as_array().expect("a list");
    assert!((3..=4).contains(&exemplars.len()), "{exemplars:?}");
    let first = exemplars.iter().map(|one| one["start_ns"].as_u64()).min();
    assert_eq!(exemplars[0]["start_ns"].as_u64(), first.flatten());
    let slowest: Vec<_> = exemplars[1..]
        .iter()
        .map(|one| one["latency_ms"].as_f64().expect("a number"))
        .collect();
    assert!(slowest.is_sorted_by(|a, b| a >= b), "{slowest:?}");
    let max = report.json["aggregated"]["latency_ms"]["max"]
        .as_f64()
        .expect("a number");
    let longest = exemplars
        .iter()
        .filter_map(|one| one["latency_ms"].as_f64())
        .fold(0.0, f64::max);
    assert!((longest - max).abs() < 1e-6, "{longest} and {max}");
    for one in exemplars {
        assert_eq!(
            (&one["status"], &one["method"]),
            (&200.into(), &"GET".into())
        );
        assert!(
            one["url"].as_str().expect("text").contains("/echo?"),
            "{one}"
        );
        let sent = one["request_headers"].to_string();
        assert!(
            sent.contains("cookie: a=***") && sent.contains("user-agent: lgoose"),
            "{sent}"
        );
        assert!(
            one["response_headers"]
                .to_string()
                .contains("application/json"),
            "{one}"
        );
        let body = one["body"].as_str().expect("text");
        assert_eq!(one["body_bytes"].as_u64(), Some(body.len() as u64));
    }
}
