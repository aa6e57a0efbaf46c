//! What a page says, whatever its character set and its content coding, as Chromium reads it.

use crate::browser::Browser;
use crate::faulty::{Act, Site, answer};
use crate::program::{Lgoose, plan};
use crate::table::{Table, latin1};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;

/// A response with status 200. Its bytes are in Latin-1.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Page {
    /// The lines of the head beside the status and the length.
    head: String,
    body: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Reading {
    title: String,
    /// The text of `#p`; of the whole where it is no page of HTML.
    text: String,
}

/// `None` where the body cannot be decoded.
type Texts = Table<Page, Option<Reading>>;

fn site(pages: &[Page]) -> Site {
    let pages: Arc<[Page]> = pages.into();
    Site::start(move |asked| {
        let number = asked.path.strip_prefix("/page/");
        let page = number.and_then(|number| pages.get(number.parse::<usize>().ok()?));
        let Some(page) = page else {
            return answer(200, "", "");
        };
        let body = latin1(&page.body);
        let length = format!("content-length: {}\r\n\r\n", body.len());
        let head = latin1(&format!("HTTP/1.1 200 OK\r\n{}{length}", page.head));
        vec![Act::Send([head, body].concat())]
    })
}

fn chromium(browser: &Browser, pages: &[Page]) -> Vec<Option<Reading>> {
    let site = site(pages);
    let tab = browser.open("about:blank", (800, 600), "light");
    let read = |number: usize| {
        let url = format!("{}/page/{number}", site.url());
        let went = tab.ask("Page.navigate", json!({ "url": url }));
        // A page that cannot be decoded has an error, or nothing on it.
        if !went["errorText"].is_null() {
            return None;
        }
        // An error page has another scheme; a body that ends too early may never be complete.
        let text = tab.js("(async () => {
              for (let tries = 0; tries < 50 && document.readyState !== 'complete'; tries++)
                await new Promise(done => setTimeout(done, 20));
              const part = document.querySelector('#p') || document.documentElement;
              return location.protocol === 'http:' && document.readyState === 'complete'
                ? JSON.stringify({ title: document.title, text: part.textContent }) : null;
            })()");
        serde_json::from_str(text.as_str()?).expect("a reading")
    };
    (0..pages.len()).map(read).collect()
}

fn lgoose(pages: &[Page]) -> Vec<Option<Reading>> {
    let site = site(pages);
    let path = plan(
        "judge_texts.lua",
        "task { function(user)
           local number = user.iteration - 1
           local page = user:get('/page/' .. number, { allow_failure = true })
           local text = page:text '#p' or page:match '(?s)^(.*)$'
           if #page.body > 0 and page.error then text = nil end
           user:post('/read', nil, { json = { title = page:title() or '', text = text or '', failed = page.error ~= nil } })
         end }",
    );
    let count = pages.len().to_string();
    let ended = Lgoose::new([&path, "-H", &site.url(), "-u", "1", "-i", &count, "-q"]).finish();
    let read = site.asked_for("/read");
    assert_eq!(read.len(), pages.len(), "{}", ended.stderr);
    let reading = |asked: &crate::faulty::Asked| {
        let value: serde_json::Value = serde_json::from_slice(&asked.body).expect("JSON");
        let reading = || serde_json::from_value(value.clone()).expect("a reading");
        (value["failed"] == false).then(reading)
    };
    read.iter().map(reading).collect()
}

#[test]
fn texts_are_read_as_chromium_reads_them() {
    let table = Texts::open("texts");
    let own = lgoose(&table.inputs());
    table.compare(own, |_, _| ());
}

#[test]
fn the_record_of_texts_is_what_chromium_does_today() {
    let Some(browser) = Browser::start("judge-texts") else {
        return;
    };
    let table = Texts::open("texts");
    let today = chromium(&browser, &table.inputs());
    table.judge(&browser.version(), today);
}
