//! Tests of the figures of a user that is cut off, and of the names of requests.

use crate::load_model::user_pool::UserStart;
use crate::messages::context::context;
use crate::messages::plan_version::PlanVersion;
use crate::user::perform::*;
use crate::user::prefetch::PrefetchedLife;
use crate::user::run_state::ShardRun;
use crate::user::{ScenarioContext, ShardState, User};
use lgoose_http::ClientConfig;
use lgoose_metrics::{Recorder, RunIdentity, Store};
use lgoose_plan::Schedule;
use lgoose_plan::config::{Config, Settings};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

/// Makes one user of a plan's first scenario, against a port where nothing listens.
fn user_without_a_site(source: &str) -> Box<User> {
    let (program, plan, _) = lgoose_lua::load("p.lua", source, BTreeMap::new(), 0).expect("a plan");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    let Config { run, local, .. } = Config::new(Settings::default(), 1, 0).expect("the defaults");
    let config = Arc::new(run);
    let hosts = vec![format!("http://{address}")];
    let plan_version = Arc::new(PlanVersion::new(program, plan, hosts, config.clone()));
    let context = context(
        config,
        local,
        1,
        ClientConfig::default(),
        Arc::default(),
        None,
    );
    let mut recorder = Recorder::new(0);
    let scenario = plan_version.plan.scenarios[0].clone();
    let role = ScenarioContext {
        schedule: Schedule::new(&scenario),
        tasks: vec![(recorder.task("default", "t"), "t".to_owned())],
        tags: Vec::new(),
        iterations: recorder.iterations("default"),
        scenario,
        host: plan_version.hosts[0].clone(),
        program: plan_version.program.clone(),
        limits: Default::default(),
    };
    let shared = ShardState::new(
        &context,
        0,
        recorder,
        ShardRun::new(&context, None),
        Arc::default(),
    );
    let start = UserStart { number: 0, life: 0 };
    User::new(start, Rc::new(role), shared, Rc::default()).expect("a user")
}

#[tokio::test]
async fn a_refused_request_is_counted_when_its_user_is_cut_off_in_the_pause_after_it() {
    let user = user_without_a_site(
        "task { function(user)\n  user:get \"/\"\n  check(true, \"refused\")\n  user:get \"/\"\nend }",
    );
    // The pause is long by now.
    user.runner.exchanges.sender.has_failed_for_long();
    let shared = user.shared.clone();
    let mut store = Store::new(RunIdentity::default());
    {
        let mut life = std::pin::pin!(user.live(0));
        while store.tick(Duration::ZERO).checks.is_empty() {
            let once = std::future::poll_fn(|cx| Poll::Ready(life.as_mut().poll(cx)));
            assert!(once.await.is_pending(), "the plan is in its pause");
            tokio::task::yield_now().await;
            store.merge(shared.recorder.borrow_mut().take());
        }
    }
    store.merge(shared.recorder.borrow_mut().take());
    let report = store.report(Duration::from_secs(1));
    let errors: Vec<_> = report
        .errors
        .iter()
        .map(|error| (error.count, error.message.as_str(), error.line.as_deref()))
        .collect();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!((errors[0].0, errors[0].2), (1, Some("p.lua:2")));
    assert!(errors[0].1.starts_with("connection refused"), "{errors:?}");
    assert_eq!(report.aggregated.count, 1);
}

/// Runs one user of a plan until that has counted the check 'through', and returns after how many turns.
async fn turns_until_through(source: &str) -> u64 {
    let user = user_without_a_site(source);
    let shared = user.shared.clone();
    shared.all_started.set(false);
    let mut store = Store::new(RunIdentity::default());
    let mut life = std::pin::pin!(PrefetchedLife::new(user, |user| user.live(0)));
    let mut turns = 0;
    loop {
        let checks = store.tick(Duration::ZERO).checks.clone();
        if let Some(check) = checks.first() {
            assert_eq!(check.failures, 0, "{source}");
            return turns;
        }
        turns += 1;
        assert!(turns < 100_000, "it does not come through: {source}");
        let once = std::future::poll_fn(|cx| Poll::Ready(life.as_mut().poll(cx)));
        assert!(once.await.is_pending(), "the task is repeated without end");
        tokio::task::yield_now().await;
        store.merge(shared.recorder.borrow_mut().take());
    }
}

#[tokio::test]
async fn a_user_that_waits_for_nothing_lets_others_go_on_now_and_then() {
    for code in [
        "run.ready()",
        "user:timed('timed', function() return 1 end)",
        "pcall(user.timed, user, 'timed', function() error 'wrong' end)",
        "user:spawn(function() end)",
        "user:spawn(function() end):join()",
        "user:spawn(function() end):cancel()",
        "user:spawn(function() user:timed('timed', function() return 1 end) end):join()",
        "user:fetch {}",
        "user:get 'http://[::1/'",
        "user:get 'ftp://127.0.0.1/'",
        "user:fetch { 'http://[::1/', 'ftp://127.0.0.1/' }",
        "user:wait(0)",
        "coroutine.wrap(function() user:timed('timed', function() return 1 end) end)()",
    ] {
        let in_a_task = format!(
            "task {{ function(user)\n  for _ = 1, 1000 do {code} end\n  check(true, 'through')\nend }}"
        );
        let in_iterations = format!(
            "local count = 0\ntask {{ function(user)\n  {code}\n  count = count + 1\n  \
             if count == 1000 then check(true, 'through') end\nend }}"
        );
        let in_a_job = format!(
            "task {{ function(user)\n  user:spawn(function()\n    for _ = 1, 1000 do {code} end\n    \
             check(true, 'through')\n  end)\n  user:wait(60)\nend }}"
        );
        for source in [in_a_task, in_iterations, in_a_job] {
            let turns = turns_until_through(&source).await;
            assert!(turns >= 50, "{turns} turns: {source}");
        }
    }
}

#[tokio::test]
async fn jobs_without_end_take_turns_with_each_other_and_with_their_task() {
    for count in [1, 2, 3, 4, 5, 7, 10, 31, 99, 100] {
        for code in [
            "user:timed('timed', function() return 1 end)",
            "user:wait(0)",
            "user:fetch {}",
        ] {
            let source = format!(
                "task {{ function(user)
                  local counts = {{}}
                  for n = 1, {count} do
                    counts[n] = 0
                    user:spawn(function() while true do {code} counts[n] = counts[n] + 1 end end)
                  end
                  local least, most
                  repeat
                    user:timed('own', function() return 1 end)
                    least, most = math.min(table.unpack(counts)), math.max(table.unpack(counts))
                  until least > 20
                  check(most < 5 * least, 'through')
                end }}"
            );
            turns_until_through(&source).await;
        }
    }
}

#[tokio::test]
async fn iterations_without_an_operation_let_others_go_on_now_and_then() {
    for code in ["", "error 'wrong'", "user:exit_iteration()"] {
        let source = format!(
            "local count = 0\ntask {{ function(user)\n  count = count + 1\n  \
             if count == 1000 then check(true, 'through') end\n  {code}\nend }}"
        );
        let turns = turns_until_through(&source).await;
        assert!(turns >= 50, "{turns} turns: {source}");
    }
}

#[tokio::test]
async fn a_user_has_no_room_for_waits_that_few_users_have() {
    let user = user_without_a_site("task { function(user) user:get \"/\" end }");
    let bytes = size_of_val(&user.live(0));
    // With the runtime's header, that is an allocation of 2,560 bytes.
    assert!(
        bytes < 2_300,
        "{bytes} bytes: box the future that is so large"
    );
}
