//! Targets that fail: each failure is counted under its class, the run goes on, the report is printed.

use crate::drupal::site;
use crate::faulty::{Site, answer};
use crate::program::{Lgoose, plan, scratch, wait_until};
use crate::report::{Report, read, run};
use crate::server::Server;
use std::net::TcpListener;

/// Returns the address of a port where nothing listens.
pub(crate) fn nowhere() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    format!(
        "http://{}",
        listener
            .local_addr()
            .expect("a bound socket has an address")
    )
}

/// Runs one user that asks for `path` three times, then for a page that exists.
fn after_asking_for(path: &str, options: &str) -> Report {
    let server = Server::start();
    let name = format!("asks{}.lua", path.replace('/', "_"));
    let text = format!(
        "task {{ function(user)\n  for _ = 1, 3 do\n    user:get(\"{path}\", {{ name = \"bad\", {options} }})\n  end\n  \
         user:get(\"/good\", {{ name = \"good\" }})\nend }}"
    );
    let report = run([
        &plan(&name, &text),
        "-H",
        &server.url(),
        "-u",
        "1",
        "-i",
        "1",
    ]);
    assert_eq!(
        report.ended.code, 0,
        "something succeeded: {}",
        report.ended.stderr
    );
    assert_eq!(report.count("GET good"), 1);
    assert_eq!(
        report.failures("GET good"),
        0,
        "the user goes on: {:?}",
        report.errors()
    );
    assert_eq!(report.count("GET bad"), 3);
    assert_eq!(report.failures("GET bad"), 3, "{:?}", report.errors());
    assert_eq!(report.sent(), server.received(), "{:?}", report.errors());
    report
}

#[test]
fn every_kind_of_failure_is_counted_under_its_class() {
    for (path, options, class) in [
        ("/status/404", "", "status 404 Not Found"),
        ("/status/503", "", "status 503 Service Unavailable"),
        ("/close-early", "", "closed early"),
        ("/garbage", "", "protocol"),
        ("/hold", "timeout = 1", "timeout"),
        ("/redirect-nowhere", "", "bad redirect"),
        (
            "/form",
            "expect = { title = \"Another\" }",
            "expected title 'Another', got 'A form & more'",
        ),
        (
            "/form",
            "expect = { text = \"absent\" }",
            "expected text 'absent' is missing",
        ),
        (
            "/form",
            "expect = { status = 304 }",
            "expected status 304, got 200",
        ),
    ] {
        let report = after_asking_for(path, options);
        assert_eq!(
            report.errors_with(class),
            3,
            "{path}: {:?}",
            report.errors()
        );
        assert_eq!(report.errors().len(), 1, "{path}: {:?}", report.errors());
        assert!(
            report.errors()[0].contains(".lua:3)"),
            "the line is known: {:?}",
            report.errors()
        );
    }
}

#[test]
fn a_connection_that_is_reset_is_counted_as_such() {
    let report = after_asking_for("/reset", "");
    assert_eq!(
        report.errors_with("connection reset"),
        3,
        "{:?}",
        report.errors()
    );
    assert_eq!(report.figure("GET bad", "failures"), 3);
}

#[test]
fn a_chain_of_redirects_is_one_request_whose_hops_are_counted_beside_it() {
    let server = Server::start();
    let text = "task { function(user) user:get(\"/redirect/4\", { name = \"chain\" }) end }";
    let report = run([
        &plan("chain.lua", text),
        "-H",
        &server.url(),
        "-u",
        "1",
        "-i",
        "2",
    ]);
    assert_eq!(report.count("GET chain"), 2);
    assert_eq!(report.figure("GET chain", "redirects"), 8);
    assert_eq!(report.sent(), server.received());
}

#[test]
fn a_loop_of_redirects_ends_and_its_hops_are_counted() {
    let server = Server::start();
    let text = "task { function(user) user:get(\"/loop\", { name = \"loop\" }) end }";
    let report = run([
        &plan("loop.lua", text),
        "-H",
        &server.url(),
        "-u",
        "1",
        "-i",
        "1",
    ]);
    assert_eq!(
        report.errors_with("too many redirects"),
        1,
        "{:?}",
        report.errors()
    );
    assert_eq!(report.figure("GET loop", "redirects"), 10);
    assert_eq!(report.sent(), server.received());
    assert_eq!(report.ended.code, 1, "no request succeeded");
}

#[test]
fn a_site_that_is_down_is_refused_requests_and_the_verdict_one() {
    let url = nowhere();
    let text = "task { \"page\", function(user) user:get \"/\" end }";
    let report = run([
        &plan("down.lua", text),
        "-H",
        &url,
        "-u",
        "2",
        "-r",
        "1000",
        "-i",
        "2",
    ]);
    assert_eq!(report.ended.code, 1);
    assert!(
        report.ended.stderr.contains("no request succeeded"),
        "{}",
        report.ended.stderr
    );
    assert_eq!(
        report.errors_with("connection refused"),
        4,
        "{:?}",
        report.errors()
    );
    assert_eq!(report.count("GET page"), 4);
    assert_eq!(report.figure("GET page", "failures"), 4);
    let zero = &report.json["requests"][0]["status"]["0"];
    assert_eq!(*zero, 4, "no response is status 0");
}

#[test]
fn a_site_that_is_down_is_named_in_the_tables() {
    let url = nowhere();
    let text = "task { \"page\", function(user) user:get \"/\" end }";
    let ended = Lgoose::new([
        &plan("down_tables.lua", text),
        "-H",
        &url,
        "-u",
        "1",
        "-i",
        "1",
    ])
    .finish();
    assert_eq!(ended.code, 1);
    let address = url.trim_start_matches("http://");
    assert!(
        ended.stdout.contains("connection refused") && ended.stdout.contains(address),
        "{}",
        ended.stdout
    );
}

#[test]
fn a_form_of_a_page_that_never_came_is_told_with_the_reason() {
    let url = "http://127.0.0.1:1";
    let text =
        "task { function(user) local page = user:get '/login' user:submit(page:form(), {}) end }";
    let path = plan("form_of_no_page.lua", text);
    let ended = Lgoose::new([&path, "-H", url, "--once"]).finish();
    let told = "this one was not found: the request of its page failed: connection refused";
    let words: Vec<&str> = ended.stdout.split_whitespace().collect();
    assert!(words.join(" ").contains(told), "{}", ended.stdout);
}

#[test]
fn a_site_that_is_down_does_not_keep_a_run_from_ending_on_time() {
    let url = nowhere();
    let report = run([
        "plans/drupal.lua",
        "-H",
        &url,
        "-u",
        "12",
        "-r",
        "1000",
        "-t",
        "1s",
    ]);
    assert_eq!(report.ended.code, 1);
    let failures = report.total("failures");
    assert!(failures > 0);
    assert_eq!(failures, report.total("count"));
}

#[test]
fn a_name_that_is_not_known_is_counted_under_dns() {
    let text = "task { \"page\", function(user) user:get \"/\" end }";
    let report = run([
        &plan("dns.lua", text),
        "-H",
        "http://goose.invalid",
        "-u",
        "1",
        "-i",
        "1",
    ]);
    assert_eq!(report.errors_with("dns"), 1, "{:?}", report.errors());
    assert_eq!(report.ended.code, 1);
}

#[test]
fn a_site_that_dies_in_the_middle_is_counted_by_class_and_the_run_ends_on_time() {
    let site = site();
    let url = site.url();
    let arguments = [
        "plans/drupal.lua",
        "-H",
        &url,
        "-u",
        "12",
        "-r",
        "1000",
        "-t",
        "2s",
        "-o",
        "json=-",
    ];
    let program = Lgoose::new(arguments).start();
    wait_until("the site is visited", || {
        site.served()["GET /"] > 0 && site.served()["POST /user"] > 0
    });
    drop(site);
    let report = read(program.end());
    // Requests before succeeded; a task that only ran when the site was gone has failed in all of its runs.
    let reasons = report.json["verdict"]["reasons"]
        .as_array()
        .expect("a list");
    let by_a_task = |reason: &serde_json::Value| reason.to_string().contains("the task '");
    assert!(reasons.iter().all(by_a_task), "{reasons:?}");
    assert!(
        report.errors_with("connection refused") > 0,
        "{:?}",
        report.errors()
    );
    let failures = report.total("failures");
    assert!(failures > 0 && failures < report.total("count"));
    let elapsed = report.json["elapsed_s"].as_f64().expect("a number");
    assert!(elapsed >= 2.0, "{elapsed}");
    let warnings = report.json["warnings"].to_string();
    assert!(
        !warnings.contains("--stop-timeout"),
        "nothing had to be cut off: {warnings}"
    );
}

#[test]
fn the_tables_are_printed_for_a_site_that_dies_in_the_middle() {
    let site = site();
    let url = site.url();
    let program = Lgoose::new([
        "plans/drupal.lua",
        "-H",
        &url,
        "-u",
        "5",
        "-r",
        "1000",
        "-t",
        "1s",
    ])
    .start();
    wait_until("the site is visited", || site.served()["GET /"] > 0);
    drop(site);
    let ended = program.end();
    assert!(ended.stdout.contains("Aggregated"), "{}", ended.stdout);
    assert!(
        ended.stdout.contains("connection refused"),
        "{}",
        ended.stdout
    );
}

#[test]
fn what_a_plan_says_about_a_missing_answer_does_not_hide_why_it_is_missing() {
    let url = nowhere();
    let text = "task { function(user) user:get(\"/\", { name = \"page\" }):fail \"no form on the page\" end }";
    let report = run([
        &plan("hides_the_class.lua", text),
        "-H",
        &url,
        "-u",
        "1",
        "-i",
        "1",
    ]);
    assert_eq!(report.failures("GET page"), 1);
    assert_eq!(
        report.errors_with("connection refused"),
        1,
        "{:?}",
        report.errors()
    );
}

#[test]
fn the_first_error_of_a_kind_is_told_while_the_run_goes_on() {
    let server = Server::start();
    let path = plan(
        "told.lua",
        "task { \"t\", wait = 3600, function(user) user:get \"/status/503\" end }",
    );
    let program = Lgoose::new([&path, "-H", &server.url(), "-u", "1"]).start();
    let line = " error  GET t: status 503 Service Unavailable (";
    wait_until("the error is told", || program.stdout().contains(line));
    program.interrupt();
    assert_eq!(program.end().code, 1);
}

#[test]
fn a_plan_can_ask_for_the_strict_verdict_and_for_less_on_the_screen() {
    let server = Server::start();
    let text = "plan { fail_on_error = true, only_summary = true, status_codes = true, iterations = 1 }\n\
                task { \"t\", function(user) user:get \"/good\" user:get \"/status/503\" end }";
    let path = plan("strict.lua", text);
    let ended = Lgoose::new([&path, "-H", &server.url(), "-u", "1"]).finish();
    assert_eq!(ended.code, 1, "{}", ended.stdout);
    assert!(!ended.stdout.contains(" error  "), "{}", ended.stdout);
    let words: Vec<&str> = ended.stdout.split_whitespace().collect();
    let words = words.join(" ");
    assert!(words.contains("Status codes 200 503"), "{}", ended.stdout);
    assert!(words.contains("Aggregated 1 1"), "{}", ended.stdout);
}

#[test]
fn a_user_that_its_on_start_ends_and_a_form_that_is_not_there_are_told_with_the_remedy() {
    let text = "plan { host = \"demo:drupal\", iterations = 1 }\n\
                scenario { \"editor\",\n  \
                task { \"log in\", on_start = true, function(user)\n    \
                user:submit(user:get(\"/user\"):form \"#user-logon\", {})\n  end },\n  \
                task { function(user) user:get \"/\" end },\n}\n\
                scenario { \"reader\",\n  \
                task { \"options\", function(user) user:get(\"/\", {}, { name = \"x\" }) end },\n  \
                task { \"front\", function(user) user:get \"/\" end },\n}";
    let report = run([&plan("lost.lua", text), "-u", "2", "-r", "100"]);
    let errors = report.errors().join("\n");
    assert!(errors.contains("#user-logon'; there are #"), "{errors}");
    assert!(errors.contains("#user-login"), "{errors}");
    assert!(
        errors.contains("options are the second argument"),
        "{errors}"
    );
    let warnings = report.json["warnings"].to_string();
    assert!(
        warnings.contains("users of scenario 'editor' ended at once"),
        "{warnings}"
    );
    assert!(!warnings.contains("'reader'"), "{warnings}");
}

#[test]
fn users_that_cannot_log_in_are_told_by_the_cause_first_and_once() {
    let site = Site::start(|_| {
        let page = "<div role=alert>Unknown user</div>";
        answer(200, "content-type: text/html\r\n", page)
    });
    let text = "plan { thresholds = { 'failures < 1%' } }
    task { 'log in', on_start = true, function(user)
        user:post('/login', 'a=b', { expect = { redirect = true } })
            :ensure()
    end }
    task { 'work', function(user) user:get '/' end }";
    let path = plan("no_entry.lua", text);
    let arguments = [&path, "-H", &site.url(), "-u", "3", "-r", "1000", "-i", "2"];
    let ended = Lgoose::new(arguments).finish();
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    let cause = format!(
        "every user ended in 'on_start': POST log in: expected a redirect, got none ({path}:3); the page says: Unknown \
         user"
    );
    let errors: Vec<&str> = ended.stderr.lines().collect();
    let first = errors.iter().find(|line| line.starts_with("error: "));
    assert_eq!(
        first.copied(),
        Some(&*format!("error: {cause}")),
        "{errors:?}"
    );
    for words in [
        " ! every user ended in 'on_start'",
        "0 of 3: all that started ended in 'on_start'",
        "it ended the task 'log in' 3",
    ] {
        assert!(ended.stdout.contains(words), "{words}: {}", ended.stdout);
    }
    let again = "the response is not as expected";
    assert!(!ended.stdout.contains(again), "{}", ended.stdout);
}

#[test]
fn the_reason_that_a_page_gives_stands_in_the_row_of_the_error_and_in_a_rehearsal() {
    let site = Site::start(|request| {
        let html = "content-type: text/html; charset=utf-8\r\n";
        if request.path == "/login" {
            answer(
                200,
                html,
                "<title>Log in</title><form><p class=errornote>Wrong\n name &amp; password.\x1b</p></form>",
            )
        } else {
            answer(
                403,
                html,
                "<h1>Forbidden <span>(403)</span></h1><p>CSRF verification failed.</p>",
            )
        }
    });
    let text = "task { 'log in', function(user)
        user:post('/login', 'a=b', { expect = { redirect = true } })
        user:get('/other', { name = 'other' })
    end }";
    let path = plan("refused.lua", text);
    let url = site.url();
    let told = [
        "the page says: Wrong name & password.\\x1b",
        "the page says: Forbidden (403): CSRF verification failed.",
    ];
    let ended = Lgoose::new([&path, "-H", &url, "-u", "1", "-i", "3"]).finish();
    let printed: Vec<&str> = ended.stdout.split_whitespace().collect();
    let printed = printed.join(" ");
    for told in told {
        assert_eq!(printed.matches(told).count(), 1, "{}", ended.stdout);
    }
    let report = run([&path, "-H", &url, "-u", "1", "-i", "3"]);
    for error in report.json["errors"].as_array().expect("a list") {
        assert_eq!(
            error["count"], 3,
            "what a page says makes no kind of its own"
        );
        let says = error["exemplars"][0]["page_says"].as_str();
        assert!(says.is_some_and(|says| !says.is_empty()), "{error}");
    }
    let ended = Lgoose::new([&path, "-H", &url, "--once"]).finish();
    for told in told {
        assert_eq!(ended.stderr.matches(told).count(), 1, "{}", ended.stderr);
    }
    let ended = Lgoose::new([&path, "-H", &url, "-u", "1", "-i", "1", "-o", "md=-"]).finish();
    let told = "`the page says: Forbidden (403): CSRF verification failed.`";
    assert!(ended.stdout.contains(told), "{}", ended.stdout);
}

#[test]
fn what_an_api_says_of_a_failure_stands_in_the_row_of_the_error_and_in_a_rehearsal() {
    let site = Site::start(|_| {
        answer(
            200,
            "content-type: application/json\r\n",
            r#"{"error":"sold out","left":0}"#,
        )
    });
    let text =
        "task { function(user) user:get('/', { name = 'buy', expect = { status = 201 } }) end }";
    let path = plan("sold_out.lua", text);
    let url = site.url();
    let ended = Lgoose::new([&path, "-H", &url, "-u", "1", "-i", "3"]).finish();
    let told = "answered: {\"error\":\"sold out\",\"left\":0}";
    assert_eq!(ended.stdout.matches(told).count(), 1, "{}", ended.stdout);
    let ended = Lgoose::new([&path, "-H", &url, "--once"]).finish();
    assert_eq!(ended.stderr.matches(told).count(), 1, "{}", ended.stderr);
    let ended = Lgoose::new([&path, "-H", &url, "-u", "1", "-i", "1", "-o", "md=-"]).finish();
    let told = "`answered: {\"error\":\"sold out\",\"left\":0}`";
    assert!(ended.stdout.contains(told), "{}", ended.stdout);
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn failures_of_the_site_are_no_slowness_of_lgoose() {
    use crate::faulty::{Act, say, send};

    let site = Site::start(|asked| match asked.path.as_str() {
        "/reset" => vec![Act::Reset],
        "/close" => vec![Act::Close],
        "/early" => send(
            "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc",
            Act::Close,
        ),
        "/garbage" => say("nonsense\r\n\r\n"),
        "/hold" => vec![Act::Hold],
        "/503" => answer(503, "", "no"),
        "/expected" => answer(200, "", "something else"),
        _ => answer(200, "", "good"),
    });
    let (own, none) = (site.url(), nowhere());
    let secure = own.replace("http:", "https:");
    for (name, host, path, more) in [
        ("refused", &none, "/a", &["-u", "20"][..]),
        ("refused_one", &none, "/a", &["-u", "1"]),
        (
            "refused_rate",
            &none,
            "/a",
            &["--rate", "200", "--max-users", "40"],
        ),
        ("reset", &own, "/reset", &["-u", "8"]),
        ("close", &own, "/close", &["-u", "8"]),
        ("early", &own, "/early", &["-u", "8"]),
        ("garbage", &own, "/garbage", &["-u", "8"]),
        ("hold", &own, "/hold", &["-u", "8", "--timeout", "20ms"]),
        ("tls", &secure, "/a", &["-u", "8"]),
        ("status", &own, "/503", &["-u", "8"]),
        (
            "status_rate",
            &own,
            "/503",
            &["--rate", "100", "--max-users", "40"],
        ),
        ("expected", &own, "/expected", &["-u", "8"]),
    ] {
        let expect = if path == "/expected" {
            "expect = { text = 'good' }"
        } else {
            ""
        };
        let text = format!(
            "task {{ wait = 0.005, function(user) user:get('{path}', {{ {expect} }}) end }}"
        );
        let path = plan(&format!("no_part_{name}.lua"), &text);
        let saved = scratch(&format!("no_part_{name}.json"));
        let output = format!("json={}", saved.display());
        let own = [&*path, "-H", host, "-t", "1500ms", "-o", &output];
        let ended = Lgoose::new(own.iter().chain(more)).finish();
        let report = crate::report::saved(&saved);
        for text in [&ended.stdout, &report["warnings"].to_string()] {
            assert!(!text.contains("lgoose itself"), "{name}: {text}");
            assert!(!text.contains("which kept up"), "{name}: {text}");
        }
        let (generator, all) = (&report["generator"], &report["aggregated"]);
        assert_eq!(generator["saturated_s"], 0.0, "{name}: {generator}");
        assert!(generator["own_p99_ms"].is_null(), "{name}: {generator}");
        assert_eq!(all["count"], all["failures"], "{name}");
    }
}
