//! Tests of runs that lose a shard on the way: they end, and what the shard had delivered counts.

use super::{COMES_AND_GOES, ms, numbers, per_stretch};
use crate::fixture::{TestRun, live};
use crate::messages::context::RunContext;
use crate::shard::channels::Channels;
use lgoose_base::error::Error;
use lgoose_metrics::Cause;
use lgoose_metrics::control::Command;
use lgoose_plan::config::Settings;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// When the second of [`start_to_lose_one`]'s shards is lost.
const LOST_AT: Duration = Duration::from_millis(1_500);

/// Starts a shard on the thread of the test, and loses the second one in the middle of the run, with what it had not handed
/// over.
fn start_to_lose_one(
    index: usize,
    context: Arc<RunContext>,
    channels: Channels,
) -> Result<Option<JoinHandle<()>>, Error> {
    let lost_at = context.start + LOST_AT;
    let life = live(index, context, channels);
    tokio::task::spawn_local(async move {
        match index {
            1 => drop(tokio::time::timeout_at(lost_at, life).await),
            _ => life.await,
        }
    });
    Ok(None)
}

fn losing(source: &'static str, commands: Vec<(Duration, Command)>) -> TestRun {
    let settings = Settings {
        users: Some(20),
        hatch_rate: Some(1_000.0),
        run_time: Some(ms(60_000)),
        ..Settings::default()
    };
    TestRun {
        commands,
        start_shard: start_to_lose_one,
        response_time: |_, _| ms(10),
        ..TestRun::new(source, settings)
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_loses_a_shard_ends_with_what_it_had_delivered() {
    let source = "task { function(user) user:get \"/\" end }";
    let (arrived, outcome) = losing(source, Vec::new()).play().await;
    let trouble = outcome.trouble.expect("it is told").to_string();
    assert!(trouble.contains("a thread of users ended"), "{trouble}");
    let report = outcome.report;
    let ending = report.ending.expect("it ended");
    assert_eq!(ending.cause, Cause::Trouble);
    assert!((1.4..1.7).contains(&ending.at_s), "{}", ending.at_s);
    // All of the first second, and half of what came after the lost shard's last hand-over at the latest.
    let seconds = per_stretch(&arrived, 1_000, "/");
    assert_eq!(report.series[0].count, seconds[0] - 20, "20 were under way");
    let all: u64 = seconds.iter().sum();
    assert!(report.aggregated.count > seconds[0], "{seconds:?}");
    assert!(report.aggregated.count <= all, "{seconds:?}");
}

#[tokio::test(start_paused = true)]
async fn a_measurement_that_a_dead_shard_never_came_to_starts_without_it() {
    let just_before = LOST_AT - ms(20);
    let commands = vec![(just_before, Command::ResetStatistics)];
    let source = "task { wait = 0.1, function(user) user:get \"/\" end }";
    let (_, outcome) = losing(source, commands).play().await;
    let report = outcome.report;
    let start = Duration::from_nanos(report.origin_ns);
    assert!(
        start >= just_before && start <= LOST_AT + ms(50),
        "{start:?}"
    );
    assert!(report.aggregated.count <= 20, "{}", report.aggregated.count);
}

#[tokio::test(start_paused = true)]
async fn users_of_the_other_shards_leave_as_at_any_stop() {
    let (arrived, _) = losing(COMES_AND_GOES, Vec::new()).play().await;
    let (came, went) = (numbers(&arrived, "/in/"), numbers(&arrived, "/out/"));
    assert_eq!((came.len(), went.len()), (20, 10));
}
