//! The cache of a user (`--cache`): what a browser would not ask for again, or not as a whole.

use crate::faulty::{Act, Asked, Site, answer};
use crate::program::plan;
use crate::report::{Report, run};

/// A site whose paths say how long their answers hold.
fn site() -> Site {
    Site::start(|asked| match asked.path.as_str() {
        "/fresh" => answer(200, "cache-control: max-age=600\r\n", "fresh"),
        "/never" => answer(
            200,
            "cache-control: no-store, max-age=600\r\netag: \"1\"\r\n",
            "never",
        ),
        "/plain" => answer(200, "", "plain"),
        "/varies" => answer(
            200,
            "cache-control: max-age=600\r\nvary: accept-language\r\n",
            "varies",
        ),
        "/etag" => kept(
            asked,
            "if-none-match",
            "\"v1\"",
            "etag: \"v1\"\r\ncache-control: no-cache\r\n",
        ),
        "/dated" => {
            let date = "Wed, 21 Oct 2015 07:28:00 GMT";
            let headers = format!("last-modified: {date}\r\ncache-control: max-age=0\r\n");
            kept(asked, "if-modified-since", date, &headers)
        }
        _ => answer(200, "cache-control: max-age=600\r\n", &asked.path),
    })
}

/// An answer that is sent whole only to who has not got it.
fn kept(asked: &Asked, header: &str, value: &str, headers: &str) -> Vec<Act> {
    if asked.header(header) == value {
        answer(304, headers, "")
    } else {
        answer(200, headers, "whole")
    }
}

fn visit(name: &str, site: &Site, body: &str, options: &[&str]) -> Report {
    let path = plan(name, &format!("task {{ function(user)\n{body}\nend }}"));
    let url = site.url();
    let own = [path.as_str(), "-H", &url, "-u", "1", "-i", "1"];
    let report = run(own.iter().chain(options));
    assert_eq!(report.errors(), Vec::<String>::new(), "{name}");
    report
}

fn counter(report: &Report, name: &str) -> f64 {
    let metrics = report.json["metrics"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let found = metrics.iter().find(|metric| metric["name"] == name);
    found.map_or(0.0, |metric| metric["value"].as_f64().expect("a number"))
}

const TWICE: &str = "for _, path in ipairs { '/fresh', '/never', '/plain', '/etag', '/dated' } do\n\
    local first, again = user:get(path, { name = path }), user:get(path, { name = path })\n\
    assert(first.status == 200 and again.status == 200, path)\n\
    assert(first.body == again.body and #again.body > 4, path)\n\
    assert(not first.cached, path)\n\
    user.data[path] = again.cached\n\
    end\n\
    assert(user.data['/fresh'] and user.data['/etag'] and user.data['/dated'])\n\
    assert(not user.data['/never'] and not user.data['/plain'])";

#[test]
fn what_a_browser_keeps_is_asked_for_once_or_only_whether_it_holds() {
    let site = site();
    let report = visit("cache_twice.lua", &site, TWICE, &["--cache"]);
    for (path, count) in [
        ("/fresh", 1),
        ("/never", 2),
        ("/plain", 2),
        ("/etag", 2),
        ("/dated", 2),
    ] {
        assert_eq!(report.count(&format!("GET {path}")), count, "{path}");
    }
    assert_eq!(report.sent(), site.received());
    assert_eq!(site.received(), 9);
    let rows = report.json["requests"].as_array().expect("a list");
    let etag = rows.iter().find(|row| row["name"] == "/etag");
    let statuses = etag.map(|row| &row["status"]);
    let sent = serde_json::json!({ "200": 1, "304": 1 });
    assert_eq!(statuses, Some(&sent), "as the site sent them");
    assert_eq!(counter(&report, "cache: not asked for"), 1.0);
    assert_eq!(counter(&report, "cache: not modified"), 2.0);
    let body = "user:get '/fresh' assert(not user:get('/fresh').cached)";
    let without = visit("cache_off.lua", &site, body, &[]);
    assert_eq!(
        (
            without.total("count"),
            counter(&without, "cache: not asked for")
        ),
        (2, 0.0)
    );
}

#[test]
fn a_plan_may_ask_anew_and_what_it_changes_is_asked_for_again() {
    let site = site();
    let body = "local function cached(path, options) return user:get(path, options).cached end\n\
        cached '/fresh'\n\
        assert(cached '/fresh')\n\
        assert(not cached('/fresh', { headers = { ['Cache-Control'] = 'no-cache' } }), 'no-cache')\n\
        assert(cached('/fresh', { expect = { status = 200, text = 'fresh' } }), 'expected')\n\
        user:post('/fresh', 'x')\n\
        assert(not cached '/fresh', 'after a change')\n\
        cached('/varies', { headers = { ['Accept-Language'] = 'de' } })\n\
        assert(not cached('/varies', { headers = { ['Accept-Language'] = 'en' } }), 'another language')\n\
        assert(cached('/varies', { headers = { ['Accept-Language'] = 'en' } }), 'the same language')\n\
        local all = user:fetch { '/a', '/b', '/c' }\n\
        assert(not all[1].cached)\n\
        all = user:fetch { '/a', '/b', '/d' }\n\
        assert(all[1].cached and all[2].cached and not all[3].cached)\n\
        assert(all[1].body == '/a')\n\
        local page = user:get '/a'\n\
        page:fail 'of the cache'";
    let report = visit("cache_anew.lua", &site, body, &["--cache"]);
    assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
    assert_eq!(report.sent(), site.received());
    assert_eq!(site.received(), 10);
    assert_eq!(counter(&report, "cache: not asked for"), 6.0);
}

#[test]
fn every_user_has_a_cache_of_its_own() {
    let site = site();
    let text = "plan { cache = true }\ntask { function(user) user:get '/fresh' end }";
    let (path, url) = (plan("cache_of_users.lua", text), site.url());
    let report = run([&path, "-H", &url, "-u", "3", "-r", "1000", "-i", "4"]);
    assert_eq!((report.total("count"), site.received()), (3, 3));
    assert_eq!(counter(&report, "cache: not asked for"), 9.0);
}

#[test]
fn a_body_that_a_later_request_may_want_is_kept_all_the_same() {
    let site = site();
    let body = "local function size(discard) return #user:get('/fresh', { discard = discard }).body end\n\
        assert(size 'successful' == 5, 'for later')\n\
        assert(size(false) == 5, 'from the cache')\n\
        assert(size(true) == 0, 'not even for later')";
    visit("cache_discard.lua", &site, body, &["--cache"]);
    assert_eq!(site.asked().len(), 2);
    let without = "assert(user:get('/fresh', { discard = 'successful' }).body == '')";
    visit("cache_none_discard.lua", &site, without, &[]);
}

#[test]
fn a_loop_of_responses_from_the_cache_ends_with_the_run() {
    let site = site();
    let call = "while true do user:get '/fresh' user:fetch { '/fresh', '/fresh' } end";
    let path = plan(
        "cache_loop.lua",
        &format!("task {{ function(user)\n{call}\nend }}"),
    );
    let url = site.url();
    let own = [path.as_str(), "-H", &url, "-u", "1", "--threads", "1"];
    let limits = ["--cache", "-t", "1s", "--stop-timeout", "100ms"];
    let report = run(own.iter().chain(&limits));
    assert_eq!(report.ended.code, 0, "{}", report.ended.stderr);
    assert_eq!(site.received(), 1);
}
