//! What `lgoose serve` lets through and what not: names that lead elsewhere, options that reach too far, bodies, tokens.

use crate::program::Lgoose;
use crate::server::Server;
use crate::web_client::TOKEN;
use crate::web_serve::{BUSY, Host};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;

const EVIL: &str = "<script>alert(1)<";

#[test]
fn no_name_leads_out_of_the_folders() {
    let host = Host::start("serve_paths", &[("a.lua", BUSY)], &[]);
    let folder = host.data.parent().expect("a folder");
    fs::write(folder.join("outside.lua"), BUSY).expect("a file");
    fs::write(folder.join("report.json"), "{}").expect("a file");
    symlink("../outside.lua", host.plans.join("link.lua")).expect("a link");
    symlink("..", host.plans.join("up")).expect("a link");
    symlink("..", host.data.join("link")).expect("a link");
    let absolute = folder.join("outside.lua").display().to_string();
    for plan in [
        "../outside.lua",
        "link.lua",
        "up/outside.lua",
        "/etc/passwd",
        &absolute,
        "a.lua\0",
        "a.lua/../../outside.lua",
        "%2e%2e/outside.lua",
        "..%2foutside.lua",
        "",
        ".",
        "http://127.0.0.1/x.lua",
        "demo:drupal",
        "-",
        "--help",
    ] {
        let body = json!({ "plan": plan }).to_string();
        let answer = host.web.post("/api/v1/runs", &body);
        assert_eq!(answer.status, 404, "{plan}: {}", answer.text());
    }
    let before = fs::read_dir(&host.data).expect("it is there").count();
    for id in [
        "..",
        "%2e%2e",
        "..%2f",
        "%2e%2e%2f..",
        "link",
        "link%2f.",
        "%2fetc",
        "%00",
        ".lock",
        "a%2fb",
        "%ff",
        "a.lua",
        ".",
    ] {
        for path in ["", "/plan", "/report.json", "/report.html"] {
            let path = format!("/api/v1/runs/{id}{path}");
            let answer = host.web.get(&path);
            assert!(
                matches!(answer.status, 400 | 404),
                "{path}: {} {}",
                answer.status,
                answer.text()
            );
        }
        let answer = host.web.send(&format!("DELETE /api/v1/runs/{id}"), "", "");
        assert!(
            matches!(answer.status, 400 | 404),
            "{id}: {}",
            answer.text()
        );
    }
    for path in ["", "/plan", "/report.json"] {
        let answer = host.web.get(&format!("/api/v1/runs/%ff{path}"));
        assert_eq!(answer.status, 404, "{path}");
        let told = answer.json()["error"].to_string();
        assert!(told.contains("not UTF-8"), "{path}: {told}");
    }
    assert_eq!(
        fs::read_dir(&host.data).expect("it is there").count(),
        before
    );
    assert!(folder.join("report.json").exists() && host.states().is_empty());
    host.end();
}

#[test]
fn requests_without_a_right_start_nothing_and_learn_nothing() {
    let host = Host::start("serve_guard", &[("secret.lua", BUSY)], &[]);
    let web = host.web;
    let (address, body) = (web.address, "{\"plan\": \"secret.lua\"}");
    let ask = |request: &str, lines: &str| {
        let length = body.len();
        web.raw(&format!(
            "{request} HTTP/1.1\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
             {lines}\r\n{body}"
        ))
    };
    let token = format!("Authorization: Bearer {TOKEN}\r\n");
    let own = format!("Host: {address}\r\n");
    for (lines, status) in [
        (own.clone(), 401),
        (
            format!("{own}Authorization: Bearer 0123456789abcdeF\r\n"),
            401,
        ),
        (format!("{own}{token}Origin: http://evil.example\r\n"), 403),
        (format!("{own}{token}Origin: null\r\n"), 403),
        (format!("Host: evil.example\r\n{token}"), 403),
    ] {
        for request in [
            "POST /api/v1/runs",
            "DELETE /api/v1/runs/x",
            "GET /api/v1/plans",
            "GET /api/v1/runs",
            "GET /",
            "GET /run",
            "GET /runs.js",
        ] {
            let answer = ask(request, &lines);
            assert_eq!(
                answer.status,
                status,
                "{request} {lines}: {}",
                answer.text()
            );
            assert!(!answer.text().contains("secret"), "{}", answer.text());
        }
    }
    let foreign = format!("{own}{token}Sec-Fetch-Site: cross-site\r\n");
    assert_eq!(ask("POST /api/v1/runs", &foreign).status, 403);
    assert_eq!(ask("DELETE /api/v1/runs/x", &foreign).status, 403);
    for (request, allowed) in [
        ("GET /api/v1/stop", "POST"),
        ("GET /api/v1/users", "POST"),
        ("POST /api/v1/plans", "GET,HEAD"),
        ("PUT /api/v1/runs", "GET,HEAD,POST"),
        ("POST /api/v1/runs/x", "GET,HEAD,DELETE"),
    ] {
        let answer = ask(request, &format!("{own}{token}"));
        assert_eq!(answer.status, 405, "{request}");
        let mut methods: Vec<_> = answer
            .header("allow")
            .split(',')
            .map(str::to_owned)
            .collect();
        let mut expected: Vec<_> = allowed.split(',').map(str::to_owned).collect();
        methods.sort();
        expected.sort();
        assert_eq!(methods, expected, "{request}");
    }
    assert!(host.states().is_empty());
    for path in [
        "/",
        "/run",
        "/runs.js",
        "/runs.css",
        "/page.js",
        "/api/v1/runs",
    ] {
        let answer = web.get(path);
        assert_eq!(answer.status, 200, "{path}");
        let policy = answer.header("content-security-policy");
        assert!(
            policy.contains("default-src 'none'; script-src 'self'") && !policy.contains("unsafe"),
            "{path}: {policy}"
        );
        assert!(
            !answer.text().contains("style=") && !answer.text().contains("<script>"),
            "{path}"
        );
    }
    host.end();
}

#[test]
fn whoever_may_only_watch_starts_stops_and_removes_nothing() {
    let host = Host::start("serve_read_only", &[("a.lua", BUSY)], &["--web-read-only"]);
    for request in [
        "POST /api/v1/runs",
        "POST /api/v1/stop",
        "DELETE /api/v1/runs/x",
    ] {
        let answer = host.web.send(request, "", "");
        assert_eq!(answer.status, 403, "{request}");
        assert!(
            answer.text().contains("--web-read-only"),
            "{}",
            answer.text()
        );
    }
    let list = host.web.get("/api/v1/runs").json();
    assert_eq!(
        list,
        json!({ "runs": [], "error": null, "read_only": true })
    );
    assert_eq!(host.web.get("/api/v1/status").json()["read_only"], true);
    host.end();
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn bodies_are_small_and_come_soon_and_say_what_is_wanted() {
    let host = Host::start("serve_bodies", &[("a.lua", BUSY)], &[]);
    let (web, address) = (host.web, host.web.address);
    let head = |lines: &str| {
        format!(
            "POST /api/v1/runs HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {TOKEN}\r\n\
             Content-Type: application/json\r\n{lines}\r\n"
        )
    };
    for body in [
        "",
        "5",
        "[]",
        "{}",
        "{\"plan\": 1}",
        "{\"plan\": \"a.lua\", \"options\": []}",
        "{\"plan\": \"a.lua\", \"x\": 1}",
    ] {
        let answer = web.post("/api/v1/runs", body);
        assert_eq!(answer.status, 400, "{body}: {}", answer.text());
        assert!(
            answer.json()["help"]
                .as_str()
                .expect("help")
                .contains("\"plan\"")
        );
    }
    assert_eq!(web.raw(&head("Content-Length: 104857600\r\n")).status, 413);
    let whole = format!(
        "{}{}",
        head("Content-Length: 104857600\r\n"),
        "x".repeat(100 << 20)
    );
    let sent = web.raw(&whole);
    // The connection may be reset while much is on its way.
    assert!(matches!(sent.status, 413 | 0), "{}", sent.head);
    // One that does not come is waited for only so long.
    assert_eq!(web.raw(&head("Content-Length: 100\r\n")).status, 408);
    assert!(
        host.running.peak_memory() < 100 << 20,
        "{} bytes",
        host.running.peak_memory()
    );
    host.end();
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn mistakes_are_told_before_anything_runs() {
    let server = Server::start();
    let bad =
        "scenario { 'shop',\n  task { 'buy', wieght = 3, function(user) user:get '/' end },\n}";
    let host = Host::start(
        "serve_mistakes",
        &[
            ("a.lua", BUSY),
            ("bad.lua", bad),
            ("loop.lua", "while true do end"),
        ],
        &[],
    );
    let url = server.url();
    let refused = |plan: &str, options: Value| {
        let body = json!({ "plan": plan, "options": options }).to_string();
        let answer = host.web.post("/api/v1/runs", &body);
        let told = answer.json()["error"].as_str().expect("a text").to_owned();
        (answer.status, told)
    };
    for (plan, options, status, parts) in [
        (
            "bad.lua",
            json!({ "host": url }),
            422,
            &[
                "unknown field 'wieght'",
                "bad.lua:2",
                "did you mean 'weight'",
            ][..],
        ),
        ("loop.lua", json!({ "host": url }), 422, &["loop.lua"]),
        ("a.lua", json!({}), 422, &["no host is given"]),
        (
            "a.lua",
            json!({ "host": url, "users": "many" }),
            422,
            &["'many' is not a whole number", "--users"],
        ),
        (
            "a.lua",
            json!({ "host": url, "users": 2, "rate": 5 }),
            422,
            &["rate"],
        ),
        (
            "a.lua",
            json!({ "host": url, "insecure": "yes" }),
            422,
            &["unexpected value 'yes'"],
        ),
        (
            "a.lua",
            json!({ "output": "html=/tmp/x.html" }),
            400,
            &["option 'output'", "writes files"],
        ),
        (
            "a.lua",
            json!({ "request_log": "/tmp/x.csv" }),
            400,
            &["writes files"],
        ),
        (
            "a.lua",
            json!({ "allow-files": true }),
            400,
            &["writes files"],
        ),
        (
            "a.lua",
            json!({ "env_file": "/etc/passwd" }),
            400,
            &["reads a file"],
        ),
        ("a.lua", json!({ "lua_memory": "8GiB" }), 400, &["widens"]),
        (
            "a.lua",
            json!({ "web": "0.0.0.0:80" }),
            400,
            &["command line"],
        ),
        (
            "a.lua",
            json!({ "colour": "red" }),
            400,
            &["no option 'colour'", "hatch_rate"],
        ),
        (
            "a.lua",
            json!({ "users": { "n": 1 } }),
            400,
            &["option 'users'"],
        ),
    ] {
        let (found, told) = refused(plan, options.clone());
        assert_eq!(found, status, "{plan} {options}: {told}");
        for part in parts {
            assert!(told.contains(part), "{plan} {options}: {told}");
        }
    }
    assert!(host.states().is_empty());
    assert_eq!(server.received(), 0, "nothing was sent");
    host.end();
}

#[test]
fn every_flag_of_a_run_is_an_option_or_refused_with_a_reason() {
    let help = Lgoose::new(["-h"]).finish().stdout;
    let options = help
        .split("\n\n")
        .nth(1)
        .expect("options after the examples");
    let words = options.split_whitespace();
    let flags = words.filter_map(|word| word.strip_prefix("--"));
    let host = Host::start("serve_flags", &[], &[]);
    let mut count = 0;
    for flag in flags.filter(|flag| !["help", "version"].contains(flag)) {
        let mut options = serde_json::Map::new();
        options.insert(flag.to_owned(), json!("x"));
        let body = json!({ "plan": "none.lua", "options": options }).to_string();
        let answer = host.web.post("/api/v1/runs", &body);
        assert!(
            !answer.text().contains("there is no option"),
            "{flag}: {}",
            answer.text()
        );
        count += 1;
    }
    assert!(count > 70, "{count}");
    host.end();
}

#[test]
fn a_plan_whose_name_is_markup_is_run_and_stays_a_name() {
    let server = Server::start();
    let name = format!("{EVIL}/script>.lua");
    let host = Host::start("serve_markup", &[(&name, BUSY)], &[]);
    assert_eq!(host.web.get("/api/v1/plans").json()["plans"], json!([name]));
    let id = host.run(
        &name,
        &json!({ "host": server.url(), "users": 1, "iterations": 1 }),
    );
    assert!(id.ends_with("Z-_script_alert_1___script_"), "{id}");
    host.wait_for(&id, "kept");
    assert_eq!(host.row(&id)["plan"], json!(name));
    for path in ["/", "/run", &format!("/api/v1/runs/{id}/report.html")] {
        let page = host.web.get(path);
        assert!(page.header("content-type").starts_with("text/html"));
        assert!(!page.text().contains("<script>alert"), "{path}");
    }
    let list = host.web.get("/api/v1/runs");
    assert_eq!(list.header("content-type"), "application/json");
    assert!(list.text().contains(EVIL));
    host.end();
}

#[test]
fn folders_that_cannot_be_served_are_mistakes() {
    let host = Host::start("serve_twice", &[("a.lua", BUSY)], &[]);
    let (plans, data) = (
        host.plans.display().to_string(),
        host.data.display().to_string(),
    );
    let file = host.plans.join("a.lua").display().to_string();
    let other = host.data.join("other").display().to_string();
    for (arguments, told) in [
        (vec!["serve", &*plans], "--data"),
        (
            vec!["serve", "/no/such", "--data", &*data],
            "folder of plans '/no/such'",
        ),
        (
            vec!["serve", &*plans, "--data", &*data],
            "another 'lgoose serve'",
        ),
        (
            vec!["serve", &*plans, "--data", &*file],
            "cannot keep runs in",
        ),
        (
            vec!["serve", &*plans, "--data", &*other, "--web", "0.0.0.0"],
            "--web-insecure",
        ),
        (
            vec!["serve", &*plans, "--data", &*other, "--web-token", "short"],
            "a token has 16",
        ),
    ] {
        let ended = Lgoose::new(&arguments).finish();
        assert_eq!(ended.code, 2, "{arguments:?}: {}", ended.stderr);
        assert!(
            ended.stderr.contains(told),
            "{arguments:?}: {}",
            ended.stderr
        );
    }
    let alone = Lgoose::new(["hosted"]).finish();
    assert!(
        alone.code == 3 && alone.stderr.contains("'lgoose serve'"),
        "{}",
        alone.stderr
    );
    host.end();
}
