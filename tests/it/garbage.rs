//! Memory of a user that earlier iterations have left to the collector: it is no reason to refuse anything.

use crate::faulty::{Site, answer};
use crate::program::plan;
use crate::report::run;

/// Uploads and pages of which one fits into the memory of a user, and two do not. Fetching pages comes last, as nothing
/// Uploads and pages of which one fits into the memory of a user, and two do not.
#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn what_fits_once_fits_in_every_iteration() {
    let page = "<p><b>text</b></p>".repeat(75_000);
    let site = Site::start(move |asked| match &*asked.path {
        "/page" => answer(200, "Content-Type: text/html\r\n", &page),
        _ => answer(200, "", "ok"),
    });
    let path = plan(
        "garbage.lua",
        "scenario { 'uploads', task { function(user) user:post('/', ('z'):rep(22 << 20)) end } }\n\
         scenario { 'pages', task { function(user)\n assert(#user:get('/page'):css 'b' == 75000) end } }",
    );
    let url = site.url();
    let fixed = "-u 2 -i 8 --lua-time 20s --fail-on-error";
    let arguments = [&*path, "-H", &url].into_iter().chain(fixed.split(' '));
    let report = run(arguments);
    assert_eq!(report.json["errors"], serde_json::json!([]));
    assert_eq!(report.ended.code, 0, "{}", report.ended.stderr);
}
