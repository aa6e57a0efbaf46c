//! Ctrl-C and SIGTERM in every state of the program: the first stops, before any user none is started; the second ends
//! the program with its outputs written, whatever it was doing. And the limits on what comes before and after the load.

use crate::program::{
    Ended, Lgoose, Running, exit_code, plan, process_id, scratch, signal, unread, wait_until,
};
use crate::report::saved;
use crate::server::Server;
use crate::terminal::Terminal;
use crate::web_client::{TOKEN, Web};
use rustix::process::Signal;
use std::path::PathBuf;
use std::process::{Child, Command};

const LGOOSE: &str = env!("CARGO_BIN_EXE_lgoose");

/// A load beside what a test is about.
const LOAD: &str = "task { \"front\", function(user) user:get \"/\" user:wait(0.02) end }";

/// Lua that neither ends nor waits, where `--lua-time` allows it.
const COMPUTES: &str = "while true do end";

/// Returns the path of a report that no earlier run of this test has written.
fn report_path(name: &str) -> PathBuf {
    let path = scratch(&format!("{name}.json"));
    let _none = std::fs::remove_file(&path);
    path
}

/// Returns the arguments of a run of two users whose Lua may compute for ever.
fn of_two_users<'a>(path: &'a str, url: &'a str, output: &'a str) -> [&'a str; 11] {
    [
        path,
        "-H",
        url,
        "-u",
        "2",
        "-r",
        "1000",
        "--lua-time",
        "1h",
        "-o",
        output,
    ]
}

/// Starts a run of two users whose Lua may compute for ever, with its report in the file that is returned.
fn start(name: &str, text: &str, server: &Server, more: &[&str]) -> (Running, PathBuf) {
    let (path, url) = (plan(&format!("{name}.lua"), text), server.url());
    let report = report_path(name);
    let output = format!("json={}", report.display());
    let usual = of_two_users(&path, &url, &output);
    (Lgoose::new(usual.iter().chain(more)).start(), report)
}

/// Sends Ctrl-C, and SIGTERM as soon as it was heard: two of one kind may be one to the kernel.
fn interrupt_twice(program: Running) -> Ended {
    program.interrupt();
    wait_until("the first signal is told", || {
        program.stderr().contains("press Ctrl-C again")
    });
    program.signal(Signal::TERM);
    program.end()
}

#[test]
fn a_first_signal_in_test_start_starts_no_load_and_test_stop_cleans_up() {
    let text = format!(
        "on(\"test_start\", function(user) user:get \"/setup\" user:wait(3600) end)\n\
         on(\"test_stop\", function(user) user:get \"/teardown\" end)\n{LOAD}"
    );
    for (name, signal) in [("start_int", Signal::INT), ("start_term", Signal::TERM)] {
        let server = Server::start();
        let limit = ["--threshold", "p95 < 1s"];
        let (program, path) = start(name, &text, &server, &limit);
        wait_until("test_start is at work", || server.received() == 1);
        program.signal(signal);
        let ended = program.end();
        assert_eq!(ended.code, 130, "{}", ended.stderr);
        assert_eq!(server.requests(), ["GET /setup", "GET /teardown"]);
        let report = saved(&path);
        assert_eq!(report["ending"]["cause"], "signal");
        assert_eq!(report["ending"]["in_test_start"], true);
        assert_eq!(report["verdict"]["exit_code"], 130);
        let words = "stopped by a signal in 'test_start', before any user was started";
        assert_eq!(report["verdict"]["reasons"], serde_json::json!([words]));
        assert!(ended.stderr.contains(words), "{}", ended.stderr);
    }
}

#[test]
fn a_first_signal_while_a_run_is_paused_starts_no_user() {
    let server = Server::start();
    let page = ["--web", "127.0.0.1:0", "--web-token", TOKEN];
    let more = [&["--paused", "-t", "1h"], &page[..]].concat();
    let (program, path) = start("paused_int", LOAD, &server, &more);
    wait_until("the address of the page", || {
        program.stderr().contains("/?token=")
    });
    // The page is there a moment before the run.
    let web = Web::of(&program.stderr());
    wait_until("it waits for a command", || {
        web.get("/api/v1/status").json()["phase"] == "paused"
    });
    program.interrupt();
    let ended = program.end();
    assert_eq!(ended.code, 130, "{}", ended.stderr);
    let words = "before any user was started";
    assert!(ended.stderr.contains(words), "{}", ended.stderr);
    assert_eq!(saved(&path)["verdict"]["exit_code"], 130);
    assert_eq!(server.received(), 0);
}

#[test]
fn a_second_signal_ends_what_computes_for_ever_and_its_report_is_written() {
    // What C calls cannot be preempted.
    let busy = "user:get \"/here\" print \"sorts\" \
                table.sort({ 2, 1 }, function() while true do end end)";
    let states = [
        (
            "computes_in_test_start",
            format!("on(\"test_start\", function(user) {busy} end)\n{LOAD}"),
            &["-t", "1h"][..],
            1,
        ),
        (
            "computes_in_a_task",
            format!("task {{ function(user) {busy} end }}"),
            &["-t", "1h"],
            2,
        ),
        (
            "computes_in_on_stop",
            format!(
                "scenario {{ \"s\", task {{ function(user) user:get \"/\" end }},\n\
                 task {{ on_stop = true, function(user) {busy} end }} }}"
            ),
            &["-i", "1", "--threads", "2", "--stop-timeout", "1h"],
            4,
        ),
        (
            "computes_in_test_stop",
            format!("on(\"test_stop\", function(user) {busy} end)\n{LOAD}"),
            &["-i", "1"],
            3,
        ),
    ];
    for (name, text, more, requests) in states {
        let server = Server::start();
        let (program, path) = start(name, &text, &server, more);
        // On a busy machine, the response may be on its way for a while.
        wait_until("it computes", || {
            server.received() == requests && program.stderr().contains("sorts")
        });
        let ended = interrupt_twice(program);
        assert_eq!(ended.code, 130, "{name}: {}", ended.stderr);
        let report = saved(&path);
        assert_eq!(report["ending"]["cause"], "aborted", "{name}");
        assert_eq!(report["verdict"]["exit_code"], 130, "{name}");
        let warnings = report["warnings"].to_string();
        assert!(warnings.contains("comput"), "{name}: {warnings}");
    }
}

#[test]
fn a_second_key_ends_a_view_of_a_plan_that_computes_and_gives_the_terminal_back() {
    let server = Server::start();
    let text = format!("task {{ \"busy\", function(user) user:get \"/\" {COMPUTES} end }}");
    let (path, url) = (plan("view_computes.lua", &text), server.url());
    let report = report_path("view_computes");
    let output = format!("json={}", report.display());
    let folder = scratch("view_computes");
    std::fs::create_dir_all(&folder).expect("the scratch folder takes a folder");
    let arguments = of_two_users(&path, &url, &output);
    let mut view = Terminal::start(LGOOSE, &arguments, &folder, (100, 30));
    wait_until("both compute", || server.received() == 2);
    view.press_for("\x03", "stopping");
    view.press("\x03");
    assert_eq!(view.end(), 130);
    view.wait_until_given_back();
    assert_eq!(saved(&report)["ending"]["cause"], "aborted");
}

/// Waits until the program listens for Ctrl-C.
fn wait_for_listener(child: &Child) {
    let path = format!("/proc/{}/status", child.id());
    wait_until("it listens for signals", || {
        let status = std::fs::read_to_string(&path).unwrap_or_default();
        let caught = status
            .lines()
            .find_map(|line| line.strip_prefix("SigCgt:"))
            .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        // The bits of the second and the fifteenth signal, SIGINT and SIGTERM.
        const BOTH: u64 = 1 << 1 | 1 << 14;
        caught.is_some_and(|mask| mask & BOTH == BOTH)
    });
}

#[test]
fn before_a_run_and_in_other_commands_the_first_signal_ends_the_program() {
    let tasks: String = (0..4_000)
        .map(|n| format!("task {{ \"task number {n}\", function() end }}\n"))
        .collect();
    let long = plan("long_outline.lua", &tasks);
    for arguments in [
        // They read what never comes.
        &["check", "-"][..],
        &["-", "-H", "http://127.0.0.1:9"],
        &["report", "-"],
        // They write what nobody reads.
        &["check", &long],
        &[&long, "--list"],
    ] {
        for kind in [Signal::INT, Signal::TERM] {
            let mut child = unread(arguments);
            wait_for_listener(&child);
            signal(process_id(&child), kind);
            assert_eq!(exit_code(&mut child), Some(130), "{arguments:?}");
        }
    }
}

#[test]
fn a_signal_that_announces_a_kill_stops_a_run_and_a_repeat_aborts_nothing() {
    let server = Server::start();
    let waits = "task { \"front\", function(user) user:get \"/\" user:wait(1) end }";
    for (name, kind) in [
        ("announced_cpu", Signal::XCPU),
        ("announced_usr1", Signal::USR1),
        ("announced_usr2", Signal::USR2),
        ("announced_alarm", Signal::ALARM),
    ] {
        let (program, report) = start(name, waits, &server, &["-t", "60s"]);
        let before = server.received();
        wait_until("users work", || server.received() > before);
        program.signal(kind);
        wait_until("it is told", || program.stderr().contains("stopping"));
        program.signal(kind);
        program.signal(Signal::USR1);
        let ended = program.end();
        assert_eq!(ended.code, 0, "{name}: {}", ended.stderr);
        assert_eq!(saved(&report)["ending"]["cause"], "signal", "{name}");
    }
}

#[test]
fn a_limit_on_the_size_of_files_fails_a_log_and_loses_no_report() {
    let server = Server::start();
    let (path, url) = (plan("file_limit.lua", LOAD), server.url());
    let log = scratch("file_limit.csv");
    let arguments = [
        &*path,
        "-H",
        &url,
        "-u",
        "5",
        "-r",
        "50",
        "-t",
        "1s",
        "--request-log",
        &log.display().to_string(),
        "-o",
        "json=-",
    ];
    let ended = Lgoose::new(arguments)
        .through("prlimit", &["--fsize=1024"])
        .finish();
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    assert!(ended.stderr.contains("file_limit.csv"), "{}", ended.stderr);
    let report: serde_json::Value = serde_json::from_str(&ended.stdout).expect("a report");
    assert_eq!(report["ending"]["cause"], "time_up", "{}", report["ending"]);
}

#[test]
fn a_second_signal_ends_a_program_whose_outputs_nobody_reads_and_files_are_written() {
    let server = Server::start();
    let url = server.url();
    let talks = "task { function(user)\n  \
         for n = 1, 300 do user:get(\"/\" .. n) user:log(string.rep(\"x\", 4000)) end\nend }";
    let path = plan("unread_twice.lua", talks);
    let (pipe, series) = (
        scratch("unread_twice.pipe"),
        scratch("unread_names_series.csv"),
    );
    for pipe in [&pipe, &series] {
        let _none = std::fs::remove_file(pipe);
        let made = Command::new("mkfifo").arg(pipe).status();
        assert!(made.expect("mkfifo is there").success());
    }
    let to_pipe = format!("json={}", pipe.display());
    let beside_pipe = format!("csv={}", scratch("unread_names.csv").display());
    for (name, output) in [
        ("unread_stdout", "json=-"),
        ("unread_pipe", &to_pipe),
        ("unread_series", &beside_pipe),
    ] {
        let report = report_path(name);
        let file = format!("json={}", report.display());
        let usual = [&*path, "-H", &url, "-u", "1", "-o", output, "-o", &file];
        let mut child = unread(&usual);
        let then = server.received();
        wait_until("all names are known", || server.received() > then + 300);
        signal(process_id(&child), Signal::INT);
        wait_until("the report is there", || report.exists());
        signal(process_id(&child), Signal::TERM);
        assert_eq!(exit_code(&mut child), Some(130), "{name}");
        assert_eq!(saved(&report)["ending"]["cause"], "signal", "{name}");
    }
}

#[test]
fn the_first_signal_after_a_run_ends_the_wait_for_a_pipe_that_nobody_reads() {
    let server = Server::start();
    for (name, kind) in [
        ("unread_after", Signal::INT),
        ("unread_later", Signal::TERM),
        ("unread_hangup", Signal::HUP),
        ("unread_cpu", Signal::XCPU),
    ] {
        let pipe = scratch(&format!("{name}.pipe"));
        let read = scratch(&format!("{name}_read.pipe"));
        for pipe in [&pipe, &read] {
            let _none = std::fs::remove_file(pipe);
            let made = Command::new("mkfifo").arg(pipe).status();
            assert!(made.expect("mkfifo is there").success());
        }
        let [to_pipe, to_read] = [&pipe, &read].map(|pipe| format!("json={}", pipe.display()));
        let more = ["-i", "1", "-o", &to_pipe, "-o", &to_read];
        let reader = std::thread::spawn(move || std::fs::read_to_string(read));
        let (program, report) = start(name, LOAD, &server, &more);
        wait_until("the file is written", || report.exists());
        program.signal(kind);
        let ended = program.end();
        assert_eq!(ended.code, 3, "{}", ended.stderr);
        assert!(
            !ended.stderr.contains("the run goes on"),
            "{}",
            ended.stderr
        );
        let told = format!("cannot write the report to '{}'", pipe.display());
        assert!(ended.stderr.contains(&told), "{}", ended.stderr);
        assert!(!ended.stderr.contains("_read"), "{}", ended.stderr);
        let other = reader.join().expect("a reader").expect("a report");
        assert_eq!(other, std::fs::read_to_string(&report).expect("a file"));
    }
}

#[test]
fn after_an_interrupt_a_signal_that_announces_a_kill_ends_the_wait_for_a_pipe() {
    let server = Server::start();
    let pipe = scratch("announced_unread.pipe");
    let _none = std::fs::remove_file(&pipe);
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo is there").success());
    let to_pipe = format!("json={}", pipe.display());
    let (program, report) = start("announced_unread", LOAD, &server, &["-o", &to_pipe]);
    let before = server.received();
    wait_until("users work", || server.received() > before);
    program.signal(Signal::INT);
    wait_until("the file is written", || report.exists());
    program.signal(Signal::USR1);
    let ended = program.end();
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    assert_eq!(saved(&report)["ending"]["cause"], "signal");
}

#[test]
fn a_test_start_that_takes_too_long_ends_the_run_before_it_begins() {
    let slow = [
        ("setup_waits", "user:get \"/hold\""),
        ("setup_computes", COMPUTES),
    ];
    for (name, body) in slow {
        let server = Server::start();
        let text = format!("on(\"test_start\", function(user) {body} end)\n{LOAD}");
        let (program, path) = start(name, &text, &server, &["--setup-timeout", "200ms"]);
        let ended = program.end();
        assert_eq!(ended.code, 1, "{name}: {}", ended.stderr);
        let words = "test_start did not end within 0.2 s ('--setup-timeout')";
        assert!(ended.stderr.contains(words), "{name}: {}", ended.stderr);
        assert_eq!(server.count("GET /"), 0, "{name}");
        let report = saved(&path);
        assert_eq!(report["ending"]["cause"], "not_started", "{name}");
        assert_eq!(report["ending"]["raised"], words, "{name}");
    }
}

#[test]
fn a_test_stop_that_takes_too_long_is_cut_off_and_told() {
    let slow = [
        ("teardown_waits", "user:wait(3600)"),
        ("teardown_computes", COMPUTES),
    ];
    let words = "test_stop did not end within 0.2 s ('--teardown-timeout')";
    for (name, body) in slow {
        let server = Server::start();
        let text = format!(
            "plan {{ teardown_timeout = \"200ms\" }}\n\
             on(\"test_stop\", function(user) {body} end)\n{LOAD}"
        );
        let (program, path) = start(name, &text, &server, &["-i", "1"]);
        let ended = program.end();
        assert_eq!(ended.code, 0, "{name}: {}", ended.stderr);
        assert_eq!(
            saved(&path)["verdict"]["remarks"],
            serde_json::json!([words])
        );
        let flags = ["-i", "1", "--fail-on-error", "--teardown-timeout", "0.2"];
        let (program, _) = start(name, &text, &server, &flags);
        assert_eq!(program.end().code, 1, "{name}");
    }
}

/// Lua whose last call nothing can interrupt: the groups of a match are found out byte by byte, and here it is the whole
/// text.
const CAUGHT: &str = "local slow = regex \"(?s)^(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)$\"\n\
                      local t = {} for n = 1, 100000 do t[n] = random.int(0, 1) == 0 and \"x\" or \"y\" end\n\
                      local text = table.concat(t):rep(80)\n\
                      slow:match(text)\n";

#[test]
fn a_check_of_a_plan_that_nothing_can_interrupt_ends_by_the_watchdog() {
    let path = plan("caught_in_check.lua", &format!("{CAUGHT}{LOAD}"));
    let ended = Lgoose::new(["check", &path])
        .env("LGOOSE_PATIENCE", "800ms")
        .finish();
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    let told = "the loading of the plan is caught in the top level of ";
    assert!(ended.stderr.contains(told), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("last seen at line "),
        "{}",
        ended.stderr
    );
    assert_eq!(ended.stdout, "");
}

#[test]
fn ctrl_c_during_a_function_for_the_report_that_nothing_can_interrupt_loses_no_output() {
    let server = Server::start();
    let text = format!("{LOAD}\non(\"report\", function()\n{CAUGHT}end)");
    let (program, report) = start("caught_in_report", &text, &server, &["-i", "1"]);
    wait_until("the report is written", || report.exists());
    program.interrupt();
    program.signal(Signal::TERM);
    let ended = program.end();
    assert_eq!(ended.code, 130, "{}", ended.stderr);
    assert_eq!(saved(&report)["aggregated"]["count"], 2);
}

#[test]
fn an_event_that_nothing_can_interrupt_ends_by_the_watchdog_with_a_report() {
    // Event, requests of the users, whether there was a load.
    for (event, load, more) in [
        ("test_start", 0, &["-i", "1"][..]),
        ("test_stop", 2, &["-i", "1"]),
    ] {
        let server = Server::start();
        let name = format!("caught_in_{event}");
        let text =
            format!("{LOAD}\non(\"{event}\", function(user)\nuser:get \"/here\"\n{CAUGHT}end)");
        let (path, url) = (plan(&format!("{name}.lua"), &text), server.url());
        let report = report_path(&name);
        let output = format!("json={}", report.display());
        let usual = ["-H", &url, "-u", "2", "-o", &output];
        let ended = Lgoose::new([&[&*path], &usual[..], more].concat())
            .env("LGOOSE_PATIENCE", "800ms")
            .finish();
        assert_eq!(ended.code, 3, "{name}: {}", ended.stderr);
        let told = format!("caught in the function of '{event}' ({path}), last seen at line ");
        assert!(ended.stderr.contains(&told), "{name}: {}", ended.stderr);
        assert!(
            ended.stdout.contains("Aggregated") || load == 0,
            "{}",
            ended.stdout
        );
        assert_eq!(server.count("GET /"), load, "{name}");
        let report = saved(&report);
        assert_eq!(report["ending"]["cause"], "trouble", "{name}");
        assert_eq!(report["ending"]["in_test_start"], event == "test_start");
        assert_eq!(report["verdict"]["exit_code"], 3, "{name}");
        assert_eq!(report["aggregated"]["count"], load, "{name}");
        let warnings = report["warnings"].to_string();
        assert!(
            warnings.contains("was computing when it was cut off"),
            "{warnings}"
        );
    }
}
