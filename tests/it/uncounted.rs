//! Requests that no figure has, bodies that a whole plan discards, and more connections than a browser has.

use crate::faulty::{Site, answer};
use crate::program::plan;
use crate::report::{Report, run};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Runs one user for one iteration of a plan at `site`; all its checks must pass.
fn visit(name: &str, site: &Site, text: &str, flags: &[&str]) -> Report {
    let path = plan(name, text);
    let (url, own) = (site.url(), [path.as_str(), "-u", "1", "-i", "1"]);
    let report = run(own.iter().chain(&["-H", &url]).chain(flags));
    let checks = report.json["checks"].as_array().into_iter().flatten();
    for check in checks {
        let failed = &check["failures"];
        assert_eq!(failed, 0, "{name}: {check} {:?}", report.errors());
    }
    report
}

#[test]
fn requests_that_are_not_counted_reach_the_site_and_no_figure() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let paths = asked.clone();
    let site = Site::start(move |request| {
        paths
            .lock()
            .expect("no test fails in it")
            .push(request.path.clone());
        match request.path.as_str() {
            "/broken" => answer(500, "", ""),
            _ => answer(200, "", "fine"),
        }
    });
    let log = crate::program::scratch("uncounted.csv");
    let text = r#"
        local seen = 0
        on("request", function(request) check(request.name == "counted", "only what is counted") end)
        plan { thresholds = { "failures < 1%" } }
        task { "counted", function(user)
          local quiet = { count = false }
          check(user:get("/token", quiet).body == "fine", "its response")
          local broken = user:get("/broken", quiet)
          check(not broken.ok and broken.status == 500, "its failure")
          broken:fail "later"
          user:fetch({ "/a", "/b" }, quiet)
          user:batch { { path = "/c", count = false }, { path = "/d" } }
          user:get "/page"
        end }"#;
    let flags = [
        "--request-log",
        &log.display().to_string(),
        "--co-mitigation",
        "minimum",
    ];
    let report = visit("uncounted.lua", &site, text, &flags);
    assert_eq!((report.total("count"), report.total("failures")), (2, 0));
    assert!(report.errors().is_empty(), "{:?}", report.errors());
    assert_eq!(
        report.json["verdict"]["result"], "passed",
        "{}",
        report.json["verdict"]
    );
    let lines = std::fs::read_to_string(&log).expect("the log is written");
    assert!(
        lines.contains("/page") && !lines.contains("/token"),
        "{lines}"
    );
    let asked = asked.lock().expect("no test fails in it");
    assert_eq!(asked.len(), 7, "{asked:?}");
}

#[test]
fn a_plan_discards_bodies_that_no_request_wants() {
    let site = Site::start(|request| match request.path.as_str() {
        "/broken" => answer(500, "", "why"),
        _ => answer(200, "", "<title>A page</title>"),
    });
    let tasks = |expected: &str| {
        format!(
            r#"task {{ function(user)
              local function size(path, options) return #user:get(path, options).body end
              local quiet = {{ allow_failure = true }}
              check(size "/" == 0, "a page")
              check(size("/broken", quiet) == {expected}, "a failure")
              check(size("/", {{ discard = false }}) == 21, "what a request wants")
              check(size("/", {{ expect = {{ title = "A page" }} }}) == 21, "a title that is expected")
              check(size("/", {{ expect = {{ text = "page", status = 200 }} }}) == 21, "a text that is expected")
              check(size("/", {{ expect = {{ status = 200 }} }}) == 0, "a status that is expected")
              user:fetch({{ "/a" }})
            end }}"#
        )
    };
    let all = format!("plan {{ discard = true }}\n{}", tasks("0"));
    let report = visit("discard_all.lua", &site, &all, &[]);
    assert_eq!(report.json["settings"]["discard"], "all");
    let successful = format!("plan {{ discard = 'successful' }}\n{}", tasks("3"));
    visit("discard_successful.lua", &site, &successful, &[]);
    visit(
        "discard_flag.lua",
        &site,
        &tasks("3"),
        &["--discard", "successful"],
    );
}

#[test]
fn a_user_has_as_many_connections_to_a_host_as_it_is_given() {
    let (now, most) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
    let highest = most.clone();
    let site = Site::start(move |_| {
        let here = now.fetch_add(1, Ordering::SeqCst) + 1;
        highest.fetch_max(here, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(100));
        now.fetch_sub(1, Ordering::SeqCst);
        answer(200, "", "")
    });
    let text = r#"task { "assets", function(user)
        local list = {}
        for n = 1, 24 do list[n] = "/" .. n end
        user:fetch(list)
      end }"#;
    for (flags, expected) in [
        (&[][..], 6),
        (&["--connections-per-host", "12"], 12),
        (&["--connections-per-host", "1"], 1),
    ] {
        most.store(0, Ordering::SeqCst);
        let report = visit("connections_per_host.lua", &site, text, flags);
        assert_eq!(report.total("count"), 24);
        assert_eq!(most.load(Ordering::SeqCst), expected, "{flags:?}");
    }
}
