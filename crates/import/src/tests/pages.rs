//! The documents of frames belong to the page that shows them.

use super::{PAGE, entry, har, read};
use serde_json::{Value, json};

/// A document as a browser without `Sec-Fetch-Dest` has it.
fn document(second: u32, path: &str, page: &str) -> Value {
    let url = format!("http://shop.example{path}");
    let text = format!("<title>{path}</title><iframe src='/named'></iframe>");
    let mut document = entry(second, "GET", &url, "document", PAGE, &text);
    document["pageref"] = json!(page);
    document["request"]["headers"] = json!([{ "name": "Accept", "value": "text/html,*/*" }]);
    document
}

fn from(mut entry: Value, referrer: &str) -> Value {
    let headers = entry["request"]["headers"].as_array_mut().expect("a list");
    headers.push(json!({ "name": "Referer", "value": format!("http://shop.example{referrer}") }));
    entry
}

/// Returns the names of the tasks.
fn tasks(entries: &[Value]) -> Vec<String> {
    let plan = read(&har(entries)).plan;
    let names = plan
        .lines()
        .filter_map(|line| line.trim().strip_prefix("task { \""));
    names
        .map(|rest| rest.split('"').next().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn the_first_document_of_a_page_is_its_own_and_the_others_are_frames() {
    let recording = [
        document(0, "/one", "page_1"),
        document(0, "/frame", "page_1"),
        document(9, "/frame", "page_1"),
        document(20, "/two", "page_2"),
        document(29, "/frame", "page_2"),
    ];
    assert_eq!(tasks(&recording), ["/one", "/two"]);
    let plan = read(&har(&recording)).plan;
    let frames = plan.matches("user:get(\"/frame\", { expect = { status = 200 } })");
    assert_eq!(frames.count(), 3, "{plan}");
}

#[test]
fn where_redirects_lead_is_the_page_too() {
    let mut old = document(0, "/old", "page_1");
    old["response"]["status"] = json!(302);
    old["response"]["redirectURL"] = json!("/new");
    let recording = [
        old,
        document(0, "/new", "page_1"),
        document(1, "/frame", "page_1"),
        document(9, "/other", "page_2"),
    ];
    assert_eq!(tasks(&recording), ["/new", "/other"]);
}

#[test]
fn a_recording_that_has_one_page_for_all_is_split_where_the_visitor_went_on() {
    let recording = [
        document(0, "/one", "page_1"),
        document(0, "/frame", "page_1"),
        // Late, but the page names it.
        document(5, "/named", "page_1"),
        // Late, and the page continues to send.
        document(10, "/late", "page_1"),
        from(
            entry(
                11,
                "GET",
                "http://shop.example/api",
                "empty",
                "application/json",
                "{}",
            ),
            "/one",
        ),
        document(20, "/two", "page_1"),
        from(
            entry(
                21,
                "GET",
                "http://shop.example/api",
                "empty",
                "application/json",
                "{}",
            ),
            "/two",
        ),
        document(30, "/one", "page_1"),
        from(
            entry(
                31,
                "GET",
                "http://shop.example/api",
                "empty",
                "application/json",
                "{}",
            ),
            "/one",
        ),
    ];
    assert_eq!(tasks(&recording), ["/one", "/two", "/one (2)"]);
}

#[test]
fn a_page_whose_title_is_the_address_of_its_document_has_no_other() {
    let mut recording = har(&[
        document(0, "/one", "page_0"),
        document(10, "/late", "page_0"),
    ]);
    let late = "task { \"/late\"";
    assert!(read(&recording).plan.contains(late));
    let address = "http://shop.example/one#top";
    recording["log"]["pages"] = json!([{ "id": "page_0", "title": address }]);
    let plan = read(&recording).plan;
    assert!(!plan.contains(late), "{plan}");
}

#[test]
fn a_browser_that_names_its_frames_is_believed() {
    let framed = |mut document: Value, frame: &str| {
        document["_frameref"] = json!(frame);
        document
    };
    let recording = [
        framed(document(0, "/one", "page@1"), "frame@1"),
        framed(document(9, "/ad", "page@1"), "frame@2"),
        framed(document(10, "/two", "page@1"), "frame@1"),
    ];
    assert_eq!(tasks(&recording), ["/one", "/two"]);
}

#[test]
fn without_pagerefs_each_document_is_a_page() {
    let without = |mut document: Value| {
        document["pageref"] = Value::Null;
        document
    };
    let recording = [
        without(document(0, "/one", "")),
        without(document(1, "/two", "")),
    ];
    assert_eq!(tasks(&recording), ["/one", "/two"]);
}
