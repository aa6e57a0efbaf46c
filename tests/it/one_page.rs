//! A URL in the place of a plan: one page over and over.

use crate::program::{Lgoose, scratch};
use crate::report::run;
use crate::server::Server;

#[test]
fn a_url_is_asked_for_as_a_plan_of_one_task_would() {
    let server = Server::start();
    let url = format!("{}/a/page?of=mine", server.url());
    let report = run([&url, "-u", "2", "-r", "1000", "-i", "3"]);
    assert_eq!(report.ended.code, 0, "{}", report.ended.stderr);
    assert_eq!(report.count("GET /a/page"), 6);
    assert_eq!(server.count("GET /a/page?of=mine"), 6);
    assert_eq!(report.json["plan"], url.as_str());
    assert_eq!(report.json["host"], server.url().as_str());
}

#[test]
fn users_of_a_url_start_all_at_once_unless_a_rate_is_given() {
    let server = Server::start();
    let url = format!("{}/", server.url());
    for (arguments, told) in [
        (
            &["-u", "50", "-t", "1s"][..],
            "50 users, all started at once, for 1s",
        ),
        (
            &["-u", "5", "-i", "10"],
            "5 users, all started at once, for 10 iterations each",
        ),
        (
            &["-u", "2", "-i", "2", "-t", "5m"],
            "2 users, all started at once, for 2 iterations each, at most 5m",
        ),
        (
            &["-u", "2", "--shared-iterations", "3"],
            "2 users, all started at once, for 3 iterations in all",
        ),
        (
            &["-u", "3", "-r", "100", "-i", "1"],
            "3 users, 100 started per second (all run after 20.0 ms)",
        ),
    ] {
        let ended = Lgoose::new([url.as_str()].iter().chain(arguments)).finish();
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        assert!(ended.stdout.contains(told), "{}", ended.stdout);
    }
}

#[test]
fn users_of_a_plan_start_one_a_second_unless_that_takes_a_tenth_of_the_run() {
    let server = Server::start();
    let url = server.url();
    let path = crate::program::plan(
        "starts.lua",
        "task { wait = 0.1, function(user) user:get \"/\" end }",
    );
    for (users, time, told) in [
        (
            "100",
            "1s",
            "100 users, 990 started per second (all run after 100 ms), for 1s",
        ),
        (
            "2",
            "1s",
            "2 users, 10 started per second (all run after 100 ms), for 1s",
        ),
        (
            "3",
            "2s",
            "3 users, 10 started per second (all run after 200 ms), for 2s",
        ),
        ("1", "1s", "1 user, for 1s"),
    ] {
        let ended = Lgoose::new([&*path, "-H", &url, "-u", users, "-t", time]).finish();
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        assert!(ended.stdout.contains(told), "{told} in {}", ended.stdout);
    }
    let ended = Lgoose::new([&*path, "-H", &url, "-u", "2", "-i", "1"]).finish();
    let told = "2 users, 1 started per second (all run after 1s; '-r 2' starts them in a second), for 1 iteration each";
    assert!(ended.stdout.contains(told), "{}", ended.stdout);
}

#[test]
fn method_headers_and_body_are_sent() {
    let server = Server::start();
    let url = format!("{}/echo", server.url());
    let file = scratch("one_page.txt");
    std::fs::write(&file, "from \"a file\"\n").expect("the scratch folder takes a file");
    let at_file = format!("@{}", file.display());
    for (arguments, method, body) in [
        (
            ["--method", "DELETE", "--header", "X-A: b: c"],
            "DELETE",
            "",
        ),
        (["--body", "a=1", "--header", "x-a:b: c"], "POST", "a=1"),
        (
            ["--body", &at_file, "--header", "X-A: b: c"],
            "POST",
            "from \"a file\"\n",
        ),
    ] {
        let first = [
            url.as_str(),
            "--once",
            "--http-debug",
            "-o",
            "json=/dev/null",
        ];
        let ended = Lgoose::new(first.into_iter().chain(arguments)).finish();
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        let shown = format!("{}{}", ended.stdout, ended.stderr);
        assert!(shown.contains(&format!("{method} ")), "{shown}");
        let echoed = serde_json::to_string(body).expect("text is JSON");
        assert!(shown.contains(&format!("\"body\":{echoed}")), "{shown}");
        assert!(shown.contains("\"x-a\":\"b: c\""), "{shown}");
    }
}

#[test]
fn the_messages_of_a_stream_are_counted() {
    let server = Server::start();
    for (path, messages) in [("/events/20", 20), ("/json", 1)] {
        let url = format!("{}{path}", server.url());
        let report = run([&url, "--stream", "-u", "1", "-i", "1"]);
        assert_eq!(report.ended.code, 0, "{}", report.ended.stderr);
        let row = &report.json["requests"][0];
        assert_eq!(row["failures"], 0, "{path}");
        assert_eq!(row["messages"]["received"], messages, "{path}");
    }
}

#[test]
fn headers_of_the_command_line_are_added_to_those_of_a_plan() {
    let server = Server::start();
    let path = crate::program::plan(
        "added_headers.lua",
        "plan { headers = { [\"X-Plan\"] = \"kept\", [\"X-Both\"] = \"lost\" } }\n\
         task { function(user)\n  local headers = user:get(\"/echo\"):json().headers\n  \
         print(headers[\"x-plan\"], headers[\"x-both\"], headers[\"x-mine\"])\nend }",
    );
    let url = server.url();
    let headers = ["--header", "x-both: won", "--header", "X-Mine: too"];
    let ended = Lgoose::new([&path, "-H", &url, "--once"].into_iter().chain(headers)).finish();
    assert!(ended.stderr.contains("kept\twon\ttoo"), "{}", ended.stderr);
}

#[test]
fn what_contradicts_a_url_is_refused() {
    for (arguments, words) in [
        (&["http://a/", "-H", "http://b"][..], "give one of them"),
        (
            &["plans/drupal.lua", "--body", "x"],
            "'--body' is for a URL",
        ),
        (
            &["plans/drupal.lua", "--stream"],
            "as in 'lgoose http://127.0.0.1:8080/ --stream'",
        ),
        (
            &["http://a/", "--method", "GET IT"],
            "'GET IT' is not a method",
        ),
        (
            &["http://a/", "--body", "@/no/such"],
            "cannot read the file of '--body'",
        ),
        (&["http://a b/"], "is not a host"),
        (&["localhost:1/a"], "or a URL with its 'http://'"),
    ] {
        let ended = Lgoose::new(arguments).finish();
        assert_eq!(ended.code, 2, "{arguments:?}: {}", ended.stderr);
        assert!(
            ended.stderr.contains(words),
            "{arguments:?}: {}",
            ended.stderr
        );
    }
}

#[test]
fn the_built_in_site_has_urls_too() {
    let report = run(["demo:drupal/node/1", "-u", "1", "-i", "2"]);
    assert_eq!(report.ended.code, 0, "{}", report.ended.stderr);
    assert_eq!(report.count("GET /node/1"), 2);
}
