//! The page of a run in a real browser: watched, steered, read by those who do not see it, and left when the run is over.

use crate::browser::{Browser, Tab};
use crate::program::{plan, scratch, wait_until};
use crate::report::saved;
use crate::server::Server;
use crate::skipping::skip;
use crate::web_client::{Served, TOKEN, Web};
use serde_json::{Value, json};
use std::process::{Command, Stdio};

pub(crate) const DESK: (u32, u32) = (1280, 900);
const PHONE: (u32, u32) = (375, 812);

/// Names that would be elements if somebody took them for markup.
const HOSTILE: &str = r#"
scenario { "<img src=x onerror=hit()>",
  task { "</script><script>hit()</script>", wait = 0.02, function(user)
    user:get("/status/200", { name = "<b>front</b>" })
    user:get("/status/503?<svg/onload=hit()>", { name = "\"><img src=x onerror=hit()>" })
    check(false, "<i>check</i>")
    user:log "<script>hit()</script> said"
  end },
}
plan { thresholds = { "failures < 1%", "p95 < 10s" } }
"#;

/// Opens the page of a run, and waits until it shows requests.
pub(crate) fn open(browser: &Browser, web: &Web, size: (u32, u32), scheme: &str) -> Tab {
    let tab = browser.open(&format!("{}/?token={TOKEN}", web.url()), size, scheme);
    tab.wait_for("document.querySelectorAll('#requests tbody').length > 0");
    tab
}

/// Fills in a field of the commands and submits it, in one go: the page sets back what nobody types in as soon as it
/// hears of the run again.
pub(crate) fn submit(tab: &Tab, field: &str, value: &str) {
    tab.js(&format!(
        "document.querySelector('#{field}').value = '{value}'; document.querySelector('#{field}-form button').click()"
    ));
}

#[test]
fn a_run_is_watched_and_steered_to_its_end_in_two_browsers() {
    let (Some(browser), Some(other)) = (Browser::start("steer"), Browser::start("watch")) else {
        return;
    };
    let server = Server::start();
    let text = "task { wait = 0.01, function(user) user:get \"/\" user:get \"/status/404\" end }";
    let (path, url) = (plan("web_page.lua", text), server.url());
    let (file, users) = (scratch("web_page.json"), ["-u", "2", "-r", "1000"]);
    let output = format!("json={}", file.display());
    let own = [path.as_str(), "-H", &url, "-o", &output];
    let Served { running, web } = Served::start(&[&own[..], &users].concat());
    let (steers, watches) = (
        open(&browser, &web, DESK, "light"),
        open(&other, &web, PHONE, "dark"),
    );
    let both = |expression: &str| {
        steers.wait_for(expression);
        watches.wait_for(expression);
    };
    let phase = |phase: &str| {
        both(&format!(
            "document.querySelector('#phase').textContent === '{phase}'"
        ))
    };
    let answer = |begin: &str| {
        steers.wait_for(&format!(
            "document.querySelector('#answer').textContent.startsWith('{begin}')"
        ));
    };
    phase("running");
    for key in ["u", "5", "Enter"] {
        steers.press(key);
    }
    answer("5 users wanted");
    both("document.querySelector('#cards .value').textContent === '5'");
    steers.js("document.activeElement.blur()");
    steers.press("p");
    phase("paused");
    steers.press("p");
    phase("running");
    steers.press("r");
    answer("reloaded");
    plan("web_page.lua", "tsak {}");
    steers.press("r");
    steers.wait_for("document.querySelector('#answer.bad').textContent.includes('tsak')");
    plan("web_page.lua", text);
    for format in ["html", "json", "yaml", "csv", "md", "hdr"] {
        let link = format!("document.querySelector('#report-{format}').href");
        let status = steers.js(&format!("fetch({link}).then(answer => answer.status)"));
        assert_eq!(status, 200, "{format}");
    }
    steers.press("q");
    steers.wait_for("document.querySelector('#confirm').open");
    steers.press("Escape");
    steers.wait_for("!document.querySelector('#confirm').open");
    phase("running");
    steers.js("document.querySelector('#stop').click()");
    steers.js("document.querySelector('#confirm-yes').click()");
    phase("over");
    both("document.documentElement.dataset.kept === 'true'");
    let ended = running.end();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let report = saved(&file);
    for tab in [&steers, &watches] {
        assert_same(&figures(tab), &expected(&report));
        assert_eq!(tab.text("#lost"), "");
        assert_eq!(tab.complaints(), Vec::<Value>::new());
    }
    for format in ["json", "html", "yaml", "csv", "md", "hdr"] {
        steers.js(&format!(
            "document.querySelector('#report-{format}').click()"
        ));
        let path = browser.downloaded(&format!("report.{format}"));
        wait_until("all of it", || {
            std::fs::metadata(&path).is_ok_and(|file| file.len() > 300)
        });
        if format == "json" {
            assert_eq!(saved(&path), report);
        }
    }
}

/// Names, and their requests, failures, p50, p95, p99 and longest time.
type Rows = Vec<(String, Vec<f64>)>;

/// Returns the rows of the table of requests, with the figures that they are sorted by.
fn figures(tab: &Tab) -> Rows {
    let row = "row => [1, 2, 6, 7, 8, 9].map(n => +row.cells[n].dataset.v)";
    let rows = "[...document.querySelectorAll('#requests tr')].slice(1)";
    let figures = tab.js(&format!("{rows}.map({row})"));
    let names = tab.js(&format!("{rows}.map(row => row.cells[0].textContent)"));
    let names = serde_json::from_value::<Vec<String>>(names).expect("names");
    let figures = serde_json::from_value::<Vec<Vec<f64>>>(figures).expect("figures");
    names.into_iter().zip(figures).collect()
}

/// Returns the same of a report: the names that fail come first.
fn expected(report: &Value) -> Rows {
    let figures = |row: &Value| {
        let counts = ["count", "failures"].map(|key| row[key].as_f64());
        let latencies = ["p50", "p95", "p99", "max"].map(|key| row["latency_ms"][key].as_f64());
        let all = counts.into_iter().chain(latencies).flatten();
        all.collect::<Vec<f64>>()
    };
    let rows = report["requests"].as_array().expect("rows").iter();
    let name = |row: &Value| {
        ["method", "name"]
            .map(|key| row[key].as_str().unwrap_or_default().to_owned())
            .join(" ")
    };
    let mut rows: Rows = rows.map(|row| (name(row), figures(row))).collect();
    let share = |(_, figures): &(String, Vec<f64>)| figures[1] / figures[0].max(1.0);
    rows.sort_by(|a, b| share(b).total_cmp(&share(a)));
    rows.push(("Aggregated".to_owned(), figures(&report["aggregated"])));
    rows
}

/// Asserts that rows are the same; latencies come rounded to the nearest microsecond.
fn assert_same(shown: &Rows, expected: &Rows) {
    let same = |(one, other): (&f64, &f64)| (one - other).abs() < 0.000_501;
    let all = shown.len() == expected.len()
        && shown
            .iter()
            .zip(expected)
            .all(|((name, row), (known, figures))| {
                name == known && row.len() == figures.len() && row.iter().zip(figures).all(same)
            });
    assert!(all, "{shown:?}\n{expected:?}");
}

#[test]
fn names_of_plans_and_sites_never_become_markup() {
    let Some(browser) = Browser::start("hostile") else {
        return;
    };
    let server = Server::start();
    let (path, url) = (plan("web_page_hostile.lua", HOSTILE), server.url());
    let Served { running, web } = Served::start(&[&path, "-H", &url, "-u", "2"]);
    let tab = open(&browser, &web, DESK, "light");
    tab.wait_for("document.querySelector('#errors pre')");
    tab.js("document.querySelectorAll('details').forEach(details => details.open = true)");
    tab.wait_for(
        "document.querySelector('#log .log').textContent.includes('<script>hit()</script> said')",
    );
    for (part, text) in [
        ("#requests", "<b>front</b>"),
        ("#requests", "\"><img src=x onerror=hit()>"),
        ("#errors", "\"><img src=x onerror=hit()>"),
        ("#errors", "hit()"),
        ("#scenarios", "<img src=x onerror=hit()>"),
        ("#tasks", "</script><script>hit()</script>"),
        ("#checks", "<i>check</i>"),
        ("#chart-names", "<b>front</b>"),
    ] {
        assert!(tab.text(part).contains(text), "{part} has no {text}");
    }
    let made = tab.js("document.querySelectorAll('body script, img, main svg[onload], main b:not(.tip b), main i').length");
    assert_eq!((made, tab.complaints()), (json!(0), Vec::new()));
    // The policy would hold even if some did.
    tab.js(
        "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.was = 1\">')",
    );
    tab.js("document.body.append(Object.assign(document.createElement('script'), { textContent: 'window.was = 2' }))");
    wait_until("a complaint", || tab.complaints().len() >= 2);
    let told = json!(tab.complaints()).to_string();
    assert!(told.contains("Content Security Policy"), "{told}");
    assert_eq!(tab.js("window.was ?? null"), Value::Null);
    web.post("/api/v1/abort", "");
    running.end();
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn the_page_fits_a_phone_and_serves_those_who_hear_it_or_have_no_mouse() {
    let Some(browser) = Browser::start("access") else {
        return;
    };
    let server = Server::start();
    let (path, url) = (plan("web_page_access.lua", HOSTILE), server.url());
    let Served { running, web } = Served::start(&[&path, "-H", &url, "-u", "2"]);
    let axe = axe();
    let mut grounds = Vec::new();
    for (size, scheme) in [(DESK, "light"), (PHONE, "dark")] {
        let tab = open(&browser, &web, size, scheme);
        tab.wait_for("document.querySelector('#errors pre')");
        grounds.push(tab.js("getComputedStyle(document.body).backgroundColor"));
        let width = tab.js("document.documentElement.scrollWidth");
        assert!(width.as_u64() <= Some(size.0.into()), "{width} of {size:?}");
        // A table behind every chart.
        let charts = tab.js("[document.querySelectorAll('.chart:not([hidden])').length, document.querySelectorAll('.chart:not([hidden]) .behind').length]");
        assert!(
            charts[0].as_u64() >= Some(7) && charts[0] == charts[1],
            "{charts}"
        );
        tab.js("document.querySelector('#chart-rate .behind').open = true");
        tab.wait_for("document.querySelectorAll('#chart-rate .behind tbody tr').length > 1");
        assert_eq!(
            tab_order(&tab)[..9],
            [
                "skip", "theme", "users", "Set", "pause", "reload", "reset", "stop", "abort"
            ]
        );
        if let Some(axe) = &axe {
            tab.js(&format!("{axe};0"));
            let found = tab.js(
                "axe.run({ resultTypes: ['violations'] }).then(found => found.violations.map(({ impact, id, nodes }) => \
                 [impact, id, nodes[0].html]))",
            );
            let serious = |finding: &&Value| finding[0] == "serious" || finding[0] == "critical";
            let serious: Vec<&Value> = found
                .as_array()
                .expect("a list")
                .iter()
                .filter(serious)
                .collect();
            assert_eq!(serious, Vec::<&Value>::new(), "{scheme}");
        }
        tab.press("?");
        tab.wait_for("document.querySelector('#help').open");
        tab.press("Escape");
        tab.press("t");
        let other = tab.js("getComputedStyle(document.body).backgroundColor");
        assert_ne!(grounds.last(), Some(&other), "'t' changes nothing");
        tab.press("t");
        // The choice is remembered otherwise.
        tab.js("localStorage.clear()");
        assert_eq!(tab.complaints(), Vec::<Value>::new());
    }
    assert_ne!(grounds[0], grounds[1], "dark is light");
    web.post("/api/v1/abort", "");
    running.end();
}

/// Returns what is reached first by the key, by class, id, or text.
fn tab_order(tab: &Tab) -> Vec<String> {
    tab.js("document.activeElement.blur(); scrollTo(0, 0)");
    let one = || {
        tab.press("Tab");
        let focused =
            tab.js("(one => one.id || one.className || one.textContent)(document.activeElement)");
        focused.as_str().unwrap_or_default().to_owned()
    };
    (0..12).map(|_| one()).collect()
}

/// Returns axe-core (<https://github.com/dequelabs/axe-core>), fetched once by npm; `None`, said aloud, without it.
fn axe() -> Option<String> {
    let folder = scratch("axe-core");
    let file = folder.join("package/axe.min.js");
    if !file.exists() {
        std::fs::create_dir_all(&folder).expect("a folder");
        let fetch = "npm pack axe-core@4 --fetch-retries=0 --fetch-timeout=20000 && tar xzf axe-core-4*.tgz package/axe.min.js";
        let fetched = Command::new("sh")
            .args(["-c", fetch])
            .current_dir(&folder)
            .stdin(Stdio::null())
            .output();
        let fetched = fetched.expect("there is a shell");
        if !fetched.status.success() {
            let why = String::from_utf8_lossy(&fetched.stderr);
            skip(
                "accessibility of the page",
                &format!("axe-core by npm: {why}"),
            );
            return None;
        }
    }
    Some(std::fs::read_to_string(file).expect("it was unpacked"))
}

#[test]
fn whoever_may_only_watch_has_no_commands_and_learns_when_the_process_is_gone() {
    let Some(browser) = Browser::start("gone") else {
        return;
    };
    let server = Server::start();
    let text = "task { wait = 0.01, function(user) user:get \"/\" end }";
    let (path, url) = (plan("web_page_gone.lua", text), server.url());
    let Served { running, web } = Served::start(&[&path, "-H", &url, "-u", "2", "--web-read-only"]);
    let tab = open(&browser, &web, DESK, "light");
    assert_eq!(tab.js("document.querySelector('#commands').hidden"), true);
    tab.press("q");
    assert_eq!(
        tab.js("document.querySelector('dialog[open]')"),
        Value::Null
    );
    let keys = tab.text("#help dl");
    assert!(
        keys.contains("Light or dark") && !keys.contains("Abort"),
        "{keys}"
    );
    assert_eq!(tab.text("#lost"), "");
    // It is killed.
    drop(running);
    tab.wait_for("!document.querySelector('#lost').hidden");
    let lost = tab.text("#lost");
    assert!(lost.contains("lgoose"), "{lost}");
    assert!(
        tab.js("document.querySelectorAll('#requests tbody').length")
            .as_u64()
            > Some(0)
    );
}
