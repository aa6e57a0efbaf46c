//! Every way in which a run can end, with and without something to judge it by: exit code, cause, words and verdict in
//! a file, and the same verdict in every output. `tests/it/endings.rs` holds real runs to lines of that file.

use super::under_way::{UnjudgedRun, run};
use crate::{fixture, html, json, junit, markdown, text};
use lgoose_metrics::{Cause, Ending, Figures, Report, Verdict, VerdictResult};
use scraper::{Html, Selector};

/// Cuts a run short for which iterations were planned, and no time.
fn until_iterations(ending: &mut Ending) {
    ending.cut_short = true;
}

#[rustfmt::skip]
fn runs() -> Vec<UnjudgedRun> {
    use Cause::*;
    let minute = Some(60);
    let nothing = |report: &mut Report| report.aggregated = Figures::default();
    let no_user = |report: &mut Report| report.users = 0;
    let lost = |ending: &mut Ending| ending.all_lost = true;
    let raised = |ending: &mut Ending| ending.raised = Some("test_stop raised: no key (plan.lua:9)".to_owned());
    let saturated = |report: &mut Report| {
        report.generator = report.generator.map(|row| lgoose_metrics::GeneratorRow { saturated_s: 4.0, ..row });
    };
    let always = |report: &mut Report| {
        (report.tasks[0].runs, report.tasks[0].failures) = (50, 50);
    };
    let a_worker_lost = |report: &mut Report| report.workers = fixture::gaggle().workers;
    let two_workers_lost = |report: &mut Report| {
        report.workers = fixture::gaggle().workers;
        (report.workers[0].state, report.workers[0].lost_at_s) = (lgoose_metrics::WorkerState::Lost, Some(2.25));
    };
    let dropped = |report: &mut Report| {
        report.scenarios.truncate(1);
        report.scenarios[0].arrivals = Some(lgoose_metrics::ScenarioArrivals { started: 65, dropped: 85 });
    };
    let never = |report: &mut Report| {
        let check = lgoose_metrics::Check { name: "title".to_owned(), passes: 0, failures: 50, ..Default::default() };
        report.checks = vec![check];
    };
    let some = |report: &mut Report| report.tasks[0].failures = 3;
    let by = |ending: &mut Ending| ending.threshold = Some("p95 < 300ms abort".to_owned());
    let in_test_start = |ending: &mut Ending| (ending.in_test_start, ending.cut_short) = (true, true);
    let fewer = |ending: &mut Ending| (ending.users_started, ending.users_due) = (7_895, 16_000);
    let stopped = |ending: &mut Ending| ending.reason = Some("the stock is sold out".to_owned());
    let failed = |ending: &mut Ending| ending.failed = vec!["prices differ".to_owned(), "no stock".to_owned()];
    let undone = |ending: &mut Ending| ending.leave_undone(778, 1_200);
    let warmup = |ending: &mut Ending| ending.in_warmup = true;
    vec![
        run("time up", TimeUp, 60.0, minute).usual(),
        run("time up, thresholds hold", TimeUp, 60.0, minute).usual().held(),
        run("time up, a threshold is broken", TimeUp, 60.0, minute).usual().broken(),
        run("time up, one of two thresholds is broken", TimeUp, 60.0, minute).usual().held().broken(),
        run("time up, a stretch broke a threshold", TimeUp, 60.0, minute).usual()
            .threshold("p95 < 300ms during 10s", 412.0, false, Some(31.0)),
        run("time up, failures", TimeUp, 60.0, minute).usual().failures(3),
        run("time up, failures and a latency threshold holds", TimeUp, 60.0, minute).usual().failures(3).held(),
        run("time up, fail-on-error, nothing failed", TimeUp, 60.0, minute).set(|s| s.fail_on_error = true),
        run("time up, fail-on-error, failures", TimeUp, 60.0, minute).set(|s| s.fail_on_error = true).failures(3),
        run("time up, fail-on-error, a task failed", TimeUp, 60.0, minute).set(|s| s.fail_on_error = true).with(some),
        run("time up, a task always failed", TimeUp, 60.0, minute).usual().with(always),
        run("time up, fail-on-error, a task always failed", TimeUp, 60.0, minute)
            .set(|s| s.fail_on_error = true).with(always),
        run("time up, saturated", TimeUp, 60.0, minute).usual().with(saturated),
        run("time up, fail-on-saturation, saturated", TimeUp, 60.0, minute)
            .set(|s| s.fail_on_saturation = true).with(saturated),
        run("time up, fail-on-saturation, not saturated", TimeUp, 60.0, minute).set(|s| s.fail_on_saturation = true),
        run("time up, not one success", TimeUp, 60.0, minute).usual().failures(100),
        run("time up, not one success, thresholds hold", TimeUp, 60.0, minute).usual().failures(100).held(),
        run("time up, not one request", TimeUp, 60.0, minute).usual().with(nothing),
        run("time up, test_stop raised", TimeUp, 60.0, minute).usual().but(raised),
        run("time up, fail-on-error, test_stop raised", TimeUp, 60.0, minute)
            .set(|s| s.fail_on_error = true).but(raised),
        run("time up, thresholds hold, test_stop raised", TimeUp, 60.0, minute).usual().held().but(raised),
        run("time up, tasks cut off", TimeUp, 60.0, minute).usual().but(|ending| ending.cut_off = true),
        run("time up, thresholds hold, tasks cut off", TimeUp, 60.0, minute).usual().held()
            .but(|ending| ending.cut_off = true),
        run("time up within the warm-up, thresholds", TimeUp, 5.0, Some(5))
            .set(|s| s.thresholds = vec!["p95 < 300ms".to_owned()]).but(warmup),
        run("time up at a rate, every user lost", TimeUp, 60.0, minute).usual().but(lost).held(),
        run("time up, a log could not be written", TimeUp, 60.0, minute).usual().held()
            .trouble("cannot write the log to 'requests.csv': no space left on device"),
        run("time up, too few users", TimeUp, 60.0, minute).usual().but(fewer),
        run("time up, thresholds hold, too few users", TimeUp, 60.0, minute).usual().held().but(fewer),
        run("time up, fail-on-saturation, too few users", TimeUp, 60.0, minute)
            .set(|s| s.fail_on_saturation = true).but(fewer),
        run("time up, thresholds hold, too few users, allow-short", TimeUp, 60.0, minute).usual().held().but(fewer)
            .set(|s| s.allow_short = true),
        run("time up, iterations dropped", TimeUp, 60.0, minute).usual().with(dropped),
        run("time up, thresholds hold, iterations dropped", TimeUp, 60.0, minute).usual().held().with(dropped),
        run("time up, thresholds hold, iterations dropped, allow-short", TimeUp, 60.0, minute).usual().held()
            .with(dropped).set(|s| s.allow_short = true),
        run("time up, a threshold on dropped iterations holds", TimeUp, 60.0, minute).usual().with(dropped)
            .threshold("dropped < 60%", 56.7, true, None),
        run("time up, a worker was lost", TimeUp, 60.0, minute).usual().with(a_worker_lost),
        run("time up, thresholds hold, a worker was lost", TimeUp, 60.0, minute).usual().held().with(a_worker_lost),
        run("time up, thresholds hold, a worker was lost, allow-short", TimeUp, 60.0, minute).usual().held()
            .with(a_worker_lost).set(|s| s.allow_short = true),
        run("time up, thresholds hold, two workers were lost", TimeUp, 60.0, minute).usual().held().with(two_workers_lost),
        run("time up, thresholds hold, an eighth of the load was missing", TimeUp, 60.0, minute).usual().held()
            .with(a_worker_lost).but(|ending| ending.missing_load = Some(0.125)),
        run("time up, thresholds hold, a place was taken soon", TimeUp, 60.0, minute).usual().held()
            .with(a_worker_lost).but(|ending| ending.missing_load = Some(0.009)),
        run("workers lost, one of them before, thresholds hold", WorkersLost, 31.0, minute).usual().held().with(a_worker_lost),
        run("time up, a check never held", TimeUp, 60.0, minute).usual().with(never),
        run("iterations done", IterationsDone, 12.0, None).usual(),
        run("iterations done, thresholds hold", IterationsDone, 12.0, None).usual().held(),
        run("iterations done before the time", IterationsDone, 12.0, minute).usual().held(),
        run("iterations left undone", IterationsDone, 12.0, None).usual().but(undone),
        run("iterations left undone, thresholds hold", IterationsDone, 12.0, None).usual().held().but(undone),
        run("iterations left undone, thresholds hold, allow-short", IterationsDone, 12.0, None)
            .set(|s| s.allow_short = true).held().but(undone),
        run("signal, no planned end", Signal, 2.0, None).usual(),
        run("signal, no planned end, thresholds hold", Signal, 2.0, None).usual().held(),
        run("signal", Signal, 2.0, minute).usual(),
        run("signal, thresholds hold", Signal, 2.0, minute).usual().held(),
        run("signal, thresholds hold, allow-short", Signal, 2.0, minute).set(|s| s.allow_short = true).held(),
        run("signal, a threshold is broken", Signal, 2.0, minute).usual().broken(),
        run("signal, a threshold is broken, allow-short", Signal, 2.0, minute).set(|s| s.allow_short = true).broken(),
        run("signal, fail-on-error, nothing failed", Signal, 2.0, minute).set(|s| s.fail_on_error = true),
        run("signal, iterations planned, thresholds hold", Signal, 2.0, None).usual().held().but(until_iterations),
        run("signal within the warm-up", Signal, 2.0, minute).usual().but(warmup),
        run("signal within the warm-up, thresholds", Signal, 2.0, minute)
            .set(|s| s.thresholds = vec!["p95 < 300ms".to_owned()]).but(warmup),
        run("signal within the warm-up, thresholds, allow-short", Signal, 2.0, minute)
            .set(|s| { s.thresholds = vec!["p95 < 300ms".to_owned()]; s.allow_short = true }).but(warmup),
        run("signal, every user lost", Signal, 2.0, minute).usual().but(lost),
        run("signal in test_start", Signal, 0.0, minute).usual().with(nothing).but(in_test_start),
        run("signal while paused, no user yet", Signal, 0.0, minute).usual().with(nothing).with(no_user),
        run("signal while paused, no user yet, thresholds", Signal, 0.0, minute).with(nothing).with(no_user)
            .set(|s| s.thresholds = vec!["p95 < 300ms".to_owned()]),
        run("second Ctrl-C in test_start", Aborted, 0.0, minute).usual().with(nothing).but(in_test_start),
        run("stopped by the user", StoppedByUser, 2.0, minute).usual(),
        run("stopped by the user, thresholds hold", StoppedByUser, 2.0, minute).usual().held(),
        run("stopped by the user, thresholds hold, allow-short", StoppedByUser, 2.0, minute)
            .set(|s| s.allow_short = true).held(),
        run("a threshold with abort", Threshold, 12.0, minute).usual().but(by)
            .threshold("p95 < 300ms abort", 412.0, false, Some(12.0)),
        run("a threshold with abort, allow-short", Threshold, 12.0, minute).set(|s| s.allow_short = true).but(by)
            .threshold("p95 < 300ms abort", 412.0, false, Some(12.0)),
        run("a threshold with abort, no planned end", Threshold, 12.0, None).usual().but(by)
            .threshold("p95 < 300ms abort", 412.0, false, Some(12.0)),
        run("the plan ended its users", Plan, 2.0, None).usual(),
        run("the plan ended its users, thresholds hold", Plan, 2.0, None).usual().held(),
        run("the plan ended its users before the time, thresholds hold", Plan, 2.0, minute).usual().held(),
        run("the plan ended its users before the time, thresholds hold, allow-short", Plan, 2.0, minute)
            .set(|s| s.allow_short = true).held(),
        run("run.stop, no planned end, thresholds hold", StoppedByPlan, 2.0, None).usual().held().but(stopped),
        run("run.stop", StoppedByPlan, 2.0, minute).usual().but(stopped),
        run("run.stop, thresholds hold", StoppedByPlan, 2.0, minute).usual().held().but(stopped),
        run("run.stop, thresholds hold, allow-short", StoppedByPlan, 2.0, minute)
            .set(|s| s.allow_short = true).held().but(stopped),
        run("run.stop in test_start", StoppedByPlan, 0.0, minute).usual().with(nothing).but(stopped).but(in_test_start),
        run("run.fail", TimeUp, 60.0, minute).usual().but(failed),
        run("run.fail, thresholds hold", TimeUp, 60.0, minute).usual().held().but(failed),
        run("run.fail and run.stop", StoppedByPlan, 2.0, minute).usual().but(failed).but(stopped),
        run("every user lost", UsersLost, 0.3, minute).usual(),
        run("every user lost, thresholds hold", UsersLost, 0.3, minute).usual().held(),
        run("every user lost, thresholds hold, allow-short", UsersLost, 0.3, minute)
            .set(|s| s.allow_short = true).held(),
        run("no worker left", WorkersLost, 2.0, minute).usual(),
        run("no worker left, no planned end", WorkersLost, 2.0, None).usual(),
        run("no worker left, thresholds hold", WorkersLost, 2.0, minute).usual().held(),
        run("no worker left, thresholds hold, allow-short", WorkersLost, 2.0, minute)
            .set(|s| s.allow_short = true).held(),
        run("no worker left, a threshold is broken", WorkersLost, 2.0, minute).usual().broken(),
        run("test_start raised", NotStarted, 0.0, minute).usual().with(nothing)
            .but(|ending| ending.raised = Some("test_start raised: not ready (plan.lua:3)".to_owned())),
        run("second Ctrl-C", Aborted, 2.0, minute).usual(),
        run("second Ctrl-C, thresholds hold", Aborted, 2.0, minute).usual().held(),
        run("second Ctrl-C, a threshold is broken", Aborted, 2.0, minute).usual().broken(),
        run("second Ctrl-C after the time", Aborted, 62.5, minute).usual(),
        run("trouble", Trouble, 2.0, minute).usual().trouble("cannot start thread 3: out of memory"),
        run("trouble, thresholds hold", Trouble, 2.0, minute).usual().held().trouble("user 7 is caught in task 'x'"),
        run("trouble, a threshold is broken", Trouble, 2.0, minute).usual().broken()
            .trouble("user 7 is caught in task 'x'"),
    ]
}

/// `signal | 0 | signal | stopped by a signal at 2 s of 60 s | no verdict, …`, and below it each remark.
fn line(name: &str, report: &Report) -> String {
    let (ending, verdict) = parts(report);
    let cause = serde_json::to_value(ending.cause).expect("a word");
    let mut line = format!(
        "{name} | {} | {} | {} | {}\n",
        verdict.exit_code,
        cause.as_str().expect("a word"),
        ending.text,
        verdict.text
    );
    for remark in &verdict.remarks {
        line += &format!("  remark: {remark}\n");
    }
    line
}

fn parts(report: &Report) -> (&Ending, &Verdict) {
    let ending = report.ending.as_ref().expect("it ended");
    (ending, report.verdict.as_ref().expect("it was judged"))
}

#[test]
fn every_ending_has_the_words_and_the_exit_code_that_are_checked_in() {
    let runs = runs();
    assert!(runs.len() >= 40, "{}", runs.len());
    let lines = runs.into_iter().map(|run| {
        let name = run.name;
        line(name, &run.end())
    });
    let header = "# Every way in which a run can end: name | exit code | ending.cause | ending.text | verdict.text\n\
                # Written by 'BLESS=1 cargo test --lib -p lgoose-report'; real runs are held to it by tests/it/endings.rs.\n";
    fixture::golden(
        "endings.txt",
        &(header.to_owned() + &lines.collect::<String>()),
    );
}

#[test]
fn every_output_shows_the_same_verdict() {
    for run in runs() {
        let name = run.name;
        let report = run.end();
        let (ending, verdict) = parts(&report);
        let expected_texts = (ending.text.as_str(), verdict.text.as_str());
        let tables = |report: &Report| text::tables(report, 1_000, text::TableOptions::default());
        let shown = tables(&report);
        let (shown_ending, shown_verdict) = of_text(&shown);
        assert_eq!(
            (shown_ending.as_str(), shown_verdict.as_str()),
            expected_texts,
            "{name}: text"
        );
        let saved = json::to_json(&report).expect("a plain report");
        let value: serde_json::Value = serde_json::from_str(&saved).expect("JSON");
        let words = (&value["ending"]["text"], &value["verdict"]["text"]);
        assert_eq!(
            (words.0.as_str(), words.1.as_str()),
            (Some(expected_texts.0), Some(expected_texts.1)),
            "{name}: JSON"
        );
        let again = json::from_json(&saved, "run.json").expect("what was written");
        assert_eq!(tables(&again), shown, "{name}: lgoose report");
        let (word, text) = of_markdown(&markdown::to_markdown(&report));
        assert_eq!(
            text,
            [
                format!("verdict: {}", expected_texts.1),
                format!("ending: {}", expected_texts.0)
            ],
            "{name}"
        );
        let (class, shown_texts) = of_html(&html::to_html(&report));
        assert_eq!(
            (shown_texts[0].as_str(), shown_texts[1].as_str()),
            (expected_texts.1, expected_texts.0),
            "{name}: HTML"
        );
        let xml = junit::to_junit(&report).expect("a plain report");
        let (ending, shown_texts, failures) = of_junit(&xml);
        assert_eq!(
            (ending.as_str(), shown_texts.as_str()),
            expected_texts,
            "{name}: JUnit"
        );
        let (expected, emoji) = match verdict.result {
            VerdictResult::Passed => ("passed", "✅ passed"),
            VerdictResult::Failed => ("failed", "❌ failed"),
            VerdictResult::None => ("open", "⚪ no verdict"),
        };
        assert!(
            class.contains(expected) && word.starts_with(emoji),
            "{name}: {class} {word}"
        );
        let failed = verdict.result == VerdictResult::Failed;
        assert_eq!(
            (failures > 0, verdict.exit_code > 0),
            (failed, failed),
            "{name}: {xml}"
        );
    }
}

#[test]
fn nothing_that_was_cut_short_reads_passed_alone() {
    for run in runs().into_iter().filter(|run| run.ending.cut_short) {
        let report = run.end();
        let (_, verdict) = parts(&report);
        assert!(!verdict.text.starts_with("passed:"), "{}", verdict.text);
        let page = html::to_html(&report);
        assert!(!page.contains("<strong>Passed</strong>"));
        assert!(!markdown::to_markdown(&report).contains("passed:"));
    }
}

/// The last two entries of the overview, each as one line.
fn of_text(shown: &str) -> (String, String) {
    let entry = |label: &str| {
        let lines = shown.lines().skip_while(|line| !line.starts_with(label));
        let mut words: Vec<&str> = Vec::new();
        for line in lines {
            if !words.is_empty() && !line.starts_with("    ") {
                break;
            }
            words.push(line.strip_prefix(label).unwrap_or(line).trim());
        }
        words.join(" ")
    };
    (entry(" ending "), entry(" verdict "))
}

/// The heading, and the list's first two items.
fn of_markdown(markdown: &str) -> (String, Vec<String>) {
    use pulldown_cmark::{Event, Parser, Tag, TagEnd};
    let mut lines = vec![String::new()];
    // The diagnosis stands before the verdict.
    let mut in_quote = false;
    for event in Parser::new(markdown) {
        match event {
            Event::Start(Tag::BlockQuote(_)) => in_quote = true,
            Event::End(TagEnd::BlockQuote(_)) => in_quote = false,
            _ if in_quote => {}
            Event::Text(part) | Event::Code(part) => {
                lines.last_mut().expect("never empty").push_str(&part);
            }
            Event::End(TagEnd::Heading(_) | TagEnd::Paragraph | TagEnd::Item) => {
                lines.push(String::new())
            }
            _ => {}
        }
    }
    (lines[0].clone(), lines[2..4].to_vec())
}

/// The class of the verdict, and the texts of it and the ending.
fn of_html(page: &str) -> (String, [String; 2]) {
    let page = Html::parse_document(page);
    let one = |css: &str| {
        let css = Selector::parse(css).expect("a selector");
        page.select(&css).next().expect("the page has it")
    };
    let words = |css: &str| one(css).text().collect::<String>();
    let class = one("section.verdict").attr("class").unwrap_or_default();
    (
        class.to_owned(),
        [".verdict .told", ".verdict .ending"].map(words),
    )
}

/// The ending, the verdict, and how many cases failed.
fn of_junit(xml: &str) -> (String, String, usize) {
    let document = roxmltree::Document::parse(xml).expect("XML");
    let property = |name: &str| {
        let mut nodes = document.descendants();
        let node = nodes
            .find(|node| node.has_tag_name("property") && node.attribute("name") == Some(name));
        node.and_then(|node| node.attribute("value"))
            .expect("a property")
            .to_owned()
    };
    let failures = document
        .descendants()
        .filter(|node| node.has_tag_name("failure"));
    (property("ending"), property("verdict"), failures.count())
}
