//! Commands during a run, as a view sends them: runs inside this process, steered by what the site has seen.

use crate::server::Server;
use lgoose::config::{Config, Settings, Value};
use lgoose::control::Command;
use lgoose::engine::{PlanVersion, Run, run};
use lgoose::metrics::{Report, Snapshot};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, watch};

const COMES_AND_GOES: &str = "scenario { \"s\",\n  \
     task { on_start = true, function(user) user:get(\"/in/\" .. user.id) end },\n  \
     task { on_stop = true, function(user) user:get(\"/out/\" .. user.id) end },\n}";

const BUSY: &str = "task { wait = 0.005, function(user) user:get \"/\" end }";

/// The controls of a run.
struct Wheel {
    commands: mpsc::UnboundedSender<Command>,
    pictures: watch::Receiver<Option<Arc<Snapshot>>>,
}

impl Wheel {
    fn send(&self, command: Command) {
        self.commands.send(command).expect("the run goes on");
    }

    /// Polls until `ready` or until a deadline, which fails the test.
    async fn until(&self, what: &str, mut ready: impl FnMut() -> bool) {
        let begin = Instant::now();
        while !ready() {
            assert!(begin.elapsed() < Duration::from_secs(60), "in vain: {what}");
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
    let (program, plan, _) =
        lgoose::lua::load("plan.lua", plan, BTreeMap::new(), 1).expect("the plan is fine");
    let mut settings = Settings::default();
    for (name, value) in fields {
        settings.set(name, value).expect("the field is fine");
    }
    let config = Arc::new(Config::new(settings, 2, 1).expect("nothing contradicts"));
    let hosts = vec![server.url(); plan.scenarios.len()];
    let plan_version = PlanVersion::new(program, plan, hosts, config.clone());
    let run_it = Run {
        plan_version: Arc::new(plan_version),
        config,
        name: "plan.lua".to_owned(),
        target: server.url(),
        client: Default::default(),
        resolver: Default::default(),
        journals: None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime can be made");
    let (commands, obeyed) = mpsc::unbounded_channel();
    let (_none, versions) = mpsc::unbounded_channel();
    let (shown, pictures) = watch::channel(None);
    let wheel = Wheel { commands, pictures };
    let (outcome, ()) = runtime
        .block_on(async { tokio::join!(run(run_it, obeyed, versions, shown), script(wheel)) });
    let outcome = outcome.expect("the run starts");
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
    let report = steer(COMES_AND_GOES, &server, &fields, async |wheel| {
        let came = |n| move |server: &Server| count(server, "GET /in/") == n;
        let gone = |n| move |server: &Server| count(server, "GET /out/") == n;
        wheel.until("2 came", || came(2)(&server)).await;
        wheel.send(Command::SetUsers(5));
        wheel.until("5 came", || came(5)(&server)).await;
        wheel.send(Command::SetUsers(1));
        wheel.until("4 went", || gone(4)(&server)).await;
        assert_eq!(count(&server, "GET /out/1"), 0, "the first user stays");
        wheel.send(Command::SetUsers(0));
        wheel.until("all went", || gone(5)(&server)).await;
        wheel.send(Command::SetUsers(3));
        wheel.until("3 came again", || came(8)(&server)).await;
        wheel.send(Command::Stop);
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
        wheel.send(Command::SetRate(300.0));
        while wheel.picture().await.dropped == 0 {}
        wheel.send(Command::SetUsers(6));
        wheel.until("six hang", || server.received() == 6).await;
        wheel.send(Command::SetRate(0.0));
        let dropped = loop {
            let (one, other) = (wheel.picture().await.dropped, wheel.picture().await.dropped);
            if one == other {
                break one;
            }
        };
        assert!(dropped > 0);
        wheel.send(Command::Abort);
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
        wheel.send(Command::Pause);
        let still = loop {
            wheel.picture().await;
            let seen = server.received();
            wheel.picture().await;
            wheel.picture().await;
            if server.received() == seen {
                break seen;
            }
        };
        wheel.send(Command::Resume);
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
        wheel.send(Command::Pause);
        for _ in 0..3 {
            wheel.picture().await;
        }
        wheel.send(Command::Resume);
    });
    let arrivals = report.arrivals.expect("a run at a rate");
    assert_eq!((arrivals.started, arrivals.dropped), (30, 0));
    assert_eq!(server.received(), 30);
}

#[test]
fn figures_can_be_reset_and_what_was_before_is_gone() {
    let server = Server::start();
    let fields = [("users", number(4)), ("hatch_rate", number(1_000))];
    let report = steer(BUSY, &server, &fields, async |mut wheel| {
        while wheel.picture().await.total.count < 20 {}
        wheel.send(Command::ResetStatistics);
        let mut before = wheel.picture().await.measured;
        loop {
            let picture = wheel.picture().await;
            if picture.measured < before || picture.measured < picture.elapsed {
                break;
            }
            before = picture.measured;
        }
        while wheel.picture().await.total.count == 0 {}
        wheel.send(Command::Stop);
    });
    assert!(report.aggregated.count > 0);
    assert!(report.aggregated.count + 20 <= server.received());
    assert_eq!(report.users, 4, "users at work stay");
}
