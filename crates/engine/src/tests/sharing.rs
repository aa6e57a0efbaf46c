//! What users share while they run, in simulated time: how long they wait for each other, and what a stop makes of it.

use super::ms;
use crate::fixture::TestRun;
use lgoose_plan::config::Settings;
use std::time::Duration;

fn users(users: u64, seconds: u64) -> Settings {
    Settings {
        users: Some(users),
        hatch_rate: Some(1_000.0),
        run_time: Some(Duration::from_secs(seconds)),
        ..Settings::default()
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_what_waits_for_another_user_and_is_no_failure() {
    let source = "local shared = require 'lgoose.shared'\n\
        local jobs, tokens = shared.queue 'jobs', shared.map 'tokens'\n\
        scenario { 'waits', users = 2, task { function(user) jobs:take '1h' user:get '/never' end },\n\
          task { on_stop = true, function(user) assert(jobs:take '1h' == nil) user:get('/out/' .. user.id) end } }\n\
        scenario { 'token', users = 2, task { function(user)\n\
          tokens:get_or('token', function() user:wait(3600) end) user:get '/never' end } }";
    let (arrived, outcome) = TestRun::new(source, users(4, 3)).play().await;
    let mut paths: Vec<_> = arrived.iter().map(|(_, path)| path.as_str()).collect();
    paths.sort_unstable();
    assert_eq!(paths, ["/out/1", "/out/3"]);
    let ended = arrived
        .iter()
        .all(|(at, _)| *at < Duration::from_millis(3_100));
    assert!(ended, "{arrived:?}");
    let report = outcome.report;
    assert_eq!(report.errors.len(), 0, "{:?}", report.errors);
}

#[tokio::test(start_paused = true)]
async fn those_who_wait_go_on_when_what_they_wait_for_is_there_or_its_maker_has_failed() {
    let source = "local shared = require 'lgoose.shared'\n\
        local jobs, tokens = shared.queue 'jobs', shared.map 'tokens'\n\
        scenario { 'all', iterations = 1,\n\
          task { sequence = 1, function(user)\n\
            pcall(tokens.get_or, tokens, 'token', function() user:wait(1)\n\
              if shared.counter('tries'):incr() == 1 then error 'no' end\n\
              return 'made' end) \n\
            user:get('/token/' .. tostring(tokens:get 'token')) end },\n\
          task { sequence = 2, function(user)\n\
            if user.id == 1 then user:wait(5) for n = 1, 3 do jobs:put(n) end\n\
            else user:get('/job/' .. tostring(jobs:take '1m'))\n\
              user:get('/nothing/' .. tostring(jobs:take '2s')) end end } }";
    let (mut arrived, _) = TestRun::new(source, users(4, 60)).play().await;
    arrived.sort();
    let at = |prefix: &str| {
        let those = arrived.iter().filter(|(_, path)| path.starts_with(prefix));
        let seconds = those.map(|(at, _)| (*at + ms(50)).as_secs());
        seconds.collect::<Vec<_>>()
    };
    // The first to try raises after a second; the next one makes it in another.
    assert_eq!(at("/token/nil"), [1]);
    assert_eq!(at("/token/made"), [2, 2, 2]);
    let jobs: Vec<_> = arrived
        .iter()
        .filter(|(_, path)| path.starts_with("/job/"))
        .collect();
    assert_eq!(jobs.len(), 3, "{arrived:?}");
    let mut numbers: Vec<_> = jobs.iter().map(|(_, path)| path.as_str()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, ["/job/1", "/job/2", "/job/3"]);
    assert_eq!(at("/nothing/nil"), [8, 8, 8]);
}
