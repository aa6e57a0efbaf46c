//! The requests of one tag while a run goes on: as programs ask for them, on the page, and of a run on workers; and the
//! loads of single scenarios, set from the page.

use crate::broker::Broker;
use crate::browser::{Browser, Tab};
use crate::gaggle::worker;
use crate::program::{plan, scratch, wait_until};
use crate::report::saved;
use crate::server::Server;
use crate::web_client::{Served, Web};
use crate::web_page::{DESK, open, submit};
use crate::web_serve::Host;
use serde_json::{Value, json};

const PLAN: &str = "
  plan { tags = { build = '<b>1/2</b>' } }
  scenario { 'buyers', wait = 0.01, tags = { kind = 'paid' },
    task { function(user) user:get('/a', { name = 'front' }) user:get('/status/503', { name = 'broken' }) end } }
  scenario { 'readers', wait = 0.01, task { function(user) user:get('/b', { name = 'front' }) user:get '/c' end } }";

/// Plan with a load of its own beside the shared one.
const LOADS: &str = "
  scenario { 'readers', wait = 0.05, task { function(user) user:get '/read' end } }
  scenario { 'buyers', rate = '5/s', max_users = 9, task { function(user) user:get '/buy' end } }";

/// Returns the answer for a tag, whose sign is escaped.
fn tag(web: &Web, tag: &str) -> Value {
    web.get(&format!("/api/v1/tags/{}", tag.replace('=', "%3D")))
        .json()
}

/// Returns the answer for the tag that all requests have.
fn tag_of_all(web: &Web) -> Value {
    web.get("/api/v1/tags/build%3D%3Cb%3E1%2F2%3C%2Fb%3E")
        .json()
}

/// Waits until both scenarios have asked for both of their names.
fn wait_for_requests(web: &Web) {
    wait_until("requests of both scenarios", || {
        ["scenario=buyers", "scenario=readers"].iter().all(|one| {
            let rows = tag(web, one)["requests"].as_array().map(Vec::len);
            rows == Some(2)
        })
    });
}

/// Returns the names of an answer in the order of the alphabet; their counts are all that there is.
fn names(answer: &Value) -> Vec<&str> {
    let rows = answer["requests"].as_array().expect("rows");
    let counts = rows
        .iter()
        .map(|row| row["count"].as_u64().expect("a count"));
    assert_eq!(answer["aggregated"]["count"], counts.sum::<u64>());
    let names = rows.iter().map(|row| row["name"].as_str().expect("a name"));
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names
}

#[test]
fn a_program_asks_for_the_requests_of_one_tag_until_the_run_is_over() {
    let server = Server::start();
    let (path, url) = (plan("web_tags.lua", PLAN), server.url());
    let options = ["-H", &url, "-u", "4", "-r", "1000"];
    let Served { running, web } = Served::start(&[&[&*path], &options[..]].concat());
    wait_for_requests(&web);
    let wanted = [
        "build=<b>1/2</b>",
        "kind=paid",
        "scenario=buyers",
        "scenario=readers",
    ];
    wait_until("a snapshot with all tags", || {
        web.get("/api/v1/snapshot").json()["tags"] == json!(wanted)
    });
    wait_until("a rate of now", || {
        tag(&web, "scenario=buyers")["aggregated"]["rate_now"].as_f64() > Some(1.0)
    });
    let buyers = tag(&web, "scenario=buyers");
    assert_eq!(names(&buyers), ["broken", "front"], "{buyers}");
    assert_eq!(buyers["tag"], "scenario=buyers");
    let rows = buyers["requests"].as_array().expect("rows");
    let broken = rows.iter().find(|row| row["name"] == "broken");
    let broken = broken.expect("it has a row");
    assert_eq!(buyers["aggregated"]["failures"], broken["count"]);
    assert!(broken["failures_now"].as_f64() > Some(0.0), "{broken}");
    assert_eq!(broken["failures"], broken["count"]);
    assert_eq!(names(&tag(&web, "scenario=readers")), ["/c", "front"]);
    let all = tag_of_all(&web);
    for nothing in ["kind=free", "kind", "=", "scenario=buyer"] {
        let answer = web.get(&format!("/api/v1/tags/{nothing}"));
        assert_eq!(answer.status, 404, "{nothing}");
        assert!(answer.json()["error"].to_string().contains(nothing));
    }
    let answer = web.get("/api/v1/tags/%ff");
    assert_eq!(answer.status, 404);
    let told = "the path names nothing: it is not UTF-8";
    assert_eq!(answer.json(), json!({ "error": told, "help": null }));
    web.post("/api/v1/reset", "{}");
    // Everything that was served has this tag: what was counted before and what is counted anew are parts of it.
    wait_until("figures anew", || {
        let count = |response: &Value| response["aggregated"]["count"].as_u64().unwrap_or(0);
        count(&tag_of_all(&web)) + count(&all) <= server.received()
    });
    wait_for_requests(&web);
    let mut events = web.events(None);
    web.post("/api/v1/stop", "{}");
    while events.next().expect("there is an end").name != "end" {}
    // Those of the report.
    let report = web.get("/api/v1/report.json").json();
    let last = tag(&web, "kind=paid");
    let rows = report["by_tag"].as_array().expect("rows of tags");
    let row = rows.iter().find(|row| row["tag"] == "kind=paid");
    let row = row.expect("it has a row");
    assert_eq!(last["aggregated"]["count"], row["aggregated"]["count"]);
    assert_eq!(names(&last), ["broken", "front"]);
    drop(events);
    running.end();
}

/// What the table of requests shows: each row that can be seen, with its count, the total last.
const ROWS: &str = "[...document.querySelectorAll('#requests table tbody:not([hidden]) tr, #requests table tfoot tr')]\
    .map(row => [row.cells[0].textContent, +row.cells[1].dataset.v])";

fn choose(tab: &Tab, select: &str, text: &str) {
    tab.js(&format!(
        "(() => {{ const select = document.querySelector('{select}'); \
         select.value = [...select.options].find(option => option.textContent === '{text}').value; \
         select.dispatchEvent(new Event('change')); }})()"
    ));
}

/// Waits until the rows are those, in any order.
fn wait_for_names(tab: &Tab, names: &str) {
    let sorted = "[...].map(row => row[0]).sort().join()".replace("[...]", &format!("({ROWS})"));
    let mut wanted: Vec<&str> = names.split(',').collect();
    wanted.sort_unstable();
    tab.wait_for(&format!("{sorted} === '{}'", wanted.join(",")));
}

#[test]
fn the_page_shows_the_requests_of_one_tag_while_the_run_goes_on_and_when_it_is_over() {
    let Some(browser) = Browser::start("tags") else {
        return;
    };
    let server = Server::start();
    let (path, url) = (plan("web_page_tags.lua", PLAN), server.url());
    let file = scratch("web_page_tags.json");
    let output = format!("json={}", file.display());
    let options = ["-H", &url, "-u", "4", "-r", "1000", "-o", &output];
    let Served { running, web } = Served::start(&[&[&*path], &options[..]].concat());
    let tab = open(&browser, &web, DESK, "light");
    let offered =
        "[...document.querySelectorAll('#requests option')].map(one => one.textContent).join()";
    tab.wait_for(&format!(
        "{offered} === 'all,build=<b>1/2</b>,kind=paid,scenario=buyers,scenario=readers'"
    ));
    assert_eq!(
        tab.js("document.querySelectorAll('#requests option b').length"),
        0
    );
    wait_for_names(&tab, "GET front,GET broken,GET /c,Aggregated");
    tab.press("g");
    assert_eq!(tab.js("document.activeElement.tagName"), "SELECT");
    choose(&tab, "#requests select", "scenario=buyers");
    wait_for_names(&tab, "GET front,GET broken,Aggregated");
    let rows = tab.js(ROWS);
    assert_eq!(
        rows[0][1]
            .as_u64()
            .zip(rows[1][1].as_u64())
            .map(|(a, b)| a + b),
        rows[2][1].as_u64(),
        "{rows}"
    );
    let before = rows[2][1].as_u64().expect("a count");
    tab.wait_for(&format!("({ROWS}).at(-1)[1] > {before} + 50"));
    // The filter goes on to work.
    tab.js("(() => { const filter = document.querySelector('#requests input'); filter.value = 'brok'; filter.dispatchEvent(new Event('input')); })()");
    wait_for_names(&tab, "GET broken,Aggregated");
    tab.js("(() => { const filter = document.querySelector('#requests input'); filter.value = ''; filter.dispatchEvent(new Event('input')); })()");
    choose(&tab, "#requests select", "build=<b>1/2</b>");
    wait_for_names(&tab, "GET front,GET broken,GET /c,Aggregated");
    choose(&tab, "#requests select", "scenario=readers");
    wait_for_names(&tab, "GET front,GET /c,Aggregated");
    web.post("/api/v1/stop", "{}");
    tab.wait_for("document.documentElement.dataset.kept === 'true'");
    assert_eq!(running.end().code, 0);
    let report = saved(&file);
    let rows = report["by_tag"].as_array().expect("rows of tags");
    for name in ["scenario=readers", "scenario=buyers"] {
        choose(&tab, "#requests select", name);
        let row = rows.iter().find(|row| row["tag"] == name);
        let count = &row.expect("it has a row")["aggregated"]["count"];
        tab.wait_for(&format!("({ROWS}).at(-1)[1] === {count}"));
    }
    choose(&tab, "#requests select", "all");
    let count = &report["aggregated"]["count"];
    tab.wait_for(&format!("({ROWS}).at(-1)[1] === {count}"));
    assert_eq!(tab.complaints(), Vec::<Value>::new());
}

#[test]
fn a_page_of_a_run_without_tags_and_own_loads_has_no_switches() {
    let Some(browser) = Browser::start("no_tags") else {
        return;
    };
    let server = Server::start();
    let text = "task { wait = 0.01, function(user) user:get '/' end }";
    let (path, url) = (plan("web_page_no_tags.lua", text), server.url());
    let Served { running, web } = Served::start(&[&path, "-H", &url, "-u", "1"]);
    let tab = open(&browser, &web, DESK, "dark");
    for hidden in ["#requests .choice", "#whose"] {
        let seen = format!("document.querySelector('{hidden}').checkVisibility()");
        assert_eq!(tab.js(&seen), false, "{hidden}");
    }
    assert_eq!(web.get("/api/v1/snapshot").json()["tags"], Value::Null);
    web.post("/api/v1/stop", "{}");
    tab.wait_for("document.documentElement.dataset.kept === 'true'");
    assert_eq!(tab.complaints(), Vec::<Value>::new());
    running.end();
}

#[test]
fn the_load_of_a_single_scenario_is_set_on_the_page() {
    let Some(browser) = Browser::start("own_loads") else {
        return;
    };
    let server = Server::start();
    let (path, url) = (plan("web_page_loads.lua", LOADS), server.url());
    let Served { running, web } = Served::start(&[&path, "-H", &url, "-u", "2", "-r", "100"]);
    let tab = open(&browser, &web, DESK, "light");
    let loads = |web: &Web| web.get("/api/v1/status").json()["wanted"]["loads"].clone();
    let load = |scenario: Value, users: u64, rate: Value| json!({ "scenario": scenario, "users": users, "rate": rate, "under_way": true });
    let buyers = |users, rate| load("buyers".into(), users, rate);
    assert_eq!(
        loads(&web),
        json!([load(Value::Null, 2, Value::Null), buyers(9, json!(5.0))])
    );
    tab.wait_for("document.querySelector('#whose').checkVisibility()");
    tab.wait_for("document.querySelector('#users').value === '2' && document.querySelector('#rate-form').hidden");
    let set = |id: &str, value: &str, told: &str| {
        submit(&tab, id, value);
        tab.wait_for(&format!(
            "document.querySelector('#answer:not(.bad)').textContent.startsWith('{told}')"
        ));
    };
    set("users", "3", "3 users wanted");
    choose(&tab, "#whose select", "buyers");
    tab.wait_for("document.querySelector('#users').value === '9' && document.querySelector('#rate').value === '5'");
    set("rate", "40", "target: 40 iterations");
    set("users", "8", "8 users wanted");
    wait_until("that is wanted", || {
        loads(&web) == json!([load(Value::Null, 3, Value::Null), buyers(8, json!(40.0))])
    });
    choose(&tab, "#whose select", "the others");
    tab.wait_for("document.querySelector('#users').value === '3'");
    web.post("/api/v1/stop", "{}");
    tab.wait_for("document.documentElement.dataset.kept === 'true'");
    assert_eq!(tab.complaints(), Vec::<Value>::new());
    running.end();
}

#[test]
fn a_run_on_workers_tells_the_requests_of_a_tag_of_all_of_them() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let server = Server::start();
    let _workers = ["w1", "w2"].map(|name| worker(&broker, name, &[]));
    let (path, url) = (plan("web_tags_workers.lua", PLAN), server.url());
    let arguments = [&path, "-H", &url, "--workers", "2", "-u", "4", "-r", "1000"];
    let variables = [("LGOOSE_NATS", &*broker.url())];
    let Served { running, web } = Served::start_in(&arguments, &variables);
    wait_for_requests(&web);
    assert_eq!(names(&tag(&web, "scenario=buyers")), ["broken", "front"]);
    let all = |web: &Web| web.get("/api/v1/snapshot").json()["aggregated"]["count"].as_u64();
    web.post("/api/v1/pause", "{}");
    wait_until("nothing is counted any more", || {
        let before = all(&web);
        let [buyers, readers] = ["scenario=buyers", "scenario=readers"]
            .map(|one| tag(&web, one)["aggregated"]["count"].as_u64());
        before == all(&web) && buyers.zip(readers).map(|(a, b)| a + b) == before
    });
    web.post("/api/v1/stop", "{}");
    running.end();
}

#[test]
fn a_server_of_runs_hands_on_what_is_asked_about_tags() {
    let server = Server::start();
    let host = Host::start("serve_tags", &[("tags.lua", PLAN)], &[]);
    let path = "/api/v1/tags/build%3D%3Cb%3E1%2F2%3C%2Fb%3E";
    assert_eq!(host.web.get(path).status, 409, "no run is in progress");
    let id = host.run(
        "tags.lua",
        &json!({ "host": server.url(), "users": 4, "hatch-rate": 100 }),
    );
    wait_for_requests(&host.web);
    assert_eq!(names(&host.web.get(path).json()), ["/c", "broken", "front"]);
    host.web.post("/api/v1/stop", "");
    host.wait_for(&id, "kept");
    host.end();
}
