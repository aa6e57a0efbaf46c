//! The plan's functions for requests and for the report: what they see, and what becomes of what they return.

use crate::program::{Lgoose, empty_folder, in_repository};
use crate::report::{read, run};
use crate::server::Server;
use std::path::{Path, PathBuf};

/// Makes a folder with these files.
fn folder(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let folder = empty_folder(name);
    for (file, text) in files {
        std::fs::write(folder.join(file), text).expect("it takes a file");
    }
    folder
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn each_request_is_seen_once_it_is_counted_and_the_report_at_the_end() {
    let of = |file: &str| text(&in_repository("tests/lua").join(file));
    let (plan, test) = (of("hooks.lua"), of("test.lua"));
    let folder = folder("hooks", &[("hooks.lua", &plan), ("test.lua", &test)]);
    let server = Server::start();
    let plan = folder.join("hooks.lua").display().to_string();
    let url = server.url();
    let flags = [
        "-H",
        &url,
        "-u",
        "1",
        "-i",
        "1",
        "--fail-on-error",
        "-e",
        "LGOOSE_NO=1",
    ];
    let report = run([plan.as_str()].into_iter().chain(flags));
    assert_eq!(report.task_failures(), 0, "{}", report.errors().join("\n"));
    let warnings = report.json["warnings"].to_string();
    assert!(!warnings.contains("on("), "{warnings}");
    assert_eq!(report.ended.code, 1, "{}", report.ended.stderr);
    assert_eq!(report.total("count"), 6);
    // That of 'test_start' is seen, too.
    let seen = &report.json["metrics"].as_array().expect("two metrics")[..];
    let seen = seen
        .iter()
        .find(|row| row["name"] == "seen")
        .expect("a counter");
    assert_eq!(seen["count"], 7, "{seen}");
    let summary = text(&folder.join("summary.txt"));
    assert!(
        summary.contains("GET judged: 1\n") && summary.contains("GET beside: 2\n"),
        "{summary}"
    );
    assert_eq!(text(&folder.join("count.txt")), "6");
}

/// Runs one iteration of a plan in that folder.
fn once(folder: &Path, server: &Server, more: &[&str]) -> crate::program::Ended {
    let plan = folder.join("plan.lua").display().to_string();
    let url = server.url();
    let flags = [plan.as_str(), "-H", &url, "-u", "1", "-i", "1"];
    Lgoose::new(flags.into_iter().chain(more.iter().copied())).finish()
}

const FINE: &str = "task { function(user) user:get '/' end }\n";

#[test]
fn a_text_is_printed_after_the_tables_or_beside_a_report_for_programs() {
    let source = format!(
        "{FINE} on('report', function(report) return report.plan .. ' sent ' .. report.aggregated.count end)"
    );
    let folder = folder("hook_text", &[("plan.lua", &source)]);
    let server = Server::start();
    let shown = once(&folder, &server, &[]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    let last = shown.stdout.trim_end().lines().last().expect("a line");
    assert!(last.ends_with("plan.lua sent 1"), "{last}");
    let json = read(once(&folder, &server, &["-o", "json=-"]));
    assert!(
        json.ended.stderr.contains("plan.lua sent 1"),
        "{}",
        json.ended.stderr
    );
}

#[test]
fn files_stay_beside_the_plan_and_take_no_other_files_place() {
    let server = Server::start();
    for (name, file, told) in [
        (
            "hook_out",
            "../out.txt",
            "'..' leads outside the plan's folder",
        ),
        (
            "hook_root",
            "/tmp/lgoose-never.txt",
            "an absolute path leads outside the plan's folder",
        ),
        ("hook_plan", "plan.lua", "would be written over the plan"),
        (
            "hook_data",
            "rows.txt",
            "would be written over a file that the plan reads",
        ),
        (
            "hook_log",
            "requests.csv",
            "would be written over the request log",
        ),
        (
            "hook_nowhere",
            "none/out.txt",
            "cannot write 'none/out.txt', which on(\"report\") returned",
        ),
    ] {
        let source = format!(
            "plan {{ request_log = 'requests.csv' }} local _ = data.lines 'rows.txt'\n\
             {FINE} on('report', function() return {{ ['{file}'] = 'text', ['fine.txt'] = 'fine' }} end)"
        );
        let folder = folder(name, &[("plan.lua", &source), ("rows.txt", "row\n")]);
        let ended = once(&folder, &server, &[]);
        assert_eq!(ended.code, 3, "{file}: {}", ended.stderr);
        assert!(ended.stderr.contains(told), "{file}: {}", ended.stderr);
        assert_eq!(text(&folder.join("plan.lua")), source);
        assert_eq!(
            text(&folder.join("fine.txt")),
            "fine",
            "the others are written"
        );
    }
    let source =
        format!("{FINE} on('report', function() return {{ ['../allowed.txt'] = 'text' }} end)");
    let inner = folder("hook_allowed", &[("plan.lua", &source)]);
    let ended = once(&inner, &server, &["--allow-files"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let written = inner.parent().expect("a folder").join("allowed.txt");
    assert_eq!(text(&written), "text");
}

#[test]
fn an_error_in_them_is_told_with_its_line() {
    let server = Server::start();
    for (name, source, told) in [
        (
            "hook_raises",
            "on('report', function(report)\n local x = report.nothing.more end)",
            "on(\"report\") raised: attempt to index a nil value (field 'nothing') (",
        ),
        (
            "hook_number",
            "on('report', function() return 7 end)",
            "its return value must be a text, or a table of files",
        ),
        (
            "hook_list",
            "on('report', function() return { 'text' } end)",
            "the name of a file must be a string, not a number",
        ),
        (
            "hook_file",
            "on('report', function() return { a = 1 } end)",
            "the file 'a' must be a string, not a number",
        ),
    ] {
        let folder = folder(name, &[("plan.lua", &format!("{FINE}{source}"))]);
        let ended = once(&folder, &server, &["-o", "json=-"]);
        assert_eq!(ended.code, 3, "{name}: {}", ended.stderr);
        assert!(ended.stderr.contains(told), "{name}: {}", ended.stderr);
        let report = read(ended);
        assert_eq!(report.total("count"), 1, "the report is written");
    }
    for (name, source, told) in [
        (
            "hook_sees_raises",
            "on('request', function(request) error('odd ' .. request.status) end)",
            "on(\"request\") raised: odd 200 (",
        ),
        (
            "hook_sees_own_words",
            "on('request', function() error('attempt to yield from outside a coroutine', 0) end)",
            "on(\"request\") raised: attempt to yield from outside a coroutine",
        ),
        (
            "hook_sees_sends",
            "on('request', function() of.user:get '/more' end)",
            "it has no user: it cannot send requests nor wait",
        ),
        (
            "hook_sees_for_ever",
            "on('request', function() while true do end end)",
            "ran for 1 s of Lua without waiting",
        ),
    ] {
        let plan = format!(
            "local of = {}\ntask {{ function(user) of.user = user user:get '/' end }}\n{source}",
            "{}"
        );
        let folder = folder(name, &[("plan.lua", &plan)]);
        let report = read(once(&folder, &server, &["-o", "json=-", "--lua-time", "1"]));
        let warnings = report.json["warnings"].to_string().replace("\\\"", "\"");
        assert!(warnings.contains(told), "{name}: {warnings}");
        assert_eq!(report.total("count"), 1, "{name}");
    }
}

/// Code that works for some milliseconds to some tens of them.
const BUSY: &str = "for _ = 1, 4000000 do end";

#[test]
fn requests_that_are_counted_together_are_one_time_slice_of_the_function_that_sees_them() {
    let server = Server::start();
    // Each call is shorter than the limit, and all of them are longer.
    for (name, requests) in [
        ("hook_fetch", "user:fetch(urls)"),
        // All are counted when the task ends: it may judge them until then.
        (
            "hook_judged",
            "local kept = {} for n, url in ipairs(urls) do kept[n] = user:get(url) kept[n]:pass() end",
        ),
    ] {
        let plan = format!(
            "local seen = metric.counter 'seen'\n\
             on('request', function() seen:add() {BUSY} end)\n\
             task {{ function(user) local urls = {{}} for n = 1, 100 do urls[n] = '/' .. n end {requests} end }}",
        );
        let folder = folder(name, &[("plan.lua", &plan)]);
        let report = read(once(
            &folder,
            &server,
            &["-o", "json=-", "--lua-time", "0.3"],
        ));
        let warnings = report.json["warnings"].to_string();
        let told = "raised: the task ran for 0.3 s of Lua without waiting";
        assert!(warnings.contains(told), "{name}: {warnings}");
        let seen = report.json["metrics"][0]["count"].as_u64().unwrap_or(0);
        assert!((1..100).contains(&seen), "{name}: {seen}");
        assert_eq!(report.total("count"), 100, "{name}");
    }
}

#[test]
fn a_function_that_sees_the_many_requests_of_a_fetch_for_a_moment_sees_all() {
    let server = Server::start();
    let plan = "local seen = metric.counter 'seen'\n\
                on('request', function(request) seen:add() end)\n\
                task { function(user) local urls = {} for n = 1, 200 do urls[n] = '/' .. n end user:fetch(urls) end }";
    let folder = folder("hook_assets", &[("plan.lua", plan)]);
    let report = read(once(&folder, &server, &["-o", "json=-"]));
    assert_eq!(report.ended.code, 0, "{}", report.ended.stderr);
    assert_eq!(report.json["metrics"][0]["count"], 200);
}

#[test]
fn users_that_are_cut_off_have_the_time_of_one_task_to_see_their_requests() {
    let server = Server::start();
    let plan = format!(
        "local seen = metric.counter 'seen'\n\
         on('request', function() seen:add() {BUSY} end)\n\
         task {{ function(user) local page = user:get '/' page:pass() user:get '/delay/10000' return page end }}",
    );
    let folder = folder("hook_cut_off", &[("plan.lua", &plan)]);
    let path = folder.join("plan.lua").display().to_string();
    let report = run([
        &path,
        "-H",
        &server.url(),
        "-u",
        "20",
        "-r",
        "1000",
        "-t",
        "1s",
        "--threads",
        "1",
        "--stop-timeout",
        "0",
        "--lua-time",
        "0.1",
    ]);
    let warnings = report.json["warnings"].to_string();
    assert!(
        warnings.contains("of users that were cut off"),
        "{warnings}"
    );
}
