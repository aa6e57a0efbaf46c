//! Language models: what `lgoose.llm` makes of streams of all kinds, and the figures of their requests.

use crate::program::Lgoose;
use crate::report::{Report, iterate, read};
use crate::server::Server;
use serde_json::Value;

/// Returns the metric with that name.
fn metric<'a>(report: &'a Report, name: &str) -> Option<&'a Value> {
    let metrics = report.json["metrics"].as_array().expect("metrics");
    metrics.iter().find(|metric| metric["name"] == name)
}

fn value(report: &Report, name: &str) -> f64 {
    let metric = metric(report, name).unwrap_or_else(|| panic!("there is no metric '{name}'"));
    metric["value"].as_f64().expect("a value")
}

fn row<'a>(report: &'a Report, name: &str) -> &'a Value {
    let rows = report.json["requests"].as_array().expect("rows");
    let row = rows.iter().find(|row| row["name"] == name);
    row.unwrap_or_else(|| panic!("there is no row '{name}'"))
}

#[test]
fn streams_of_models_are_read_as_they_are_and_their_failures_counted() {
    let server = Server::start();
    let report = iterate("tests/lua/llm.lua", &server, 1, 1);
    assert_eq!(report.task_failures(), 0, "{}", report.errors().join("\n"));
    assert_eq!(report.sent(), server.received());
    let sent_well = [
        "whole",
        "no usage",
        "no end mark",
        "no finish_reason",
        "comments",
        "reasoning",
        "tools",
        "no content",
        "a refusal",
        "choices",
        "no options",
        "no model, as expected",
        "at once",
        "at once, no usage",
        "text",
    ];
    for name in report.rows() {
        let name = name.trim_start_matches("POST ").replace('"', "");
        let failed = match &*name {
            "good" => 1,
            name if sent_well.contains(&name) => 0,
            _ => 1,
        };
        let row = format!("POST {name}");
        assert_eq!(
            report.failures(&row),
            failed,
            "{name}: {:?}",
            report.errors()
        );
    }
    // Events with content alone are messages.
    let messages = |name: &str| row(&report, name)["messages"]["received"].as_u64();
    assert_eq!(messages("whole"), Some(3));
    assert_eq!(messages("reasoning"), Some(3));
    assert_eq!(messages("no content"), None);
    assert_eq!(messages("refused"), None);
    for (figure, metric) in [
        ("first_event_ms", "whole ttft_ms"),
        ("event_gap_ms", "whole itl_ms"),
    ] {
        let counted = row(&report, "whole")[figure]["avg"]
            .as_f64()
            .expect("a time");
        let seen = value(&report, metric);
        assert!(
            (counted - seen).abs() < 0.01,
            "{figure}: {counted}, seen as {seen}"
        );
    }
    assert_eq!(value(&report, "whole output_tokens"), 5.0);
    assert_eq!(value(&report, "whole input_tokens"), 7.0);
    assert!(metric(&report, "whole ttfo_ms").is_none());
    assert!(value(&report, "reasoning ttfo_ms") >= value(&report, "reasoning ttft_ms"));
    // What failed is in no figure but goodput: one of four.
    assert!(metric(&report, "error event ttft_ms").is_none());
    assert!(metric(&report, "whole goodput").is_none());
    assert!(
        (value(&report, "good goodput") - 0.5).abs() < 1e-9,
        "{}",
        value(&report, "good goodput")
    );
}

#[test]
fn the_plan_of_a_model_runs_against_the_built_in_server() {
    let arguments = [
        "plans/llm.lua",
        "-e",
        "MODEL=demo-fast",
        "-u",
        "3",
        "-r",
        "100",
        "-i",
        "2",
        "--wait-factor",
        "0",
        "-o",
        "json=-",
    ];
    let report = read(Lgoose::new(arguments).finish());
    assert_eq!(report.total("failures"), 0, "{:?}", report.errors());
    assert_eq!(report.task_failures(), 0, "{:?}", report.errors());
    assert_eq!(report.total("count"), 6);
    let tokens = value(&report, "chat output_tokens");
    // Each asks for 45 to 75 tokens, and the shortest text has 16.
    assert!((6.0 * 16.0..=6.0 * 75.0).contains(&tokens), "{tokens}");
    let input = value(&report, "chat input_tokens");
    assert!((6.0 * 150.0..=6.0 * 250.0).contains(&input), "{input}");
    let figure = |key: &str| row(&report, "chat")[key].clone();
    assert_eq!(figure("messages")["received"].as_f64(), Some(tokens));
    // No sooner than the model sends them; how much later is up to the machine.
    let first = figure("first_event_ms")["min"].as_f64().expect("a time");
    assert!(first >= 30.0, "{first}");
    assert!(value(&report, "chat tpot_ms") > 0.0);
    assert!(
        report.json["warnings"]
            .as_array()
            .expect("a list")
            .is_empty(),
        "{}",
        report.json["warnings"]
    );
}
