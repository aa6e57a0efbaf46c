//! What the page of a run can do and show beside users, pause, reload and stop: the rate, a reset, an abort, workers.

use crate::broker::Broker;
use crate::browser::{Browser, Tab};
use crate::gaggle::{STEADY, worker};
use crate::program::{plan, scratch, wait_until};
use crate::report::saved;
use crate::server::Server;
use crate::web_client::Served;
use crate::web_page::{DESK, open};
use serde_json::{Value, json};

/// One user whose request would keep a run from stopping, and others.
const WAITING: &str = r#"
task { function(user)
  user:get "/"
  if user.id < 2 then user:get "/hold" end
end }
"#;

fn answered(tab: &Tab, begin: &str) {
    let told =
        format!("document.querySelector('#answer:not(.bad)').textContent.startsWith('{begin}')");
    tab.wait_for(&told);
}

/// The requests that the page shows.
const COUNT: &str = "+[...document.querySelectorAll('#requests tr')].at(-1).cells[1].dataset.v";

#[test]
fn commands_wait_for_one_another_and_what_ends_a_run_waits_for_none() {
    let Some(browser) = Browser::start("hanging") else {
        return;
    };
    let server = Server::start();
    let (path, url) = (plan("web_page_hanging.lua", STEADY), server.url());
    let Served { running, web } = Served::start(&[&*path, "-H", &url]);
    let tab = open(&browser, &web, DESK, "light");
    // A command is answered when the test says so.
    tab.js(
        "window.sent = []; window.answers = {}; const real = window.fetch; \
         window.fetch = (url, options) => { \
           if (options?.method !== 'POST') return real(url, options); \
           window.sent.push(url.replace('/api/v1/', '')); \
           return new Promise(answer => { window.answers[url] = answer; }); \
         }; 0",
    );
    let sent = |expected: &str| tab.wait_for(&format!("window.sent.join() === '{expected}'"));
    tab.press("r");
    sent("reload");
    tab.press("p");
    for (key, so_far) in [("q", "reload,stop"), ("x", "reload,stop,abort")] {
        tab.press(key);
        tab.js("document.querySelector('#confirm-yes').click()");
        sent(so_far);
    }
    tab.js("window.answers['/api/v1/reload'](Response.json({ done: 'reloaded' }))");
    sent("reload,stop,abort,pause");
    web.post("/api/v1/stop", "{}");
    running.end();
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn the_rate_is_set_figures_are_reset_and_the_run_is_aborted() {
    let Some(browser) = Browser::start("commands") else {
        return;
    };
    let server = Server::start();
    let (path, url) = (plan("web_page_commands.lua", WAITING), server.url());
    let file = scratch("web_page_commands.json");
    let output = format!("json={}", file.display());
    let options = ["--rate", "20/s", "--max-users", "200", "-o", &output];
    let Served { running, web } = Served::start(&[&[&*path, "-H", &url], &options[..]].concat());
    let tab = open(&browser, &web, DESK, "light");

    tab.press("i");
    assert_eq!(tab.js("document.activeElement.id"), "rate");
    assert_eq!(tab.js("document.activeElement.value"), "20");
    for key in ["8", "x", "Enter"] {
        tab.press(key);
    }
    tab.wait_for("document.querySelector('#answer.bad').textContent.includes(\"'8x'\")");
    tab.js("document.querySelector('#rate').value = '80.5'");
    tab.js("document.querySelector('#rate-form button').click()");
    answered(&tab, "target: 80.5");
    let status = web.get("/api/v1/status").json();
    assert_eq!(status["wanted"]["rate"], 80.5, "{status}");
    tab.wait_for(&format!("{COUNT} > 400"));

    tab.js("document.activeElement.blur()");
    // Then nothing is counted but what was under way.
    tab.press("p");
    tab.wait_for("document.querySelector('#phase').textContent === 'paused'");
    tab.press("0");
    tab.wait_for("document.querySelector('#confirm').open");
    assert_eq!(tab.text("#confirm-yes"), "Reset");
    tab.press("Escape");
    tab.wait_for("!document.querySelector('#confirm').open");
    assert!(tab.js(COUNT).as_f64() > Some(400.0), "nothing was reset");
    tab.press("0");
    tab.js("document.querySelector('#confirm-yes').click()");
    answered(&tab, "statistics reset");
    // Figures, and the charts' points.
    let left =
        "import('/state.js').then(({ state }) => [state.aggregated.count, state.points.length])";
    wait_until("all is forgotten", || {
        let left = tab.js(left);
        left[0].as_u64() < Some(100) && left[1].as_u64() < Some(3)
    });
    tab.press("p");
    tab.wait_for("document.querySelector('#phase').textContent === 'running'");
    tab.wait_for(&format!("{COUNT} > 0"));

    tab.press("q");
    tab.js("document.querySelector('#confirm-yes').click()");
    tab.wait_for("document.querySelector('#phase').textContent === 'stopping'");
    // Nothing but an abort makes sense now.
    let enabled = "[...document.querySelectorAll('#commands button:enabled')].map(one => one.id)";
    tab.wait_for(&format!("({enabled}).join() === 'abort'"));
    tab.press("x");
    tab.wait_for("document.querySelector('#confirm').open");
    assert_eq!(tab.text("#confirm-yes"), "Abort");
    tab.js("document.querySelector('#confirm-yes').click()");
    tab.wait_for("document.querySelector('#phase').textContent === 'over'");
    tab.wait_for("document.documentElement.dataset.kept === 'true'");
    assert_eq!(tab.complaints(), Vec::<Value>::new());
    let shown = tab.js(COUNT);
    running.end();
    let report = saved(&file);
    assert_eq!(
        report["aggregated"]["count"],
        shown.as_u64().expect("a count")
    );
    assert!(server.received() > shown.as_u64().expect("a count") + 400);
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn workers_and_what_becomes_of_them_are_shown() {
    let (Some(broker), Some(browser)) = (Broker::start(), Browser::start("workers")) else {
        return;
    };
    let server = Server::start();
    let [first, second] = [("w1", "region=<b>eu</b>"), ("w2", "region=us")]
        .map(|(name, label)| worker(&broker, name, &["--label", label]));
    let (path, url) = (plan("web_page_workers.lua", STEADY), server.url());
    let arguments = [&path, "-H", &url, "--workers", "2", "-u", "5", "-r", "1000"];
    let variables = [("LGOOSE_NATS", &*broker.url())];
    let Served { running, web } = Served::start_in(&arguments, &variables);
    let tab = open(&browser, &web, DESK, "dark");
    let cells = |from: usize, to: usize| {
        tab.js(&format!(
            "[...document.querySelectorAll('#workers tbody tr')].map(row => [...row.cells].slice({from}, {to}).map(cell => cell.textContent))"
        ))
    };
    let expected = json!([
        ["w1", "region=<b>eu</b>", "running"],
        ["w2", "region=us", "running"]
    ]);
    wait_until("both workers are there", || cells(0, 3) == expected);
    // Each has users and requests.
    tab.wait_for("[...document.querySelectorAll('#workers tbody tr')].map(row => +row.cells[3].dataset.v).sort().join() === '2,3'");
    tab.wait_for("[...document.querySelectorAll('#workers tbody tr')].every(row => +row.cells[4].dataset.v > 20)");
    assert!(tab.text("nav").contains("Workers"), "{}", tab.text("nav"));
    drop(second);
    wait_until("one is lost", || {
        cells(2, 3)[1][0]
            .as_str()
            .is_some_and(|state| state.contains("lost"))
    });
    assert_eq!(cells(0, 3)[0], json!(["w1", "region=<b>eu</b>", "running"]));
    tab.wait_for("document.querySelector('#warnings:not([hidden])').textContent.includes('w2')");
    web.post("/api/v1/stop", "");
    tab.wait_for("document.documentElement.dataset.kept === 'true'");
    assert_eq!(tab.complaints(), Vec::<Value>::new());
    running.end();
    drop(first);
}
