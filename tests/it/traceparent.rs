//! `--trace`: the header that sites receive, over each version of HTTP, after redirects and beside a plan's own.

use crate::faulty::{Act, Asked, Site, answer};
use crate::http2_site::Http2;
use crate::program::{Lgoose, plan};
use crate::report::{Report, run};
use std::collections::BTreeSet;

/// A `traceparent` as a site reads it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Context {
    trace: String,
    span: String,
    sampled: bool,
}

/// Reads a header, which has to be as the standard says.
fn context(value: &str) -> Context {
    let parts: Vec<&str> = value.split('-').collect();
    let [version, trace, span, flags] = parts[..] else {
        panic!("'{value}' has four parts");
    };
    let digits = |text: &str| text.bytes().all(|byte| b"0123456789abcdef".contains(&byte));
    assert!(version == "00" && digits(trace) && digits(span), "{value}");
    assert_eq!((trace.len(), span.len()), (32, 16), "{value}");
    assert!(trace.bytes().any(|byte| byte != b'0'), "{value}");
    assert!(span.bytes().any(|byte| byte != b'0'), "{value}");
    assert!(["00", "01"].contains(&flags), "{value}");
    Context {
        trace: trace.to_owned(),
        span: span.to_owned(),
        sampled: flags == "01",
    }
}

fn contexts(asked: &[Asked]) -> Vec<Context> {
    let headers = asked.iter().map(|asked| asked.header("traceparent"));
    headers.map(context).collect()
}

/// Runs the plan of that task at a site with these options.
fn visit(name: &str, site: &Site, body: &str, options: &[&str]) -> Report {
    let path = plan(name, &format!("task {{ function(user)\n{body}\nend }}"));
    let (url, own) = (site.url(), [path.as_str(), "-r", "1000"]);
    run(own.iter().chain(&["-H", &url]).chain(options))
}

fn good() -> Site {
    Site::start(|asked| match asked.path.as_str() {
        "/away" => answer(302, "location: /there\r\n", ""),
        "/there" => answer(302, "location: /here\r\n", ""),
        _ => answer(200, "", "good"),
    })
}

/// A `traceparent` that plans here set.
const OWN: &str = "00-00000000000000000000000000000abc-0000000000000def-01";

#[test]
fn every_request_has_a_trace_of_its_own_and_none_without_the_flag() {
    let site = good();
    let body = "user:get('/', { name = 'a' })\nuser:get('/b', { headers = { ['X-Own'] = '1' } })\n\
        user:fetch { '/c', '/d' }";
    let users = ["-u", "4", "-i", "50"];
    visit(
        "trace_on.lua",
        &site,
        body,
        &[&users[..], &["--trace"]].concat(),
    );
    let all = contexts(&site.asked());
    assert_eq!(all.len(), 4 * 50 * 4);
    let traces: BTreeSet<_> = all.iter().map(|one| &one.trace).collect();
    let spans: BTreeSet<_> = all.iter().map(|one| &one.span).collect();
    assert_eq!((traces.len(), spans.len()), (all.len(), all.len()));
    assert!(all.iter().all(|one| one.sampled));

    let site = good();
    visit("trace_off.lua", &site, body, &users);
    let asked = site.asked();
    assert_eq!(asked.len(), all.len());
    assert!(
        asked
            .iter()
            .all(|asked| asked.header("traceparent").is_empty())
    );
}

#[test]
fn the_share_that_is_sampled_is_that_which_was_asked_for() {
    let body = "for n = 1, 100 do user:get('/', { name = 'a' }) end";
    // Ten standard deviations and more: wrong once in 10^22 runs.
    for (share, expected) in [("25%", 260..=740), ("0", 0..=0), ("1", 2_000..=2_000)] {
        let site = good();
        let options = ["-u", "4", "-i", "5", "--trace-sample", share];
        visit("trace_sample.lua", &site, body, &options);
        let all = contexts(&site.asked());
        let sampled = all.iter().filter(|one| one.sampled).count();
        assert_eq!(all.len(), 2_000, "{share}");
        assert!(expected.contains(&sampled), "{share}: {sampled}");
    }
}

#[test]
fn a_plan_makes_the_same_requests_with_and_without_traces_and_each_run_has_others() {
    let body = "user:get('/' .. random.int(1, 1000000), { name = 'a' })\nuser:wait(random.int(1, 3) / 1000)";
    let requests = |name: &str, options: &[&str]| {
        let site = good();
        let own = ["-u", "3", "-i", "30", "--seed", "7"];
        visit(name, &site, body, &[&own[..], options].concat());
        let asked = site.asked();
        let mut paths: Vec<String> = asked.iter().map(|asked| asked.path.clone()).collect();
        paths.sort();
        (paths, asked)
    };
    let (plain, _) = requests("trace_seed_off.lua", &[]);
    let (first, one) = requests("trace_seed_on.lua", &["--trace"]);
    let (second, other) = requests("trace_seed_again.lua", &["--trace"]);
    assert_eq!(plain.len(), 90);
    assert_eq!((&plain, &plain), (&first, &second));
    let traces = [contexts(&one), contexts(&other)].concat();
    let different: BTreeSet<_> = traces.iter().map(|one| &one.trace).collect();
    assert_eq!(different.len(), 180, "a seed decides no trace");
}

#[test]
fn hops_after_redirects_have_spans_of_their_own_in_one_trace() {
    let site = good();
    let failing = "user:get('/away', { name = 'a', expect = { status = 404 } })";
    let report = visit(
        "trace_hops.lua",
        &site,
        failing,
        &["-u", "1", "-i", "1", "--trace"],
    );
    let hops = contexts(&site.asked());
    assert_eq!(hops.len(), 3);
    let traces: BTreeSet<_> = hops.iter().map(|hop| &hop.trace).collect();
    let spans: BTreeSet<_> = hops.iter().map(|hop| &hop.span).collect();
    assert_eq!((traces.len(), spans.len()), (1, 3));
    let trace = &report.json["errors"][0]["exemplars"][0]["trace"];
    assert_eq!(trace["trace_id"], hops[0].trace);
    assert_eq!(trace["span_id"], hops[0].span);
    assert_eq!(trace["sampled"], true);
    let told: Vec<_> = trace["hops"].as_array().expect("a list").iter().collect();
    assert_eq!(told.len(), 2);
    assert_eq!(
        (&told[0]["span_id"], &told[1]["span_id"]),
        (&hops[1].span.as_str().into(), &hops[2].span.as_str().into())
    );
    assert!(told[0]["start_ns"].as_u64() < told[1]["start_ns"].as_u64());
}

#[test]
fn a_header_of_the_plan_is_kept_and_what_it_says_is_recorded() {
    let site = good();
    let body = format!(
        "user:get('/away', {{ name = 'own', headers = {{ traceparent = '{OWN}' }}, expect = {{ status = 404 }} }})\n\
         user:get('/mine', {{ name = 'odd', headers = {{ Traceparent = 'mine' }}, expect = {{ status = 404 }} }})\n\
         user:set_header('traceparent', '{OWN}')\n\
         user:get('/user', {{ name = 'user', expect = {{ status = 404 }} }})"
    );
    let report = visit(
        "trace_own.lua",
        &site,
        &body,
        &["-u", "1", "-i", "1", "--trace"],
    );
    for asked in site.asked() {
        let expected = if asked.path == "/mine" { "mine" } else { OWN };
        let all = asked.head.to_lowercase().matches("traceparent").count();
        assert_eq!(
            (asked.header("traceparent"), all),
            (expected, 1),
            "{}",
            asked.head
        );
    }
    let errors = report.json["errors"].as_array().expect("a list");
    let traced: Vec<_> = errors
        .iter()
        .map(|row| (row["name"].as_str(), &row["exemplars"][0]["trace"]))
        .collect();
    assert_eq!(traced.len(), 3);
    for (name, trace) in traced {
        match name {
            Some("GET odd") => assert!(trace.is_null(), "{trace}"),
            _ => assert_eq!(trace["trace_id"], "00000000000000000000000000000abc"),
        }
    }
}

#[test]
fn a_request_that_got_no_answer_is_found_by_its_trace_too() {
    let site = Site::start(|_| vec![Act::Reset]);
    let body = "user:get('/', { name = 'a' })";
    let report = visit(
        "trace_reset.lua",
        &site,
        body,
        &["-u", "1", "-i", "1", "--trace"],
    );
    let trace = &report.json["errors"][0]["exemplars"][0]["trace"];
    assert_eq!(trace["trace_id"], contexts(&site.asked())[0].trace);
}

#[test]
fn requests_over_http_2_have_traces() {
    let site = Http2::start(None);
    let body = "task { function(user)\nfor n = 1, 20 do user:get('/empty', { name = 'a' }) end\n\
        user:get('/empty', { name = 'own', headers = { traceparent = '";
    let path = plan("trace_http2.lua", &format!("{body}{OWN}' }} }})\nend }}"));
    let url = site.url("http");
    let own = [
        &*path, "-H", &url, "-u", "1", "-i", "1", "--http", "2", "--trace",
    ];
    let report = run(own);
    assert_eq!(report.errors(), Vec::<String>::new());
    let requests = site.requests();
    assert_eq!(requests.len(), 21);
    let mut seen = BTreeSet::new();
    for (_, headers) in &requests {
        let all: Vec<_> = headers.get_all("traceparent").iter().collect();
        assert_eq!(all.len(), 1, "{headers:?}");
        seen.insert(context(all[0].to_str().expect("text")));
    }
    assert_eq!(seen.len(), 21);
    assert!(seen.contains(&context(OWN)));
}

#[test]
fn once_shows_the_trace_of_each_request() {
    let site = good();
    let path = plan(
        "trace_once.lua",
        "task { function(user) user:get('/away', { name = 'a' }) end }",
    );
    let url = site.url();
    let shown = |more: &[&str]| {
        let own = [&*path, "-H", &url, "--once", "--trace"];
        Lgoose::new(own.iter().chain(more)).finish().stderr
    };
    let (plain, whole) = (shown(&[]), shown(&["--http-debug"]));
    let contexts = contexts(&site.asked());
    let [first, second] = [&contexts[0], &contexts[3]];
    assert!(plain.contains(&format!("trace {}", first.trace)), "{plain}");
    let header = format!("> traceparent: 00-{}-{}-01", second.trace, second.span);
    assert!(whole.contains(&header), "{whole}");
}
