//! The larger plans of `examples/from`, which were scripts of k6, Locust, Goose and wrk: each runs against a site of its
//! own, which must have counted what the report says.

use crate::program::{Lgoose, Running, in_repository, scratch, wait_until};
use crate::report::{Report, run};
use crate::web_client::Web;
use serde_json::Value;
use std::path::PathBuf;

/// The built-in shop as a process of its own.
struct Shop {
    url: String,
    _running: Running,
}

impl Shop {
    fn start() -> Shop {
        let running = Lgoose::new(["demo", "api", "--port", "0"]).start();
        wait_until("the shop tells its address", || {
            running.stdout().ends_with('\n')
        });
        let told = running.stdout();
        let url = told
            .split_whitespace()
            .find(|word| word.starts_with("http://"));
        let url = url.expect("the address is told").trim_end_matches(';');
        Shop {
            url: url.to_owned(),
            _running: running,
        }
    }

    /// The number of requests that it received, by route, and of all together, which must be what the report says.
    fn served(&self, report: &Report) -> impl Fn(&str) -> u64 {
        let address = self.url.trim_start_matches("http://").parse();
        let web = Web::at(address.expect("an address and a port"));
        let served = web.get("/_demo/served").json();
        let routes = served.as_object().expect("it tells all routes").clone();
        let count = |value: &Value| value.as_u64().expect("a number");
        let received: u64 = routes.values().map(count).sum();
        assert_eq!(received, report.sent(), "{routes:?}");
        move |route| count(&routes[route])
    }
}

/// A plan of `examples/from` in a folder of its own, where what it writes stays.
struct Carried {
    plan: String,
    folder: PathBuf,
}

impl Carried {
    /// Copies one with some of its text replaced.
    fn new(name: &str, folder: &str, replace: &[(&str, &str)]) -> Carried {
        let source = in_repository("examples/from").join(name);
        let mut text = std::fs::read_to_string(source).expect("the plan can be read");
        for (from, to) in replace {
            assert!(text.contains(from), "{name} has no {from}");
            text = text.replace(from, to);
        }
        let folder = scratch(folder);
        std::fs::create_dir_all(&folder).expect("the scratch folder takes a folder");
        let plan = folder.join(name);
        std::fs::write(&plan, text).expect("it takes a file");
        Carried {
            plan: plan.display().to_string(),
            folder,
        }
    }

    /// Runs it with these arguments; no request and no task may fail.
    fn run(&self, arguments: &[&str]) -> Report {
        let report = run([self.plan.as_str()].iter().chain(arguments));
        let errors = report.errors().join("\n");
        assert_eq!(report.whole("failures"), 0, "{errors}");
        assert_eq!(report.task_failures(), 0, "{errors}");
        report
    }

    /// What its function for the report has written.
    fn written(&self, file: &str) -> String {
        let path = self.folder.join(file);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }
}

/// Returns the row of a list of the report whose key is that text.
fn row<'a>(report: &'a Report, list: &str, key: &str, text: &str) -> &'a Value {
    let rows = report.json[list].as_array().expect("a list");
    let found = rows.iter().find(|row| row[key] == text);
    found.unwrap_or_else(|| panic!("no '{text}' in {rows:?}"))
}

#[test]
fn a_k6_script_of_two_executors_keeps_loads_tags_thresholds_cookies_and_its_summary() {
    let shop = Shop::start();
    let carried = Carried::new("k6_scenarios.lua", "from_k6", &[]);
    let site = format!("SITE={}", shop.url);
    let report = carried.run(&["-e", &site, "-e", "SUMMARY=summary.json"]);
    let iterations = report.scenario_iterations();
    let (readers, buyers) = (iterations["readers"], iterations["buyers"]);
    // Twenty a second for three seconds, of which a machine that stands still may leave some out.
    let due = &report.json["arrivals"];
    assert_eq!(due["started"], buyers, "{due}");
    assert_eq!(due["dropped"], 60 - buyers, "{due}");
    assert!(buyers > 0 && readers > 0, "{iterations:?}");

    let served = shop.served(&report);
    assert_eq!(served("GET /"), readers);
    assert_eq!(served("GET /assets"), 2 * readers);
    assert_eq!(served("POST /login"), buyers);
    // Each login leads to the account by a redirect, with the cookie that it set; without one it would lead on.
    assert_eq!(served("GET /account"), 2 * buyers);
    assert_eq!(served("GET /login"), 0);
    for (tag, count) in [
        ("phase=load", 2 * buyers),
        ("scenario=buyers", 2 * buyers),
        ("scenario=readers", 3 * readers),
    ] {
        let figures = &row(&report, "by_tag", "tag", tag)["aggregated"];
        assert_eq!(figures["count"], count, "{tag}");
    }
    for (check, passes) in [("is the shop", readers), ("has a session", buyers)] {
        let check = row(&report, "checks", "name", check);
        assert_eq!(check["passes"], passes, "{check}");
        assert_eq!(check["failures"], 0, "{check}");
    }

    let limits = report.json["thresholds"].as_array().expect("a list");
    assert_eq!(limits.len(), 3);
    let held = limits.iter().all(|limit| limit["passed"] == true);
    assert_eq!(report.ended.code, i32::from(!held), "{limits:?}");
    let cart = row(&report, "thresholds", "name", "phase=load, GET cart");
    assert!(cart["value"].is_number(), "{cart}");
    let limit = row(&report, "thresholds", "name", "scenario=buyers");
    let summary: Value = serde_json::from_str(&carried.written("summary.json")).expect("JSON");
    assert_eq!(summary["requests"], report.total("count"));
    assert_eq!(summary["buyers_p95_ms"], limit["value"]);
    assert_eq!(summary["fast_enough"], limit["passed"]);
}

#[test]
fn a_locustfile_keeps_nested_task_sets_shared_orders_and_its_own_verdict_on_answers() {
    let shop = Shop::start();
    let carried = Carried::new("locust_tasksets.lua", "from_locust", &[]);
    let brief = ["-t", "2s", "-r", "100", "--wait-factor", "0.05"];
    let report = carried.run(&[&["-H", &shop.url, "--seed", "7"], &brief[..]].concat());
    assert_eq!(report.ended.code, 0, "{}", report.ended.stderr);
    let users = report.scenario_users();
    assert_eq!((users["Customer"], users["Warehouse"]), (4, 1));

    let served = shop.served(&report);
    assert_eq!(served("POST /api/login"), 5);
    assert_eq!(served("GET /api/products"), report.task("Shop").0);
    assert_eq!(served("GET /"), report.task("front page").0);
    assert_eq!(served("GET /api/products/%"), report.count("GET product"));
    // What one user ordered another cancels, once, and looks for it in vain, which is a success here.
    let (ordered, cancelled) = (report.count("POST order"), report.count("DELETE cancel"));
    assert!(0 < cancelled && cancelled <= ordered, "{:?}", report.rows());
    assert_eq!(served("POST /api/orders"), ordered);
    assert_eq!(served("DELETE /api/orders/%"), cancelled);
    assert_eq!(served("GET /api/orders/%"), cancelled);
    assert_eq!(report.count("GET cancelled"), cancelled);
    let warehouse = &row(&report, "by_tag", "tag", "scenario=Warehouse")["aggregated"];
    assert_eq!(warehouse["count"], 1 + 2 * cancelled);
}

#[test]
fn a_goose_test_keeps_its_sequence_and_one_token_for_all_until_it_expires() {
    for (lifetime, folder) in [("1h", "from_goose"), ("1ms", "from_goose_expired")] {
        let shop = Shop::start();
        let lifetime_of_plan = [("\"5s\"", &*format!("\"{lifetime}\""))];
        let carried = Carried::new("goose_token.lua", folder, &lifetime_of_plan);
        let brief = ["-u", "10", "-r", "1000", "-i", "3", "--wait-factor", "0.01"];
        let report = carried.run(&[&["-H", &shop.url], &brief[..]].concat());
        assert_eq!(report.ended.code, 0, "{}", report.ended.stderr);
        let served = shop.served(&report);
        // In each iteration two looks, then an order, then its end: one that came first would fail.
        assert_eq!(served("GET /api/products/%"), 60);
        assert_eq!(served("POST /api/orders"), 30);
        assert_eq!(served("DELETE /api/orders/%"), 30);
        let logins = served("POST /api/login");
        match lifetime {
            "1h" => assert_eq!(logins, 1),
            _ => assert!((2..=60).contains(&logins), "{logins}"),
        }
    }
}

#[test]
fn a_script_for_wrk_keeps_the_summary_of_all_threads_that_it_writes_when_done() {
    let shop = Shop::start();
    let carried = Carried::new("wrk_done.lua", "from_wrk", &[]);
    let brief = ["-u", "4", "-i", "100", "--threads", "2", "--seed", "7"];
    let file = ["-H", &shop.url, "-e", "SUMMARY=wrk.txt"];
    let report = carried.run(&[&file[..], &brief].concat());
    assert_eq!(report.ended.code, 0, "{}", report.ended.stderr);
    assert_eq!(shop.served(&report)("GET /api/products/%"), 400);
    let missing = &row(&report, "metrics", "name", "missing")["value"];
    let missing = missing.as_f64().expect("a number");
    let codes = &row(&report, "requests", "name", "product")["status"];
    assert_eq!(codes["404"].as_f64(), Some(missing), "{codes}");
    let line = carried.written("wrk.txt");
    assert!(line.starts_with("400 requests in "), "{line}");
    assert!(line.ends_with(&format!(", {missing} missing\n")), "{line}");
}
