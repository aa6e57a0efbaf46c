//! Recordings of both browsers, and hostile ones: their plans.

mod artillery;
mod beside;
mod bombs;
mod damage;
mod headers;
mod jmeter;
mod k6;
mod nothing_vanishes;
mod pages;
mod rows;
mod side_by_side;
mod sites;
mod values;

use super::{ImportOptions, Imported, import};
use serde_json::{Value, json};

fn read(har: &Value) -> Imported {
    read_with(har, &ImportOptions::default())
}

fn read_with(har: &Value, choices: &ImportOptions) -> Imported {
    import("a file", har.to_string().as_bytes(), choices).expect("it can be read")
}

fn har(entries: &[Value]) -> Value {
    json!({ "log": { "version": "1.2", "entries": entries } })
}

fn at(second: u32) -> String {
    format!("2026-05-04T10:00:{second:02}.000+00:00")
}

/// An entry as Firefox writes it: no type, but the headers of its requests show their purpose.
fn entry(
    second: u32,
    method: &str,
    url: &str,
    destination: &str,
    media: &str,
    text: &str,
) -> Value {
    json!({
        "pageref": "page_1", "startedDateTime": at(second), "time": 100, "cache": {}, "timings": {},
        "request": {
            "method": method, "url": url, "httpVersion": "HTTP/2", "bodySize": 0, "headersSize": 10, "cookies": [], "queryString": [],
            "headers": [{ "name": "Sec-Fetch-Dest", "value": destination }, { "name": "User-Agent", "value": "Mozilla/5.0" }],
        },
        "response": {
            "status": 200, "statusText": "OK", "headers": [], "cookies": [], "redirectURL": "", "bodySize": 10,
            "content": { "mimeType": media, "size": 10, "text": text },
        },
    })
}

const PAGE: &str = "text/html; charset=utf-8";

#[test]
fn pages_become_tasks_with_assets_pauses_and_titles() {
    let page =
        "<title>Home | Shop</title><script src=/a.js></script><img src=https://cdn.example/b.png>";
    let imported = read(&har(&[
        entry(0, "GET", "https://shop.example/", "document", PAGE, page),
        entry(
            1,
            "GET",
            "https://shop.example/a.js",
            "script",
            "text/javascript",
            "",
        ),
        entry(
            1,
            "GET",
            "https://shop.example/font.woff2",
            "font",
            "font/woff2",
            "",
        ),
        entry(
            1,
            "GET",
            "https://cdn.example/b.png",
            "image",
            "image/png",
            "",
        ),
        entry(
            7,
            "GET",
            "https://shop.example/about#team",
            "document",
            PAGE,
            "<title>About | Shop</title>",
        ),
    ]));
    let expected = "\
scenario { \"visitor\", order = \"serial\",
  task { \"Home\", wait = 5.9, function(user)
    local page = user:get(\"/\", { expect = { status = 200, title = \"Home\" } })
    user:fetch(page:assets(), { name = \"assets\" })
    user:fetch({ \"/font.woff2\" }, { name = \"assets\" })
  end },
  task { \"About\", wait = 5.9, function(user)
    user:get(\"/about\", { expect = { status = 200, title = \"About\" } })
  end },
}
";
    assert!(imported.plan.ends_with(expected), "{}", imported.plan);
    assert_eq!(
        imported.notes,
        [
            "left out 1 request to other hosts: cdn.example (1); '--hosts cdn.example' keeps those of one"
        ]
    );
}

#[test]
fn hosts_that_are_named_are_retained() {
    let entries = har(&[
        entry(
            0,
            "GET",
            "https://shop.example/",
            "document",
            PAGE,
            "<title>Home</title>",
        ),
        entry(
            1,
            "GET",
            "https://api.example:8443/items",
            "empty",
            "application/json",
            "[]",
        ),
    ]);
    assert!(!read(&entries).plan.contains("api.example"));
    for host in ["*", "api.example", "API.example:8443"] {
        let choices = ImportOptions {
            hosts: vec![host.to_owned()],
            ..ImportOptions::default()
        };
        let plan = read_with(&entries, &choices).plan;
        assert!(
            plan.contains("user:get(\"https://api.example:8443/items\""),
            "{host}: {plan}"
        );
    }
}

#[test]
fn redirects_are_followed_by_the_client_but_not_to_other_hosts() {
    let redirect = |url: &str, to: &str| {
        let mut entry = entry(0, "GET", url, "document", "", "");
        entry["response"]["status"] = json!(302);
        entry["response"]["redirectURL"] = json!(to);
        entry
    };
    let imported = read(&har(&[
        redirect("http://shop.example/", "https://www.shop.example/"),
        entry(
            0,
            "GET",
            "https://www.shop.example/",
            "document",
            PAGE,
            "<title>Home</title>",
        ),
        redirect("https://www.shop.example/old", "/new"),
        entry(
            0,
            "GET",
            "https://www.shop.example/new",
            "document",
            PAGE,
            "<title>New</title>",
        ),
        redirect("https://www.shop.example/pay", "https://pay.example/"),
        entry(
            0,
            "GET",
            "https://pay.example/",
            "document",
            PAGE,
            "<title>Pay</title>",
        ),
    ]));
    assert!(
        imported
            .plan
            .contains("host = \"https://www.shop.example\""),
        "{}",
        imported.plan
    );
    assert!(
        imported
            .plan
            .contains("user:get(\"/old\", { expect = { status = 200, title = \"New\" } })"),
        "{}",
        imported.plan
    );
    assert!(!imported.plan.contains("\"/new\""), "{}", imported.plan);
    assert!(
        imported
            .plan
            .contains("user:get(\"/pay\", { max_redirects = 0, expect = { status = 302 } })"),
        "{}",
        imported.plan
    );
}

#[test]
fn odd_entries_are_omitted_and_null_is_no_field() {
    let mut odd = entry(1, "GET", "https://shop.example/blocked", "empty", "", "");
    odd["response"]["status"] = json!(0);
    let mut bare = entry(
        2,
        "GET",
        "https://shop.example/bare",
        "empty",
        "application/json",
        "",
    );
    bare["time"] = Value::Null;
    bare["startedDateTime"] = json!("yesterday");
    bare["response"]["content"] = json!({ "mimeType": null, "text": null });
    let mut preflight = entry(1, "OPTIONS", "https://shop.example/api", "empty", "", "");
    preflight["request"]["headers"] =
        json!([{ "name": "Access-Control-Request-Method", "value": "PUT" }]);
    let imported = read(&har(&[
        entry(
            0,
            "GET",
            "https://shop.example/",
            "document",
            PAGE,
            "<title>Home</title>",
        ),
        odd,
        preflight,
        entry(
            1,
            "GET",
            "data:image/png;base64,AAAA",
            "image",
            "image/png",
            "",
        ),
        entry(
            1,
            "GET",
            "chrome-extension://abc/x.js",
            "script",
            "text/javascript",
            "",
        ),
        bare,
    ]));
    assert_eq!(
        imported.plan.matches("user:").count(),
        2,
        "{}",
        imported.plan
    );
    let expected = [
        "left out 1 request without an answer (blocked, cut short, or lost on the way): GET https://shop.example/blocked; \
         record again, or write what the visit needs of them into the plan",
        "left out 1 preflight request, which browsers send by themselves: OPTIONS https://shop.example/api",
        "left out 2 requests that no plan sends: GET data:…, GET chrome-extension://abc/x.js",
        "1 entry of the recording without a time that can be read comes after the one before: 6",
    ];
    assert_eq!(imported.notes, expected);
}

#[test]
fn an_entry_that_cannot_be_read_costs_itself_and_is_noted_with_its_number() {
    let good = |second| {
        let url = format!("https://shop.example/{second}");
        entry(second, "GET", &url, "empty", "application/json", "{}")
    };
    let mut wrong = good(1);
    wrong["request"]["postData"] = json!("a=1");
    let imported = read(&har(&[
        good(1),
        Value::Null,
        json!({ "request": { "method": "GET" } }),
        wrong,
        json!({ "request": { "method": "GET", "url": "//no scheme" } }),
        good(2),
    ]));
    assert_eq!(imported.plan.matches("user:get").count(), 2);
    let expected = [
        "left out entry 2 of the recording: it is no object",
        "left out entry 3 of the recording: there is no 'url'",
        "left out entry 4 of the recording: its 'postData' is no object",
        "left out entry 5 of the recording: its 'url' is none: relative URL without a base",
    ];
    assert_eq!(imported.notes, expected);
}

#[test]
fn many_entries_that_cannot_be_read_are_counted() {
    let mut entries = vec![json!(7); 30];
    let url = "https://shop.example/";
    entries.push(entry(1, "GET", url, "empty", "application/json", "{}"));
    let notes = read(&har(&entries)).notes;
    assert_eq!(notes.len(), 21, "{notes:?}");
    assert_eq!(notes[20], "left out 10 more entries that cannot be read");
}

#[test]
fn a_multipart_body_retains_its_parts_and_reports_missing_files() {
    let mut upload = entry(
        0,
        "POST",
        "https://shop.example/upload",
        "empty",
        "application/json",
        "{}",
    );
    upload["request"]["postData"] = json!({
        "mimeType": "multipart/form-data; boundary=X",
        "text": "--X\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\ncat\r\n--X\r\nContent-Disposition: form-data; name=\"f\"; filename=\"../c.png\"\r\nContent-Type: image/png\r\n\r\n\r\n--X--\r\n",
    });
    let imported = read(&har(&[upload]));
    assert!(
        imported
            .plan
            .contains("{ name = \"title\", data = \"cat\" }"),
        "{}",
        imported.plan
    );
    assert!(
        imported.notes[0].contains("what is in '../c.png' is not known, and a small file is sent"),
        "{:?}",
        imported.notes
    );
}

#[test]
fn the_same_recording_makes_the_same_plan() {
    let entries = har(&[entry(
        0,
        "GET",
        "https://shop.example/?a=1&b=2",
        "document",
        PAGE,
        "<title>Home</title>",
    )]);
    assert_eq!(read(&entries).plan, read(&entries).plan);
}
