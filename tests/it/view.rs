//! The live view as a person uses it, on a terminal with keys.

use crate::program::{plan, scratch, wait_until};
use crate::server::Server;
use crate::terminal::Terminal;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use rustix::process::{Pid, Signal, kill_process};
use std::path::PathBuf;

const LGOOSE: &str = env!("CARGO_BIN_EXE_lgoose");

/// Creates a folder for the files of a test.
fn folder(name: &str) -> PathBuf {
    let folder = scratch(name);
    std::fs::create_dir_all(&folder).expect("the scratch folder takes a folder");
    folder
}

/// Starts a run of a plan with two names and an error, on a terminal of that size.
fn watch(name: &str, server: &Server, size: (u16, u16), more: &[&str]) -> Terminal {
    let path = plan(
        &format!("{name}.lua"),
        "task { \"front\", function(user)\n  user:get(\"/\", { name = \"front page\" })\n  \
         user:get(\"/status/503\", { name = \"broken\" })\n  check(true, \"it works\")\n  \
         user:log \"hello from the plan\"\n  user:wait(0.05)\nend }",
    );
    let url = server.url();
    let arguments = [&path, "-H", &url, "-u", "4", "-r", "1000", "--exit"];
    let arguments: Vec<&str> = arguments
        .iter()
        .copied()
        .chain(more.iter().copied())
        .collect();
    Terminal::start(LGOOSE, &arguments, &folder(name), size)
}

#[test]
fn every_key_does_what_the_help_says() {
    let server = Server::start();
    let mut view = watch(
        "view_keys",
        &server,
        (100, 30),
        &["--threshold", "p95 < 60s"],
    );
    view.wait_for("GET front page");
    assert!(view.is_taken());
    view.press_for("2", "p99.99");
    view.press_for("3", "runs/s");
    view.press_for("4", "GET broken: status 503");
    view.press_for("\r", "The first of these requests");
    view.wait_for("response   503 in");
    view.press("\x1b");
    view.press_for("5", "503");
    view.press_for("6", "✓ p95 < 60s");
    view.wait_for("✓ it works");
    view.press_for("7", "hello from the plan");
    view.press_for("1", "trend");
    view.press_for("\t", "p99.99");
    view.press_for("\x1b[D", "trend");
    view.press_for("j\r", "distribution");
    view.wait_for("│ GET front page");
    view.press("\x1b");
    view.wait_for("trend");
    view.press_for("/front", "filter: front");
    view.press("\r");
    view.press("\x1b");
    view.press_for("s", "sorted by requests");
    view.press_for("S", "trend");
    view.press_for("?", "details (/ search");
    view.press("\x1b");
    view.press_for("p", "paused at");
    view.press_for("p", "running");
    view.press_for("+", "5 users wanted");
    view.wait_for("5 users");
    view.press_for("u", "sets the number");
    view.press_for("2\r", "2 users wanted");
    let then = server.received();
    view.press_for("0", "reset the statistics?");
    view.press_for("y", "statistics reset");
    wait_until("new figures", || server.received() > then + 100);
    view.press_for("w", "written: lgoose-report.json");
    let written = std::fs::read_to_string(scratch("view_keys").join("lgoose-report.json"));
    assert!(written.expect("it was written").contains("\"requests\""));
    view.press_for("q", "stop the run?");
    view.press_for("n", "trend");
    view.press_for("q", "stop the run?");
    view.press("y");
    assert_eq!(view.end(), 0, "{}", view.screen());
    view.wait_for("verdict      ");
    view.wait_until_given_back();
}

#[test]
fn details_are_searched_and_copied_to_the_clipboard_of_the_terminal() {
    let server = Server::start();
    let mut view = watch("view_copies", &server, (100, 40), &[]);
    view.press_for("4", "GET broken: status 503");
    view.press_for("\r", "response   503 in");
    assert!(view.reversed_lines().is_empty(), "{}", view.screen());
    view.press_for("/RESPONSE", "search: RESPONSE_");
    wait_until("what is found is marked as it is typed", || {
        let marked = view.reversed_lines();
        marked.iter().any(|line| line.contains("response   503 in"))
    });
    view.press_for("\r", "'RESPONSE' in ");
    view.wait_for(" lines, n next");
    for line in view.reversed_lines() {
        assert!(line.to_lowercase().contains("response"), "{line}");
    }
    view.press_for("/nowhere\r", "'nowhere' in 0 lines");
    assert!(view.reversed_lines().is_empty(), "{}", view.screen());
    view.press_for("/", "search: _");
    view.press_for("\x1b", "y copy");
    let copied = |view: &Terminal| view.received_between("\x1b]52;c;", "\x07");
    assert!(copied(&view).is_empty());
    view.press_for("y", "copied to the clipboard of the terminal");
    let [text] = &copied(&view)[..] else {
        panic!("one text is copied: {:?}", copied(&view));
    };
    let text = BASE64.decode(text).expect("base64");
    let text = String::from_utf8(text).expect("UTF-8");
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines.contains(&"The first of these requests"),
        "no frame, no colours, no signs of the terminal: {text:?}"
    );
    for begins in ["request    GET ", "response   503 in "] {
        assert!(lines.iter().any(|line| line.starts_with(begins)), "{text}");
    }
    view.press("\x1b");
    view.wait_for("GET broken: status 503");
    view.press_for("q", "stop the run?");
    view.press("y");
    view.end();
    assert_eq!(copied(&view).len(), 1, "nothing is copied by itself");
}

#[test]
fn a_run_that_is_over_stays_with_its_pages_until_q() {
    let server = Server::start();
    let path = plan(
        "view_stays.lua",
        "task { function(user) user:get(\"/status/503\", { name = \"broken\" }) user:log \"the last word\" end }",
    );
    let url = server.url();
    let arguments = [
        &path,
        "-H",
        &url,
        "-u",
        "1",
        "-i",
        "3",
        "--threshold",
        "failures < 1%",
    ];
    let mut view = Terminal::start(LGOOSE, &arguments, &folder("view_stays"), (100, 70));
    view.wait_for("FINISHED");
    view.wait_for("0 of 1 threshold · q quit");
    assert!(view.is_taken());
    view.press_for("4", "GET broken: status 503");
    view.press_for("\r", "The first of these requests");
    view.press("\x1b");
    view.press_for("w", "written: lgoose-report.json");
    let written = std::fs::read_to_string(scratch("view_stays").join("lgoose-report.json"));
    assert!(written.expect("it was written").contains("\"verdict\""));
    view.press("q");
    assert_eq!(view.end(), 1, "{}", view.screen());
    view.wait_until_given_back();
    view.wait_for("the last word");
    view.wait_for("verdict      ");
}

#[test]
fn a_signal_ends_the_view_of_a_run_that_is_over() {
    let server = Server::start();
    let path = plan(
        "view_over.lua",
        "task { function(user) user:get \"/\" end }",
    );
    let url = server.url();
    for signal in [Signal::TERM, Signal::INT] {
        let arguments = [&path, "-H", &url, "-u", "1", "-i", "1"];
        let mut view = Terminal::start(LGOOSE, &arguments, &folder("view_over"), (80, 24));
        view.wait_for("FINISHED");
        let process = Pid::from_raw(view.process_id()).expect("a process id");
        kill_process(process, signal).expect("it waits");
        assert_eq!(view.end(), 0);
        view.wait_until_given_back();
    }
}

#[test]
fn the_view_follows_the_size_of_the_terminal() {
    let server = Server::start();
    let mut view = watch("view_size", &server, (80, 24), &[]);
    view.wait_for("2 Latency");
    view.resize(60, 15);
    view.wait_for("1 Requests 2  3  4");
    assert!(view.screen().lines().count() <= 15, "{}", view.screen());
    view.resize(160, 50);
    view.wait_for("0 reset");
    view.press_for("2", "p98");
    view.press("qy");
    assert_eq!(view.end(), 0);
}

#[test]
fn ctrl_c_stops_and_aborts_and_a_signal_gives_the_terminal_back() {
    let server = Server::start();
    let mut view = watch("view_ctrl_c", &server, (80, 24), &[]);
    view.wait_for("GET front page");
    view.press("\x03");
    assert_eq!(view.end(), 0);
    view.wait_for("verdict      ");
    view.wait_until_given_back();

    let path = plan(
        "view_abort.lua",
        "task { function(user) user:get \"/hold\" end }",
    );
    let url = server.url();
    let arguments = [&path, "-H", &url, "-u", "1"];
    let mut view = Terminal::start(LGOOSE, &arguments, &folder("view_abort"), (80, 24));
    view.wait_for("1 Requests");
    // A run that is stopped before its first request has nothing to abort.
    wait_until("the request is held", || server.count("GET /hold") == 1);
    view.press_for("\x03", "stopping");
    view.press("\x03");
    assert_eq!(view.end(), 130);
    view.wait_until_given_back();

    let mut view = watch("view_term", &server, (80, 24), &[]);
    view.wait_for("GET front page");
    let process = Pid::from_raw(view.process_id()).expect("a process id");
    kill_process(process, Signal::TERM).expect("it runs");
    assert_eq!(view.end(), 0);
    view.wait_until_given_back();
}

#[test]
fn ctrl_z_gives_the_terminal_to_the_shell_and_fg_takes_it_again() {
    let server = Server::start();
    let path = plan(
        "view_suspend.lua",
        "task { function(user) user:get \"/\" user:wait(0.1) end }",
    );
    let arguments = ["--norc", "-i"];
    let mut shell = Terminal::start("bash", &arguments, &folder("view_suspend"), (80, 24));
    shell.press(&format!(
        "{LGOOSE} {path} -H {} -u 1 --exit\n",
        server.url()
    ));
    shell.wait_for("1 Requests");
    shell.press_for("\x1a", "Stopped");
    assert!(!shell.is_taken());
    shell.press_for("echo still $((40 + 2))\n", "still 42");
    shell.press("fg\n");
    shell.wait_for("1 Requests");
    assert!(shell.is_taken());
    shell.press_for("2", "p99");
    shell.press("qy");
    shell.wait_for("verdict      ");
    shell.press("exit\n");
    shell.end();
}

#[test]
fn colours_are_the_sixteen_and_can_be_left_out() {
    let server = Server::start();
    for (more, coloured) in [(&[][..], true), (&["--no-color"], false)] {
        let mut view = watch("view_colours", &server, (80, 24), more);
        view.wait_for("FAILING");
        assert_eq!(view.colours() > 0, coloured, "{more:?}");
        view.press("qy");
        view.end();
    }
}

#[test]
fn there_is_no_view_where_nobody_wants_one() {
    let server = Server::start();
    for more in [
        &["--headless"][..],
        &["-q"],
        &["--only-summary"],
        &["-o", "json=-"],
        &["--once"],
    ] {
        let mut arguments = more.to_vec();
        if more != ["--once"] {
            arguments.extend(["-i", "2"]);
        }
        let path = plan("no_view.lua", "task { function(user) user:get \"/\" end }");
        let url = server.url();
        let mut all = vec![path.as_str(), "-H", &url];
        all.extend(&arguments);
        if more != ["--once"] {
            all.extend(["-u", "1"]);
        }
        let mut terminal = Terminal::start(LGOOSE, &all, &folder("no_view"), (80, 24));
        assert_eq!(terminal.end(), 0, "{more:?}: {}", terminal.screen());
        assert!(
            !terminal.screen().contains("q stop"),
            "{more:?}: {}",
            terminal.screen()
        );
        assert!(!terminal.is_taken(), "{more:?}");
    }
}

#[test]
fn a_quiet_run_of_twelve_names_sends_little_to_the_terminal() {
    let server = Server::start();
    let text = "task { function(user)\n  for n = 1, 12 do user:get(\"/\" .. n) end\n  user:wait(0.2)\nend }";
    let path = plan("view_bytes.lua", text);
    let url = server.url();
    let arguments = [
        &path, "-H", &url, "-u", "2", "-r", "1000", "-t", "6s", "--exit",
    ];
    let mut view = Terminal::start(LGOOSE, &arguments, &folder("view_bytes"), (80, 24));
    view.wait_for("GET /12");
    let (begin, before) = (std::time::Instant::now(), view.received());
    crate::program::wait_until("some seconds", || begin.elapsed().as_secs() >= 4);
    let rate = (view.received() - before) as f64 / begin.elapsed().as_secs_f64();
    eprintln!("{rate:.0} bytes a second");
    // What changes is drawn, four times a second at most: far less than four whole screens.
    assert!(rate < 3_000.0, "{rate} bytes a second");
    view.press("qy");
    view.end();
}

/// Returns what is below the tabs: the lines above say of the whole run what fails.
fn rows(screen: &str) -> &str {
    let below = screen.split_once(" 1 Requests");
    below.map_or("", |(_, rows)| rows)
}

#[test]
fn the_requests_of_one_tag_and_the_load_of_one_scenario_are_chosen_by_keys() {
    let server = Server::start();
    let path = plan(
        "view_tags.lua",
        "scenario { 'readers', wait = 0.05, tags = { kind = 'free' },
           task { 'read', function(user) user:get('/', { name = 'front' }) user:get('/status/404', { name = 'gone' }) end } }
         scenario { 'buyers', rate = '10/s', max_users = 4,
           task { 'buy', function(user) user:get('/', { name = 'front' }) user:get('/', { name = 'cart' }) end } }",
    );
    let url = server.url();
    let arguments = [&path, "-H", &url, "-u", "2", "-r", "1000", "--exit"];
    let mut view = Terminal::start(LGOOSE, &arguments, &folder("view_tags"), (80, 24));
    view.wait_for("GET gone");
    view.wait_for("t by tag");
    view.press_for("t", "find: _");
    view.wait_for("scenario=readers");
    view.press_for("BUY", "find: BUY_");
    view.press("\r");
    wait_until("only their rows are there", || {
        let screen = view.screen();
        screen.contains("scenario=buyers · ")
            && screen.contains("GET cart")
            && !rows(&screen).contains("GET gone")
    });
    view.press_for("2", "p99.99");
    assert!(
        !rows(&view.screen()).contains("GET gone"),
        "{}",
        view.screen()
    );
    view.press_for("3", "buyers · ");
    assert!(
        !rows(&view.screen()).contains("readers · "),
        "{}",
        view.screen()
    );
    view.press_for("5", "200");
    assert!(!rows(&view.screen()).contains("404"), "{}", view.screen());
    view.press_for("4", "all, not scenario=buyers alone");
    view.press_for("1", "GET cart");
    view.press_for("/front\r", "filter: front");
    wait_until("both filters hold", || {
        !rows(&view.screen()).contains("GET cart")
    });
    view.press_for("\x1b", "GET cart");
    assert!(
        !rows(&view.screen()).contains("GET gone"),
        "{}",
        view.screen()
    );
    view.press("\x1b");
    wait_until("all rows are there", || {
        rows(&view.screen()).contains("GET gone")
    });
    assert!(
        !view.screen().contains("scenario=buyers"),
        "{}",
        view.screen()
    );
    view.press_for(
        "o",
        "+ - u i: 'buyers', 10 iterations/s wanted by at most 4 users",
    );
    view.press_for("+", "scenario 'buyers': target: 11 iterations per second");
    view.press_for("i", "iterations/s of 'buyers'");
    view.press_for(
        "12.5\r",
        "scenario 'buyers': target: 12.5 iterations per second",
    );
    view.press_for("u", "12.5 iterations/s wanted by at most 4 users");
    view.press_for("6\r", "scenario 'buyers': 6 users wanted");
    view.press_for("u", "users of 'buyers'");
    view.press_for("\t", "users of the others");
    view.press_for("3\r", "3 users wanted");
    view.press_for("i", "this load has no rate");
    view.press_for("q", "stop the run?");
    view.press("y");
    assert_eq!(view.end(), 0, "{}", view.screen());
}
