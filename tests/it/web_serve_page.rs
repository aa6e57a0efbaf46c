//! The page of `lgoose serve` in a real browser: its scripts run, names stay names, and the console is silent.
//!
//! Needs Chromium (Debian's package `chromium`) and is skipped with a message where that is missing.

use crate::program::scratch;
use crate::server::Server;
use crate::web_client::TOKEN;
use crate::web_serve::{BUSY, Host};
use scraper::{Html, Selector};
use serde_json::json;
use std::process::Command;

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
    let profile = scratch("serve_page_chromium");
    let started = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"])
        .args(["--virtual-time-budget=3000", "--enable-logging=stderr"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("http://{}/?token={TOKEN}", host.web.address))
        .output();
    let ended = match started {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("passed over: there is no 'chromium'");
            return;
        }
        started => started.expect("chromium starts"),
    };
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(
        ended.status.success() && !said.contains("CONSOLE"),
        "{said}"
    );
    let page = Html::parse_document(&String::from_utf8_lossy(&ended.stdout));
    let texts = |selector: &str| -> Vec<String> {
        let selector = Selector::parse(selector).expect("a selector");
        page.select(&selector)
            .map(|found| found.text().collect())
            .collect()
    };
    assert_eq!(texts("#plan option"), [name, "b.lua"]);
    assert_eq!(texts("#rows th .plan"), [name]);
    assert_eq!(texts("#rows .kept"), ["kept"]);
    assert_eq!(texts("#state"), ["none running, 0 queued, 1 over"]);
    assert_eq!(texts("#rows button"), ["Remove"]);
    assert_eq!(texts("img").len(), 0);
    host.end();
}
