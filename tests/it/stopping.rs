//! The end of runs: Ctrl-C once and twice, the end of the run time, tasks that take too long, `on_stop`.

use crate::program::{Lgoose, plan, scratch, wait_until};
use crate::report::{read, run};
use crate::server::Server;
use rustix::process::Signal;

#[test]
fn a_second_ctrl_c_aborts_and_the_report_is_still_printed_and_written() {
    let server = Server::start();
    let url = server.url();
    let path = scratch("aborted.json");
    let output = format!("json={}", path.display());
    let plan = plan(
        "hold.lua",
        "task { \"hang\", function(user) user:get \"/hold\" end }",
    );
    let program = Lgoose::new([
        plan.as_str(),
        "-H",
        &url,
        "-u",
        "2",
        "-r",
        "1000",
        "-o",
        &output,
    ])
    .start();
    wait_until("both users hang", || server.received() == 2);
    program.interrupt();
    wait_until("the first Ctrl-C is told", || {
        program.stderr().contains("Ctrl-C again")
    });
    program.interrupt();
    let ended = program.end();
    assert_eq!(ended.code, 130, "{}", ended.stderr);
    assert!(
        ended.stdout.contains("GET hang") && ended.stdout.contains("aborted"),
        "{}",
        ended.stdout
    );
    let json = std::fs::read_to_string(path).expect("the report was written");
    let report: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
    assert_eq!(
        report["aggregated"]["count"], 2,
        "requests that were cut off are counted"
    );
    assert_eq!(report["aggregated"]["status"]["0"], 2);
    assert_eq!(report["errors"][0]["message"], "aborted");
}

#[test]
fn sigterm_and_the_end_of_the_terminal_stop_like_ctrl_c() {
    for signal in [Signal::TERM, Signal::HUP] {
        let server = Server::start();
        let program = endless("sigterm.lua", &server, &[]).start();
        wait_until("requests arrive", || server.received() > 2);
        program.signal(signal);
        let report = read(program.end());
        assert_eq!(report.ended.code, 0, "{}", report.ended.stderr);
        assert_eq!(report.sent(), server.received());
    }
}

#[test]
fn what_nohup_started_goes_on_when_its_terminal_is_gone() {
    let server = Server::start();
    let program = endless("nohup.lua", &server, &[])
        .through("nohup", &[])
        .start();
    wait_until("requests arrive", || server.received() > 2);
    program.signal(Signal::HUP);
    let so_far = server.received();
    wait_until("more requests arrive", || server.received() > so_far + 10);
    program.signal(Signal::TERM);
    let report = read(program.end());
    assert_eq!(report.sent(), server.received());
}

#[test]
fn the_end_of_the_terminal_stops_a_run_with_an_end_only_when_it_is_told_again() {
    let server = Server::start();
    let long = endless("hangup.lua", &server, &["-t", "1h"]);
    let program = long.start();
    wait_until("requests arrive", || server.received() > 2);
    program.signal(Signal::HUP);
    wait_until("it is told", || {
        program.stderr().contains("the run goes on without it")
    });
    let so_far = server.received();
    wait_until("more requests arrive", || server.received() > so_far + 10);
    wait_until("a later one stops the run", || {
        program.signal(Signal::HUP);
        program.stderr().contains("stopping")
    });
    let report = read(program.end());
    assert_eq!(report.ended.code, 0, "{}", report.ended.stderr);
    assert_eq!(report.json["ending"]["cause"], "signal");
    assert_eq!(report.sent(), server.received());
}

#[test]
fn the_end_of_the_terminal_stops_what_has_no_end_of_its_own_and_nothing_else() {
    let server = Server::start();
    let url = server.url();
    let task = "task { 'a', function(user) user:get '/' user:wait(0.02) end }";
    for (name, source, flags, goes_on) in [
        (
            "shared",
            task.to_owned(),
            &["--shared-iterations", "9999"][..],
            true,
        ),
        (
            "each",
            format!("scenario {{ 's', iterations = 9999, {task} }}"),
            &[],
            true,
        ),
        (
            "all",
            format!("scenario {{ 's', shared_iterations = 9999, {task} }}"),
            &[],
            true,
        ),
        (
            "own",
            format!("scenario {{ 's', users = 2, run_time = '1h', {task} }}"),
            &[],
            true,
        ),
        ("stage", task.to_owned(), &["--stage", "1h:2"], true),
        (
            "one",
            format!("scenario {{ 's', iterations = 9999, {task} }} scenario {{ 't', {task} }}"),
            &[],
            false,
        ),
        (
            "rate",
            format!("scenario {{ 's', rate = '50/s', {task} }} scenario {{ 't', {task} }}"),
            &["-i", "9999"],
            false,
        ),
    ] {
        let path = plan(&format!("hangup_{name}.lua"), &source);
        let usual = [&*path, "-H", &url, "-o", "json=-"];
        let program = Lgoose::new(usual.iter().chain(flags)).start();
        let before = server.received();
        wait_until("requests arrive", || server.received() > before + 2);
        program.signal(Signal::HUP);
        let told = if goes_on {
            "the run goes on without it"
        } else {
            "stopping"
        };
        wait_until(name, || program.stderr().contains(told));
        if goes_on {
            program.signal(Signal::TERM);
        }
        let report = read(program.end());
        assert_eq!(report.json["ending"]["cause"], "signal", "{name}");
    }
}

/// Starts two users that run without an end, with the report on standard output.
fn endless(name: &str, server: &Server, more: &[&str]) -> Lgoose {
    let plan = plan(name, "task { function(user) user:get \"/\" end }");
    let url = server.url();
    let usual = [&plan, "-H", &url, "-u", "2", "-r", "1000", "-o", "json=-"];
    Lgoose::new(usual.iter().chain(more))
}

#[test]
fn after_ctrl_c_a_wait_that_is_too_long_ends_its_task_and_on_stop_runs() {
    let server = Server::start();
    let url = server.url();
    let plan = plan(
        "finishes.lua",
        "scenario { \"s\",\n  task { \"long\", function(user)\n    user:get \"/begin\"\n    user:wait(3600)\n    \
         user:get \"/end\"\n  end },\n  task { \"bye\", on_stop = true, function(user) user:get \"/bye\" end },\n}",
    );
    let program = Lgoose::new([
        plan.as_str(),
        "-H",
        &url,
        "-u",
        "3",
        "-r",
        "1000",
        "-o",
        "json=-",
    ])
    .start();
    wait_until("all users wait", || server.count("GET /begin") == 3);
    program.interrupt();
    let report = read(program.end());
    assert_eq!(report.ended.code, 0, "{}", report.ended.stderr);
    assert_eq!(
        server.count("GET /end"),
        0,
        "the wait ended, and the task with it"
    );
    assert_eq!(server.count("GET /bye"), 3);
    assert_eq!(report.task("long"), (3, 0));
    assert_eq!(report.task("bye"), (3, 0));
}

#[test]
fn when_the_time_is_up_users_who_are_still_starting_are_no_more() {
    let server = Server::start();
    let url = server.url();
    let plan = plan(
        "slow_start.lua",
        "task { wait = 3600, function(user) user:get \"/\" end }",
    );
    let program = Lgoose::new([
        plan.as_str(),
        "-H",
        &url,
        "-u",
        "1000",
        "-r",
        "1",
        "-o",
        "json=-",
    ])
    .start();
    wait_until("the first user is there", || server.received() > 0);
    program.interrupt();
    let report = read(program.end());
    assert_eq!(report.ended.code, 0, "{}", report.ended.stderr);
    assert_eq!(report.sent(), server.received());
    assert!(report.json["users"].as_u64() < Some(1000));
}

#[test]
fn tasks_that_do_not_end_within_the_stop_timeout_are_cut_off_with_a_warning() {
    let server = Server::start();
    let url = server.url();
    let plan = plan(
        "cut_off.lua",
        "task { \"hang\", function(user) user:get \"/\" user:get \"/hold\" end }",
    );
    let report = run([
        &plan,
        "-H",
        &url,
        "-u",
        "1",
        "-t",
        "1s",
        "--stop-timeout",
        "100ms",
    ]);
    assert_eq!(
        report.ended.code, 0,
        "it is no abort: {}",
        report.ended.stderr
    );
    assert_eq!(report.errors_with("aborted"), 1, "{:?}", report.errors());
    let warnings = report.json["warnings"].to_string();
    assert!(warnings.contains("--stop-timeout"), "{warnings}");
    assert_eq!(report.sent(), server.received());
}

#[test]
fn a_run_lasts_as_long_as_it_was_asked_to() {
    let server = Server::start();
    let url = server.url();
    let plan = plan(
        "lasts.lua",
        "task { wait = 0.01, function(user) user:get \"/\" end }",
    );
    let report = run([&plan, "-H", &url, "-u", "2", "-r", "1000", "-t", "1s"]);
    let elapsed = report.json["elapsed_s"].as_f64().expect("a number");
    assert!(elapsed >= 1.0, "{elapsed}");
    assert_eq!(report.sent(), server.received());
}

#[test]
fn a_user_that_stops_itself_runs_its_on_stop_and_the_others_go_on() {
    let server = Server::start();
    let url = server.url();
    let plan = plan(
        "stops_itself.lua",
        "scenario { \"s\",\n  task { \"go\", function(user)\n    user:get(\"/user/\" .. user.id)\n    \
         if user.id == 1 then user:stop() end\n  end },\n  task { \"bye\", on_stop = true, function(user) user:get \"/bye\" end },\n}",
    );
    let report = run([&plan, "-H", &url, "-u", "2", "-r", "1000", "-i", "3"]);
    assert_eq!(server.count("GET /user/1"), 1);
    assert_eq!(server.count("GET /user/2"), 3);
    assert_eq!(server.count("GET /bye"), 2);
    assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
}

/// Runs a plan that hangs unless lgoose ends the run: nothing in it ever waits for the network.
fn ends_although(name: &str, task: &str) {
    let server = Server::start();
    let url = server.url();
    let path = plan(
        name,
        &format!("task {{ \"t\", function(user)\n  user:get \"/\"\n  {task}\nend }}"),
    );
    let report = run([
        &path,
        "-H",
        &url,
        "-u",
        "2",
        "-r",
        "1000",
        "-t",
        "500ms",
        "--stop-timeout",
        "500ms",
    ]);
    assert!(report.total("count") >= 2, "{:?}", report.errors());
}

#[test]
fn a_task_that_waits_in_a_loop_cannot_keep_a_run_from_ending() {
    ends_although("wait_loop.lua", "while true do user:wait(3600) end");
}

#[test]
fn a_task_that_asks_for_bad_urls_in_a_loop_cannot_keep_a_run_from_ending() {
    ends_although(
        "bad_url_loop.lua",
        "while true do user:get \"ftp://example.org/\" end",
    );
}

#[test]
fn a_task_that_fetches_nothing_in_a_loop_cannot_keep_a_run_from_ending() {
    ends_although("empty_fetch_loop.lua", "while true do user:fetch {} end");
}

#[test]
fn a_plan_with_nothing_but_a_bad_url_ends_on_time() {
    let path = plan(
        "only_bad_url.lua",
        "task { \"t\", function(user) user:get \"ftp://example.org/\" end }",
    );
    let report = run([&path, "-H", "127.0.0.1:1", "-u", "1", "-t", "100ms"]);
    assert!(report.errors_with("bad url") > 0, "{:?}", report.errors());
    assert_eq!(report.ended.code, 1);
}
