//! Tests of measuring plans without an engine, by the counts of the recorder.

use crate::fixture::{recorder, settled, setup, start};
use crate::{Op, Program, Step, Vm, load};
use lgoose_metrics::{MetricKind, Report, RunIdentity, Store};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

fn program(source: &str) -> Arc<Program> {
    let (program, ..) = load("plan.lua", source, BTreeMap::new(), 1).expect("a good plan");
    program
}

/// Runs the plan's tasks once, without waiting, and returns their ends and the report.
fn run(source: &str) -> (Vec<Step>, Report) {
    let program = program(source);
    let recorder = recorder();
    let mut vm =
        Vm::new(&program, setup(1, &recorder, &Arc::default())).expect("the plan loads again");
    let ends = (0..program.task_names.len()).map(|task| {
        let mut step = start(&mut vm, task, 1);
        while let Step::Op(op) = step {
            assert!(matches!(op, Op::Wait(_)), "{op:?}");
            let next = vm.go_on();
            step = settled(&mut vm, next);
        }
        step
    });
    let ends = ends.collect();
    let mut store = Store::new(RunIdentity::default());
    store.merge(recorder.borrow_mut().take());
    (ends, store.report(Duration::from_secs(1)))
}

/// Runs a plan whose tasks must not raise, and returns the report.
fn holds(source: &str) -> Report {
    let (ends, report) = run(source);
    for end in ends {
        assert!(matches!(end, Step::Done), "{end:?}");
    }
    report
}

/// Returns the error that a task with that body raises.
fn raised(body: &str) -> (String, Option<String>) {
    let (mut ends, _) = run(&format!("task {{ function(user) {body} end }}"));
    match ends.remove(0) {
        Step::Raised(raised) => (raised.message, raised.line),
        other => panic!("{body} gave {other:?}"),
    }
}

/// Returns the error that a plan with that text is refused with.
fn refused(source: &str) -> String {
    let refused = load("plan.lua", source, BTreeMap::new(), 1);
    refused.expect_err("a bad plan").to_string()
}

#[test]
fn a_check_counts_and_returns_its_value() {
    let report = holds(
        r#"task { function()
          for n = 1, 4 do assert(check(n < 4, "small") == (n < 4)) end
          local list = {}
          assert(check(list, "list") == list)
          assert(check(0, "list") == 0)
          assert(check(nil, "list") == nil)
        end }"#,
    );
    let rows = report.checks.iter();
    let rows: Vec<_> = rows
        .map(|row| (&*row.name, row.passes, row.failures))
        .collect();
    assert_eq!(rows, [("small", 3, 1), ("list", 2, 1)]);
}

#[test]
fn metrics_made_at_the_top_level_are_added_to_by_tasks() {
    let report = holds(
        r#"local orders, queue = metric.counter "orders", metric.gauge "queue"
        local hits, size = metric.rate "hits", metric.trend "size"
        task { function()
          orders:add()
          orders:add(2.5)
          for _, n in ipairs { 5, 9, 7 } do queue:add(n) end
          for _, hit in ipairs { true, false, 1, 0 } do hits:add(hit) end
          hits:add(nil)
          for n = 1, 3 do size:add(n) end
        end }"#,
    );
    let row = |name: &str| {
        let mut rows = report.metrics.iter().filter(|row| row.name == name);
        rows.next().expect("it was used")
    };
    assert_eq!(
        (row("orders").kind, row("orders").value),
        (MetricKind::Counter, Some(3.5))
    );
    assert_eq!(
        (row("queue").value, row("queue").max),
        (Some(7.0), Some(9.0))
    );
    assert_eq!((row("hits").count, row("hits").value), (5, Some(0.4)));
    assert_eq!((row("size").min, row("size").value), (Some(1.0), Some(2.0)));
}

#[test]
fn what_is_not_used_is_not_shown() {
    let report = holds(r#"local orders = metric.counter "orders" task { function() end }"#);
    assert!(report.metrics.is_empty() && report.checks.is_empty());
}

#[test]
fn a_plan_that_measures_while_it_is_loaded_is_refused_with_its_line() {
    for source in [
        "task { function() end }\ncheck(true, \"early\")",
        "task { function() end }\nmetric.counter(\"early\"):add(1)",
    ] {
        let text = refused(source);
        assert!(
            text.contains("plan.lua:2") && text.contains("call it inside a task"),
            "{text}"
        );
    }
}

#[test]
fn a_wrong_name_or_value_is_reported_at_the_plans_line() {
    for (body, message) in [
        ("check(\"name\", true)", "the name of a check"),
        ("check(true)", "not nil; write check(value, \"name\")"),
        ("metric.trend(5)", "write metric.trend \"name\""),
        ("metric.trend \"x\":add \"5\"", "must be a number"),
        ("metric.counter \"x\":add(nil)", "a value of metric 'x'"),
        ("metric.gauge \"x\":add(0 / 0)", "takes numbers, not"),
        ("metric.trend \"x\":add(math.huge)", "takes numbers, not"),
        (
            "user:transaction(function() end)",
            "takes a name and a function",
        ),
    ] {
        let (raised_message, line) = raised(&format!("\n{body}"));
        assert!(raised_message.contains(message), "{body}: {raised_message}");
        assert_eq!(
            line.as_deref(),
            Some("plan.lua:2"),
            "{body}: {raised_message}"
        );
    }
}

#[test]
fn a_transaction_is_a_row_of_its_scenario_and_returns_what_its_function_returns() {
    let report = holds(
        r#"task { "shop", function(user)
          local a, b, c = user:transaction("buy", function(same)
            assert(same == user)
            user:wait(1)
            local inner = coroutine.wrap(function() user:wait(1) return "inner" end)
            assert(user:transaction("pay", inner) == "inner")
            return 1, nil, 3
          end)
          assert(a == 1 and b == nil and c == 3)
          assert(select('#', user:transaction("buy", function() end)) == 0)
        end }"#,
    );
    let rows: Vec<_> = report
        .tasks
        .iter()
        .map(|row| (&*row.scenario, &*row.name, row.runs, row.failures))
        .collect();
    assert_eq!(rows, [("visitor", "pay", 1, 0), ("visitor", "buy", 2, 0)]);
    assert!(report.errors.is_empty() && report.warnings.is_empty());
}

#[test]
fn an_error_in_a_transaction_fails_it_and_goes_on_unchanged() {
    let (ends, report) = run(r#"task { "shop", function(user)
          local thing = {}
          local ok, problem = pcall(user.transaction, user, "buy", function() error(thing) end)
          assert(not ok and problem == thing)
          user:transaction("buy", function()
            user:wait(1)
            error "out of stock"
          end)
        end }"#);
    let Step::Raised(raised) = &ends[0] else {
        panic!("{ends:?}");
    };
    assert_eq!(raised.message, "out of stock");
    assert_eq!(raised.line.as_deref(), Some("plan.lua:7"));
    assert_eq!((report.tasks[0].runs, report.tasks[0].failures), (2, 2));
    let errors: Vec<_> = report
        .errors
        .iter()
        .map(|row| (&*row.name, &*row.message, row.line.as_deref()))
        .collect();
    assert_eq!(
        errors,
        [
            ("task buy", "an error that is a table was raised", None),
            ("task buy", "out of stock", Some("plan.lua:7"))
        ]
    );
}

#[test]
fn a_transaction_named_as_a_task_warns() {
    let report = holds(r#"task { "buy", function(user) user:transaction("buy", print) end }"#);
    assert_eq!(report.warnings.len(), 1);
    assert!(
        report.warnings[0].contains("'buy'"),
        "{:?}",
        report.warnings
    );
}
