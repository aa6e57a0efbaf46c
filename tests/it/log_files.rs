//! The files of logs: files that cannot be written or are full, the order of lines, and files that a plan names.

use crate::log_lines::{log_row, path, rows};
use crate::program::{Lgoose, plan, scratch, wait_until};
use crate::report::{iterate_with, read};
use crate::server::Server;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Makes a pipe that nobody reads, and returns its path.
fn pipe(name: &str) -> String {
    let pipe = path(name);
    let _left_from_before = std::fs::remove_file(&pipe);
    rustix::fs::mknodat(
        rustix::fs::CWD,
        pipe.as_str(),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .expect("a pipe");
    pipe
}

#[test]
fn a_full_disk_is_told_and_all_else_is_written() {
    let server = Server::start();
    let full = scratch("logs_full.csv");
    let _left_from_before = std::fs::remove_file(&full);
    std::os::unix::fs::symlink("/dev/full", &full).expect("a link");
    let (full, tasks) = (full.display().to_string(), path("logs_full_tasks.csv"));
    let plan = plan(
        "logs_full.lua",
        "task { \"t\", function(user) user:get \"/\" end }",
    );
    let report = iterate_with(
        &plan,
        &server,
        2,
        5,
        &["--request-log", &full, "--task-log", &tasks],
    );
    assert_eq!(report.ended.code, 3, "{}", report.ended.stderr);
    let told = &report.ended.stderr;
    assert!(
        told.contains("cannot write the log") && told.contains("logs_full.csv"),
        "{told}"
    );
    assert_eq!((report.total("count"), server.received()), (10, 10));
    assert_eq!(log_row(&report, "requests"), (0, 10));
    assert_eq!(
        (rows(&tasks).len(), log_row(&report, "tasks")),
        (10, (10, 0))
    );
    let warnings = report.json["warnings"].to_string();
    assert!(warnings.contains("10 of 10 lines"), "{warnings}");
}

#[test]
fn a_pipe_that_nobody_reads_holds_up_no_request() {
    let server = Server::start();
    let pipe = pipe("logs_pipe.csv");
    // More than a pipe holds.
    let plan = plan(
        "logs_pipe.lua",
        "task { function(user) user:get(\"/\", { name = ('n'):rep(2000) }) end }",
    );
    let report = iterate_with(&plan, &server, 2, 100, &["--request-log", &pipe]);
    assert_eq!(report.ended.code, 0, "{}", report.ended.stderr);
    assert_eq!((report.total("count"), server.received()), (200, 200));
    let (lines, left_out) = log_row(&report, "requests");
    assert!(lines > 0 && left_out > 0, "{lines} and {left_out}");
    assert_eq!(lines + left_out, 200);
    let warnings = report.json["warnings"].to_string();
    assert!(
        warnings.contains(&format!("{left_out} of 200 lines")),
        "{warnings}"
    );
}

#[test]
fn a_log_file_on_a_full_disk_is_told_and_all_else_is_written() {
    let server = Server::start();
    let full = scratch("log_file_full.log");
    let _left_from_before = std::fs::remove_file(&full);
    std::os::unix::fs::symlink("/dev/full", &full).expect("a link");
    let full = full.display().to_string();
    let plan = plan(
        "log_file_full.lua",
        "task { function(user) user:get \"/\" user:log \"told\" end }",
    );
    let report = iterate_with(&plan, &server, 1, 5, &["--log-file", &full]);
    assert_eq!(report.ended.code, 3, "{}", report.ended.stderr);
    let told = &report.ended.stderr;
    assert!(
        told.contains("cannot write the log") && told.contains("log_file_full.log"),
        "{told}"
    );
    assert_eq!((report.total("count"), server.received()), (5, 5));
    assert_eq!(report.json["verdict"]["exit_code"], 3);
    let warnings = report.json["warnings"].to_string();
    assert!(warnings.contains("5 of 5 lines"), "{warnings}");
}

/// A plan that logs more than a pipe holds.
const TALKS: &str = "task { function(user) user:get \"/\" user:log(string.rep(\"x\", 4000)) end }";

#[test]
fn a_log_file_that_nobody_reads_holds_up_neither_the_run_nor_its_end() {
    let server = Server::start();
    let pipe = pipe("log_file_pipe.log");
    let plan = plan("log_file_pipe.lua", TALKS);
    let report = iterate_with(&plan, &server, 1, 100, &["--log-file", &pipe]);
    assert_eq!(report.ended.code, 0, "{}", report.ended.stderr);
    assert_eq!((report.total("count"), server.received()), (100, 100));
    let warnings = report.json["warnings"].to_string();
    assert!(warnings.contains("of 100 lines of the log '"), "{warnings}");
}

#[test]
fn two_signals_end_a_run_whose_log_file_nobody_reads() {
    let server = Server::start();
    let (pipe, url) = (pipe("log_file_stuck.log"), server.url());
    let plan = plan("log_file_stuck.lua", TALKS);
    let arguments = [
        &plan,
        "-H",
        &url,
        "-u",
        "1",
        "-o",
        "json=-",
        "--log-file",
        &pipe,
    ];
    let program = Lgoose::new(arguments).start();
    wait_until("the pipe is full", || server.received() > 100);
    program.interrupt();
    wait_until("the first signal is told", || {
        program.stderr().contains("press Ctrl-C again")
    });
    program.signal(rustix::process::Signal::TERM);
    let report = read(program.end());
    assert_eq!(report.ended.code, 130, "{}", report.ended.stderr);
    assert_eq!(report.sent(), server.received());
}

#[test]
fn a_pipe_with_a_reader_gets_every_line() {
    let server = Server::start();
    let pipe = pipe("logs_read.jsonl");
    let from = PathBuf::from(&pipe);
    let reader = std::thread::spawn(move || std::fs::read_to_string(from).expect("lines"));
    let plan = plan(
        "logs_read.lua",
        "task { function(user) user:get(\"/\", { name = ('n'):rep(2000) }) end }",
    );
    let report = iterate_with(&plan, &server, 2, 100, &["--request-log", &pipe]);
    assert_eq!(log_row(&report, "requests"), (200, 0));
    assert_eq!(reader.join().expect("it was read").lines().count(), 200);
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_sorted_log_goes_by_connection_and_time() {
    let server = Server::start();
    let log = path("logs_sorted.csv");
    let plan = plan(
        "logs_sorted.lua",
        "task { function(user) user:get \"/\" user:fetch { \"/1\", \"/2\" } user:get \"http://127.0.0.1:1/\" end }",
    );
    let report = iterate_with(
        &plan,
        &server,
        5,
        20,
        &["--request-log", &log, "--request-log-sorted"],
    );
    let rows = rows(&log);
    assert_eq!(rows.len() as u64, report.total("count"));
    let key = |row: &BTreeMap<String, String>| {
        let connection = row["connection"].parse().unwrap_or(u64::MAX);
        (
            connection,
            row["start_ns"].parse::<u64>().expect("a number"),
        )
    };
    let keys: Vec<_> = rows.iter().map(key).collect();
    assert!(keys.is_sorted(), "{keys:?}");
    let connections: BTreeSet<_> = keys
        .iter()
        .map(|key| key.0)
        .filter(|number| *number < u64::MAX)
        .collect();
    match crate::CLIENT {
        // A user's second connection comes with its first two requests side by side.
        None => assert_eq!(connections.len(), 10),
        Some(_) => assert!(connections.is_empty(), "reqwest does not tell"),
    }
}

#[test]
fn a_log_goes_on_over_a_warm_up_and_a_reset() {
    let server = Server::start();
    for (flag, name) in [("--warmup=300ms", "warmup"), ("--reset-stats", "reset")] {
        let before = server.received();
        let log = path(&format!("logs_{name}.csv"));
        let plan = plan(
            &format!("logs_{name}.lua"),
            &format!(
                "plan {{ request_log = \"logs_{name}.csv\" }}\ntask {{ wait = 0.01, function(user) user:get \"/\" end }}"
            ),
        );
        let url = server.url();
        let report =
            crate::report::run([&plan, "-H", &url, "-u", "2", "-r", "5", "-t", "1s", flag]);
        let lines = rows(&log).len() as u64;
        assert_eq!(lines, server.received() - before, "all of the run, {name}");
        assert!(report.total("count") < lines, "{name}");
        assert_eq!(log_row(&report, "requests"), (lines, 0));
    }
}

#[test]
fn a_log_that_cannot_be_written_is_a_mistake_before_anything_is_sent() {
    let server = Server::start();
    let plan = plan(
        "logs_nowhere.lua",
        "task { function(user) user:get \"/\" end }",
    );
    let url = server.url();
    for (arguments, words) in [
        (
            vec!["--debug-log", "/no/such/folder/a.csv"],
            "/no/such/folder/a.csv",
        ),
        (vec!["--request-log-sorted"], "--request-log FILE"),
        (
            vec!["--error-log", "a.csv", "--task-log", "a.csv"],
            "two logs go to 'a.csv'",
        ),
    ] {
        let ended = Lgoose::new([plan.as_str(), "-H", &url].into_iter().chain(arguments)).finish();
        assert_eq!(ended.code, 2, "{}", ended.stderr);
        assert!(ended.stderr.contains(words), "{}", ended.stderr);
    }
    assert_eq!(server.received(), 0);
}
