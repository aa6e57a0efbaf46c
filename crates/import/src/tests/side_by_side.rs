//! Calls that were on their way at the same moment become batches, and a call that needs a response waits for it.

use super::{ImportOptions, PAGE, entry, har, read, read_with};
use serde_json::{Value, json};

/// A call that was sent and ended so many milliseconds after the page.
fn call(method: &str, path: &str, start: u32, end: u32, text: &str) -> Value {
    let (start, end) = (start + 200, end + 200);
    let url = format!("https://shop.example{path}");
    let mut call = entry(0, method, &url, "empty", "application/json", text);
    call["startedDateTime"] = json!(format!(
        "2026-05-04T10:00:{:02}.{:03}Z",
        start / 1000,
        start % 1000
    ));
    call["time"] = json!(end - start);
    call
}

fn get(path: &str, start: u32, end: u32) -> Value {
    call("GET", path, start, end, "{}")
}

/// A visit to a page that makes these calls.
fn visit(calls: &[Value]) -> Value {
    let url = "https://shop.example/";
    let page = entry(0, "GET", url, "document", PAGE, "<title>Home</title>");
    har(&[&[page], calls].concat())
}

/// Returns the steps of a plan after it has got the page.
fn steps(plan: &str) -> String {
    let (_, rest) = plan.split_once("user:get(\"/\", ").expect("the page");
    let (_, rest) = rest.split_once('\n').expect("a line");
    let rest = rest.trim_end_matches("}\n");
    format!("\n{}", rest.trim_end_matches("  end },\n"))
}

#[test]
fn calls_that_overlap_are_a_batch_and_others_are_not() {
    let mut made = call("POST", "/api/cart", 10, 90, "{\"ok\":true}");
    made["request"]["postData"] =
        json!({ "mimeType": "application/json", "text": "{\"product\":17}" });
    made["response"]["status"] = json!(201);
    let imported = read(&visit(&[
        get("/api/me", 0, 100),
        made,
        get("/api/news", 20, 120),
        get("/api/last", 95, 200),
    ]));
    let expected = "
    user:batch {
      { path = \"/api/me\", expect = { status = 200 } },
      { method = \"POST\", path = \"/api/cart\", json = { product = 17 }, expect = { status = 201 } },
      { path = \"/api/news\", expect = { status = 200 } },
    }
    user:get(\"/api/last\", { expect = { status = 200 } })
";
    assert_eq!(steps(&imported.plan), expected);
    assert!(
        imported.plan.contains("1 page, 4 other requests"),
        "{}",
        imported.plan
    );
}

#[test]
fn what_was_sent_once_a_response_had_started_is_not_side_by_side_with_it() {
    let mut first = get("/api/a", 0, 500);
    first["timings"] = json!({ "receive": 480 });
    let plan = read(&visit(&[first, get("/api/b", 20, 100)])).plan;
    assert!(!plan.contains("user:batch"), "{plan}");
    // Times are cut off at the millisecond: less than one is no difference.
    let plan = read(&visit(&[get("/api/a", 0, 20), get("/api/b", 20, 40)])).plan;
    assert!(!plan.contains("user:batch"), "{plan}");
}

#[test]
fn what_needs_a_response_comes_after_it_and_the_rest_goes_together() {
    let token = "550e8400-e29b-41d4-a716-446655440000";
    let mut late = get("/api/late", 20, 100);
    let headers = late["request"]["headers"].as_array_mut().expect("a list");
    headers.push(json!({ "name": "X-Ticket", "value": token }));
    let brings = json!({ "ticket": token, "order": { "id": 4711 } }).to_string();
    let plan = read(&visit(&[
        get("/api/first", 0, 100),
        call("POST", "/api/orders", 10, 100, &brings),
        late,
        get("/api/other", 30, 100),
        get("/api/orders/4711", 200, 300),
        get("/api/x", 400, 500),
        get("/api/y", 400, 500),
    ]))
    .plan;
    let expected = "
    local answers = user:batch {
      { path = \"/api/first\", expect = { status = 200 } },
      { method = \"POST\", path = \"/api/orders\", expect = { status = 200 } },
      { path = \"/api/other\", expect = { status = 200 } },
    }
    local ticket = answers[2]:ensure():json().ticket
    local order_id = answers[2]:json().order.id
    user:get(\"/api/late\", {
      headers = { [\"x-ticket\"] = ticket },
      expect = { status = 200 },
    })
    user:get(\"/api/orders/\" .. order_id, { expect = { status = 200 } })
    user:batch {
      { path = \"/api/x\", expect = { status = 200 } },
      { path = \"/api/y\", expect = { status = 200 } },
    }
";
    assert_eq!(steps(&plan), expected);
}

#[test]
fn what_sends_a_cookie_comes_after_the_response_that_sets_it() {
    let set = |mut call: Value, pair: &str| {
        call["response"]["headers"] =
            json!([{ "name": "Set-Cookie", "value": format!("{pair}; Path=/") }]);
        call
    };
    let send = |mut call: Value, name: &str, value: &str| {
        let headers = call["request"]["headers"].as_array_mut().expect("a list");
        headers.push(json!({ "name": name, "value": value }));
        call
    };
    let batches = |calls: &[Value]| read(&visit(calls)).plan.matches("user:batch").count();
    let (a, b) = (get("/api/a", 0, 100), get("/api/b", 10, 100));
    let sets = set(a.clone(), "seen=1");
    assert_eq!(batches(&[sets.clone(), b.clone()]), 1);
    assert_eq!(
        batches(&[sets, send(b.clone(), "Cookie", "x=2; seen=1")]),
        0
    );
    let renews = set(send(a.clone(), "Cookie", "seen=1"), "seen=1");
    assert_eq!(batches(&[renews, send(b.clone(), "Cookie", "seen=1")]), 1);
    let token = "9f86d081884c7d659a2feaa0c55ad015";
    let sets = set(a, &format!("XSRF-TOKEN={token}"));
    let sends = send(b, "X-Xsrf-Token", token);
    let plan = read(&visit(&[sets, sends])).plan;
    assert!(
        plan.contains("[\"x-xsrf-token\"] = user.cookies:get(\"XSRF-TOKEN\")"),
        "{plan}"
    );
    assert!(!plan.contains("user:batch"), "{plan}");
}

#[test]
fn redirects_hosts_and_failures_are_as_they_are_alone() {
    let mut hop = get("/api/old", 0, 50);
    hop["response"]["status"] = json!(302);
    hop["response"]["redirectURL"] = json!("/api/new");
    let mut pay = get("/api/pay", 15, 60);
    pay["response"]["status"] = json!(302);
    pay["response"]["redirectURL"] = json!("https://pay.example/");
    let mut far = get("", 5, 90);
    far["request"]["url"] = json!("https://stats.example/hit");
    let mut failed = get("/api/aborted", 5, 90);
    failed["response"]["status"] = json!(0);
    let mut missing = get("/api/missing", 20, 70);
    missing["response"]["status"] = json!(404);
    let calls = visit(&[
        hop,
        far,
        failed,
        get("/api/same?n=1", 10, 80),
        get("/api/same?n=1", 10, 80),
        pay,
        missing,
        get("/api/new", 51, 99),
    ]);
    let plan = read(&calls).plan;
    let expected = "
    user:batch {
      { path = \"/api/old\", expect = { status = 200 } },
      { path = \"/api/same?n=1\", expect = { status = 200 } },
      { path = \"/api/same?n=1\", expect = { status = 200 } },
      { path = \"/api/pay\", max_redirects = 0, expect = { status = 302 } },
      { path = \"/api/missing\", expect = { status = 404 } },
    }
";
    assert_eq!(steps(&plan), expected);
    let choices = ImportOptions {
        hosts: vec!["stats.example".to_owned()],
        ..ImportOptions::default()
    };
    let plan = read_with(&calls, &choices).plan;
    let second = "{ path = \"https://stats.example/hit\", expect = { status = 200 } },\n";
    assert!(steps(&plan).contains(second), "{plan}");
}

#[test]
fn calls_of_two_pages_are_apart_and_so_is_what_waits_for_news() {
    let page = |second: u32, path: &str| {
        let url = format!("https://shop.example{path}");
        entry(second, "GET", &url, "document", PAGE, "<title>P</title>")
    };
    let plan = read(&har(&[
        page(0, "/"),
        get("/api/a", 0, 1500),
        page(1, "/two"),
        get("/api/b", 900, 1500),
        get("/api/poll", 950, 31_250),
        get("/api/c", 1000, 1500),
    ]))
    .plan;
    assert!(!plan.contains("user:batch"), "{plan}");
}

#[test]
fn times_that_show_nothing_leave_calls_one_after_another() {
    for time in [json!(null), json!("NaN"), json!(-5), json!(0)] {
        let calls = ["/api/a", "/api/b"].map(|path| {
            let mut call = get(path, 0, 100);
            call["time"] = time.clone();
            call
        });
        let plan = read(&visit(&calls)).plan;
        assert!(!plan.contains("user:batch"), "{time}: {plan}");
        assert!(plan.contains("user:get(\"/api/b\""), "{time}: {plan}");
    }
}

#[test]
fn thousands_of_calls_at_once_are_one_batch() {
    let calls: Vec<Value> = (0..3_000)
        .map(|n| get(&format!("/api/{n}"), 0, 900))
        .collect();
    let imported = read(&visit(&calls));
    assert_eq!(imported.plan.matches("user:batch").count(), 1);
    assert_eq!(imported.plan.matches("{ path = \"/api/").count(), 1_999);
    assert!(
        imported.notes[0].starts_with("left out the last 1001 requests"),
        "{:?}",
        imported.notes
    );
}

#[test]
fn a_note_about_one_of_a_batch_has_its_line() {
    let imported = read(&visit(&[
        get("/api/a", 0, 100),
        get("/api/b?id=550e8400-e29b-41d4-a716-446655440000", 0, 100),
    ]));
    let line = imported.plan.lines().position(|line| line.contains("550e"));
    let start = format!(
        "line {}: GET /api/b: 'id' looks made for this visit",
        line.expect("it is in the plan") + 1
    );
    assert!(
        imported.notes[0].starts_with(&start),
        "{:?}",
        imported.notes
    );
}
