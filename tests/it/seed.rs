//! Repeatable runs: the same seed gives every user the same tasks and the same random values.

use crate::report::{iterate, iterate_with};
use crate::server::Server;
use std::collections::BTreeMap;

/// Returns the paths that each user requested, in order; the plan puts the user's number in front of each path.
fn choices(seed: &str, threads: &str) -> BTreeMap<String, Vec<String>> {
    let server = Server::start();
    let more = ["--seed", seed, "--threads", threads];
    let report = iterate_with("tests/lua/choices.lua", &server, 4, 3, &more);
    assert_eq!(report.ended.code, 0, "{:?}", report.errors());
    assert_eq!(report.json["seed"].to_string(), seed);
    let mut choices: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for request in server.requests() {
        let path = request
            .strip_prefix("GET /user/")
            .expect("the plan asks for nothing else");
        let (user, choice) = path.split_once('/').expect("a user and its choice");
        choices
            .entry(user.to_owned())
            .or_default()
            .push(choice.to_owned());
    }
    choices
}

#[test]
fn the_same_seed_gives_every_user_the_same_tasks_and_values() {
    let first = choices("7", "2");
    assert_eq!(first.len(), 4);
    assert_eq!(choices("7", "2"), first);
    assert_eq!(
        choices("7", "1"),
        first,
        "however many threads drive the users"
    );
}

#[test]
fn another_seed_and_another_user_give_others() {
    let (first, second) = (choices("7", "1"), choices("8", "1"));
    for user in ["1", "2", "3", "4"] {
        assert_ne!(first[user], second[user], "user {user}");
    }
    assert_ne!(first["1"], first["2"]);
}

#[test]
fn without_a_seed_every_run_is_another_and_says_which() {
    let server = Server::start();
    let seeds = || iterate("tests/lua/choices.lua", &server, 1, 1).json["seed"].as_u64();
    let (first, second) = (seeds(), seeds());
    assert!(first.is_some());
    assert_ne!(first, second);
}

#[test]
fn a_seed_of_the_plan_holds_for_its_top_level_too() {
    let server = Server::start();
    let plan = "plan { seed = 11 }\nlocal n = random.int(1, 1000000000)\n\
                task { function(user) user:get(\"/\" .. n .. \"/\" .. random.int(1, 1000000000)) end }\n";
    let plan = crate::program::plan("seeded.lua", plan);
    for _ in 0..2 {
        assert_eq!(iterate(&plan, &server, 1, 1).json["seed"], 11);
    }
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0], requests[1]);
}
