//! Runs with known troubles, played through recorder and store: tests compare every surface with the kind, place,
//! beginning and cause of each trouble.

use crate::{
    Aim, Effort, Phases, Recorder, Report, RunIdentity, RunPhase, Sample, SampleFailure,
    SampleResponse, Snapshot, Store, TaskRun, Traffic,
};
use lgoose_base::threshold::Threshold;
use std::sync::Arc;
use std::time::Duration;

/// A run, as a live view and a report see it.
pub struct Story {
    /// Short description of the run.
    pub title: &'static str,
    /// The snapshot before its end.
    pub snapshot: Arc<Snapshot>,
    /// The report.
    pub report: Report,
    /// The trouble that an operator has to find at a glance; `None` if all is well.
    pub(crate) answers: Option<Answers>,
}

/// Trouble in the run of a story.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answers {
    /// Where it is: a name, as screens show it.
    pub(crate) place: &'static str,
    /// How much of it: a share, or a figure beyond its limit.
    pub(crate) share: &'static str,
    /// When it began, in seconds since the start of the run.
    pub(crate) since_s: f64,
    pub(crate) reason: &'static str,
}

/// The wall clock at which all runs begin.
pub const STARTED: &str = "2026-05-04T03:11:48.000Z";

const SECOND: Duration = Duration::from_secs(1);

/// A run of one thread, played second by second.
struct Player {
    recorder: Recorder,
    store: Store,
    second: u32,
}

/// Latency of a request in milliseconds, and its status or failure.
type Outcome = (u64, Result<u16, (u16, &'static str)>);

const OK: Outcome = (12, Ok(200));

impl Player {
    fn new(thresholds: &[&str]) -> Player {
        let mut store = Store::new(RunIdentity {
            version: "0.2.0".into(),
            plan: "plans/shop.lua".into(),
            host: "https://shop.example".into(),
            started: STARTED.into(),
            ..RunIdentity::default()
        });
        let read = |text: &&str| Threshold::read(text).expect("a threshold");
        store.judge_by(thresholds.iter().map(read).collect());
        store.expect(1);
        let mut recorder = Recorder::new(0);
        recorder.user_started("visitor", recorder.zero());
        Player {
            recorder,
            store,
            second: 0,
        }
    }

    /// Plays requests one after another within the current second.
    fn requests(&mut self, requests: &[(&str, Outcome)]) {
        let begin = self.recorder.zero() + SECOND * self.second;
        for (n, ((method, name), (ms, outcome))) in (0u32..).zip(requests.iter().map(split)) {
            let start = begin + Duration::from_millis(2) * n;
            let latency = Duration::from_millis(ms);
            let request = self.recorder.request(method, name);
            let (status, failure) = match outcome {
                Ok(status) => (status, None),
                Err((status, message)) => (status, Some(message)),
            };
            let flight = self.recorder.start_request(start, request);
            self.recorder
                .end_request(flight, start, latency, status > 0);
            self.recorder.record(&Sample {
                request,
                start,
                latency,
                delay: None,
                phases: Phases::default(),
                response: SampleResponse::of_status(status),
                redirects: 0,
                retries: 0,
                traffic: Traffic::received(1_000),
                failure: failure.map(|message| SampleFailure {
                    message,
                    line: None,
                }),
                context: None,
            });
        }
    }

    /// Plays one run of a task within the current second.
    fn task(&mut self, name: &str, failure: Option<&'static str>) {
        let start = self.recorder.zero() + SECOND * self.second;
        let task = self.recorder.task("visitor", name);
        self.recorder.record_task(&TaskRun {
            task,
            start,
            latency: Duration::from_millis(15),
            failure: failure.map(|message| SampleFailure {
                message,
                line: Some("plans/shop.lua:12"),
            }),
            context: None,
        });
    }

    /// Ends the current second, in which the thread was that busy and its timers that late.
    fn tick(&mut self, busy: f64, late_ms: u64) {
        self.second += 1;
        let late = Duration::from_millis(late_ms);
        let mut effort = Effort {
            wall: SECOND,
            busy: SECOND.mul_f64(busy),
            lag: Some(late),
            ..Effort::default()
        };
        effort.lateness.record_many(late, 50);
        self.recorder.effort(effort);
        self.recorder
            .come_to(self.recorder.zero() + SECOND * self.second);
        self.store.advance(SECOND * self.second);
        let empty = self.store.merge(self.recorder.take());
        self.recorder.recycle(empty);
    }

    fn story(mut self, title: &'static str, answers: Option<Answers>) -> Story {
        let elapsed = SECOND * self.second;
        let aim = Aim {
            users: 1,
            ..Aim::default()
        };
        self.store.enter(RunPhase::Running, aim, elapsed);
        let snapshot = self.store.tick(elapsed);
        let report = self.store.report(elapsed);
        Story {
            title,
            snapshot,
            report,
            answers,
        }
    }
}

fn split<'a>(&(name, outcome): &(&'a str, Outcome)) -> ((&'a str, &'a str), Outcome) {
    (name.split_once(' ').expect("a method and a name"), outcome)
}

/// Plays a run of so many seconds without a word about its generator.
fn played(thresholds: &[&str], seconds: u32, mut each: impl FnMut(u32, &mut Player)) -> Player {
    let mut player = Player::new(thresholds);
    for second in 0..seconds {
        each(second, &mut player);
        player.tick(0.2, 0);
    }
    player
}

const FRONT: (&str, Outcome) = ("GET front page", OK);
const UNAVAILABLE: Outcome = (9, Err((503, "status 503 Service Unavailable")));

/// Returns all stories.
pub fn stories() -> Vec<Story> {
    vec![
        healthy(),
        one_name_fails(),
        one_name_is_slow(),
        all_are_refused(),
        tasks_fail_in_lua(),
        checks_fail(),
        target_stalls(),
        generator_is_starved(),
        one_of_many_long_names_fails(),
        an_hour_with_an_outlier(),
    ]
}

fn healthy() -> Story {
    let run = played(&["p95 < 300ms"], 60, |_, player| {
        player.requests(&[FRONT, ("GET report", OK)]);
        player.task("browse", None);
    });
    run.story("healthy", None)
}

fn one_name_fails() -> Story {
    let run = played(&["failures < 1%"], 60, |second, player| {
        let checkout = if second >= 30 { UNAVAILABLE } else { OK };
        player.requests(&[
            FRONT,
            FRONT,
            ("GET report", OK),
            ("POST checkout", checkout),
        ]);
    });
    let answers = Answers {
        place: "POST checkout",
        share: "50.0%",
        since_s: 30.0,
        reason: "503 Service Unavailable",
    };
    run.story("one name fails", Some(answers))
}

fn one_name_is_slow() -> Story {
    let limit = ["GET report: p95 < 500ms during 10s"];
    let run = played(&limit, 60, |second, player| {
        let ms = if second >= 30 { 896 } else { 14 };
        player.requests(&[FRONT, FRONT, ("GET report", (ms, Ok(200)))]);
    });
    let answers = Answers {
        place: "GET report",
        share: "896 ms",
        since_s: 30.0,
        reason: "500ms",
    };
    run.story("one name is slow", Some(answers))
}

fn all_are_refused() -> Story {
    let refused = (0, Err((0, "connection refused: 127.0.0.1:8080")));
    let run = played(&[], 30, |_, player| {
        player.requests(&[("GET front page", refused), ("POST checkout", refused)]);
    });
    let answers = Answers {
        place: "GET front page",
        share: "100%",
        since_s: 0.0,
        reason: "connection refused",
    };
    run.story("all are refused", Some(answers))
}

fn tasks_fail_in_lua() -> Story {
    let run = played(&[], 60, |second, player| {
        player.requests(&[FRONT, ("GET cart", OK)]);
        player.task("browse", None);
        player.task(
            "buy",
            (second >= 12).then_some("this is not JSON: '<html>'"),
        );
    });
    let answers = Answers {
        place: "task buy",
        share: "80.0%",
        since_s: 12.0,
        reason: "this is not JSON",
    };
    run.story("tasks fail in Lua", Some(answers))
}

fn checks_fail() -> Story {
    let run = played(&[], 60, |second, player| {
        player.requests(&[FRONT]);
        player.recorder.check("shows its price", second < 15);
    });
    let answers = Answers {
        place: "shows its price",
        share: "75.0%",
        since_s: 15.0,
        reason: "check",
    };
    run.story("checks fail", Some(answers))
}

fn target_stalls() -> Story {
    let run = played(&[], 60, |second, player| match second {
        20 => player.requests(&[("GET front page", (9_500, Ok(200)))]),
        21..30 => {}
        _ => player.requests(&[FRONT, ("GET report", OK)]),
    });
    let answers = Answers {
        place: "all requests",
        share: "9.5 s",
        since_s: 20.0,
        reason: "no answer for 9.5 s",
    };
    run.story("target stalls", Some(answers))
}

fn generator_is_starved() -> Story {
    let mut player = Player::new(&[]);
    for second in 0..60 {
        let is_starved = second >= 25;
        let (ms, busy, late_ms) = if is_starved {
            (240, 1.0, 180)
        } else {
            (12, 0.3, 0)
        };
        player.requests(&[("GET front page", (ms, Ok(200))); 20]);
        player.tick(busy, late_ms);
    }
    let answers = Answers {
        place: "lgoose itself",
        share: "35 of 60 s",
        since_s: 25.0,
        reason: "bottleneck",
    };
    player.story("generator is starved", Some(answers))
}

fn one_of_many_long_names_fails() -> Story {
    let name = |n: usize| {
        format!("GET /api/v2/catalogue/regions/{n:03}/warehouses/shelves/products/availability")
    };
    let names: Vec<String> = (0..300).map(name).collect();
    let run = played(&[], 30, |second, player| {
        let outcome = |n: usize| {
            if n == 217 && second >= 10 {
                UNAVAILABLE
            } else {
                OK
            }
        };
        let all: Vec<(&str, Outcome)> = (0..300).map(|n| (&*names[n], outcome(n))).collect();
        player.requests(&all);
    });
    let answers = Answers {
        place: "/regions/217/",
        share: "66.7%",
        since_s: 10.0,
        reason: "503 Service Unavailable",
    };
    run.story("one of 300 long names fails", Some(answers))
}

fn an_hour_with_an_outlier() -> Story {
    let run = played(&["p95 < 300ms"], 3_600, |second, player| {
        let report = match second {
            2_520 => (8_000, Err((0, "timeout after 8 s"))),
            _ => OK,
        };
        player.requests(&[FRONT, ("GET report", report)]);
    });
    let answers = Answers {
        place: "GET report",
        share: "0.03%",
        since_s: 2_528.0,
        reason: "timeout after 8 s",
    };
    run.story("an hour with an outlier", Some(answers))
}

/// Returns the facts about the trouble that a surface does not show. `clocks` are the wall clocks that stand for its
/// beginning.
pub fn unanswered(story: &Story, shown: &str, clocks: &[String]) -> Vec<String> {
    // A text may be broken over lines anywhere.
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown = squeezed(shown);
    let Some(answers) = &story.answers else {
        let bad = ["FAILING", "STALLED", "failures since", "AT ITS LIMIT"];
        let wrong = bad.iter().filter(|word| shown.contains(**word));
        return wrong.map(|word| format!("shows {word}")).collect();
    };
    let mut missing: Vec<String> = [answers.place, answers.share, answers.reason]
        .iter()
        .filter(|text| !shown.contains(**text))
        .map(|text| (*text).to_owned())
        .collect();
    if !clocks.iter().any(|clock| shown.contains(&**clock)) {
        missing.push(format!("one of {clocks:?}"));
    }
    missing
}

/// Returns the wall clock of the begin of a story's trouble, give or take a second, of a run that began at `started`.
pub fn clocks(story: &Story, started: jiff::Timestamp) -> Vec<String> {
    let since = story
        .answers
        .as_ref()
        .map_or(0.0, |answers| answers.since_s);
    let at = |more: i64| {
        let seconds = jiff::SignedDuration::from_secs(since as i64 + more);
        let moment = started.checked_add(seconds).expect("within time");
        moment.strftime("%H:%M:%S").to_string()
    };
    (-1..=1).map(at).collect()
}
