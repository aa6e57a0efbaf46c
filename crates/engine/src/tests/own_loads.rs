//! Tests of scenarios with loads of their own: each keeps its own timetable to the instant, whatever the others do.

use super::{ms, per_stretch};
use crate::Outcome;
use crate::fixture::{Arrived, TestRun};
use lgoose_metrics::Cause;
use lgoose_metrics::control::Command;
use lgoose_plan::config::Settings;
use std::collections::BTreeSet;
use std::time::Duration;

/// Users of four kinds, open and closed side by side.
const FOUR_KINDS: &str = "
  local function visit(name)
    return task { function(user) user:get('/' .. name .. '/' .. user.id) user:wait(0.1) end }
  end
  local function ends(name)
    return task { on_stop = true, function(user) user:get('/' .. name .. '-ends') end }
  end
  scenario { 'read', weight = 3, visit 'read', ends 'read' }
  scenario { 'search', weight = 1, visit 'search', ends 'search' }
  scenario { 'buy', rate = '20/s', max_users = 9, start = '2s', run_time = '3s', visit 'buy', ends 'buy' }
  scenario { 'peak', stages = { '1s:8', '1s:8' }, start = '1s', visit 'peak', ends 'peak' }
  scenario { 'once', users = 5, startup_time = 0, iterations = 4, visit 'once', ends 'once' }";

fn settings(run_time: u64) -> Settings {
    Settings {
        users: Some(4),
        startup_time: Some(Duration::ZERO),
        run_time: Some(ms(run_time)),
        ..Settings::default()
    }
}

async fn play(
    source: &'static str,
    settings: Settings,
    workers: &[usize],
) -> (Vec<Arrived>, Outcome) {
    let rehearsal = TestRun {
        workers: workers.to_vec(),
        threads: 3,
        ..TestRun::new(source, settings)
    };
    rehearsal.play().await
}

fn of(arrived: &[Arrived], prefix: &str) -> (usize, Duration, Duration) {
    let times = arrived.iter().filter(|(_, path)| path.starts_with(prefix));
    let times: Vec<Duration> = times.map(|(at, _)| *at).collect();
    let ends = |time: Option<&Duration>| time.copied().unwrap_or_default();
    (times.len(), ends(times.first()), ends(times.last()))
}

#[tokio::test(start_paused = true)]
async fn each_scenario_has_its_own_load_beside_the_others() {
    for workers in [&[][..], &[1, 2]] {
        let (arrived, outcome) = play(FOUR_KINDS, settings(6_000), workers).await;
        // A rate is even, begins at its start and ends after its time.
        assert_eq!(per_stretch(&arrived, 1_000, "/buy/")[2..], [20, 20, 20]);
        let (_, first, last) = of(&arrived, "/buy/");
        assert!(first >= ms(2_000) && last < ms(5_000), "{first:?} {last:?}");
        let (_, first, last) = of(&arrived, "/buy-ends");
        assert!(first >= ms(5_000) && last < ms(5_200), "{first:?} {last:?}");
        // Stages count from the start.
        let (ended, first, _) = of(&arrived, "/peak-ends");
        assert!(ended == 8 && first >= ms(3_000), "{ended} {first:?}");
        let (_, first, _) = of(&arrived, "/peak/");
        assert!(first >= ms(1_000), "{first:?}");
        // The others share the users of the run: three of four read.
        let users = |prefix| {
            let paths = arrived.iter().filter(|(_, path)| path.starts_with(prefix));
            paths.map(|(_, path)| path).collect::<BTreeSet<_>>().len()
        };
        assert_eq!((users("/read/"), users("/search/")), (3, 1));
        let (_, _, last) = of(&arrived, "/read/");
        assert!(last >= ms(5_800), "{last:?}");
        // A scenario with limited iterations is done when its iterations are.
        let (count, _, last) = of(&arrived, "/once/");
        assert!(count == 20 && last < ms(500), "{count} {last:?}");
        let report = outcome.report;
        let texts: Vec<&str> = report.events.iter().map(|event| &*event.text).collect();
        for text in [
            "the load of scenario 'buy' began",
            "the load of scenario 'peak' ended",
        ] {
            assert!(texts.contains(&text), "{texts:?}");
        }
        let ids: Vec<&String> = arrived.iter().map(|(_, path)| path).collect();
        let numbers = ids
            .iter()
            .filter_map(|path| path.rsplit_once('/')?.1.parse::<u64>().ok());
        let numbers: BTreeSet<u64> = numbers.collect();
        let kinds = ["/read/", "/search/", "/buy/", "/peak/", "/once/"];
        let of_kinds: usize = kinds.iter().map(|kind| users(kind)).sum();
        assert_eq!(numbers.len(), of_kinds, "no two users have one number");
        let ending = report.ending.expect("it has ended");
        assert_eq!(ending.cause, Cause::TimeUp);
        assert_eq!(report.aggregated.failures, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_of_own_loads_alone_ends_with_the_last_of_them() {
    let source = "
      scenario { 'a', users = 2, run_time = '1s', task { function(user) user:get('/a') user:wait(0.1) end } }
      scenario { 'b', rate = '10/s', start = '3s', run_time = '2s', task { function(user) user:get('/b') end } }";
    let (arrived, outcome) = play(source, Settings::default(), &[]).await;
    assert_eq!(of(&arrived, "/b").0, 20);
    // The second user starts a tenth of the run time later, which counts from then.
    let (_, _, last) = of(&arrived, "/a");
    assert!((ms(900)..ms(1_200)).contains(&last), "{last:?}");
    let ending = outcome.report.ending.expect("it has ended");
    assert_eq!((ending.cause, ending.planned_s), (Cause::TimeUp, Some(5.0)));
}

#[tokio::test(start_paused = true)]
async fn a_run_without_an_end_is_over_when_all_have_done_their_iterations() {
    let source = "
      scenario { 'a', users = 2, start = 0, iterations = 3, task { function(user) user:get('/a') end } }
      scenario { 'b', users = 3, shared_iterations = 10, startup_time = 0, task { function(user) user:get('/b') end } }
      scenario { 'c', rate = 5, run_time = '2s', task { function(user) user:get('/c') end } }";
    let (arrived, outcome) = play(source, Settings::default(), &[]).await;
    let counts = ["/a", "/b", "/c"].map(|prefix| of(&arrived, prefix).0);
    assert_eq!(counts, [6, 10, 10]);
    let ending = outcome.report.ending.expect("it has ended");
    assert_eq!(ending.cause, Cause::IterationsDone);
    assert!(!ending.cut_short);
}

#[tokio::test(start_paused = true)]
async fn iterations_that_all_users_share_are_as_many_as_configured() {
    let source = "task { function(user) user:get('/' .. user.id) user:wait(0.01 * user.id) end }";
    for workers in [&[][..], &[1, 2]] {
        let settings = Settings {
            shared_iterations: Some(1_000),
            ..settings(60_000)
        };
        let settings = Settings {
            run_time: None,
            ..settings
        };
        let (arrived, outcome) = play(source, settings, workers).await;
        assert_eq!(arrived.len(), 1_000, "{workers:?}");
        let ending = outcome.report.ending.expect("it has ended");
        assert_eq!(ending.cause, Cause::IterationsDone, "{workers:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_scenario_has_its_own_ceiling_and_its_own_headers() {
    let source = "
      scenario { 'slow', throttle_requests = '50/s', task { function(user) user:get '/slow' end } }
      scenario { 'free', task { function(user) user:get '/free' user:wait(0.01) end } }";
    let (arrived, _) = play(source, settings(2_000), &[]).await;
    let (slow, _, _) = of(&arrived, "/slow");
    assert!((98..=104).contains(&slow), "{slow}");
    assert!(of(&arrived, "/free").0 > 300);
}

#[tokio::test(start_paused = true)]
async fn a_command_is_about_the_load_that_scenarios_share_or_about_the_one_it_names() {
    let mut rehearsal = TestRun::new(FOUR_KINDS, settings(6_000));
    rehearsal.commands = vec![
        (ms(1_500), Command::SetUsers(8)),
        (ms(3_000), Command::SetRateOf("buy".to_owned(), 40.0)),
        (ms(3_500), Command::SetUsersOf("once".to_owned(), 7)),
    ];
    let (arrived, _) = rehearsal.play().await;
    let users = |prefix| {
        let paths = arrived.iter().filter(|(_, path)| path.starts_with(prefix));
        paths.map(|(_, path)| path).collect::<BTreeSet<_>>().len()
    };
    assert_eq!((users("/read/"), users("/search/")), (6, 2));
    assert_eq!(per_stretch(&arrived, 1_000, "/buy/")[2..], [20, 40, 40]);
    assert_eq!(of(&arrived, "/once/").0, 28);
}

#[tokio::test(start_paused = true)]
async fn more_is_counted_from_what_somebody_has_set_of_that_load() {
    let mut rehearsal = TestRun::new(FOUR_KINDS, settings(6_000));
    let buy = |more| Command::AddRateOf("buy".to_owned(), more);
    let once = |more| Command::AddUsersOf("once".to_owned(), more);
    rehearsal.commands = vec![
        (ms(10), once(1)),
        (ms(10), once(1)),
        (ms(3_000), buy(15.0)),
        (ms(3_000), buy(5.0)),
    ];
    let (arrived, outcome) = rehearsal.play().await;
    assert_eq!(per_stretch(&arrived, 1_000, "/buy/")[2..], [20, 40, 40]);
    assert_eq!(of(&arrived, "/once/").0, 28);
    let texts: Vec<&str> = outcome
        .report
        .events
        .iter()
        .map(|event| &*event.text)
        .collect();
    for text in [
        "scenario 'once' was set to 7 users",
        "scenario 'buy' was set to 40 iterations a second",
    ] {
        assert!(texts.contains(&text), "{text}: {texts:?}");
    }
}
