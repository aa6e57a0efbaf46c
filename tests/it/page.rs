//! The HTML report in a real browser: its scripts run, draw and sort, and the console stays silent.
//!
//! Needs Chromium (Debian's package `chromium`) and is skipped with a message where that is missing.

use crate::browser::Browser;
use crate::program::{Lgoose, plan, scratch};
use crate::server::Server;
use serde_json::{Value, json};

const PLAN: &str = r#"
scenario { "reader",
  task { "read", function(user)
    user:get("/status/200", { name = "front </script><img src=x onerror=alert(1)> page" })
    user:get("/status/404", { name = "gone" })
  end },
}
plan { thresholds = { "failures < 1%" } }
"#;

#[test]
fn a_browser_draws_the_charts_and_finds_nothing_to_complain_about() {
    let server = Server::start();
    let (url, file) = (server.url(), scratch("page.html"));
    let (path, output) = (plan("page.lua", PLAN), format!("html={}", file.display()));
    let ended = Lgoose::new([&*path, "-H", &url, "-u", "2", "-i", "20", "-o", &output]).finish();
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    assert!(ended.stdout.contains("Aggregated"), "{}", ended.stdout);
    let Some(browser) = Browser::start("report") else {
        return;
    };
    let tab = browser.open(&format!("file://{}", file.display()), (1280, 900), "light");
    tab.wait_for("document.readyState === 'complete'");
    let found = |selector: &str| {
        let all = format!("document.querySelectorAll({}).length", json!(selector));
        tab.js(&all).as_u64().expect("a count")
    };
    for chart in ["rate", "latency", "errors", "users", "names", "spread"] {
        let line = format!("#chart-{chart} .plot svg path.line");
        assert!(found(&line) > 0, "no line in the chart of {chart}");
    }
    assert_eq!(found("#chart-names .legend button"), 2);
    assert_eq!((found("button.theme"), found("img")), (1, 0));
    // By name, then the other way round.
    let sorted = || {
        tab.js("document.querySelector('#requests th button').click()");
        let names = tab.js(
            "[...document.querySelectorAll('#requests tbody tr')].map(row => row.cells[0].textContent)",
        );
        serde_json::from_value::<Vec<String>>(names).expect("names")
    };
    let (first, mut second) = (sorted(), sorted());
    assert_eq!(first.len(), 2, "{first:?}");
    second.reverse();
    assert_eq!(first, second, "tables do not sort");
    assert_eq!(tab.complaints(), Vec::<Value>::new());
}
