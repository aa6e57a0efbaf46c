//! Tags of requests: what reports tell apart by them, and thresholds choose by.

use crate::program::{Lgoose, plan};
use crate::report::run;
use crate::server::Server;
use serde_json::Value;

/// Two scenarios that ask for pages of one name, with tags of every origin.
const PLAN: &str = "
  plan { tags = { build = 'b7' }, iterations = 2 }
  scenario { 'readers', tags = { kind = 'free' },
    task { 'front', tags = { 'smoke', page = 'front' }, function(user) user:get '/' end },
    task { 'cart', function(user) user:get('/cart', { name = 'front', tags = { kind = 'odd' } }) end } }
  scenario { 'buyers', tags = { kind = 'paid' },
    task { 'front', function(user)
      user:get '/'
      user.tags.region = user.id == 2 and 'us' or nil
      user:transaction('pay', { tags = { phase = 'load', build = 2 } }, function()
        user:fetch { '/a', '/b' }
      end)
      user:get '/'
      assert(user.tags.region == (user.id == 2 and 'us' or nil))
      user.tags.region = nil
    end } }";

/// Returns the tag's count, and those of each of its names.
fn tagged(report: &Value, tag: &str) -> (u64, Vec<(String, u64)>) {
    let rows = report["by_tag"].as_array().expect("there are tags");
    let row = rows.iter().find(|row| row["tag"] == tag);
    let row = row.unwrap_or_else(|| panic!("no {tag} in {rows:?}"));
    let names = row["requests"].as_array().expect("rows of names").iter();
    let names = names.map(|name| {
        let full = format!(
            "{} {}",
            name["method"].as_str().unwrap_or(""),
            name["name"].as_str().unwrap_or("")
        );
        (full, name["count"].as_u64().unwrap_or(0))
    });
    (
        row["aggregated"]["count"].as_u64().unwrap_or(0),
        names.collect(),
    )
}

#[test]
fn requests_of_one_name_are_told_apart_by_scenario_and_tag() {
    let server = Server::start();
    let url = server.url();
    let path = plan("tags.lua", PLAN);
    let report = run([&path, "-H", &url, "-u", "2", "--threads", "2"]);
    assert_eq!(report.ended.code, 0, "{}", report.ended.stderr);
    let json = &report.json;
    let names = |list: &[(&str, u64)]| -> Vec<(String, u64)> {
        list.iter()
            .map(|(name, count)| ((*name).to_owned(), *count))
            .collect()
    };
    // Each user makes two iterations: a reader two requests in each, a buyer four.
    let by_tag: Vec<&str> = json["by_tag"]
        .as_array()
        .expect("tags")
        .iter()
        .filter_map(|row| row["tag"].as_str())
        .collect();
    assert_eq!(
        by_tag,
        [
            "build=2",
            "build=b7",
            "kind=free",
            "kind=odd",
            "kind=paid",
            "page=front",
            "phase=load",
            "region=us",
            "scenario=buyers",
            "scenario=readers",
        ]
    );
    assert_eq!(
        tagged(json, "scenario=readers"),
        (4, names(&[("GET front", 4)]))
    );
    assert_eq!(
        tagged(json, "scenario=buyers"),
        (8, names(&[("GET front", 8)]))
    );
    assert_eq!(tagged(json, "kind=free"), (2, names(&[("GET front", 2)])));
    assert_eq!(tagged(json, "kind=odd"), (2, names(&[("GET front", 2)])));
    assert_eq!(tagged(json, "phase=load").0, 4, "both in the transaction");
    assert_eq!(tagged(json, "build=2").0, 4, "the transaction's wins");
    assert_eq!(tagged(json, "build=b7").0, 8);
    assert_eq!(
        tagged(json, "region=us").0,
        6,
        "from where the plan sets it"
    );
    assert_eq!(json["aggregated"]["count"], 12);
    assert_eq!(server.received(), 12);
    let [front] = &json["requests"].as_array().expect("rows")[..] else {
        panic!("one name is one row: {}", json["requests"]);
    };
    assert_eq!(front["count"], 12);
}

#[test]
fn thresholds_choose_by_tags_and_names() {
    let server = Server::start();
    let url = server.url();
    let source = PLAN.replace(
        "iterations = 2",
        "iterations = 2, thresholds = {
           ['scenario=buyers'] = 'count >= 8', ['scenario=readers, GET front'] = { 'count < 4', 'failures < 1%' },
           ['kind=paid, phase=load'] = { 'p95 < 60s', 'count < 5' }, ['kind=paid,region=eu'] = 'count < 1',
           ['scenario=buyers, GET front'] = 'tls p95 < 1s',
         }",
    );
    let path = plan("tags_thresholds.lua", &source);
    let report = run([&path, "-H", &url, "-u", "2"]);
    assert_eq!(report.ended.code, 1);
    let rows = report.json["thresholds"].as_array().expect("thresholds");
    let mut seen: Vec<String> = rows
        .iter()
        .map(|row| {
            let name = row["name"].as_str().unwrap_or("");
            let shown = row["threshold"].as_str().unwrap_or("");
            let counts = shown.contains("count");
            let value = counts.then(|| row["value"].as_f64()).flatten();
            format!("{name}: {shown}: {value:?} {}", row["passed"])
        })
        .collect();
    seen.sort();
    assert_eq!(seen.len(), 7, "{seen:#?}");
    let has = |text: &str| {
        assert!(
            seen.iter().any(|row| row.contains(text)),
            "{text} in {seen:#?}"
        )
    };
    has("scenario=buyers: count >= 8: Some(8.0) true");
    has("count < 4: Some(4.0) false");
    has("count < 5: Some(4.0) true");
    has("count < 1: None false");
    has("p95 < 60s: None true");
    let warnings = report.json["warnings"].to_string();
    assert!(
        warnings.contains("no request had the tag 'region=eu'; did you mean 'region=us'?"),
        "{warnings}"
    );
    assert!(
        warnings.contains("no request named 'GET front' with all of these tags had a phase 'tls'"),
        "{warnings}"
    );
}

#[test]
fn a_scenario_alone_has_its_name_where_a_threshold_wants_it() {
    let server = Server::start();
    let url = server.url();
    let path = plan(
        "tags_alone.lua",
        "scenario { 'only', task { function(user) user:get '/' end } }",
    );
    let asked = ["-H", &url, "-u", "1", "-i", "3"];
    let report = run([&[path.as_str()], &asked[..]].concat());
    assert_eq!(
        report.json.get("by_tag"),
        None,
        "there is nothing to tell apart"
    );
    let threshold = ["--threshold", "scenario=only: count > 2"];
    let report = run([&[path.as_str()], &asked[..], &threshold].concat());
    assert_eq!(report.ended.code, 0, "{}", report.ended.stdout);
    assert_eq!(tagged(&report.json, "scenario=only").0, 3);
}

#[test]
fn tasks_are_chosen_by_named_tags_too() {
    let server = Server::start();
    let url = server.url();
    let path = plan("tags_chosen.lua", PLAN);
    run([&path, "-H", &url, "-u", "1", "--tags", "page=front"]);
    assert_eq!(server.received(), 2, "the task with that tag alone");
    run([
        &path,
        "-H",
        &url,
        "-u",
        "1",
        "--exclude-tags",
        "page=front,kind=paid",
    ]);
    assert_eq!(server.received(), 4, "the other task of the same scenario");
}

#[test]
fn an_id_in_a_tag_fills_no_memory_and_is_told() {
    let server = Server::start();
    let url = server.url();
    let path = plan(
        "tags_many.lua",
        "task { function(user) user:get('/', { tags = { id = user.iteration } }) end }",
    );
    let report = run([&path, "-H", &url, "-u", "1", "-i", "700", "--threads", "1"]);
    assert_eq!(report.ended.code, 0, "{}", report.ended.stderr);
    let rows = report.json["by_tag"].as_array().expect("tags");
    assert_eq!(rows.len(), 101);
    let sum: u64 = rows
        .iter()
        .filter_map(|row| row["aggregated"]["count"].as_u64())
        .sum();
    assert_eq!(
        (sum, &report.json["aggregated"]["count"]),
        (700, &Value::from(700))
    );
    let warnings = report.json["warnings"].to_string();
    for told in [
        "too many tags: beyond 100 values of a tag",
        "tags have too many values",
        "keep ids out of tags",
    ] {
        assert!(warnings.contains(told), "{told} in {warnings}");
    }
}

#[test]
fn bad_tags_are_refused_where_they_are() {
    let server = Server::start();
    let url = server.url();
    for (options, told) in [
        ("{ tags = 'eu' }", "option 'tags' must be a table such as"),
        (
            "{ tags = { 'eu' } }",
            "option 'tags' must be a table such as",
        ),
        (
            "{ tags = { ['a b'] = 1 } }",
            "'a b' is not a name for a tag",
        ),
        (
            "{ tags = { a = {} } }",
            "the tag 'a' must be a string, a number or a boolean",
        ),
        ("{ tags = { a = 'x,y' } }", "without commas"),
        (
            "{ tags = { scenario = 'x' } }",
            "the tag 'scenario' is set by lgoose",
        ),
    ] {
        let path = plan(
            "tags_bad.lua",
            &format!("task {{ function(user) user:get('/', {options}) end }}"),
        );
        let ended = Lgoose::new([&path, "-H", &url, "--once"]).finish();
        assert!(ended.stdout.contains(told), "{options}: {}", ended.stdout);
    }
}

#[test]
fn a_scenario_has_variables_and_thresholds_of_its_own() {
    let server = Server::start();
    let url = server.url();
    let path = plan(
        "tags_own.lua",
        "scenario { 'a', env = { WORD = 'hello', TIMES = 2 }, thresholds = { 'count >= 6', ['GET last'] = 'count < 2' },
           task { function(user)
             for _ = 1, env('TIMES') do user:get('/' .. env('WORD', 'none')) end
             user:get('/last', { name = 'last' })
           end } }
         scenario { 'b', task { function(user) user:get('/' .. env('WORD', 'none')) end } }",
    );
    let report = run([&path, "-H", &url, "-u", "2", "-i", "2", "-e", "WORD=other"]);
    assert_eq!(report.ended.code, 1);
    let count = |path| server.count(path);
    assert_eq!(
        (count("GET /hello"), count("GET /other"), count("GET /last")),
        (4, 2, 2)
    );
    let rows = report.json["thresholds"]
        .as_array()
        .expect("thresholds")
        .iter();
    let rows: Vec<_> = rows
        .map(|row| {
            (
                row["threshold"].as_str(),
                row["value"].as_f64(),
                row["passed"].as_bool(),
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            (Some("count >= 6"), Some(6.0), Some(true)),
            (Some("count < 2"), Some(2.0), Some(false)),
        ]
    );
}

#[test]
fn the_log_of_requests_has_their_tags() {
    let server = Server::start();
    let url = server.url();
    let path = plan("tags_log.lua", PLAN);
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("requests.jsonl");
    let log = log.to_string_lossy();
    let report = run([&path, "-H", &url, "-u", "2", "--request-log", &log]);
    assert_eq!(report.ended.code, 0, "{}", report.ended.stderr);
    let lines = std::fs::read_to_string(&*log).expect("a log");
    let lines = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    // How often each combination comes, in the order of the alphabet.
    let mut counts = std::collections::BTreeMap::<String, u64>::new();
    for line in lines {
        let scenario = line["scenario"].as_str().unwrap_or("?");
        let tags = line["tags"].as_str().unwrap_or("none");
        *counts.entry(format!("{scenario}: {tags}")).or_default() += 1;
    }
    let counts: Vec<(&str, u64)> = counts.iter().map(|(text, n)| (&**text, *n)).collect();
    assert_eq!(
        counts,
        [
            ("buyers: build=2, kind=paid, phase=load, region=us", 4),
            ("buyers: build=b7, kind=paid", 2),
            ("buyers: build=b7, kind=paid, region=us", 2),
            ("readers: build=b7, kind=free, page=front", 2),
            ("readers: build=b7, kind=odd", 2),
        ]
    );
}

#[test]
fn the_tags_of_a_transaction_belong_to_the_coroutine_that_began_it() {
    let server = Server::start();
    let url = server.url();
    let path = plan(
        "tags_coroutine.lua",
        "task { function(user)
           local co = coroutine.create(function()
             user:transaction('inner', { tags = { inner = 'yes' } }, function()
               user:get('/a', { name = 'a' })
               coroutine.yield()
               user:get('/b', { name = 'b' })
             end)
             user:get('/c', { name = 'c' })
             coroutine.yield()
           end)
           coroutine.resume(co)
           user:get('/beside', { name = 'beside' })
           user:transaction('outer', { tags = { outer = 'yes' } }, function()
             coroutine.resume(co)
             user:get('/after', { name = 'after' })
           end)
           user:get('/last', { name = 'last' })
           local function deeper(n)
             user:transaction('deep', { tags = { deep = n } }, function() deeper(n + 1) end)
           end
           local ok, problem = pcall(deeper, 1)
           assert(problem:find ':19: a user may be in 100 transactions with tags at a time$', problem)
         end }",
    );
    let report = run([&path, "-H", &url, "-u", "1", "-i", "1"]);
    let errors = report.errors();
    let is_due = |error: &String| error.contains("task deep: a user may be in 100 transactions");
    assert!(errors.iter().all(is_due), "{errors:?}");
    assert_eq!(report.iterations(), 1, "{errors:?}");
    let names = |tag| -> Vec<String> {
        let (_, rows) = tagged(&report.json, tag);
        rows.into_iter().map(|(name, _)| name).collect()
    };
    let mut inner = names("inner=yes");
    inner.sort();
    assert_eq!(inner, ["GET a", "GET b"]);
    let mut outer = names("outer=yes");
    outer.sort();
    assert_eq!(outer, ["GET after", "GET b", "GET c"]);
}

#[test]
fn thresholds_choose_checks_and_metrics_by_the_tags_of_their_task() {
    let server = Server::start();
    let url = server.url();
    let run_with = |thresholds: &str| {
        let text = format!(
            r#"plan {{ iterations = 4, thresholds = {{ {thresholds} }} }}
            local size, orders = metric.trend "size", metric.counter "orders"
            task {{ "write", tags = {{ kind = "write" }}, function(user)
              user:get "/"
              check(true, "half")
              size:add(100)
              user.tags.region = "eu"
              orders:add(1)
              user.tags.region = nil
            end }}
            task {{ "read", tags = {{ kind = "read" }}, function(user)
              user:get "/"
              check(user.iteration % 2 == 0, "half")
              check(true, "other")
              size:add(10)
              orders:add(1)
            end }}"#
        );
        let path = plan("tagged_checks.lua", &text);
        run([&path, "-H", &url, "-u", "1", "--request-names", "path"])
    };
    let kept = [
        "['kind=write'] = 'checks > 99%'",
        "['kind=read'] = { 'checks > 70%', 'failures < 1%' }",
        "['kind=read, checks'] = 'failures < 3'",
        "['kind=read, check half'] = 'checks > 49%'",
        "['kind=read, half'] = 'failures <= 2'",
        "['kind=read, metric size'] = 'p95 < 15'",
        "['kind=write, size'] = 'min > 99'",
        "['region=eu, orders'] = 'count >= 4'",
        "['scenario=default'] = 'checks > 80%'",
        "['half'] = 'checks > 70%'",
    ];
    let report = run_with(&kept.join(", "));
    assert_eq!(report.ended.code, 0, "{}", report.ended.stderr);
    let names = |list: &str| -> Vec<String> {
        let rows = report.json[list].as_array().expect("there are some");
        let names = rows.iter().map(|row| row["name"].as_str().unwrap_or(""));
        names.map(str::to_owned).collect()
    };
    let mut checks = names("checks");
    checks.sort();
    assert_eq!(checks, ["half", "other"], "no table shows them twice");
    assert_eq!(names("metrics").len(), 2);
    for (broken, said) in [
        (
            "['kind=read, check half'] = 'checks > 60%'",
            "is broken: 50.0%",
        ),
        ("['kind=read'] = 'checks > 80%'", "is broken: 75.0%"),
        ("['region=eu, orders'] = 'count < 4'", "is broken: 4"),
        ("['kind=odd'] = 'checks > 1%'", "has no data"),
    ] {
        let report = run_with(broken);
        assert_eq!(report.ended.code, 1, "{broken}: {}", report.ended.stderr);
        assert!(
            report.ended.stderr.contains(said),
            "{broken}: {}",
            report.ended.stderr
        );
    }
}
