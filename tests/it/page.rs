//! The HTML report in a real browser: its scripts run, draw and sort, and the console stays silent.
//!
//! Needs Chromium (Debian's package `chromium`) and is skipped with a message where that is missing.

use crate::program::{Lgoose, plan, scratch};
use crate::server::Server;
use scraper::{Html, Selector};
use std::path::Path;
use std::process::Command;

const PLAN: &str = r#"
scenario { "reader",
  task { "read", function(user)
    user:get("/status/200", { name = "front </script><img src=x onerror=alert(1)> page" })
    user:get("/status/404", { name = "gone" })
  end },
}
plan { thresholds = { "failures < 1%" } }
"#;

/// Loads a page in a browser and returns the document and the messages of its console; `None` without a browser.
fn browsed(page: &Path) -> Option<(Html, String)> {
    let profile = scratch("chromium");
    let started = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"])
        .args(["--virtual-time-budget=2000", "--enable-logging=stderr"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{}", page.display()))
        .output();
    match started {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => panic!("chromium does not start: {error}"),
        Ok(ended) => {
            let said = String::from_utf8_lossy(&ended.stderr).into_owned();
            assert!(ended.status.success(), "{said}");
            let dom = String::from_utf8_lossy(&ended.stdout);
            Some((Html::parse_document(&dom), said))
        }
    }
}

#[test]
fn a_browser_draws_the_charts_and_finds_nothing_to_complain_about() {
    let server = Server::start();
    let (url, file) = (server.url(), scratch("page.html"));
    let (path, output) = (plan("page.lua", PLAN), format!("html={}", file.display()));
    let ended = Lgoose::new([&*path, "-H", &url, "-u", "2", "-i", "20", "-o", &output]).finish();
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    assert!(ended.stdout.contains("Aggregated"), "{}", ended.stdout);
    let Some((page, said)) = browsed(&file) else {
        eprintln!("passed over: there is no 'chromium'");
        return;
    };
    let found = |selector: &str| {
        let selector = Selector::parse(selector).expect("a selector");
        page.select(&selector).count()
    };
    for chart in ["rate", "latency", "errors", "users", "names", "spread"] {
        let line = format!("#chart-{chart} .plot svg path.line");
        assert!(found(&line) > 0, "no line in the chart of {chart}");
    }
    assert_eq!(found("#chart-names .legend button"), 2);
    assert!(found("#requests th button") > 0, "tables do not sort");
    assert_eq!((found("button.theme"), found("img")), (1, 0));
    assert!(!said.contains("CONSOLE"), "{said}");
}
