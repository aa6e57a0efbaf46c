//! The control of a run whose terminal takes nothing, has gone, or was left with Ctrl-Z, and of one whose output nobody
//! reads: it ends when it is to end, and all that it was to write is written.

use crate::program::{Lgoose, exit_code, plan, process_id, scratch, signal, unread, wait_until};
use crate::report::saved;
use crate::server::Server;
use crate::terminal::Terminal;
use rustix::process::Signal;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const LGOOSE: &str = env!("CARGO_BIN_EXE_lgoose");

/// A task whose figures change all the time.
const BUSY: &str = "task { \"front\", function(user) user:get \"/\" user:wait(0.02) end }";

/// A task that ends only when it is cut off.
const HANGS: &str = "task { \"hang\", function(user) user:get \"/\" user:get \"/hold\" end }";

/// Starts a run on a terminal, with its report in the file that is returned.
fn watch(name: &str, text: &str, server: &Server, more: &[&str]) -> (Terminal, PathBuf) {
    let path = plan(&format!("{name}.lua"), text);
    let report = scratch(&format!("{name}.json"));
    // Not that of an earlier run of this test.
    let _none = std::fs::remove_file(&report);
    let output = format!("json={}", report.display());
    let url = server.url();
    let mut arguments = vec![
        &*path, "-H", &url, "-u", "4", "-r", "1000", "-o", &output, "--exit",
    ];
    arguments.extend(more);
    let folder = scratch(name);
    std::fs::create_dir_all(&folder).expect("the scratch folder takes a folder");
    let terminal = Terminal::start(LGOOSE, &arguments, &folder, (100, 30));
    (terminal, report)
}

/// Whether a process is stopped, as by SIGSTOP.
fn is_stopped(process: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).expect("it is there");
    let (_, rest) = stat.rsplit_once(") ").expect("a name in brackets");
    rest.starts_with('T')
}

/// Waits so long while a process is stopped: nothing tells that time has passed but time.
fn pass(time: Duration) {
    let begin = Instant::now();
    wait_until("time passes", || begin.elapsed() >= time);
}

#[test]
fn a_terminal_that_takes_nothing_changes_nothing_of_the_run() {
    let server = Server::start();
    let (mut view, report) = watch("held", BUSY, &server, &["-t", "3s"]);
    view.wait_for("GET front");
    view.hold(true);
    assert_eq!(view.end(), 0);
    let report = saved(&report);
    assert_eq!(report["ending"]["cause"], "time_up");
    let elapsed = report["elapsed_s"].as_f64().expect("a number");
    assert!(elapsed < 20.0, "it ended in time: {elapsed}");
    assert_eq!(report["aggregated"]["count"], server.received());
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_view_whose_terminal_takes_nothing_does_not_stay_when_the_run_is_over() {
    let server = Server::start();
    let path = plan("held_end.lua", BUSY);
    let folder = scratch("held_end");
    std::fs::create_dir_all(&folder).expect("the scratch folder takes a folder");
    let url = server.url();
    let arguments = [&*path, "-H", &url, "-u", "2", "-r", "1000", "-t", "3s"];
    let mut view = Terminal::start(LGOOSE, &arguments, &folder, (100, 30));
    view.wait_for("GET front");
    view.hold(true);
    assert_eq!(view.end(), 0);
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn signals_and_keys_stop_and_abort_a_run_whose_terminal_takes_nothing() {
    for (name, stop) in [("held_term", None), ("held_key", Some("\x03"))] {
        let server = Server::start();
        let (mut view, report) = watch(name, BUSY, &server, &[]);
        view.wait_for("GET front");
        view.hold(true);
        let then = server.received();
        wait_until("the run goes on", || server.received() > then + 200);
        match stop {
            Some(key) => view.press(key),
            None => signal(view.process_id(), Signal::TERM),
        }
        assert_eq!(view.end(), 0, "{name}");
        assert_eq!(saved(&report)["aggregated"]["count"], server.received());
    }
    for (name, stop) in [("held_terms", None), ("held_keys", Some("\x03"))] {
        let server = Server::start();
        let (mut view, report) = watch(name, HANGS, &server, &["--stop-timeout", "1h"]);
        view.wait_for("GET hang");
        wait_until("all hang", || server.received() == 8);
        view.hold(true);
        match stop {
            Some(key) => view.press(&key.repeat(2)),
            None => {
                let process = view.process_id();
                signal(process, Signal::TERM);
                // Two of one kind at once are one to the kernel.
                signal(process, Signal::INT);
            }
        }
        assert_eq!(view.end(), 130, "{name}");
        assert_eq!(saved(&report)["errors"][0]["message"], "aborted");
    }
}

#[test]
fn a_terminal_that_takes_something_again_shows_the_run_again() {
    let server = Server::start();
    let (mut view, _) = watch("held_for_a_while", BUSY, &server, &[]);
    view.wait_for("GET front");
    view.hold(true);
    let then = server.received();
    wait_until("the run goes on", || server.received() > then + 200);
    view.hold(false);
    view.press_for("2", "p99.99");
    view.press_for("q", "stop the run?");
    view.press("y");
    assert_eq!(view.end(), 0);
    view.wait_for("verdict      ");
    view.wait_until_given_back();
}

#[test]
fn a_run_whose_terminal_was_closed_goes_on_to_its_end() {
    let server = Server::start();
    let (mut view, report) = watch("closed", BUSY, &server, &["-t", "3s"]);
    view.wait_for("GET front");
    view.close();
    assert_eq!(view.end(), 0);
    let report = saved(&report);
    assert_eq!(report["ending"]["cause"], "time_up");
    assert_eq!(report["ending"]["cut_short"], false);
    assert_eq!(report["aggregated"]["count"], server.received());
}

#[test]
fn a_paused_run_that_nobody_could_resume_any_more_stops_when_its_terminal_is_closed() {
    let read_only = ["--web", "127.0.0.1:0", "--web-read-only"];
    for (name, more, code) in [
        // No user was started.
        ("closed_before", &["--paused"][..], 130),
        ("closed_paused", &[], 0),
        ("closed_watched", &read_only, 0),
    ] {
        let server = Server::start();
        let more = [&["-t", "1h"][..], more].concat();
        let (mut view, report) = watch(name, BUSY, &server, &more);
        if name == "closed_before" {
            view.wait_for("paused");
        } else {
            view.wait_for("GET front");
            view.press_for("p", "paused at");
        }
        view.close();
        assert_eq!(view.end(), code, "{name}");
        let report = saved(&report);
        assert_eq!(report["ending"]["cut_short"], true, "{name}");
        assert_eq!(report["aggregated"]["count"], server.received(), "{name}");
    }
}

#[test]
fn a_run_without_an_end_stops_when_its_terminal_is_closed() {
    let server = Server::start();
    let (mut view, report) = watch("closed_endless", BUSY, &server, &[]);
    view.wait_for("GET front");
    view.close();
    assert_eq!(view.end(), 0);
    assert_eq!(saved(&report)["ending"]["cause"], "signal");
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn a_terminal_that_is_closed_while_the_tables_are_printed_changes_no_exit_code() {
    let server = Server::start();
    for (name, more, code) in [
        ("closed_late", &["-t", "1s"][..], 0),
        (
            "closed_late_failed",
            &["-t", "1s", "--threshold", "p95 < 0.001ms"],
            1,
        ),
    ] {
        let (mut view, report) = watch(name, BUSY, &server, more);
        view.wait_for("GET front");
        view.hold(true);
        wait_until("the report is there", || report.exists());
        view.close();
        assert_eq!(view.end(), code, "{name}");
        assert!(saved(&report)["verdict"].is_object());
    }
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn without_a_view_a_terminal_that_takes_nothing_or_is_closed_changes_nothing_either() {
    for (name, closes) in [("lines_held", false), ("lines_closed", true)] {
        let server = Server::start();
        let more = ["--headless", "-t", "3s", "--running-metrics", "100ms"];
        let (mut terminal, report) = watch(name, BUSY, &server, &more);
        terminal.wait_for("users started in");
        if closes {
            terminal.close()
        } else {
            terminal.hold(true)
        }
        assert_eq!(terminal.end(), 0, "{name}");
        assert_eq!(saved(&report)["ending"]["cause"], "time_up");
    }
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn pipes_that_nobody_reads_delay_nothing_and_lose_no_file() {
    let server = Server::start();
    let url = server.url();
    let talks = "task { function(user) user:get \"/\" user:log(string.rep(\"x\", 4000)) user:wait(0.01) end }";
    let path = plan("unread.lua", talks);
    let report = scratch("unread.json");
    let _none = std::fs::remove_file(&report);
    let output = format!("json={}", report.display());
    let usual = [&*path, "-H", &url, "-u", "4", "-r", "1000", "-t", "2s"];
    let arguments: Vec<&str> = usual.iter().copied().chain(["-o", &output]).collect();
    let mut child = unread(&arguments);
    assert_eq!(exit_code(&mut child), Some(0));
    assert_eq!(saved(&report)["ending"]["cause"], "time_up");

    // What was wanted on standard output itself is not there: that is trouble, told by the exit code.
    let names = "task { function(user) for n = 1, 200 do user:get(\"/\" .. n) end end }";
    let path = plan("unread_report.lua", names);
    let arguments = [
        &*path, "-H", &url, "-u", "1", "-i", "1", "-o", "json=-", "-o", &output,
    ];
    let mut child = unread(&arguments);
    assert_eq!(exit_code(&mut child), Some(3));
    assert_eq!(
        saved(&report)["requests"].as_array().map(Vec::len),
        Some(200)
    );
}

#[test]
fn a_site_that_stands_still_keeps_nobody_from_ending_the_run() {
    let mut site = Command::new(LGOOSE)
        .args(["demo", "api", "--port", "0"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it was built");
    let mut line = String::new();
    let told = site.stdout.take().expect("it is piped");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(told), &mut line).expect("it tells");
    let begin = line.find("http://").expect("its URL");
    let url = line[begin..].split(';').next().expect("its URL").trim();
    let process = process_id(&site);

    let path = plan(
        "still_site.lua",
        "task { function(user) user:get \"/api/products/1\" end }",
    );
    let report = scratch("still_site.json");
    let _none = std::fs::remove_file(&report);
    let output = format!("json={}", report.display());
    let arguments = [
        &*path,
        "-H",
        url,
        "-u",
        "4",
        "-r",
        "1000",
        "-o",
        &output,
        "--stop-timeout",
        "1h",
    ];
    let folder = scratch("still_site");
    std::fs::create_dir_all(&folder).expect("the scratch folder takes a folder");
    let mut view = Terminal::start(LGOOSE, &arguments, &folder, (100, 30));
    view.wait_for("GET /api/products/1");
    signal(process, Signal::STOP);
    wait_until("it stands still", || is_stopped(process));
    view.press_for("\x03", "stopping");
    view.press("\x03");
    assert_eq!(view.end(), 130);
    let report = saved(&report);
    assert_eq!(report["ending"]["cause"], "aborted");
    assert!(report["aggregated"]["count"].as_u64() > Some(4));
    signal(process, Signal::KILL);
    site.wait().expect("it was killed");
}

/// Starts a run under a shell with job control, on a site that takes 300 ms, and gives its process.
fn under_shell(name: &str, server: &Server, more: &str) -> (Terminal, i32, PathBuf) {
    let path = plan(
        &format!("{name}.lua"),
        "task { function(user) user:get \"/delay/300\" user:wait(0.01) end }",
    );
    let report = scratch(&format!("{name}.json"));
    let _none = std::fs::remove_file(&report);
    let folder = scratch(name);
    std::fs::create_dir_all(&folder).expect("the scratch folder takes a folder");
    let mut shell = Terminal::start("bash", &["--norc", "-i"], &folder, (100, 30));
    let url = server.url();
    let output = report.display();
    shell.press(&format!(
        "{LGOOSE} {path} -H {url} -u 4 -r 1000 --exit {more} -o json={output}\n"
    ));
    wait_until("requests come", || server.received() > 8);
    let all = format!("/proc/{0}/task/{0}/children", shell.process_id());
    let mut child = 0;
    wait_until("the shell has a child", || {
        let children = std::fs::read_to_string(&all).unwrap_or_default();
        child = children.trim().parse().unwrap_or(0);
        child > 0
    });
    (shell, child, report)
}

/// Asserts that no request of a run has the time in which the program was stopped, which was at least 4 s.
fn assert_no_trace(report: &serde_json::Value) {
    let all = &report["aggregated"];
    let max = all["latency_ms"]["max"].as_f64().expect("a number");
    assert!(max < 3_500.0, "{max} ms");
    assert_eq!(all["failures"], 0);
    let first_byte = all["phases_ms"]["first_byte"].as_f64().expect("a number");
    assert!(first_byte < 3_500.0, "{first_byte} ms");
    let events = report["events"].as_array().expect("a list");
    let pauses = events.iter().filter(|event| event["kind"] == "pause");
    let lasted: Vec<f64> = pauses.filter_map(|one| one["lasted_s"].as_f64()).collect();
    assert!(matches!(lasted[..], [one] if one > 3.5), "once: {lasted:?}");
    assert!(report["paused_s"].as_f64() > Some(3.5));
    let points = report["series"].as_array().expect("a list");
    let oldest = points
        .iter()
        .filter_map(|point| point["oldest_ms"].as_f64());
    assert!(oldest.fold(0.0, f64::max) < 3_500.0, "{points:?}");
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn ctrl_z_pauses_the_run_and_no_request_shows_the_time() {
    for (name, more, key) in [("left", "", true), ("left_lines", "--headless -q", false)] {
        let server = Server::start();
        let (mut shell, process, report) = under_shell(name, &server, more);
        if key {
            shell.press_for("\x1a", "Stopped")
        } else {
            signal(process, Signal::TSTP)
        }
        wait_until("it is stopped", || is_stopped(process));
        pass(Duration::from_secs(4));
        let then = server.received();
        shell.press("fg\n");
        wait_until("requests come again", || server.received() > then + 8);
        signal(process, Signal::INT);
        wait_until("the report is there", || report.exists());
        assert_no_trace(&saved(&report));
    }
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn time_in_which_the_program_stood_still_is_a_pause_and_no_delay_of_its_own() {
    for (name, more, stops_ms) in [
        ("users", &["-u", "4"][..], &[2_000_u64][..]),
        ("short", &["-u", "4"], &[900]),
        ("again", &["-u", "4"], &[1_200, 1_200, 1_200]),
        ("thread", &["-u", "4", "--threads", "1"], &[1_500]),
        ("threads", &["-u", "9", "--threads", "4"], &[1_500]),
        ("rate", &["--rate", "60", "--max-users", "40"], &[2_000]),
        ("one", &["-u", "1"], &[1_500]),
        ("slow", &["-u", "2", "-e", "PAUSE=0.4"], &[1_500]),
        (
            "throttled",
            &["-u", "4", "--throttle-requests", "30"],
            &[1_500],
        ),
        ("reset", &["-u", "4", "--reset-stats"], &[1_500]),
        ("long", &["-u", "4"], &[5_000]),
    ] {
        let server = Server::start();
        let text = "task { function(user) user:get '/delay/20' user:wait(tonumber(env('PAUSE', '0.01'))) end }";
        let path = plan(&format!("stood_{name}.lua"), text);
        let url = server.url();
        let run = [&path, "-H", &url, "-o", "json=-"];
        let running = Lgoose::new(run.iter().chain(more)).start();
        for ms in stops_ms {
            let before = server.received();
            wait_until("requests come", || server.received() > before + 8);
            running.signal(Signal::STOP);
            pass(Duration::from_millis(*ms));
            running.signal(Signal::CONT);
        }
        let before = server.received();
        wait_until("requests come again", || server.received() > before + 8);
        running.interrupt();
        let report = crate::report::read(running.end()).json;
        let events = report["events"].as_array().expect("a list");
        let pauses = events.iter().filter(|event| event["kind"] == "pause");
        let lasted: Vec<f64> = pauses.filter_map(|one| one["lasted_s"].as_f64()).collect();
        assert_eq!(lasted.len(), stops_ms.len(), "{name}: {lasted:?}");
        let shortest = *stops_ms.iter().min().expect("one") as f64;
        assert!(
            lasted.iter().all(|one| one * 1e3 > 0.9 * shortest),
            "{name}: {lasted:?}"
        );
        let generator = &report["generator"];
        for figure in ["lag_max_ms", "own_p99_ms"] {
            let ms = generator[figure].as_f64().unwrap_or_default();
            assert!(ms < 0.8 * shortest, "{name}: {generator}");
        }
        let max = report["aggregated"]["latency_ms"]["max"].as_f64();
        assert!(max < Some(shortest), "{name}: {max:?}");
        let warnings = report["warnings"].to_string();
        assert!(warnings.contains("stood still"), "{name}: {warnings}");
    }
}

#[test]
fn a_program_that_is_stopped_from_outside_counts_that_as_a_pause() {
    let server = Server::start();
    let (mut shell, process, report) = under_shell("stopped", &server, "--headless -q");
    signal(process, Signal::STOP);
    wait_until("it is stopped", || is_stopped(process));
    pass(Duration::from_secs(4));
    let then = server.received();
    signal(process, Signal::CONT);
    wait_until("requests come again", || server.received() > then + 8);
    signal(process, Signal::INT);
    wait_until("the report is there", || report.exists());
    let report = saved(&report);
    assert_no_trace(&report);
    let warnings = report["warnings"].to_string();
    assert!(warnings.contains("stood still"), "{warnings}");
    shell.press("exit\n");
}
