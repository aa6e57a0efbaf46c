//! What the workers of a run share by their manager: counters, queues and maps of the run.

use crate::attach::{attach, kill, run_at};
use crate::broker::Broker;
use crate::gaggle::{managed, report_of, worker};
use crate::program::{Lgoose, plan, wait_until};
use crate::server::Server;
use std::collections::BTreeSet;

const SHARING: &str = "plan { request_names = 'path' }
    local shared = require 'lgoose.shared'
    local ids, jobs, tokens = shared.run.counter 'ids', shared.run.queue 'jobs', shared.run.map 'tokens'
    on('test_start', function(user)
      assert(ids:get() == 0 and jobs:size() == 0)
      for job = 1, 40 do jobs:put { job = job, nothing = json.null } end
      tokens:put('seed', { 1, { two = 'three' } })
    end)
    task { 'take', function(user)
      assert(tokens:get('seed')[2].two == 'three')
      local token = tokens:get_or('token', function(key) user:get '/login' return key .. user.id end)
      user:get('/id/' .. ids:incr() .. '/' .. token)
      local job = jobs:take()
      if job then assert(job.nothing == json.null) user:get('/job/' .. job.job) end
      assert(jobs:take '10ms' == nil or jobs:put { job = 'again', nothing = json.null } == nil)
      assert(not tokens:remove('token', 'another') and tokens:size() == 2)
      assert(not pcall(ids.incr, ids, math.maxinteger))
      assert(not pcall(ids.incr, ids, 1, 2) and not pcall(jobs.put, jobs) and not pcall(function() return ids.add end))
    end }
    on('test_stop', function(user) user:get('/total/' .. ids:get() .. '/' .. jobs:size()) end)";

/// Returns what the paths under a folder end in, sorted.
fn ends(server: &Server, folder: &str) -> Vec<String> {
    let prefix = format!("GET /{folder}");
    let requests = server.requests();
    let ends = requests
        .iter()
        .filter_map(|path| path.strip_prefix(&prefix));
    let mut ends: Vec<String> = ends.map(str::to_owned).collect();
    ends.sort();
    ends
}

#[test]
fn two_workers_share_counters_queues_and_maps_as_one_process_does() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let path = plan("gaggle_shared.lua", SHARING);
    let options = [
        "-u",
        "8",
        "-r",
        "1000",
        "-i",
        "5",
        "--threshold",
        "failures < 1",
    ];
    let (alone, together) = (Server::start(), Server::start());
    let url = alone.url();
    let one = Lgoose::new([&[&*path, "-H", &url, "-o", "json=-"][..], &options].concat());
    let _workers = [worker(&broker, "w1", &[]), worker(&broker, "w2", &[])];
    let two = managed(&broker, &path, &together, "2", &options);
    for (ended, server, logins) in [(one.finish(), &alone, 1), (two.end(), &together, 2)] {
        let (report, warnings) = report_of(ended);
        assert!(warnings.is_empty(), "{warnings:?}");
        assert!(
            report.json["errors"].as_array().is_none_or(Vec::is_empty),
            "{}",
            report.json["errors"]
        );
        let ids = ends(server, "id/");
        let (numbers, tokens): (BTreeSet<u64>, BTreeSet<&str>) = ids
            .iter()
            .filter_map(|id| id.split_once('/'))
            .map(|(id, token)| (id.parse::<u64>().expect("a number"), token))
            .unzip();
        assert_eq!(numbers, (1..=40).collect(), "each number once");
        assert_eq!(tokens.len(), 1, "one token for all: {tokens:?}");
        let own: BTreeSet<String> = ends(server, "job/").into_iter().collect();
        assert!(own.len() > 20, "{own:?}");
        let made = ends(server, "login").len();
        assert!(
            (1..=logins).contains(&made),
            "at most one of each process: {made}"
        );
        assert!(
            ends(server, "total/40/").len() == 1,
            "{:?}",
            server.requests().last()
        );
    }
}

#[test]
#[ignore = "takes long: 'just test-all' runs it"]
fn what_was_shared_is_lost_with_its_manager_and_no_number_is_given_twice() {
    let Some(broker) = Broker::start() else {
        return;
    };
    let source = "local ids = require('lgoose.shared').run.counter 'ids'
        task { 'count', function(user)
          local ok, id = pcall(ids.incr, ids)
          user:get(ok and '/id/' .. id or '/lost?' .. url.encode(id))
          user:wait(0.02)
        end }";
    let (server, path) = (Server::start(), plan("gaggle_shared_lost.lua", source));
    let _workers = [worker(&broker, "w1", &[]), worker(&broker, "w2", &[])];
    let options = ["-u", "4", "-r", "1000", "-t", "20s"];
    let manager = managed(&broker, &path, &server, "2", &options);
    wait_until("users count", || ends(&server, "id/").len() > 50);
    kill(manager);
    let attached = attach(&broker, &run_at(&broker.url()));
    let (report, _) = report_of(attached.end());
    assert_eq!(report.sent(), server.received());
    let lost = ends(&server, "lost?");
    let is_said = |why: &String| why.contains("manager%20that%20is%20lost");
    assert!(lost.iter().any(is_said), "{:?}", lost.last());
    let ids = ends(&server, "id/");
    let distinct: BTreeSet<&String> = ids.iter().collect();
    assert_eq!(distinct.len(), ids.len());
}

#[test]
fn parts_that_know_nothing_of_each_other_share_nothing_in_the_run() {
    let (server, path) = (Server::start(), plan("part_shared.lua", SHARING));
    let ended = Lgoose::new([
        &*path,
        "-H",
        &server.url(),
        "-u",
        "8",
        "-i",
        "1",
        "--part",
        "1/2",
    ])
    .finish();
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    assert!(
        ended
            .stderr
            .contains("with '--part', each part of the load has its own users"),
        "{}",
        ended.stderr
    );
    assert_eq!(server.received(), 0);
}
