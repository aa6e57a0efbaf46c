//! Commands during a run, as a view sends them: runs inside this process, steered by what the site has seen.

use crate::program::DEADLINE;
use crate::server::Server;
use lgoose::Test;
use lgoose::Value;
use lgoose::control::{Command, Done, Handle, Interrupt};
use lgoose::report::{Cause, EventKind, Report, RunPhase, Snapshot};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

const COMES_AND_GOES: &str = "scenario { \"s\",\n  \
     task { on_start = true, function(user) user:get(\"/in/\" .. user.id) end },\n  \
     task { on_stop = true, function(user) user:get(\"/out/\" .. user.id) end },\n}";

const BUSY: &str = "task { wait = 0.005, function(user) user:get \"/\" end }";

/// The controls of a run.
struct Wheel {
    handle: Handle,
    pictures: watch::Receiver<Option<Arc<Snapshot>>>,
}

impl Wheel {
    async fn send(&self, command: Command) -> Done {
        let answer = self.handle.send(command).await;
        answer.expect("it makes sense now")
    }

    /// What the run says to a command that it refuses.
    async fn refused(&self, command: Command) -> String {
        let answer = self.handle.send(command).await;
        answer.expect_err("it makes no sense now").to_string()
    }

    /// Polls until `ready` or until a deadline, which fails the test.
    async fn until(&self, what: &str, mut ready: impl FnMut() -> bool) {
        let begin = Instant::now();
        while !ready() {
            assert!(begin.elapsed() < DEADLINE, "in vain: {what}");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Waits for the next snapshot of the run.
    async fn picture(&mut self) -> Arc<Snapshot> {
        loop {
            self.pictures.changed().await.expect("the run goes on");
            if let Some(picture) = self.pictures.borrow_and_update().clone() {
                return picture;
            }
        }
    }
}

/// Runs a plan with these fields of `plan {}`, steered by `script`, and returns its report.
fn steer(
    plan: &str,
    server: &Server,
    fields: &[(&str, Value)],
    script: impl AsyncFnOnce(Wheel),
) -> Report {
    let mut test = Test::from_source(plan).host(server.url()).seed(1);
    for (name, value) in fields {
        test = test.option(name, value.clone());
    }
    let running = test.option("threads", number(2)).start();
    let running = running.expect("the run starts");
    let handle = running.handle().clone();
    let pictures = handle.snapshots();
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime can be made")
        .block_on(script(Wheel { handle, pictures }));
    let outcome = running.wait().expect("the run starts");
    assert!(outcome.trouble.is_none(), "{:?}", outcome.trouble);
    outcome.report
}

fn number(n: u64) -> Value {
    Value::Number(n as f64)
}

/// Counts the requests that begin with a text.
fn count(server: &Server, beginning: &str) -> usize {
    let requests = server.requests();
    requests.iter().filter(|r| r.starts_with(beginning)).count()
}

#[test]
fn users_can_be_set_to_more_to_fewer_to_none_and_to_some_again() {
    let server = Server::start();
    let fields = [("users", number(2)), ("hatch_rate", number(1_000))];
    let report = steer(COMES_AND_GOES, &server, &fields, async |mut wheel| {
        let came = |n| move |server: &Server| count(server, "GET /in/") == n;
        let gone = |n| move |server: &Server| count(server, "GET /out/") == n;
        wheel.until("2 came", || came(2)(&server)).await;
        wheel.send(Command::SetUsers(5)).await;
        wheel.until("5 came", || came(5)(&server)).await;
        // Users of two threads met only if figures of both were handed over in between.
        while wheel.picture().await.users < 5 {}
        wheel.send(Command::SetUsers(1)).await;
        wheel.until("4 went", || gone(4)(&server)).await;
        assert_eq!(count(&server, "GET /out/1"), 0, "the first user stays");
        wheel.send(Command::SetUsers(0)).await;
        wheel.until("all went", || gone(5)(&server)).await;
        wheel.send(Command::SetUsers(3)).await;
        wheel.until("3 came again", || came(8)(&server)).await;
        wheel.send(Command::Stop).await;
    });
    assert_eq!(count(&server, "GET /out/"), 8);
    assert_eq!(report.users, 5);
    assert_eq!(report.aggregated.count, 16);
}

#[test]
fn a_rate_can_be_set_and_so_can_the_users_it_may_have() {
    let server = Server::start();
    let fields = [("rate", number(1)), ("max_users", number(1))];
    let plan = "task { function(user) user:get \"/hold\" end }";
    let report = steer(plan, &server, &fields, async |mut wheel| {
        wheel.until("the first", || server.received() == 1).await;
        wheel.send(Command::SetRate(300.0)).await;
        while wheel.picture().await.arrivals.dropped == 0 {}
        wheel.send(Command::SetUsers(6)).await;
        wheel.until("six hang", || server.received() == 6).await;
        wheel.send(Command::SetRate(0.0)).await;
        let dropped = loop {
            let (one, other) = (
                wheel.picture().await.arrivals.dropped,
                wheel.picture().await.arrivals.dropped,
            );
            if one == other {
                break one;
            }
        };
        assert!(dropped > 0);
        wheel.send(Command::Abort).await;
    });
    let arrivals = report.arrivals.expect("a run at a rate");
    assert_eq!(arrivals.started, 6);
    assert_eq!(server.received(), 6);
}

#[test]
fn a_paused_run_starts_nothing_and_its_time_stands_still() {
    let server = Server::start();
    let fields = [
        ("users", number(3)),
        ("hatch_rate", number(1_000)),
        ("run_time", Value::Text("500ms".to_owned())),
    ];
    steer(BUSY, &server, &fields, async |mut wheel| {
        wheel.until("requests come", || server.received() > 3).await;
        wheel.send(Command::Pause).await;
        let still = loop {
            wheel.picture().await;
            let seen = server.received();
            wheel.picture().await;
            wheel.picture().await;
            if server.received() == seen {
                break seen;
            }
        };
        wheel.send(Command::Resume).await;
        wheel
            .until("requests come again", || server.received() > still)
            .await;
    });
}

#[test]
fn a_paused_rate_drops_nothing() {
    let server = Server::start();
    let fields = [
        ("rate", number(100)),
        ("run_time", Value::Text("300ms".to_owned())),
    ];
    let plan = "task { function(user) user:get \"/\" end }";
    let report = steer(plan, &server, &fields, async |mut wheel| {
        wheel.send(Command::Pause).await;
        for _ in 0..3 {
            wheel.picture().await;
        }
        wheel.send(Command::Resume).await;
    });
    let arrivals = report.arrivals.expect("a run at a rate");
    assert_eq!((arrivals.started, arrivals.dropped), (30, 0));
    assert_eq!(server.received(), 30);
}

#[test]
fn figures_can_be_reset_and_those_of_before_are_kept_apart() {
    let server = Server::start();
    let fields = [("users", number(4)), ("hatch_rate", number(1_000))];
    let report = steer(BUSY, &server, &fields, async |mut wheel| {
        while wheel.picture().await.requests.total.count < 20 {}
        wheel.send(Command::ResetStatistics).await;
        let mut before = wheel.picture().await.progress.measured;
        loop {
            let picture = wheel.picture().await;
            if picture.progress.measured < before
                || picture.progress.measured < picture.progress.elapsed
            {
                break;
            }
            before = picture.progress.measured;
        }
        while wheel.picture().await.requests.total.count == 0 {}
        wheel.send(Command::Stop).await;
    });
    assert!(report.aggregated.count > 0);
    let [before] = &report.earlier[..] else {
        panic!("one part came before: {}", report.earlier.len());
    };
    assert!(before.aggregated.count >= 20);
    let all = before.aggregated.count + report.aggregated.count;
    assert_eq!(all, server.received(), "nothing is lost");
    let resets = report
        .events
        .iter()
        .filter(|event| event.kind == EventKind::Reset);
    assert_eq!(resets.count(), 1);
    assert_eq!(report.users, 4, "users at work stay");
}

#[test]
fn what_makes_no_sense_is_refused_in_words_and_changes_nothing() {
    let server = Server::start();
    let fields = [("users", number(2)), ("hatch_rate", number(1_000))];
    let plan = "task { function(user) user:get \"/hold\" end }";
    let mut left = None;
    let report = steer(plan, &server, &fields, async |wheel| {
        wheel.until("both hang", || server.received() == 2).await;
        for (command, words) in [
            (Command::SetRate(5.0), "a run of users has no rate"),
            (
                Command::SetUsers(1_000_001),
                "1,000,001 users are too many: the most is 1,000,000",
            ),
            (Command::AddUsers(i64::MAX), "are too many"),
            (Command::AddRate(5.0), "a run of users has no rate"),
            (Command::NextStage, "this run has no stages"),
            (Command::Resume, "the run is not paused"),
            (Command::Reload, "this run cannot reload its plan"),
        ] {
            let refused = wheel.refused(command.clone()).await;
            assert!(refused.contains(words), "{command:?}: {refused}");
        }
        assert_eq!(wheel.send(Command::Pause).await, Done::Paused);
        let refused = wheel.refused(Command::Pause).await;
        assert_eq!(refused, "the run is paused already");
        assert_eq!(wheel.send(Command::Resume).await, Done::Resumed);
        assert_eq!(wheel.send(Command::ResetStatistics).await, Done::Reset);
        let refused = wheel.refused(Command::ResetStatistics).await;
        assert_eq!(refused, "the statistics are being reset already");
        let wanted = wheel
            .handle
            .snapshot()
            .expect("it has begun")
            .progress
            .wanted;
        assert_eq!((wanted.users, wanted.rate, wanted.ends), (2, None, None));
        let interrupt = Command::Interrupt(Interrupt::Signal);
        assert_eq!(wheel.send(interrupt.clone()).await, Done::Stopping);
        for command in [Command::Stop, Command::SetUsers(9), Command::Pause] {
            let refused = wheel.refused(command.clone()).await;
            assert_eq!(refused, "the run is stopping already", "{command:?}");
        }
        assert_eq!(wheel.send(interrupt).await, Done::Aborting);
        left = Some(wheel.handle);
    });
    assert_eq!(report.ending.expect("it ended").cause, Cause::Aborted);
    assert_eq!(server.received(), 2);
    let refused = left.expect("the script ended").send(Command::Stop).wait();
    assert_eq!(
        refused.expect_err("it is over").to_string(),
        "the run is over"
    );
}

#[test]
fn what_is_no_rate_is_refused_and_what_is_wanted_is_shown_with_the_answer() {
    let server = Server::start();
    let fields = [("rate", number(1)), ("max_users", number(3))];
    let plan = "task { function(user) user:get \"/\" end }";
    steer(plan, &server, &fields, async |wheel| {
        wheel.until("the first", || server.received() == 1).await;
        let wanted = || {
            let wanted = wheel
                .handle
                .snapshot()
                .expect("it has begun")
                .progress
                .wanted;
            (wanted.users, wanted.rate)
        };
        for rate in [-1.0, f64::NAN, f64::INFINITY] {
            let refused = wheel.refused(Command::SetRate(rate)).await;
            assert!(refused.contains("is not a rate"), "{refused}");
        }
        assert_eq!(wanted(), (3, Some(1.0)));
        assert_eq!(wheel.send(Command::SetRate(7.5)).await, Done::Rate(7.5));
        assert_eq!(wheel.send(Command::AddUsers(4)).await, Done::Users(7));
        assert_eq!(wanted(), (7, Some(7.5)));
        assert_eq!(wheel.send(Command::AddUsers(-9)).await, Done::Users(0));
        wheel.send(Command::Stop).await;
        assert_eq!(wanted(), (0, Some(0.0)));
    });
}

#[test]
fn a_report_is_made_for_whoever_asks_for_one() {
    let server = Server::start();
    let fields = [("users", number(4)), ("hatch_rate", number(1_000))];
    let at_end = steer(BUSY, &server, &fields, async |mut wheel| {
        while wheel.picture().await.requests.total.count < 20 {}
        let other = wheel.handle.clone();
        let (one, two) = tokio::join!(wheel.handle.report(), other.report());
        let (one, two) = (one.expect("it goes on"), two.expect("it goes on"));
        assert!(Arc::ptr_eq(&one, &two), "one is made for both");
        assert!(one.aggregated.count >= 20 && one.aggregated.latency_ms.is_some());
        assert_eq!(one.settings.as_ref().map(|told| told.users), Some(4));
        assert!(one.ending.is_none() && one.verdict.is_none());
        while wheel.picture().await.requests.total.count <= one.aggregated.count {}
        let later = wheel.handle.report().await.expect("it goes on");
        assert!(later.aggregated.count > one.aggregated.count);
        wheel.send(Command::Stop).await;
    });
    assert!(at_end.settings.is_some());
}

#[test]
fn before_the_first_user_there_is_a_report_and_a_stop_and_nothing_to_steer() {
    let server = Server::start();
    let plan = "on(\"test_start\", function(user) user:get \"/hold\" end)\n\
                task { function(user) user:get \"/\" end }";
    let fields = [("users", number(3))];
    let report = steer(plan, &server, &fields, async |wheel| {
        wheel.until("it has begun", || server.received() == 1).await;
        let snapshot = wheel.handle.snapshot().expect("what is wanted is known");
        assert_eq!((snapshot.users, snapshot.progress.wanted.users), (0, 3));
        let refused = wheel.refused(Command::SetUsers(9)).await;
        assert!(
            refused.contains("'test_start' is still at work"),
            "{refused}"
        );
        let report = wheel.handle.report().await.expect("there is one");
        assert_eq!(report.aggregated.count, 0);
        let interrupt = Command::Interrupt(Interrupt::Key);
        assert_eq!(wheel.send(interrupt.clone()).await, Done::Stopping);
        assert_eq!(wheel.send(interrupt).await, Done::Aborting);
    });
    assert_eq!(report.ending.expect("it ended").cause, Cause::Aborted);
    assert_eq!(server.requests(), ["GET /hold"]);
}

#[test]
fn one_more_or_fewer_counts_from_the_users_of_now_and_stages_can_be_cut_short() {
    let server = Server::start();
    let fields = [("test_plan", Value::Text("3,1ms;3,1h;8,1h;1,1h".to_owned()))];
    let report = steer(COMES_AND_GOES, &server, &fields, async |wheel| {
        wheel
            .until("3 came", || count(&server, "GET /in/") == 3)
            .await;
        assert_eq!(wheel.send(Command::NextStage).await, Done::NextStage);
        let wanted = wheel.handle.snapshot().expect("it goes on").progress.wanted;
        assert_eq!(wanted.users, 8, "the stage that goes there");
        let ends = wanted.ends.expect("it has an end");
        assert!(ends < Duration::from_secs(2 * 3600 + 60), "{ends:?}");
        wheel
            .until("its first came", || count(&server, "GET /in/") == 4)
            .await;
        assert_eq!(wheel.send(Command::AddUsers(-1)).await, Done::Users(3));
        wheel
            .until("one went", || count(&server, "GET /out/") == 1)
            .await;
        // What was set counts, also on the way there.
        assert_eq!(wheel.send(Command::AddUsers(3)).await, Done::Users(6));
        assert_eq!(wheel.send(Command::AddUsers(-1)).await, Done::Users(5));
        let refused = wheel.refused(Command::NextStage).await;
        assert!(refused.contains("no stage to come"), "{refused}");
        wheel.send(Command::Stop).await;
    });
    let stages = report
        .events
        .iter()
        .filter(|one| one.kind == EventKind::Stage);
    assert!(stages.count() <= 2, "{:?}", report.events);
}

#[test]
fn a_rate_goes_up_and_down_from_what_it_is_and_its_stages_can_be_cut_short() {
    let server = Server::start();
    let plan = "task { function(user) user:get \"/\" end }";
    let fields = [("rate", number(20)), ("max_users", number(3))];
    steer(plan, &server, &fields, async |wheel| {
        wheel.until("the first", || server.received() > 0).await;
        assert_eq!(wheel.send(Command::AddRate(0.1)).await, Done::Rate(20.1));
        assert_eq!(wheel.send(Command::AddRate(0.2)).await, Done::Rate(20.3));
        assert_eq!(wheel.send(Command::AddRate(-99.0)).await, Done::Rate(0.0));
        let refused = wheel.refused(Command::AddRate(f64::NAN)).await;
        assert!(refused.contains("is not a rate"), "{refused}");
        let refused = wheel.refused(Command::NextStage).await;
        assert_eq!(refused, "this run has no stages");
        wheel.send(Command::Stop).await;
    });
    let server = Server::start();
    let fields = [(
        "stages",
        Value::List(
            ["0:5/s", "1h:20/s", "1ms:50/s", "1h:50/s"]
                .map(str::to_owned)
                .to_vec(),
        ),
    )];
    steer(plan, &server, &fields, async |wheel| {
        wheel.until("the first", || server.received() > 0).await;
        assert_eq!(wheel.send(Command::NextStage).await, Done::NextStage);
        let then = server.received();
        wheel
            .until("many come", || server.received() > then + 30)
            .await;
        // Not to the 20 that the first stage was on its way to.
        let answer = wheel.send(Command::AddRate(1.0)).await;
        assert_eq!(answer, Done::Rate(51.0));
        wheel.send(Command::Stop).await;
    });
}

#[test]
fn a_pause_stops_the_clock_that_views_show() {
    let server = Server::start();
    let fields = [
        ("users", number(2)),
        ("hatch_rate", number(1_000)),
        ("run_time", Value::Text("1h".to_owned())),
    ];
    steer(BUSY, &server, &fields, async |mut wheel| {
        wheel.until("requests come", || server.received() > 3).await;
        wheel.send(Command::Pause).await;
        let first = wheel.handle.snapshot().expect("it goes on");
        let mut last = wheel.picture().await;
        while last.progress.elapsed < first.progress.elapsed + Duration::from_millis(600) {
            last = wheel.picture().await;
        }
        assert_eq!(last.progress.phase, RunPhase::Paused);
        assert_eq!(
            last.progress.played, first.progress.played,
            "it stands still"
        );
        assert!(last.progress.played < last.progress.elapsed);
        assert_eq!(
            last.progress.wanted.lasts,
            Some(Duration::from_secs(3_600) + Duration::from_millis(1))
        );
        wheel.send(Command::Stop).await;
    });
}
