//! The page of `lgoose serve` in a real browser: names stay names, runs are started, watched and stopped, and the console is
//! silent.
//!
//! Needs Chromium (Debian's package `chromium`) and is skipped with a message where that is missing.

use crate::browser::Browser;
use crate::program::wait_until;
use crate::server::Server;
use crate::web_client::TOKEN;
use crate::web_page::DESK;
use crate::web_serve::{BUSY, Host};
use serde_json::{Value, json};

#[test]
fn a_browser_shows_the_form_and_the_runs_and_finds_nothing_to_complain_about() {
    let server = Server::start();
    let name = "<img src=x onerror=alert(1)>.lua";
    let host = Host::start("serve_page", &[(name, BUSY), ("b.lua", BUSY)], &[]);
    let id = host.run(
        name,
        &json!({ "host": server.url(), "users": 1, "iterations": 1 }),
    );
    host.wait_for(&id, "kept");
    let Some(browser) = Browser::start("serve_page") else {
        return;
    };
    let tab = browser.open(&format!("{}/?token={TOKEN}", host.web.url()), DESK, "light");
    tab.wait_for("document.querySelector('#rows .kept')");
    let texts = |selector: &str| {
        let all = format!(
            "[...document.querySelectorAll({})].map(found => found.textContent)",
            json!(selector)
        );
        serde_json::from_value::<Vec<String>>(tab.js(&all)).expect("texts")
    };
    assert_eq!(texts("#plan option"), [name, "b.lua"]);
    assert_eq!(texts("#rows th .plan"), [name]);
    assert_eq!(texts("#rows .kept .badge"), ["passed"]);
    assert_eq!(texts("#state"), ["none running, 0 queued, 1 over"]);
    assert_eq!(texts("#rows button"), ["Run again", "Remove"]);
    assert_eq!(texts("img").len(), 0);
    assert_eq!(tab.complaints(), Vec::<Value>::new());
    host.end();
}

#[test]
fn a_run_is_started_from_the_form_watched_and_stopped() {
    let Some(browser) = Browser::start("serve_form") else {
        return;
    };
    let server = Server::start();
    let host = Host::start("serve_form", &[("a.lua", BUSY), ("b.lua", BUSY)], &[]);
    let address = host.web.url();
    let tab = browser.open(&format!("{address}/?token={TOKEN}"), (1_000, 800), "light");
    tab.wait_for("document.querySelectorAll('#plan option').length === 2");
    let set = |field: &str, value: &str| {
        tab.js(&format!(
            "document.getElementById({}).value = {}; 0",
            json!(field),
            json!(value)
        ));
    };
    set("plan", "b.lua");
    set("host", &server.url());
    set("users", "many");
    tab.js("document.querySelector('#start button').click()");
    tab.wait_for("document.getElementById('told').textContent.includes(\"'many'\")");
    assert_eq!(server.received(), 0, "a mistake starts nothing");
    set("users", "3");
    set("others", "run_time = 60s\nthreshold = failures < 1%");
    tab.js("document.querySelector('#start button').click()");
    tab.wait_for("document.querySelector('#rows .running')");
    assert_eq!(tab.text("#rows .plan"), "b.lua");
    wait_until("users work", || server.received() > 20);

    let watching = browser.open(
        &format!("{address}/run?token={TOKEN}"),
        (1_000, 800),
        "dark",
    );
    watching.wait_for("document.getElementById('phase').textContent.includes('running')");
    watching.wait_for("document.getElementById('plan').textContent.endsWith('b.lua')");
    assert_eq!(
        watching.js("document.querySelector('.brand a').getAttribute('href')"),
        "/"
    );

    // A page that nobody sees rests.
    tab.ask("Page.bringToFront", json!({}));
    tab.js("document.querySelector('#rows button').click()");
    tab.wait_for("document.querySelector('#rows .kept')");
    watching.ask("Page.bringToFront", json!({}));
    watching.wait_for("document.getElementById('phase').textContent === 'over'");
    let (complaints, others) = (tab.complaints(), watching.complaints());
    assert!(
        complaints.is_empty() && others.is_empty(),
        "{complaints:?} {others:?}"
    );
    let runs = host.web.get("/api/v1/runs").json();
    assert_eq!(runs["runs"][0]["report"]["requests"], server.received());
    host.end();
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn runs_of_a_plan_are_drawn_compared_filtered_and_run_again() {
    let Some(browser) = Browser::start("serve_home") else {
        return;
    };
    let server = Server::start();
    let host = Host::start("serve_home", &[("a.lua", BUSY), ("b.lua", BUSY)], &[]);
    let options = json!({ "host": server.url(), "users": 1, "iterations": 20 });
    let mut ids = Vec::new();
    for plan in ["a.lua", "a.lua", "b.lua"] {
        let id = host.run(plan, &options);
        host.wait_for(&id, "kept");
        ids.push(id);
    }
    let home = format!("{}/?token={TOKEN}", host.web.url());
    let tab = browser.open(&home, (1_200, 900), "light");
    tab.wait_for("document.querySelectorAll('#rows .kept').length === 3");
    // One plan has had two runs.
    assert_eq!(tab.text("#over-runs h3"), "a.lua");
    assert_eq!(
        tab.js("document.querySelectorAll('#over-runs circle').length"),
        2
    );
    tab.js("for (const box of [...document.querySelectorAll('#rows input')].slice(1)) box.click()");
    tab.wait_for("!document.querySelector('#compare').disabled");
    let note = format!("{} before, {} after", ids[0], ids[1]);
    assert_eq!(tab.text("#compare-note"), note);
    tab.js(
        "window.open = url => { window.opened = url; }; document.querySelector('#compare').click()",
    );
    let opened = tab.js("window.opened");
    let comparison = host.web.get(opened.as_str().expect("an address"));
    assert!(comparison.text().contains("before and after"), "{opened}");

    tab.js("const f = document.querySelector('#filter'); f.value = 'B.LUA'; f.dispatchEvent(new Event('input'))");
    assert_eq!(
        tab.js("[...document.querySelectorAll('#rows tr')].filter(row => !row.hidden).length"),
        1
    );
    tab.js("[...document.querySelectorAll('#rows tr:not([hidden]) button')].find(b => b.textContent === 'Run again').click()");
    tab.wait_for("document.querySelectorAll('#rows .kept').length === 4");
    let runs = host.web.get("/api/v1/runs").json();
    assert_eq!(runs["runs"][0]["plan"], "b.lua");
    assert_eq!(runs["runs"][0]["options"], runs["runs"][1]["options"]);

    // What may be secret is not kept, so that the form asks for it.
    let with_secret =
        json!({ "host": server.url(), "users": 1, "iterations": 1, "env": "PASSWORD=x" });
    let id = host.run("a.lua", &with_secret);
    host.wait_for(&id, "kept");
    tab.js("const g = document.querySelector('#filter'); g.value = ''; g.dispatchEvent(new Event('input'))");
    tab.wait_for("document.querySelectorAll('#rows .kept').length === 5");
    tab.js("document.querySelector('#rows button').click()");
    assert!(
        tab.js("document.querySelector('#others').value")
            .to_string()
            .contains("env = PASSWORD=…")
    );
    assert_eq!(tab.js("document.querySelector('#users').value"), "1");
    assert_eq!(tab.complaints(), Vec::<Value>::new());
    host.end();
}
