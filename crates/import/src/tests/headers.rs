//! Headers of a recording that its scripts set.

use super::{PAGE, entry, har, read};
use serde_json::{Value, json};

const AGENT: &str = "Mozilla/5.0 (X11)";

fn sent(mut entry: Value, headers: &[(&str, &str)]) -> Value {
    let named = headers
        .iter()
        .map(|(name, value)| json!({ "name": name, "value": value }));
    let all = entry["request"]["headers"].as_array_mut().expect("a list");
    let is_new = |existing: &Value| headers.iter().all(|(name, _)| existing["name"] != *name);
    all.retain(is_new);
    all.extend(named);
    entry
}

fn page() -> Value {
    let page = entry(
        0,
        "GET",
        "https://shop.example/",
        "document",
        PAGE,
        "<title>a</title>",
    );
    sent(page, &[("Accept-Language", "en-US,en;q=0.5")])
}

fn call(second: u32, method: &str, headers: &[(&str, &str)]) -> Value {
    let url = "https://shop.example/api";
    sent(
        entry(second, method, url, "empty", "application/json", "{}"),
        headers,
    )
}

/// Returns the headers of the plan's last request.
fn headers(entries: &[Value]) -> String {
    let plan = read(&har(entries)).plan;
    let Some((_, headers)) = plan.rsplit_once("headers = {") else {
        return String::new();
    };
    headers
        .split(" }")
        .next()
        .unwrap_or_default()
        .trim()
        .to_owned()
}

#[test]
fn what_differs_from_what_pages_are_requested_with_is_a_script_s() {
    for (name, value, is_script) in [
        ("accept-language", "en-US,en;q=0.5", false),
        ("Accept-Language", "de", true),
        ("User-Agent", AGENT, true),
        ("Cache-Control", "no-cache", true),
        ("If-Match", "*", true),
        ("If-None-Match", "\"v7\"", true),
        ("Range", "bytes=0-9", true),
        ("Origin", "https://shop.example", false),
        ("Origin", "null", false),
        ("Origin", "https://other.test", true),
        ("Referer", "https://shop.example/", false),
        ("DNT", "1", false),
        ("sec-ch-ua", "x", false),
        (
            "traceparent",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            false,
        ),
        ("Accept", "*/*", false),
        ("Accept", "text/html, */*; q=0.01", true),
        ("X-Requested-With", "XMLHttpRequest", true),
        ("Content-Type", "application/json", true),
        (":authority", "shop.example", false),
    ] {
        let entries = [page(), call(1, "GET", &[(name, value)])];
        let found = headers(&entries);
        assert_eq!(!found.is_empty(), is_script, "{name}: {value}: {found}");
    }
}

#[test]
fn without_a_page_the_usual_headers_of_browsers_are_theirs() {
    for (name, value, is_script) in [
        ("Accept-Language", "de", true),
        ("Accept-Language", "en-US,en;q=0.5", false),
        ("User-Agent", AGENT, false),
        ("User-Agent", "app/1.0", true),
        ("Pragma", "no-cache", false),
        ("Cache-Control", "no-store", true),
    ] {
        let found = headers(&[call(1, "GET", &[(name, value)])]);
        assert_eq!(!found.is_empty(), is_script, "{name}: {value}: {found}");
    }
}

#[test]
fn a_version_that_a_script_asks_for_is_the_one_of_the_new_visit() {
    let mut first = call(1, "GET", &[]);
    first["response"]["headers"] = json!([{ "name": "ETag", "value": "\"v1\"" }]);
    let imported = read(&har(&[
        page(),
        first.clone(),
        call(2, "PUT", &[("if-match", "\"v1\"")]),
    ]));
    for part in [
        "local etag = answer:header(\"etag\")",
        "[\"if-match\"] = etag",
    ] {
        assert!(imported.plan.contains(part), "{part} in\n{}", imported.plan);
    }
    // The browser's cache validates its copy.
    let again = call(2, "GET", &[("if-none-match", "\"v1\"")]);
    let imported = read(&har(&[page(), first, again]));
    assert!(!imported.plan.contains("headers"), "{}", imported.plan);
    let expected = "left out 1 header that the browser's cache sent, as it seems: if-none-match of https://shop.example/api";
    assert_eq!(imported.notes, [expected]);
}

#[test]
fn a_script_that_asks_whether_something_is_new_expects_either_status() {
    let headers = [("If-None-Match", "\"v1\""), ("Cache-Control", "no-cache")];
    let mut call = call(1, "GET", &headers);
    call["response"]["status"] = json!(304);
    let plan = read(&har(&[page(), call])).plan;
    assert!(
        plan.contains("expect = { status = { 200, 304 } }"),
        "{plan}"
    );
}
