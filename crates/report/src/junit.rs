//! The verdicts as JUnit XML, which CI servers show as tests: a case for each threshold, check, request name and task.
//!
//! A case fails for each reason of a failed verdict. A failed check is also a failed case, unless a threshold says how
//! many may fail.

use lgoose_base::error::Error;
use lgoose_base::figures::with_share;
use lgoose_base::line::{one_line, request_name};
use lgoose_base::threshold::FigureKind;
use lgoose_judgement::{broken_line, threshold_figure, threshold_name};
use lgoose_metrics::{Check, ErrorRow, ReasonKind, Report, ThresholdRow};
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

/// The most characters of a name or a message; CI servers show no more, and some fail on more.
const MAX_TEXT_CHARS: usize = 500;

/// Renders the verdicts as an XML document.
///
/// # Errors
/// None that a report made by lgoose can cause.
pub(crate) fn to_junit(report: &Report) -> Result<String, Error> {
    let suites = [
        ("run", run(report)),
        ("thresholds", thresholds(report)),
        ("checks", checks(report)),
        ("requests", requests(report)),
        ("tasks", tasks(report)),
    ];
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 4);
    write(&mut writer, report, &suites)
        .map_err(|error| Error::cannot("write the report as JUnit", error))?;
    let mut text = String::from_utf8_lossy(&writer.into_inner()).into_owned();
    text.push('\n');
    Ok(text)
}

/// Writes the document; a suite without cases is left out.
fn write(
    writer: &mut Writer<Vec<u8>>,
    report: &Report,
    suites: &[(&str, Vec<Case>)],
) -> std::io::Result<()> {
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let all = suites.iter().flat_map(|(_, cases)| cases);
    let [tests, failures] = counts(all);
    writer
        .create_element("testsuites")
        .with_attribute(("name", &*harmless(&format!("lgoose {}", report.plan))))
        .with_attributes([
            ("tests", &*tests),
            ("skipped", "0"),
            ("failures", &*failures),
        ])
        .with_attributes([
            ("errors", "0"),
            ("time", &*format!("{:.3}", report.elapsed_s)),
        ])
        .write_inner_content(|writer| {
            let mut suites = suites.iter().filter(|(_, cases)| !cases.is_empty());
            suites.try_for_each(|(name, cases)| write_suite(writer, report, name, cases))
        })?;
    Ok(())
}

fn write_suite(
    writer: &mut Writer<Vec<u8>>,
    report: &Report,
    name: &str,
    cases: &[Case],
) -> std::io::Result<()> {
    let [tests, failures] = counts(cases);
    writer
        .create_element("testsuite")
        .with_attributes([("name", name), ("tests", &*tests), ("skipped", "0")])
        .with_attributes([("errors", "0"), ("failures", &*failures)])
        .write_inner_content(|writer| {
            if name == "run" {
                writer
                    .create_element("properties")
                    .write_inner_content(|writer| {
                        for (name, value) in properties(report) {
                            writer
                                .create_element("property")
                                .with_attributes([("name", name), ("value", &*harmless(&value))])
                                .write_empty()?;
                        }
                        Ok(())
                    })?;
            }
            cases.iter().try_for_each(|case| case.write(writer, name))
        })?;
    Ok(())
}

/// Returns how many cases there are, and how many failed.
fn counts<'a>(cases: impl IntoIterator<Item = &'a Case>) -> [String; 2] {
    let failed = cases
        .into_iter()
        .map(|case| u64::from(case.failure.is_some()));
    let (all, failed) = failed.fold((0_u64, 0), |(all, sum), failed| (all + 1, sum + failed));
    [all.to_string(), failed.to_string()]
}

/// A test case: its name, its figures, and the reason why it failed.
struct Case {
    name: String,
    figures: String,
    failure: Option<String>,
}

impl Case {
    fn write(&self, writer: &mut Writer<Vec<u8>>, suite: &str) -> std::io::Result<()> {
        let class = format!("lgoose.{suite}");
        writer
            .create_element("testcase")
            .with_attributes([("name", &*harmless(&self.name)), ("classname", &*class)])
            .write_inner_content(|writer| {
                if let Some(message) = &self.failure {
                    writer
                        .create_element("failure")
                        .with_attributes([("message", &*harmless(message)), ("type", suite)])
                        .write_empty()?;
                }
                writer
                    .create_element("system-out")
                    .write_text_content(BytesText::new(&harmless(&self.figures)))?;
                Ok(())
            })?;
        Ok(())
    }
}

/// Returns the verdict, the ending and the plan's hash as properties of the run.
fn properties(report: &Report) -> Vec<(&'static str, String)> {
    let verdict = report.verdict.as_ref().map(|verdict| &verdict.text);
    let ending = report.ending.as_ref().map(|ending| &ending.text);
    let plan = report
        .settings
        .as_ref()
        .map(|settings| &settings.plan_sha256);
    [
        ("verdict", verdict),
        ("ending", ending),
        ("plan_sha256", plan),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, value?.clone())))
    .collect()
}

/// Returns the cases that every run has. A reason that has its own case elsewhere fails that case instead.
fn run(report: &Report) -> Vec<Case> {
    let all = &report.aggregated;
    let share = with_share(all.failures, all.count);
    let against = |is_of: fn(ReasonKind) -> bool| {
        let verdict = report.verdict.as_ref()?;
        // Without kinds, all reasons are those of the run.
        let kinds = verdict.reason_kinds.iter().copied();
        let kinds = kinds.chain(std::iter::repeat(ReasonKind::Ending));
        let reasons = verdict.reasons.iter().zip(kinds);
        let reasons = reasons.filter(|(_, kind)| is_of(*kind));
        let reasons: Vec<&str> = reasons.map(|(reason, _)| reason.as_str()).collect();
        (!reasons.is_empty()).then(|| reasons.join("; "))
    };
    let mut cases = vec![Case {
        name: "some requests succeed".to_owned(),
        figures: format!("{} requests, {share} failed", all.count),
        failure: against(|kind| kind == ReasonKind::NothingSucceeded),
    }];
    let settings = report.settings.as_ref();
    let watched = settings.is_some_and(|settings| settings.fail_on_saturation);
    if let Some(row) = report.generator.filter(|_| watched) {
        cases.push(Case {
            name: "lgoose is not the bottleneck".to_owned(),
            figures: format!("{} s of {} s saturated", row.saturated_s, row.judged_s),
            failure: against(|kind| kind == ReasonKind::Saturation),
        });
    }
    if let Some(ending) = &report.ending {
        cases.push(Case {
            name: "the run ends as planned".to_owned(),
            figures: ending.text.clone(),
            failure: against(|kind| {
                !matches!(
                    kind,
                    ReasonKind::NothingSucceeded
                        | ReasonKind::Threshold
                        | ReasonKind::Saturation
                        | ReasonKind::Failures
                )
            }),
        });
    }
    cases
}

fn thresholds(report: &Report) -> Vec<Case> {
    let case = |row: &ThresholdRow| Case {
        name: threshold_name(row),
        figures: threshold_figure(row),
        failure: (!row.passed).then(|| broken_line(row)),
    };
    report.thresholds.iter().map(case).collect()
}

fn checks(report: &Report) -> Vec<Case> {
    let case = |row: &Check| {
        let failed = with_share(row.failures, row.passes + row.failures);
        let mut judges = report.thresholds.iter().filter(|threshold| {
            let name = threshold.name.as_deref();
            let of_checks = || {
                let limit = threshold.parsed();
                limit.is_some_and(|limit| limit.figure == FigureKind::Checks)
            };
            name == Some(&*row.name) || (matches!(name, None | Some("checks")) && of_checks())
        });
        let judged = judges.next().map(|first| first.passed);
        let held = judged.map(|passed| passed && judges.all(|judge| judge.passed));
        Case {
            name: row.name.clone(),
            figures: format!("{} passed, {failed} failed", row.passes),
            failure: (row.failures > 0 && held != Some(true)).then(|| format!("{failed} failed")),
        }
    };
    report.checks.iter().map(case).collect()
}

fn requests(report: &Report) -> Vec<Case> {
    let rows = report.requests.iter().map(|row| {
        let name = request_name(&row.method, &row.name);
        (name, row.figures.count, row.figures.failures)
    });
    counted(rows, "requests", report)
}

fn tasks(report: &Report) -> Vec<Case> {
    let rows = report.tasks.iter().map(|row| {
        let name = format!("task {}", one_line(&row.name));
        (name, row.runs, row.failures)
    });
    counted(rows, "runs", report)
}

/// Builds cases from names, counts and failures, which fail only under `--fail-on-error`, with their most frequent errors.
fn counted(
    rows: impl Iterator<Item = (String, u64, u64)>,
    noun: &str,
    report: &Report,
) -> Vec<Case> {
    let strict = report
        .settings
        .as_ref()
        .is_some_and(|settings| settings.fail_on_error);
    let errors = report.errors.iter().map(|row| (one_line(&row.name), row));
    let errors: Vec<(String, &ErrorRow)> = errors.collect();
    let cases = rows.map(|(name, count, failures)| {
        let failed = with_share(failures, count);
        let own = errors.iter().filter(|(of, _)| *of == name).take(3);
        let errors: String = own
            .map(|(_, row)| format!("; {} × {}", row.count, row.message))
            .collect();
        Case {
            name,
            figures: format!("{count} {noun}, {failed} failed"),
            failure: (strict && failures > 0).then(|| format!("{failed} failed{errors}")),
        }
    });
    cases.collect()
}

/// Returns a text that is valid in XML and readable.
fn harmless(text: &str) -> String {
    let legal = |c| match c {
        '\u{fffe}' | '\u{ffff}' => char::REPLACEMENT_CHARACTER,
        c => c,
    };
    let start: String = text.chars().map(legal).take(MAX_TEXT_CHARS + 1).collect();
    let mut safe: String = one_line(&start).chars().take(MAX_TEXT_CHARS + 1).collect();
    if safe.chars().count() > MAX_TEXT_CHARS {
        safe.pop();
        safe.push('…');
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use roxmltree::{Document, Node};

    fn cases<'a>(document: &'a Document, suite: &str) -> Vec<Node<'a, 'a>> {
        let of = format!("lgoose.{suite}");
        let is = |node: &Node| {
            node.has_tag_name("testcase") && node.attribute("classname") == Some(&*of)
        };
        document.descendants().filter(is).collect()
    }

    /// The message with which a case failed.
    fn failure<'a>(case: &Node<'a, 'a>) -> Option<&'a str> {
        let failure = case.children().find(|node| node.has_tag_name("failure"))?;
        failure.attribute("message")
    }

    #[test]
    fn the_fixed_report_is_the_checked_in_one() {
        let text = to_junit(&fixture::strict(fixture::report())).expect("a plain report");
        fixture::golden("report.xml", &text);
    }

    #[test]
    fn a_reader_of_xml_counts_what_failed() {
        let text = to_junit(&fixture::report()).expect("a plain report");
        let document = Document::parse(&text).expect("XML");
        let failed = |suite| {
            let cases = cases(&document, suite);
            let failed = cases.iter().filter_map(failure).count();
            (cases.len(), failed)
        };
        assert_eq!(failed("run"), (2, 0));
        assert_eq!(failed("thresholds"), (6, 3));
        assert_eq!(failed("checks"), (3, 0), "a threshold allows 1 %");
        assert_eq!((failed("requests"), failed("tasks")), ((6, 0), (3, 0)));
        assert_eq!(document.root_element().attribute("failures"), Some("3"));
        let first = cases(&document, "thresholds")[3];
        let message = failure(&first).expect("broken");
        assert!(
            message.contains("is broken: 0.5004s at 31.2 s"),
            "{message}"
        );
    }

    #[test]
    fn with_fail_on_error_failed_requests_are_failed_cases_with_their_errors() {
        let text = to_junit(&fixture::strict(fixture::report())).expect("a plain report");
        let document = Document::parse(&text).expect("XML");
        let requests = cases(&document, "requests");
        let messages: Vec<_> = requests.iter().filter_map(failure).collect();
        assert_eq!(
            messages,
            [
                "3 (0.02%) failed; 3 × connection reset by the target",
                "120 (1.42%) failed; 120 × status 503",
                "12 (100%) failed; 12 × timeout after 60 s",
            ]
        );
        assert_eq!(
            cases(&document, "tasks").iter().filter_map(failure).count(),
            1
        );
        assert_eq!(
            cases(&document, "run").iter().filter_map(failure).count(),
            1
        );
    }

    #[test]
    fn a_check_that_no_threshold_judges_must_not_fail() {
        let mut report = fixture::report();
        report.thresholds.clear();
        let text = to_junit(&fixture::judged(&report)).expect("a plain report");
        let document = Document::parse(&text).expect("XML");
        let messages: Vec<_> = cases(&document, "checks")
            .iter()
            .filter_map(failure)
            .collect();
        assert_eq!(messages, ["4 (0.05%) failed", "11 (91.7%) failed"]);
    }

    #[test]
    fn hostile_texts_are_text_in_xml() {
        let text = to_junit(&fixture::strict(fixture::hostile())).expect("a plain report");
        fixture::assert_harmless(&text);
        assert!(text.len() < 100_000, "{} bytes", text.len());
        let document = Document::parse(&text).expect("XML");
        for suite in ["thresholds", "checks", "requests", "tasks"] {
            assert_eq!(cases(&document, suite).len(), fixture::HOSTILE.len());
        }
        let element_names = "testsuites testsuite testcase failure system-out properties property";
        let element_names: Vec<&str> = element_names.split(' ').collect();
        for node in document.descendants().filter(Node::is_element) {
            assert!(element_names.contains(&node.tag_name().name()), "{node:?}");
        }
    }
}
