//! Functions that run beside a task (`user:spawn`): how they end, and that nothing of what they did is lost.

use crate::program::{Lgoose, plan, scratch, wait_until};
use crate::report::{Report, read, run};
use crate::server::Server;

/// Runs one user of a plan.
fn run_plan(name: &str, text: &str, server: &Server, more: &[&str]) -> Report {
    let path = plan(name, text);
    let url = server.url();
    run([&[&*path, "-H", &*url, "-u", "1"], more].concat())
}

#[test]
fn an_error_that_nobody_asks_for_fails_the_task_and_the_others_go_on() {
    let server = Server::start();
    let text = "task { 'many', function(user)
        user:spawn(function() user:get '/first' error 'no such thing' end)
        user:spawn(function() user:get '/delay/20' user:get '/second' end)
        user:get '/own'
      end }";
    let report = run_plan("jobs_error.lua", text, &server, &["-i", "3"]);
    assert_eq!(report.task("many"), (3, 3), "{:?}", report.errors());
    assert_eq!(
        report.errors(),
        [format!(
            "3 task many: no such thing ({}:2)",
            scratch("jobs_error.lua").display()
        )]
    );
    assert_eq!((report.sent(), server.received()), (12, 12));
    assert_eq!(server.count("GET /second"), 3);
}

#[test]
fn a_task_that_raises_ends_what_runs_beside_it() {
    let server = Server::start();
    let text = "task { 'raises', function(user)
        user:spawn(function() while true do user:wait(60) end end)
        user:spawn(function() user:get '/delay/50' user:get '/never' end)
        user:get '/own'
        error 'enough'
      end }";
    let report = run_plan("jobs_raise.lua", text, &server, &["-i", "2"]);
    assert_eq!(report.task("raises"), (2, 2));
    assert_eq!(
        report.errors(),
        [format!(
            "2 task raises: enough ({}:5)",
            scratch("jobs_raise.lua").display()
        )]
    );
    assert_eq!(server.count("GET /delay/50"), 2, "what is under way ends");
    assert_eq!(server.count("GET /never"), 0);
    assert_eq!((report.sent(), report.total("failures")), (4, 0));
}

#[test]
fn one_of_them_may_end_the_iteration_or_the_user() {
    let server = Server::start();
    let text = "local rounds = 0
      task { 'waits', sequence = 1, function(user)
        rounds = rounds + 1
        user:spawn(function()
          user:get '/beside'
          if rounds == 3 then user:stop() end
          user:exit_iteration()
        end)
        user:wait(60)
        user:get '/never'
      end }
      task { 'next', sequence = 2, function(user) user:get '/never' end }";
    let report = run_plan("jobs_end.lua", text, &server, &["-t", "50s"]);
    assert_eq!(report.ended.code, 0, "{}", report.ended.stderr);
    assert_eq!(report.task("waits"), (3, 0));
    assert_eq!(server.requests(), ["GET /beside"; 3]);
}

#[test]
fn a_limit_that_one_of_them_meets_ends_the_task_and_not_the_user() {
    let server = Server::start();
    let text = "task { 'computes', sequence = 1, function(user)
        user:spawn(function() while true do end end)
        user:spawn(function() while true do user:wait(60) end end)
        user:get '/own'
        user:wait(0.01)
        user:get '/perhaps'
      end }
      task { 'fills', sequence = 2, function(user)
        user:spawn(function() local all = {} for n = 1, 1e9 do all[n] = ('x'):rep(1000) .. n end end)
        user:get '/own'
      end }
      task { 'goes on', sequence = 3, function(user)
        user:spawn(function() user:get '/after' end)
      end }";
    let limits = ["-i", "2", "--lua-time", "0.3", "--lua-memory", "20MiB"];
    let report = run_plan("jobs_limits.lua", text, &server, &limits);
    assert_eq!(report.task("computes"), (2, 2), "{:?}", report.errors());
    assert_eq!(report.task("fills"), (2, 2), "{:?}", report.errors());
    assert_eq!(report.task("goes on"), (2, 0), "{:?}", report.errors());
    assert_eq!(server.count("GET /after"), 2);
    assert_eq!(report.sent(), server.received());
    let of_time = report.errors_with("the task ran for 0.3 s of Lua without waiting");
    let of_memory = report.errors_with("not enough memory");
    assert_eq!((of_time, of_memory), (2, 2), "{:?}", report.errors());
}

#[test]
fn one_that_computes_for_long_loses_no_request_of_the_others() {
    let server = Server::start();
    // It is preempted again and again, with a response in its hands.
    let text =
        "local function compute() local n = 0 for i = 1, 3e6 do n = n + i % 7 end return n end
      task { 'computes', function(user)
        for n = 1, 3 do
          user:spawn(function()
            for _ = 1, 3 do
              local page = user:get('/beside', { name = 'beside' })
              compute()
              check(page.status == 200, 'the response is its own')
            end
          end)
        end
        for _ = 1, 60 do user:get('/own', { name = 'own' }) end
      end }";
    let report = run_plan("jobs_compute.lua", text, &server, &["-i", "2"]);
    assert_eq!(report.task("computes"), (2, 0), "{:?}", report.errors());
    let counts = (report.count("GET beside"), report.count("GET own"));
    assert_eq!(counts, (18, 120));
    assert_eq!((report.sent(), server.received()), (138, 138));
}

#[test]
fn of_many_requests_side_by_side_none_is_lost() {
    let server = Server::start();
    let text = "local function many(user, name) for _ = 1, 200 do user:get('/' .. name, { name = name }) end end
      task { 'many', function(user)
        for n = 1, 5 do user:spawn(many, user, 'beside') end
        many(user, 'own')
      end }";
    let report = run_plan("jobs_many.lua", text, &server, &["-i", "1"]);
    let counts = (report.count("GET beside"), report.count("GET own"));
    assert_eq!(counts, (1000, 200));
    assert_eq!((report.sent(), server.received()), (1200, 1200));
}

#[test]
fn a_stop_ends_their_waits_and_an_abort_counts_what_is_under_way() {
    let text = "task { function(user)
        user:spawn(function() user:get '/beside' user:wait(1000) user:get '/never' end)
        user:spawn(function() user:spawn(function() while true do user:wait(1000) end end):join() end)
        user:get '/own'
        print 'it waits'
        user:wait(1000)
        user:get '/never'
      end }";
    let server = Server::start();
    let (path, url) = (plan("jobs_stop.lua", text), server.url());
    let running = Lgoose::new([&*path, "-H", &*url, "-u", "2", "-o", "json=-"]).start();
    wait_until("both users wait", || {
        running.stderr().matches("it waits").count() == 2 && server.received() == 4
    });
    running.interrupt();
    let report = read(running.end());
    assert_eq!((report.sent(), report.total("failures")), (4, 0));
    assert_eq!(report.task_failures(), 0);

    let text = "task { function(user)
        for n = 1, 3 do user:spawn(function() user:get '/hold' end) end
        user:get '/hold'
      end }";
    let server = Server::start();
    let (path, url) = (plan("jobs_abort.lua", text), server.url());
    let running = Lgoose::new([&*path, "-H", &*url, "-u", "2", "-o", "json=-"]).start();
    wait_until("all hang", || server.count("GET /hold") == 8);
    running.interrupt();
    wait_until("the first Ctrl-C is told", || {
        running.stderr().contains("Ctrl-C again")
    });
    running.interrupt();
    let report = read(running.end());
    assert_eq!((report.sent(), report.total("failures")), (8, 8));
    assert_eq!(report.errors_with("aborted"), 8, "{:?}", report.errors());
}

#[test]
fn their_requests_have_the_tags_of_the_code_that_began_them() {
    let server = Server::start();
    let text = "task { tags = { area = 'shop' }, function(user)
        user:transaction('outer', { tags = { part = 'outer' } }, function()
          local job = user:spawn(function()
            user:get('/delay/20', { name = 'beside' })
            user:transaction('inner', { tags = { part = 'inner' } }, function()
              user:get('/delay/20', { name = 'inner' })
            end)
            user:get('/delay/20', { name = 'beside' })
          end)
          user:get('/delay/10', { name = 'own' })
          job:join()
        end)
        user:get('/echo', { name = 'after' })
      end }";
    let report = run_plan("jobs_tags.lua", text, &server, &["-i", "2"]);
    let counts = |tag: &str| -> Vec<String> {
        let of_tags = report.json["by_tag"].as_array().expect("a list");
        let of_tag = of_tags.iter().find(|one| one["tag"] == tag);
        let rows = of_tag.map(|one| one["requests"].as_array().expect("rows"));
        let shown = |row: &serde_json::Value| format!("{} {}", row["count"], row["name"]);
        let mut shown: Vec<String> = rows.into_iter().flatten().map(shown).collect();
        shown.sort();
        shown
    };
    let all = ["2 \"after\"", "2 \"inner\"", "2 \"own\"", "4 \"beside\""];
    assert_eq!(counts("area=shop"), all);
    assert_eq!(counts("part=outer"), ["2 \"own\"", "4 \"beside\""]);
    assert_eq!(counts("part=inner"), ["2 \"inner\""]);
}

#[test]
fn a_handler_of_messages_that_raises_fails_the_task_that_runs_then() {
    let text = "plan { host = 'demo:api' }
      task { 'handles', function(user)
        local socket = user:websocket '/api/chat'
        local count = 0
        socket:on_message(function(message) count = count + 1 error 'no such message' end)
        socket:send { type = 'join', room = 'a', name = 'ada' }
        while count == 0 do user:wait(0.01) end
      end }";
    let path = plan("jobs_handler.lua", text);
    let report = run([&*path, "-u", "1", "-i", "1"]);
    assert_eq!(report.task("handles"), (1, 1), "{:?}", report.errors());
    assert_eq!(report.errors_with("no such message"), 1);
}

#[test]
fn one_that_lives_as_long_as_its_user_goes_on_between_tasks_and_ends_before_on_stop() {
    let server = Server::start();
    let text = "local polls, over = 0, 0
      task { 'start', on_start = true, function(user)
        user:spawn(function()
          local _ <close> = setmetatable({}, { __close = function() over = over + 1 end })
          while true do
            user:get('/delay/20', { name = 'poll' })
            polls = polls + 1
          end
        end, { life = 'user' })
        user:spawn(function() user:get('/delay/60000', { name = 'long poll' }) end, { life = 'user' })
      end }
      task { 'work', function(user) user:get('/work', { name = 'work' }) user:wait(0.1) end }
      task { 'stop', on_stop = true, function(user)
        check(polls >= 3, 'it has gone on')
        check(over == 1, 'it is over')
        local before = polls
        user:wait(0.05)
        check(polls == before, 'and stays so')
      end }";
    let report = run_plan("jobs_life.lua", text, &server, &["-i", "3"]);
    assert_eq!(report.ended.code, 0, "{}", report.ended.stderr);
    assert_eq!(report.count("GET work"), 3);
    assert!(report.count("GET poll") >= 3);
    assert!(!report.rows().contains(&"GET long poll".to_owned()));
    assert_eq!(server.count("GET /delay/60000"), 1);
    let told = "were under way when it ended: they are not counted";
    let warnings = report.json["warnings"].to_string();
    assert!(warnings.contains(told), "{warnings}");
    assert_eq!(report.task("stop"), (1, 0));
    let checks = report.json["checks"].as_array().expect("a list");
    assert_eq!(checks.len(), 3);
    assert!(
        checks.iter().all(|check| check["failures"] == 0),
        "{checks:?}"
    );
}

#[test]
fn one_that_lives_as_long_as_its_user_goes_on_while_iterations_are_not_due() {
    let server = Server::start();
    let text = "task { 'start', on_start = true, function(user)
        user:spawn(function() while true do user:get('/poll', { name = 'poll' }) user:wait(0.02) end end, { life = 'user' })
      end }
      task { 'work', function(user) user:get('/work', { name = 'work' }) end }";
    let path = plan("jobs_life_rate.lua", text);
    let url = server.url();
    let report = run([&*path, "-H", &url, "--rate", "2/s", "-t", "2s"]);
    assert!(
        report.count("GET poll") > 20,
        "{}",
        report.count("GET poll")
    );
}

#[test]
fn an_error_in_one_that_lives_as_long_as_its_user_fails_the_running_task() {
    let server = Server::start();
    let text = "task { 'start', on_start = true, function(user)
        user:spawn(function() user:wait(0.05) error 'gone' end, { life = 'user' })
      end }
      task { 'work', function(user) user:get('/work', { name = 'work' }) user:wait(0.15) end }";
    let report = run_plan("jobs_life_error.lua", text, &server, &["-i", "2"]);
    assert_eq!(report.task("start"), (1, 0));
    assert_eq!(report.task("work"), (2, 1), "{:?}", report.errors());
    let text = "task { 'work', function(user) user:spawn(function() end, { life = 'usr' }) end }";
    let report = run_plan("jobs_life_wrong.lua", text, &server, &["-i", "1"]);
    let errors = report.errors().join("\n");
    let told = "option 'life' of user:spawn is \"user\" or \"task\"";
    assert!(errors.contains(told), "{errors}");
}

#[test]
fn an_on_start_that_waits_for_a_job_without_end_is_named() {
    let server = Server::start();
    let text = "task { 'start', on_start = true, function(user)
        user:spawn(function() while true do user:get('/delay/50', { name = 'poll' }) end end)
      end }
      task { 'work', function(user) user:get '/never' end }";
    let report = run_plan(
        "jobs_start.lua",
        text,
        &server,
        &["-t", "6s", "--stop-timeout", "100ms"],
    );
    let told = "their 'on_start' task 'start' waits for a job that it has begun";
    assert!(
        report.json["warnings"].to_string().contains(told),
        "{}",
        report.json["warnings"]
    );
}

#[test]
fn what_a_plan_has_measured_is_a_row_like_any_other() {
    let server = Server::start();
    let log = scratch("jobs_record.csv").display().to_string();
    let text = "on('request', function(request) metric.counter('seen'):add(1, { name = request.name }) end)
      task { 'measure', function(user)
        for n = 1, 4 do
          user:record { kind = 'PUSH', name = 'delivered', time = n / 10, bytes = 100, tags = { n = n } }
        end
        user:record { name = 'lost', time = '1.5s', error = 'it never came' }
        user:record { name = 'lost', time = 2, ok = false }
      end }";
    let more = [
        "-i",
        "2",
        "--request-log",
        &log,
        "--threshold",
        "PUSH delivered: p50 > 100ms",
    ];
    let report = run_plan("jobs_record.lua", text, &server, &more);
    assert_eq!(
        (
            report.count("PUSH delivered"),
            report.failures("PUSH delivered")
        ),
        (8, 0)
    );
    assert_eq!(
        (report.count("RECORD lost"), report.failures("RECORD lost")),
        (4, 4)
    );
    let row = report.row("PUSH delivered");
    assert!(
        (row["latency_ms"]["max"].as_f64().expect("a number") - 400.0).abs() < 2.0,
        "{row}"
    );
    assert_eq!(row["bytes"], 800, "{row}");
    let errors = report.errors();
    assert!(
        errors.contains(&"2 RECORD lost: it never came (no line)".to_owned()),
        "{errors:?}"
    );
    assert!(
        errors.contains(&"2 RECORD lost: the plan says that it failed (no line)".to_owned()),
        "{errors:?}"
    );
    let lines = std::fs::read_to_string(&log).expect("there is a log");
    assert_eq!(
        lines
            .lines()
            .filter(|line| line.contains("delivered"))
            .count(),
        8,
        "{lines}"
    );
    assert_eq!(server.received(), 0);
    for (row, told) in [
        ("{ time = 1 }", "user:record needs a 'name'"),
        ("{ name = 'a' }", "user:record needs a 'time'"),
        ("{ name = 'a', time = -1 }", "option 'time': -1"),
        (
            "{ name = 'a', time = 1, bytes = -1 }",
            "option 'bytes' is a whole number",
        ),
        (
            "{ name = 'a', time = 1, kind = 'push' }",
            "option 'kind' is a word of up to 20 capital letters",
        ),
        (
            "{ name = 'a', time = 1, ok = true, error = 'b' }",
            "'ok' says that there is none",
        ),
        (
            "{ name = 'a', time = 1, nmae = 2 }",
            "unknown option 'nmae'",
        ),
        ("nil", "user:record takes a table"),
        ("7", "user:record"),
    ] {
        let text = format!("task {{ 'wrong', function(user) user:record({row}) end }}");
        let report = run_plan("jobs_record_wrong.lua", &text, &server, &["-i", "1"]);
        let errors = report.errors().join("\n");
        assert!(errors.contains(told), "{row}: {errors}");
    }
}
