//! Plans whose requests and responses take memory beside their bodies: heads, URLs, tags, what waits for a verdict.

use crate::faulty::{Act, Asked, Site, answer};
use crate::hostile::{more_than_empty, watch};
use crate::program::{plan, scratch};
use crate::report::saved;

/// The memory that a user may hold here, a quarter of the default, so that a quarter of the work goes beyond it.
const MEMORY: &str = "16MiB";
/// The most memory that a run may take beside an empty one, in bytes; what the code of a test asks for is more. On a busy
/// machine, what is freed goes back late.
const MOST: u64 = 160 << 20;

/// Runs two iterations of two users, of whom one runs that code; returns the report.
fn contained(
    name: &str,
    task: &str,
    site: impl Fn(&Asked) -> Vec<Act> + Send + Sync + 'static,
) -> serde_json::Value {
    let site = Site::start(site);
    let source = format!(
        "task {{ function(user) user:get '/' if user.id ~= 1 then return end\n{task}\nend }}"
    );
    let path = plan(&format!("{name}.lua"), &source);
    let report = scratch(&format!("{name}.json"));
    let (peak, code) = watch(&path, &site.url(), &report, &["--lua-memory", MEMORY]);
    assert!(matches!(code, Some(0 | 1)), "{code:?}");
    let more = more_than_empty(peak);
    assert!(more < MOST, "{} MiB more than an empty run", more >> 20);
    saved(&report)
}

fn small(_: &Asked) -> Vec<Act> {
    answer(200, "", "small")
}

fn assert_has_error(report: &serde_json::Value, told: &str) {
    let errors = report["errors"].to_string();
    assert!(errors.contains(told), "{errors}");
}

#[test]
fn heads_that_are_fetched_take_no_more_than_a_user_may_hold() {
    let fields = (0..100).map(|n| format!("x-{n}: {}\r\n", "v".repeat(2000)));
    let head = fields.collect::<String>();
    let report = contained(
        "fetched_heads",
        "local urls = {} for n = 1, 1000 do urls[n] = '/large' .. n end user:fetch(urls)",
        move |asked| {
            if asked.path.starts_with("/large") {
                answer(200, &head, "small")
            } else {
                small(asked)
            }
        },
    );
    assert_has_error(&report, "not enough memory");
    assert_eq!(report["aggregated"]["count"], 2 * 1000 + 4);
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn long_urls_of_responses_that_are_kept_count_as_memory_of_their_user() {
    let report = contained(
        "kept_urls",
        "local kept = {} for n = 1, 5000 do kept[n] = user:get('/' .. n .. ('x'):rep(60000)) end",
        small,
    );
    assert_has_error(&report, "not enough memory");
}

#[test]
fn requests_that_wait_for_a_verdict_count_as_memory_of_their_user() {
    let report = contained(
        "judged_headers",
        "local s, kept = ('x'):rep(60000), {}\n\
         for n = 1, 1500 do kept[n] = user:get('/', { headers = { x = s .. n } }) kept[n]:pass() end",
        small,
    );
    assert_has_error(&report, "not enough memory");
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn bodies_of_requests_that_wait_for_a_verdict_are_not_kept() {
    let report = contained(
        "judged_bodies",
        "local s, kept = ('x'):rep(300000), {}\n\
         for n = 1, 700 do\n\
           kept[n] = user:post('/', nil, { json = { x = s, y = { 1, 2 }, n = n } }) kept[n]:pass()\n\
         end",
        small,
    );
    assert_eq!(report["errors"], serde_json::json!([]));
}

#[test]
fn long_reasons_of_failed_requests_are_cut_for_good() {
    contained(
        "judged_reasons",
        "local s, kept = ('x'):rep(1 << 20), {}\n\
         for n = 1, 300 do kept[n] = user:get '/' kept[n]:fail(n .. s) end",
        small,
    );
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn requests_share_the_tags_that_they_are_given() {
    for (name, task) in [
        (
            "tags_of_fetch",
            "for n, v in next, t do user.tags[n] = v end\n\
             local urls = {} for n = 1, 10000 do urls[n] = '/' .. n end user:fetch(urls, { name = 'n' })",
        ),
        (
            "tags_of_batch",
            "local all = {} for n = 1, 10000 do all[n] = { path = '/' .. n, name = 'n', tags = t } end user:batch(all)",
        ),
    ] {
        let tags = "local t = {} for n = 1, 100 do t[('k'):rep(90) .. n] = ('v'):rep(90) end\n";
        contained(name, &format!("{tags}{task}"), small);
    }
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn transactions_of_coroutines_that_are_left_end_with_them() {
    contained(
        "left_transactions",
        "local t = {} for n = 1, 100 do t[('k'):rep(90) .. n] = ('v'):rep(90) end\n\
         for _ = 1, 10 do\n\
           for _ = 1, 600 do\n\
             coroutine.wrap(function() user:transaction('t', { tags = t }, coroutine.yield) end)()\n\
           end\n\
           user:wait(0.001)\n\
         end\n\
         user:get '/'",
        small,
    );
}
