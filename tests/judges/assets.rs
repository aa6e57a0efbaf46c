//! Which assets of a page Chromium asks for.

use crate::browser::Browser;
use crate::faulty::{Act, Site, answer};
use crate::program::{Lgoose, plan};
use crate::table::Table;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A page, whole or a part of one; its assets begin with `/a/`.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Page {
    page: String,
}

/// The paths of the assets behind `/a/`, in the order of the alphabet.
type Requested = BTreeSet<String>;

/// Starts a site whose `/case/7/page` is the page of the case at that place. Its assets are `/case/7/a/…`, wherever the
/// page says `/a/…`.
fn site(cases: &[Page]) -> Site {
    let cases: Arc<[Page]> = cases.into();
    Site::start(move |asked| {
        let path = asked.path.split('?').next().unwrap_or_default();
        let case = path
            .strip_prefix("/case/")
            .and_then(|rest| rest.strip_suffix("/page"));
        if let Some(number) = case {
            let page = &cases[number.parse::<usize>().expect("a number")].page;
            let page = page.replace("/a/", &format!("/case/{number}/a/"));
            return answer(
                200,
                "content-type: text/html; charset=utf-8\r\n",
                format!("<!DOCTYPE html>\n{page}"),
            );
        }
        asset(path)
    })
}

/// What a browser takes for an asset of its name.
fn asset(path: &str) -> Vec<Act> {
    const IMAGE: &str = "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>";
    let (kind, body) = match path.rsplit('.').next() {
        Some("js" | "mjs") => ("text/javascript", ""),
        Some("css") => ("text/css", ""),
        Some("html") => ("text/html", ""),
        Some("vtt") => ("text/vtt", "WEBVTT\n"),
        Some("json") => ("application/json", "{}"),
        Some("svg" | "png" | "jpg" | "ico" | "webp") => ("image/svg+xml", IMAGE),
        _ => ("application/octet-stream", ""),
    };
    let head = format!(
        "content-type: {kind}\r\ncache-control: no-store\r\naccess-control-allow-origin: *\r\n"
    );
    answer(200, &head, body)
}

/// The assets of each case that were requested.
fn requested(site: &Site, count: usize) -> Vec<Requested> {
    let all = site.asked();
    let of = |number: usize| {
        let prefix = format!("/case/{number}/a/");
        let asked = all
            .iter()
            .filter_map(|asked| asked.path.strip_prefix(&prefix));
        asked.map(str::to_owned).collect()
    };
    (0..count).map(of).collect()
}

fn chromium(browser: &Browser, cases: &[Page]) -> Vec<Requested> {
    let site = site(cases);
    let tab = browser.open(&format!("{}/a/empty.html", site.url()), (800, 600), "light");
    for number in 0..cases.len() {
        let url = format!("{}/case/{number}/page", site.url());
        tab.ask("Page.navigate", json!({ "url": url }));
        tab.wait_for(&format!(
            "location.href === '{url}' && document.readyState === 'complete'"
        ));
        // What is fetched once the page is there: prefetched documents, and icons.
        tab.js("new Promise(done => requestIdleCallback(() => setTimeout(done, 300)))");
    }
    requested(&site, cases.len())
}

fn lgoose(cases: &[Page]) -> Vec<Requested> {
    let site = site(cases);
    let path = plan(
        "judge_assets.lua",
        "task { function(user)
           local page = user:get('/case/' .. user.iteration - 1 .. '/page')
           for _, url in ipairs(page:assets()) do user:get(url) end
         end }",
    );
    let count = cases.len().to_string();
    let ended = Lgoose::new([&path, "-H", &site.url(), "-u", "1", "-i", &count, "-q"]).finish();
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    requested(&site, cases.len())
}

type Assets = Table<Page, Requested>;

#[test]
fn a_page_has_the_assets_that_chromium_asks_for() {
    let table = Assets::open("assets");
    let own = lgoose(&table.inputs());
    table.compare(own, |_, _| {});
}

#[test]
fn the_record_of_assets_is_what_chromium_does_today() {
    let Some(browser) = Browser::start("judge-assets") else {
        return;
    };
    let table = Assets::open("assets");
    let today = chromium(&browser, &table.inputs());
    table.judge(&browser.version(), today);
}
