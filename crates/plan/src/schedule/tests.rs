//! Tests of the schedule, order by order: exact counts, and sequences that hold.

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;

const A: usize = 0;
const B: usize = 1;
const C: usize = 2;

fn task(weight: u32, sequence: Option<i64>) -> Task {
    Task {
        name: None,
        weight,
        sequence,
        on_start: false,
        on_stop: false,
        tags: Vec::new(),
        request_tags: Default::default(),
        wait: None,
        function: 0,
        line: 1,
    }
}

fn once(weight: u32, sequence: Option<i64>, on_start: bool, on_stop: bool) -> Task {
    Task {
        on_start,
        on_stop,
        ..task(weight, sequence)
    }
}

fn schedule(order: TaskOrder, tasks: Vec<Task>) -> Schedule {
    Schedule::new(&Scenario {
        order,
        tasks,
        ..Scenario::new("visitor")
    })
}

fn rng(seed: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

/// Returns the tasks of the next iteration of a user.
fn iteration(cursor: &mut ScheduleCursor, schedule: &Schedule, rng: &mut impl Rng) -> Vec<usize> {
    let mut tasks = Vec::new();
    while let Some(step) = cursor.next(schedule, rng) {
        tasks.push(step.task);
        if step.last_of_iteration {
            break;
        }
    }
    tasks
}

fn count(tasks: &[usize], task: usize) -> usize {
    tasks.iter().filter(|other| **other == task).count()
}

#[test]
fn orders_without_chance_repeat_the_same_iteration() {
    let plain = |weights: &[u32]| {
        weights
            .iter()
            .map(|weight| task(*weight, None))
            .collect::<Vec<_>>()
    };
    for (order, tasks, expected) in [
        (TaskOrder::RoundRobin, plain(&[3, 1]), vec![A, B, A, A]),
        (
            TaskOrder::RoundRobin,
            plain(&[1, 3, 2]),
            vec![A, B, C, B, C, B],
        ),
        (TaskOrder::Serial, plain(&[3, 1]), vec![A, A, A, B]),
        (
            TaskOrder::Serial,
            vec![task(2, None), task(1, Some(7)), task(1, Some(-2))],
            vec![C, B, A, A],
        ),
        (
            TaskOrder::RoundRobin,
            vec![task(1, Some(1)), task(1, None), task(2, Some(1))],
            vec![A, C, C, B],
        ),
    ] {
        let schedule = schedule(order, tasks);
        let (mut cursor, mut rng) = (ScheduleCursor::new(), rng(1));
        for _ in 0..3 {
            assert_eq!(
                iteration(&mut cursor, &schedule, &mut rng),
                expected,
                "{order:?}"
            );
        }
        assert_eq!(schedule.iteration_len(), expected.len() as u64);
    }
}

#[test]
fn a_group_of_one_a_and_five_b_runs_whole_before_c() {
    let tasks = vec![task(1, Some(1)), task(5, Some(1)), task(1, None)];
    for order in [
        TaskOrder::Shuffled,
        TaskOrder::RoundRobin,
        TaskOrder::Serial,
    ] {
        let schedule = schedule(order, tasks.clone());
        let (mut cursor, mut rng) = (ScheduleCursor::new(), rng(2));
        for _ in 0..100 {
            let tasks = iteration(&mut cursor, &schedule, &mut rng);
            assert_eq!((count(&tasks, A), count(&tasks, B)), (1, 5), "{order:?}");
            assert_eq!(
                tasks.iter().position(|task| *task == C),
                Some(6),
                "{order:?}"
            );
        }
    }
}

#[test]
fn every_iteration_runs_each_task_its_weight_in_all_orders_but_random() {
    for order in [
        TaskOrder::Shuffled,
        TaskOrder::RoundRobin,
        TaskOrder::Serial,
    ] {
        for seed in 0..200 {
            let mut rng = rng(seed);
            let tasks: Vec<Task> = (0..rng.random_range(1..8))
                .map(|_| {
                    task(
                        rng.random_range(1..20),
                        [None, Some(1), Some(2)][rng.random_range(0..3)],
                    )
                })
                .collect();
            let schedule = schedule(order, tasks.clone());
            let mut cursor = ScheduleCursor::new();
            for _ in 0..3 {
                let ran = iteration(&mut cursor, &schedule, &mut rng);
                for (index, task) in tasks.iter().enumerate() {
                    assert_eq!(
                        count(&ran, index),
                        task.weight as usize,
                        "{order:?}, seed {seed}"
                    );
                }
                assert!(ran.is_sorted_by_key(|index| tasks[*index].sequence.unwrap_or(9)));
            }
        }
    }
}

#[test]
fn random_order_draws_by_weight_and_as_often_as_the_weights_sum_to() {
    let schedule = schedule(TaskOrder::Random, vec![task(3, None), task(1, None)]);
    let (mut cursor, mut rng) = (ScheduleCursor::new(), rng(3));
    let iterations: Vec<_> = (0..5_000)
        .map(|_| iteration(&mut cursor, &schedule, &mut rng))
        .collect();
    assert!(iterations.iter().all(|tasks| tasks.len() == 4));
    assert!(iterations.iter().any(|tasks| count(tasks, A) == 4));
    let share = count(&iterations.concat(), A) as f64 / 20_000.0;
    assert!((share - 0.75).abs() < 0.02, "{share}");
}

#[test]
fn a_shuffle_is_new_each_time_and_fair_to_every_order() {
    let schedule = schedule(
        TaskOrder::Shuffled,
        vec![task(1, None), task(1, None), task(1, None)],
    );
    let (mut cursor, mut rng) = (ScheduleCursor::new(), rng(4));
    let mut seen: BTreeMap<Vec<usize>, u32> = BTreeMap::new();
    for _ in 0..6_000 {
        *seen
            .entry(iteration(&mut cursor, &schedule, &mut rng))
            .or_default() += 1;
    }
    assert_eq!(seen.len(), 6);
    assert!(
        seen.values().all(|times| (850..1_150).contains(times)),
        "{seen:?}"
    );
}

#[test]
fn the_same_seed_makes_the_same_tasks_and_another_seed_others() {
    let schedule = schedule(
        TaskOrder::Shuffled,
        vec![task(9, None), task(7, None), task(5, Some(1))],
    );
    let run = |seed| {
        let (mut cursor, mut rng) = (ScheduleCursor::new(), rng(seed));
        (0..100)
            .filter_map(|_| cursor.next(&schedule, &mut rng))
            .collect::<Vec<_>>()
    };
    assert_eq!(run(5), run(5));
    assert_ne!(run(5), run(6));
}

#[test]
fn what_runs_at_the_start_and_end_has_its_sequence_and_weight_in_every_order() {
    let tasks = vec![
        once(2, Some(2), true, false),
        once(1, Some(1), true, true),
        once(1, None, false, true),
        task(1, None),
    ];
    for order in TaskOrder::ALL {
        let schedule = schedule(order, tasks.clone());
        let mut rng = rng(7);
        assert_eq!(schedule.on_start(&mut rng), [1, 0, 0], "{order:?}");
        assert_eq!(schedule.on_stop(&mut rng), [1, 2], "{order:?}");
        assert_eq!(
            iteration(&mut ScheduleCursor::new(), &schedule, &mut rng),
            [3],
            "{order:?}"
        );
    }
}

#[test]
fn a_scenario_that_only_starts_and_stops_has_no_next_task() {
    let schedule = schedule(TaskOrder::Shuffled, vec![once(1, None, true, true)]);
    assert_eq!(ScheduleCursor::new().next(&schedule, &mut rng(8)), None);
    assert_eq!(schedule.iteration_len(), 0);
}

#[test]
fn huge_weights_cost_no_memory() {
    let schedule = schedule(
        TaskOrder::Shuffled,
        vec![task(u32::MAX, None), task(u32::MAX, None)],
    );
    let (mut cursor, mut rng) = (ScheduleCursor::new(), rng(9));
    for _ in 0..1_000 {
        assert!(
            cursor
                .next(&schedule, &mut rng)
                .is_some_and(|step| !step.last_of_iteration)
        );
    }
    assert!(cursor.runs.capacity() < 16);
}
