//! Errors of a report as outputs list them, each once: when `response:ensure()` ends a task because of a request, the
//! report counts an error of both.

use lgoose_base::error::excerpt;
use lgoose_base::line::one_line;
use lgoose_base::units::show_count;
use lgoose_metrics::{ErrorRow, Report};

/// An error as it is listed.
pub struct ListedError<'a> {
    /// The error.
    pub row: &'a ErrorRow,
    /// Its message, and the tasks that it ended.
    pub message: String,
}

/// Returns the errors of a report in their order, without those of tasks that a listed request ended.
pub fn listed_errors(report: &Report) -> Vec<ListedError<'_>> {
    let all = &report.errors;
    // Each cause is looked up once: there may be hundreds of errors.
    let causes: Vec<_> = all.iter().map(|row| (row, row.cause(all))).collect();
    let listed = causes.iter().filter(|(_, cause)| cause.is_none());
    let listed = listed.map(|(row, _)| {
        let row = *row;
        let ended = causes
            .iter()
            .filter(|(_, cause)| cause.is_some_and(|cause| std::ptr::eq(cause, row)));
        let ended = ended.map(|(task, _)| {
            let name = task.task().unwrap_or_default();
            match task.count {
                1 => format!("'{name}'"),
                count => format!("'{name}' {} times", show_count(count)),
            }
        });
        let ended: Vec<String> = ended.collect();
        let message = if ended.is_empty() {
            row.message.clone()
        } else {
            format!("{}; it ended the task {}", row.message, ended.join(" and "))
        };
        ListedError { row, message }
    });
    listed.collect()
}

/// Returns the first error that ended a task, in words: the request and the reason, with the plan's line and the text
/// of the page.
pub fn first_task_error(report: &Report) -> Option<String> {
    let tasks = report.errors.iter();
    let tasks = tasks.filter(|row| row.task().is_some());
    let first = tasks.min_by(|one, other| one.first_s.total_cmp(&other.first_s))?;
    Some(cause(first, &report.errors))
}

/// Returns the most frequent error of a task, in the same words.
pub fn task_error(report: &Report, task: &str) -> Option<String> {
    let of_task = |row: &&ErrorRow| row.task() == Some(task);
    let row = report.errors.iter().find(of_task)?;
    Some(cause(row, &report.errors))
}

/// Returns the target's text in the response to the first failed request of an error: JSON, text, or the reason on a
/// page. The first value introduces it: `the page says`.
pub fn describe_response(error: &ErrorRow) -> Option<(&'static str, String)> {
    let exemplar = error.exemplars.first()?;
    if !exemplar.page_says.is_empty() {
        return Some(("the page says", one_line(&exemplar.page_says)));
    }
    let headers = exemplar.response_headers.iter();
    let kind = headers
        .filter_map(|line| line.split_once(": "))
        .find(|(name, _)| *name == "content-type");
    let text = excerpt(kind.map(|(_, value)| value), exemplar.body.as_bytes())?;
    Some(("answered", one_line(&text)))
}

/// Describes the latest response of a task that raised an error, by status and URL, since the task may have read something
/// unexpected in it. `None` for an error of a request.
pub fn latest_response(error: &ErrorRow) -> Option<String> {
    let exemplar = error.exemplars.first()?;
    error.task()?;
    let url = if exemplar.final_url.is_empty() {
        &exemplar.url
    } else {
        &exemplar.final_url
    };
    Some(match exemplar.status {
        0 => format!("its latest request had no response: {}", one_line(url)),
        status => format!("its latest response: {status} from {}", one_line(url)),
    })
}

fn cause(row: &ErrorRow, all: &[ErrorRow]) -> String {
    let cause = row.cause(all).unwrap_or(row);
    let line = cause.line.as_deref();
    let line = line.map_or_else(String::new, |line| format!(" ({})", one_line(line)));
    let response =
        describe_response(cause).map_or_else(String::new, |(how, text)| format!("; {how}: {text}"));
    format!(
        "{}: {}{line}{response}",
        one_line(&cause.name),
        one_line(&cause.message)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use lgoose_base::error::NOT_AS_EXPECTED;

    fn row(name: &str, message: &str, count: u64) -> ErrorRow {
        ErrorRow {
            name: name.to_owned(),
            message: message.to_owned(),
            count,
            exemplars: Vec::new(),
            ..fixture::report().errors[0].clone()
        }
    }

    #[test]
    fn the_latest_response_is_that_of_a_task_alone() {
        let failed = fixture::report().errors[0].clone();
        let of = |name: &str, status: u16, final_url: &str| {
            let mut error = ErrorRow {
                name: name.to_owned(),
                ..failed.clone()
            };
            let exemplar = &mut error.exemplars[0];
            exemplar.status = status;
            exemplar.url = "http://site/a".to_owned();
            exemplar.final_url = final_url.to_owned();
            latest_response(&error)
        };
        let expected = "its latest response: 200 from http://site/b";
        assert_eq!(
            of("task a", 200, "http://site/b").as_deref(),
            Some(expected)
        );
        let expected = "its latest request had no response: http://site/a";
        assert_eq!(of("task a", 0, "").as_deref(), Some(expected));
        assert_eq!(of("GET a", 200, ""), None);
    }

    #[test]
    fn a_task_that_a_failed_request_ended_is_reported_with_the_request() {
        let mut report = fixture::report();
        let echo = |message: &str| format!("{NOT_AS_EXPECTED}{message}");
        report.errors = vec![
            row("POST log in", "got none", 5),
            row("task log in", &echo("got none"), 3),
            row("task other", &echo("gone"), 1),
            row("task third", "an error of its own", 1),
        ];
        let listed: Vec<(&str, String)> = listed_errors(&report)
            .into_iter()
            .map(|error| (&*error.row.name, error.message))
            .collect();
        let echoed = "got none; it ended the task 'log in' 3 times".to_owned();
        assert_eq!(
            listed,
            [
                ("POST log in", echoed),
                ("task other", echo("gone")),
                ("task third", "an error of its own".to_owned()),
            ]
        );
        let first = first_task_error(&report).expect("there is one");
        assert!(first.starts_with("POST log in: got none"), "{first}");
    }
}
