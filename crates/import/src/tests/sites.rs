//! The site of a plan, of those in its recording.

use super::{ImportOptions, PAGE, entry, har, import, read, read_with};
use serde_json::{Value, json};

fn host_of(plan: &str) -> String {
    let (_, rest) = plan.split_once("host = \"").expect("a plan has a host");
    rest.split('"').next().unwrap_or_default().to_owned()
}

fn call(url: &str, referrer: &str) -> Value {
    let mut call = entry(1, "GET", url, "empty", "application/json", "{}");
    let headers = call["request"]["headers"].as_array_mut().expect("a list");
    headers.push(json!({ "name": "Referer", "value": referrer }));
    call
}

#[test]
fn without_a_page_the_site_is_what_requests_came_from_and_no_tracker() {
    let shop = "https://www.shop.example/cart";
    let tracker = call("https://stats.test/collect", shop);
    let own = read(&har(&[
        tracker.clone(),
        tracker.clone(),
        call("https://www.shop.example/api", shop),
    ]));
    assert_eq!(host_of(&own.plan), "https://www.shop.example");
    let neighbour = read(&har(&[
        tracker.clone(),
        tracker.clone(),
        call("https://api.shop.example/a", shop),
    ]));
    assert_eq!(host_of(&neighbour.plan), "https://api.shop.example");
    assert_eq!(host_of(&read(&har(&[tracker])).plan), "https://stats.test");
}

#[test]
fn frames_of_others_are_never_the_site() {
    let mut frame = entry(
        0,
        "GET",
        "https://ads.test/f",
        "document",
        PAGE,
        "<title>Ad</title>",
    );
    frame["request"]["headers"] = json!([{ "name": "Referer", "value": "https://shop.example/" }]);
    let mut recording = har(&[
        frame,
        call("https://shop.example/api", "https://shop.example/"),
    ]);
    recording["log"]["pages"] = json!([{ "id": "page_1", "title": "https://shop.example/" }]);
    assert_eq!(host_of(&read(&recording).plan), "https://shop.example");
}

#[test]
fn the_site_that_is_named_is_taken() {
    let page = |second, url: &str| entry(second, "GET", url, "document", PAGE, "<title>a</title>");
    let recording = har(&[
        page(0, "https://portal.test/"),
        page(5, "https://shop.example:8443/"),
    ]);
    assert_eq!(host_of(&read(&recording).plan), "https://portal.test");
    let named = |site: &str| ImportOptions {
        site: Some(site.to_owned()),
        ..ImportOptions::default()
    };
    for site in ["shop.example", "SHOP.example:8443"] {
        let imported = read_with(&recording, &named(site));
        assert_eq!(host_of(&imported.plan), "https://shop.example:8443");
        assert!(
            imported.notes[0].starts_with("left out 1 request to other hosts: portal.test"),
            "{:?}",
            imported.notes
        );
    }
    let refused = |file: &Value| {
        let text = file.to_string();
        let refused = import("a file", text.as_bytes(), &named("other.test"));
        refused.expect_err("it is not there").to_string()
    };
    let message = refused(&recording);
    assert!(message.contains("no request to 'other.test'"), "{message}");
    assert!(
        message.contains("portal.test (1), shop.example:8443 (1)"),
        "{message}"
    );
    let message = refused(&json!({ "openapi": "3.0.0", "paths": { "/a": { "get": {} } } }));
    assert!(message.contains("'--site'"), "{message}");
}
