//! The tools around a plan: `new`, `--list`, `check` with its warnings, and plans of several files.

use crate::plans::plans_below;
use crate::program::{Lgoose, plan, scratch};
use crate::report::run;
use crate::server::Server;

#[test]
fn a_new_plan_checks_and_runs_and_is_never_written_over() {
    let folder = scratch("new");
    // Left by an earlier run of the tests.
    let _absent = std::fs::remove_dir_all(&folder);
    let first = Lgoose::new(["new".as_ref(), folder.as_os_str()]).finish();
    assert_eq!((first.code, first.stderr.as_str()), (0, ""));
    assert!(first.stdout.contains("-u 5 -t 10s"), "{}", first.stdout);
    for file in [
        ".luarc.json",
        ".lgoose/user.lua",
        ".lgoose/lgoose/drupal.lua",
    ] {
        assert!(folder.join(file).is_file(), "{file} is missing");
    }
    let checked = Lgoose::new(["check", "plan.lua"]).within(&folder).finish();
    assert_eq!((checked.code, checked.stderr.as_str()), (0, ""));
    let path = folder.join("plan.lua").display().to_string();
    let report = run([path.as_str(), "-u", "1", "-i", "1"]);
    assert_eq!(report.total("failures"), 0, "{:?}", report.errors());
    let stub = folder.join(".lgoose/user.lua");
    let text = std::fs::read_to_string(&stub).expect("it was written");
    std::fs::write(&stub, "---@meta\n").expect("it can be written over");
    std::fs::write(&path, "-- mine").expect("it can be written over");
    let second = Lgoose::new(["new"]).within(&folder).finish();
    assert_eq!((second.code, second.stderr.as_str()), (0, ""));
    assert!(
        second.stdout.contains("now fits this lgoose"),
        "{}",
        second.stdout
    );
    let read = |path: &std::path::Path| std::fs::read_to_string(path).expect("it is there");
    assert_eq!(read(&stub), text);
    assert_eq!(read(path.as_ref()), "-- mine");
    std::fs::remove_dir_all(folder.join(".lgoose")).expect("it is ours");
    let third = Lgoose::new(["new"]).within(&folder).finish();
    assert_eq!((third.code, third.stdout.as_str()), (2, ""));
    assert!(
        third.stderr.contains("is there already"),
        "{}",
        third.stderr
    );
}

#[test]
fn list_prints_scenarios_and_tasks_one_per_line() {
    let ended = Lgoose::new(["plans/drupal.lua", "--list"]).finish();
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
    assert_eq!(
        ended.stdout,
        "AnonBrowsingUser\n  (Anon) front page\n  (Anon) node page\n  (Anon) user page\n\
         AuthBrowsingUser\n  (Auth) login\n  (Auth) front page\n  (Auth) node page\n  \
         (Auth) user page\n  (Auth) comment form\n"
    );
}

#[test]
fn a_warning_has_its_line_and_leaves_the_exit_code_alone() {
    let path = plan(
        "idle.lua",
        "local x = 1\ntask { \"idle\", function() x = 2 end }\n\
         task { \"set up\", on_start = true, function() x = 3 end }\n",
    );
    let ended = Lgoose::new(["check", path.as_str()]).finish();
    assert_eq!(ended.code, 0);
    assert!(
        ended.stdout.contains("is fine, with 1 warning"),
        "{}",
        ended.stdout
    );
    let told = "warning: task 'idle' makes no request and never waits";
    assert!(ended.stderr.contains(told), "{}", ended.stderr);
    assert!(ended.stderr.contains("idle.lua:2"), "{}", ended.stderr);
}

#[test]
fn names_that_do_not_exist_are_found_without_running_the_plan() {
    let text = "task { \"a\", function(user)\n  local page = user:gte \"/\"\n  \
                user:get(\"/\", { nmae = \"x\" })\n  user.get \"/\"\nend }";
    let path = plan("names.lua", text);
    let ended = Lgoose::new(["check", path.as_str()]).finish();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    for words in [
        "warning: 'user:gte' does not exist",
        "did you mean 'get'?",
        "names.lua:2",
        "warning: unknown option 'nmae' in a request",
        "names.lua:3",
        "warning: 'user.get' is called with a dot",
        "write user:get(…), with a colon",
    ] {
        assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
    }
}

#[test]
fn tables_are_logged_by_their_fields_and_within_bounds() {
    let text = "task { function(user)\n  user:log { 2, { 3 }, b = { c = true }, a = \"x\" }\n  print({}, user.data)\n  \
                local endless = {}\n  endless.me = endless\n  user:log(endless)\n  local long = {}\n  \
                for n = 1, 1000 do long[n] = n end\n  log.info(long)\n  user:log(nil)\n  user:get \"/\"\nend }";
    let server = Server::start();
    let path = plan("logged.lua", text);
    let ended = Lgoose::new([path.as_str(), "-H", &server.url(), "--once"]).finish();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    for words in [
        "{ 2, { 3 }, a = \"x\", b = { c = true } }",
        "{}\t{}",
        "{ me = { me = { me = { me = { … } } } } }",
        "48, 49, 50, … }",
    ] {
        let shown = words.replace('\t', "\\t");
        assert!(
            ended.stderr.contains(words) || ended.stderr.contains(&shown),
            "{words}: {}",
            ended.stderr
        );
    }
    assert!(!ended.stderr.contains("0x"), "{}", ended.stderr);
}

#[test]
fn what_lgoose_gives_a_plan_is_logged_by_what_it_is() {
    let text = "local shared = require 'lgoose.shared'\ntask { function(user)\n  local page = user:get '/form'\n  \
                user:log(page)\n  user:log { page }\n  user:log(page:css('form')[1])\n  user:log(page:css 'option')\n  \
                user:log(html.parse '<title>A page</title>')\n  print(shared.counter 'c', shared.queue 'q', shared.map 'm')\n\
                user:log(user:get '/status/503')\nend }";
    let server = Server::start();
    let path = plan("logged_values.lua", text);
    let ended = Lgoose::new([path.as_str(), "-H", &server.url(), "--once"]).finish();
    let form = format!("response 200 from {}/form, ", server.url());
    for words in [
        &*form,
        "{ response 200 from ",
        "INFO plan: <form ",
        "{ <option",
        "page 'A page'",
        "counter 'c': 0",
        "queue 'q' of 0",
        "map 'm' of 0",
        "; failed: status 503",
    ] {
        assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
    }
    assert!(!ended.stderr.contains("0x"), "{}", ended.stderr);
}

#[test]
fn a_module_makes_requests_and_its_errors_name_its_own_line() {
    let server = Server::start();
    let module = "local module = {}\nfunction module.go(user)\n  user:get \"/form\"\n  error \"stuck\"\nend\nreturn module\n";
    let _path = plan("a_module.lua", module);
    let path = plan(
        "of_two_files.lua",
        "local module = require \"a_module\"\ntask { \"go\", function(user) module.go(user) end }\n",
    );
    let report = run([path.as_str(), "-H", &server.url(), "-u", "2", "-i", "1"]);
    assert_eq!(report.total("count"), 2);
    assert_eq!(report.task_failures(), 2);
    let errors = report.errors().join("\n");
    assert!(
        errors.contains("stuck") && errors.contains("a_module.lua:4"),
        "{errors}"
    );
}

#[test]
fn a_login_that_did_not_work_is_a_failure_and_says_why() {
    let text = r##"local drupal = require "lgoose.drupal"
plan { host = "demo:drupal" }
task { "wrong", sequence = 1, function(user)
  assert(drupal.log_in(user, "user7", "wrong") == false)
end }
task { "no form", sequence = 2, function(user)
  assert(drupal.form(user:get "/node/1", "#comment-form") == nil)
end }
task { "right", sequence = 3, function(user)
  assert(drupal.log_in(user, "user7", "12345", { name = "login" }) == true)
end }
task { "tokens", sequence = 4, function(user)
  local tokens = drupal.tokens(drupal.form(user:get "/node/1", "#comment-form"))
  assert(tokens.form_id == "comment_node_article_form" and tokens.form_token and tokens.form_build_id)
end }
task { "stale", sequence = 5, function(user)
  local form = drupal.form(user:get "/node/1", "#comment-form")
  drupal.submit(user, form, { form_token = "stale" })
end }
task { "mistakes", sequence = 6, function(user)
  local _, problem = pcall(drupal.log_in, user, "user7", "12345", { pth = "/user" })
  assert(problem:find("drupal.log_in has no option 'pth'; it has form, name, path", 1, true), problem)
  _, problem = pcall(drupal.load_assets, user, nil, nil, nil, "more")
  assert(problem:find("drupal.load_assets takes fewer arguments", 1, true), problem)
end }
"##;
    let path = plan("drupal_module.lua", text);
    let report = run([path.as_str(), "-u", "1", "-i", "1"]);
    let errors = report.errors().join("\n");
    assert_eq!(report.task_failures(), 0, "{errors}");
    assert_eq!(report.total("failures"), 3, "{errors}");
    for told in [
        "not logged in: ",
        "unrecognized username or password",
        "no form '#comment-form' on the page",
        "refused: ",
        "The form has become outdated",
    ] {
        assert!(errors.contains(told), "'{told}' is missing in {errors}");
    }
}

#[test]
fn a_login_form_that_never_comes_is_told_by_what_its_page_failed_for() {
    let text = r##"local drupal = require "lgoose.drupal"
task { function(user)
  local logged_in, why = drupal.log_in(user, "user7", "12345", { path = "/hold" })
  assert(not logged_in and why:find "^timeout", why)
end }
"##;
    let server = Server::start();
    let path = plan("drupal_timeout.lua", text);
    let flags = [
        "-H",
        &server.url(),
        "-u",
        "1",
        "-i",
        "1",
        "--timeout",
        "300ms",
    ];
    let report = run([path.as_str()].iter().chain(&flags).copied());
    assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
    assert_eq!(report.total("failures"), 1);
}

#[test]
fn every_plan_of_the_repository_checks_without_a_warning() {
    let plans = [plans_below("plans"), plans_below("examples")].concat();
    for plan in &plans {
        let ended = Lgoose::new(["check", plan.as_str()]).finish();
        assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{plan}");
    }
    assert!(plans.len() >= 2, "{plans:?}");
}

#[test]
fn once_runs_one_iteration_per_scenario_and_shows_every_request() {
    let server = Server::start();
    let text = "scenario { \"a\", weight = 4,\n  task { \"first\", weight = 2, function(user)\n    \
                user:post(\"/echo\", \"sent text\", { headers = { [\"X-Own\"] = \"1\" } })\n  end } }\n\
                scenario { \"b\", task { \"second\", function(user) user:get \"/status/404\" user:get(user.host .. \"/echo\") end } }";
    let plan = plan("once.lua", text);
    let ended = Lgoose::new([plan.as_str(), "-H", &server.url(), "--once"]).finish();
    assert_eq!(server.received(), 4, "{}", ended.stderr);
    let whole = format!("[second] GET {}/echo: 200, ", server.url());
    assert!(ended.stderr.contains(&whole), "{}", ended.stderr);
    assert_eq!(
        ended.stderr.matches("[first] POST /echo: 200 from").count(),
        2
    );
    assert!(ended.stderr.contains("[second] GET /status/404: 404 from"));
    assert!(ended.stderr.contains("failed: status 404 Not Found"));
    assert!(!ended.stderr.contains("sent text"), "{}", ended.stderr);
    for words in [
        "2 users (1 × a, 1 × b), all started at once",
        "GET second ",
        "status 404 Not Found",
        "4 · ",
        "too little to judge by; 1",
    ] {
        assert!(ended.stdout.contains(words), "{words}: {}", ended.stdout);
    }
    for words in ["Percentiles", "Aggregated", "Tasks", "generator"] {
        assert!(!ended.stdout.contains(words), "{words}: {}", ended.stdout);
    }
    let ended =
        Lgoose::new([plan.as_str(), "-H", &server.url(), "--once", "--http-debug"]).finish();
    assert!(
        ended.stderr.contains("  > x-own: 1\n  > sent text\n"),
        "{}",
        ended.stderr
    );
    assert!(
        ended.stderr.contains("  < content-length: "),
        "{}",
        ended.stderr
    );
}

#[test]
fn once_shows_the_verdict_that_the_plan_came_to_and_long_reasons_are_whole() {
    let server = Server::start();
    let path = plan(
        "verdicts.lua",
        "task { function(user) user:get('/echo', { name = 'a' }):fail(('no stock '):rep(30) .. 'at all')\n\
         user:get('/status/503', { name = 'b' }):pass() user:get('/echo', { name = 'c' }) end }",
    );
    let arguments = [path.as_str(), "-H", &server.url(), "--once"];
    let shown = Lgoose::new(arguments.iter().chain(&["-o", "json=-"])).finish();
    let told = |name: &str| {
        let start = format!("[{name}] GET ");
        let verdicts = shown.stderr.lines().filter(|line| line.contains(&start));
        let verdicts = verdicts.filter_map(|line| line.split_once("the plan's verdict: "));
        verdicts
            .map(|(_, verdict)| verdict.to_owned())
            .collect::<Vec<_>>()
    };
    let reason = format!("{}at all", "no stock ".repeat(30));
    assert_eq!(told("a"), [format!("failed: {reason}")], "{}", shown.stderr);
    assert_eq!((told("b"), told("c")), (vec!["passed".to_owned()], vec![]));
    let report = crate::report::read(shown);
    assert_eq!(report.errors_with(&reason), 1, "{:?}", report.errors());
}

#[test]
fn messages_show_each_redirect_that_was_followed() {
    let server = Server::start();
    let path = plan(
        "hops.lua",
        "task { function(user) user:get \"/redirect/2\" end }",
    );
    let arguments = [path.as_str(), "-H", &server.url(), "--once"];
    let shown = Lgoose::new(arguments.iter().chain(&["--http-debug"])).finish();
    let url = server.url();
    for hop in ["/redirect/2", "/redirect/1"] {
        let line = format!("  < 302 from {url}{hop}\n");
        assert!(shown.stderr.contains(&line), "{line}{}", shown.stderr);
    }
    assert_eq!(
        shown.stderr.matches("  < location: ").count(),
        2,
        "{}",
        shown.stderr
    );
    let plain = Lgoose::new(arguments).finish();
    assert!(!plain.stderr.contains("302 from"), "{}", plain.stderr);
}

/// Writes the data files that a page shows beside its plans, each under the name that the text before it says.
fn write_data(page: &str, folder: &std::path::Path) {
    for (index, _) in page.match_indices("```csv\n") {
        let (before, from) = page.split_at(index);
        let mut quoted = before.split('`').filter(|name| name.ends_with(".csv"));
        let name = quoted
            .next_back()
            .expect("the text says the name of the file");
        let name = name.rsplit('/').next().unwrap_or(name);
        let content = from["```csv\n".len()..].split("```").next();
        std::fs::write(folder.join(name), content.unwrap_or_default())
            .expect("the folder takes a file");
    }
}

#[test]
fn the_plans_of_the_pages_run_as_they_stand() {
    let mut runs = Vec::new();
    for (number, (_, text)) in crate::readme::pages().into_iter().enumerate() {
        let folder = crate::program::empty_folder(&format!("page_{number}"));
        write_data(&text, &folder);
        let mut rest = text.as_str();
        while let Some((_, from)) = rest.split_once("```lua\n") {
            let (lua, behind) = from.split_once("```").expect("the block ends");
            let file = format!("plan_{}.lua", runs.len());
            std::fs::write(folder.join(&file), lua).expect("the folder takes a file");
            let started = Lgoose::new([file.as_str(), "--once"])
                .within(&folder)
                .start();
            runs.push((lua.to_owned(), started));
            rest = behind;
        }
    }
    assert!(runs.len() > 5, "{} plans", runs.len());
    for (lua, run) in runs {
        let ended = run.end();
        assert_eq!(ended.code, 0, "{lua}\n{}\n{}", ended.stdout, ended.stderr);
        assert!(!ended.stdout.contains("(100%)"), "{lua}\n{}", ended.stdout);
        assert!(
            !ended.stdout.contains(" Errors "),
            "{lua}\n{}",
            ended.stdout
        );
    }
}
