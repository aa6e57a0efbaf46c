//! Tests of shapes as tables: users at every moment, starts, changes.

use super::*;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn seconds_of(stages: &[(u64, u64)]) -> Shape {
    let stages: Vec<_> = stages
        .iter()
        .map(|(s, users)| (Duration::from_secs(*s), *users))
        .collect();
    Shape::stages(&stages)
}

#[test]
fn a_ramp_starts_each_user_at_its_number_over_the_rate() {
    let shape = Shape::ramp(5, 2.0, Some(ms(10_000)));
    for (at, users) in [
        (0, 1),
        (499, 1),
        (500, 2),
        (1_999, 4),
        (2_000, 5),
        (60_000, 5),
    ] {
        assert_eq!(shape.users_at(ms(at)), users, "at {at} ms");
    }
    for (n, start) in [
        (0, Some(ms(0))),
        (1, Some(ms(500))),
        (4, Some(ms(2_000))),
        (5, None),
    ] {
        assert_eq!(shape.start_of(n), start, "user {n}");
    }
    assert_eq!(shape.all_running_at(), ms(2_000));
    assert_eq!(shape.duration(), Some(ms(12_000)));
    assert_eq!(Shape::ramp(5, 2.0, None).duration(), None);
}

#[test]
fn starts_are_exact_however_many_came_before() {
    let fast = Shape::ramp(10_000_000, 1_000.0, None);
    assert_eq!(fast.start_of(9_999_999), Some(ms(9_999_999)));
    let thirds = Shape::ramp(1_000_000, 3.0, None);
    assert_eq!(
        thirds.start_of(3 * 300_000),
        Some(Duration::from_secs(300_000))
    );
    let slow = Shape::ramp(100, 0.1, None);
    assert_eq!(slow.start_of(7), Some(Duration::from_secs(70)));
}

#[test]
fn a_startup_time_spreads_the_starts_over_it() {
    let shape = Shape::ramp(10, 2.0, None);
    assert_eq!(shape.start_of(9), Some(ms(4_500)));
    let at_once = Shape::ramp(10, f64::INFINITY, Some(ms(1_000)));
    assert_eq!(at_once.users_at(Duration::ZERO), 10);
    assert_eq!(at_once.duration(), Some(ms(1_000)));
}

#[test]
fn stages_are_joined_by_lines_up_level_and_down() {
    let shape = seconds_of(&[(10, 10), (20, 10), (5, 0)]);
    for (at, users) in [
        (0, 1),
        (999, 1),
        (1_000, 2),
        (9_000, 10),
        (10_000, 10),
        (30_000, 10),
        (30_499, 10),
        (30_500, 9),
        (34_499, 2),
        (34_500, 1),
        (34_999, 1),
        (35_000, 0),
        (99_000, 0),
    ] {
        assert_eq!(shape.users_at(ms(at)), users, "at {at} ms");
    }
    assert_eq!(shape.duration(), Some(ms(35_000)));
    assert_eq!(shape.all_running_at(), ms(9_000));
    assert_eq!(shape.peak(), 10);
}

#[test]
fn stages_may_jump_and_rise_again() {
    let shape = seconds_of(&[(0, 4), (2, 4), (2, 2), (4, 6)]);
    for (at, users) in [
        (0, 4),
        (2_000, 4),
        (3_000, 3),
        (3_999, 3),
        (4_000, 3),
        (5_000, 4),
        (7_000, 6),
        (8_000, 6),
    ] {
        assert_eq!(shape.users_at(ms(at)), users, "at {at} ms");
    }
    for (n, start) in [
        (0, Some(0)),
        (3, Some(0)),
        (4, Some(6_000)),
        (5, Some(7_000)),
        (6, None),
    ] {
        assert_eq!(shape.start_of(n), start.map(ms), "user {n}");
    }
}

#[test]
fn the_count_and_the_starts_agree_to_the_nanosecond() {
    let shapes = [
        Shape::ramp(200, 3.0, None),
        Shape::ramp(200, 0.7, None),
        Shape::ramp(200, 200.0 / 7.0, None),
        seconds_of(&[(7, 91), (3, 200)]),
    ];
    for shape in shapes {
        for n in 0..200 {
            let start = shape.start_of(n).expect("200 users start");
            assert_eq!(
                shape.users_at(start),
                n + 1,
                "{shape:?} at the start of user {n}"
            );
            if let Some(before) = start.checked_sub(Duration::from_nanos(1)) {
                assert_eq!(shape.users_at(before), n, "{shape:?} before user {n}");
            }
        }
    }
}

/// Returns every moment at which the number of users changes, and that number.
fn changes(shape: &Shape) -> Vec<(u64, u64)> {
    let mut at = Duration::ZERO;
    let mut changes = Vec::new();
    while let Some(next) = shape.next_change(at) {
        let before = next - Duration::from_nanos(1);
        assert_eq!(
            shape.users_at(before.max(at)),
            shape.users_at(at),
            "{shape:?} is level from {at:?} to {next:?}"
        );
        changes.push((next.as_millis() as u64, shape.users_at(next)));
        at = next;
    }
    changes
}

#[test]
fn every_change_is_foretold_and_there_is_none_in_between() {
    let up = Shape::ramp(4, 2.0, Some(ms(10_000)));
    assert_eq!(changes(&up), [(500, 2), (1_000, 3), (1_500, 4)]);
    let up_level_down = seconds_of(&[(4, 4), (20, 4), (2, 0), (5, 0)]);
    let expected = [
        (1_000, 2),
        (2_000, 3),
        (3_000, 4),
        (24_500, 3),
        (25_000, 2),
        (25_500, 1),
        (26_000, 0),
    ];
    assert_eq!(changes(&up_level_down), expected);
    let jumps = seconds_of(&[
        (0, 3),
        (5, 3),
        (0, 1),
        (5, 1),
        (0, 7),
        (0, 2),
        (5, 2),
        (0, 0),
    ]);
    assert_eq!(changes(&jumps), [(5_000, 1), (10_000, 2), (15_000, 0)]);
}

#[test]
fn no_user_stops_and_starts_at_once_where_stages_meet() {
    // Down to 2 and at once up again: the third user need not stop and start in the same moment.
    let valley = seconds_of(&[(0, 4), (2, 2), (4, 6)]);
    assert_eq!(
        changes(&valley),
        [(1_000, 3), (3_000, 4), (4_000, 5), (5_000, 6)]
    );
    let peak = seconds_of(&[(3, 3), (3, 0)]);
    assert_eq!(
        changes(&peak),
        [(1_000, 2), (2_000, 3), (4_000, 2), (5_000, 1), (6_000, 0)]
    );
    let split = seconds_of(&[(2, 2), (2, 4), (2, 6)]);
    let whole = seconds_of(&[(6, 6)]);
    assert_eq!(
        changes(&split),
        changes(&whole),
        "a line in parts is the line"
    );
}

#[test]
fn a_number_requested_on_the_way_is_reached_at_the_rate_and_stays() {
    let shape = seconds_of(&[(10, 10), (10, 0)]).steered(ms(4_500), 8, 2.0);
    assert_eq!(shape.users_at(ms(4_499)), 5);
    assert_eq!(changes(&shape), [(4_500, 6), (5_000, 7), (5_500, 8)]);
    assert_eq!(shape.users_at(ms(99_000)), 8);
    let down = shape.steered(ms(20_000), 6, 1.0);
    assert_eq!(changes(&down), [(21_000, 7), (22_000, 6)]);
    let jump = down.steered(ms(30_000), 0, f64::INFINITY);
    assert_eq!(changes(&jump), [(30_000, 0)]);
    assert_eq!(jump.users_at(ms(29_999)), 6);
}

#[test]
fn the_goal_is_where_the_stage_leads() {
    let shape = seconds_of(&[(10, 10), (0, 30), (5, 30), (5, 2)]);
    for (second, goal) in [(0, 10), (9, 10), (10, 30), (14, 30), (15, 2), (99, 2)] {
        let at = Duration::from_secs(second);
        assert_eq!(shape.goal_at(at), goal, "at {second} s");
    }
    assert_eq!(Shape::ramp(40, 1.0, None).goal_at(Duration::ZERO), 40);
    let steered = shape.steered(ms(12_000), 7, 1.0);
    assert_eq!(steered.goal_at(ms(12_000)), 7);
}

#[test]
fn the_smallest_and_largest_values_are_handled() {
    assert_eq!(Shape::ramp(0, 1.0, Some(ms(5))).duration(), Some(ms(5)));
    assert_eq!(
        Shape::ramp(3, f64::INFINITY, None).users_at(Duration::ZERO),
        3
    );
    assert_eq!(Shape::stages(&[]).duration(), Some(Duration::ZERO));
    let widest = Shape::stages(&[(Duration::MAX, u64::MAX), (Duration::MAX, 0)]);
    assert!(widest.users_at(Duration::from_secs(1)) >= 1);
    assert_eq!(widest.duration(), Some(Duration::MAX));
}
