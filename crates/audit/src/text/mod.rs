//! An audit as text for a terminal: the two sides, what agrees, what does not, where and since when, and the result in a sentence.

mod compared;
mod differences;
mod page;
mod travel;

use crate::audit::{Audit, MatchedBy};
use crate::findings::{ClockRow, Findings};
use crate::totals::Totals;
use compared::ComparedRow;
use lgoose_base::error::masked_url;
use lgoose_base::figures::time;
use lgoose_base::line::one_line;
use lgoose_base::units::{counted, show_count};
use page::{TextPage, clock};
use std::collections::BTreeMap;

/// The widest page: longer lines are hard to read.
const MAX_WIDTH: usize = 120;

/// The most user agents, hosts and URLs that are listed.
const MAX_LISTED: usize = 5;

/// Renders an audit; `width` is that of the terminal, in columns; 80 are always enough.
pub fn text(audit: &Audit, width: usize) -> String {
    let mut page = TextPage::new(width.min(MAX_WIDTH));
    page.rule("━");
    page.spread("lgoose audit", &audit.run.plan);
    page.rule("━");
    put_run(audit, &mut page);
    put_log(audit, &mut page);
    put_matched(audit, &mut page);
    if let Some(found) = &audit.findings {
        put_found(audit, found, &mut page);
    }
    if let Some(totals) = &audit.totals {
        put_totals(totals, &mut page);
    }
    for hint in hints(audit) {
        page.line("");
        page.labelled("hint", &hint);
    }
    page.rule("─");
    page.indented(" ", &outcome(audit));
    page.finish()
}

/// Returns the result in a sentence.
pub fn outcome(audit: &Audit) -> String {
    match (&audit.findings, &audit.totals) {
        (Some(found), _) => outcome_of(audit, found),
        (None, Some(totals)) if totals.agrees => {
            "agrees in totals: statuses and their numbers are the same".to_owned()
        }
        (None, _) => {
            "differs in totals; with '--request-log' lgoose says which requests".to_owned()
        }
    }
}

fn outcome_of(audit: &Audit, found: &Findings) -> String {
    let all: u64 = found.status.values().map(|sides| sides.run).sum();
    if audit.agrees {
        let doubt = match audit.run.left_out {
            0 => "",
            _ => ", as far as the request log goes",
        };
        return match all {
            0 => "agrees: neither side has a response".to_owned(),
            1 => format!("agrees: the only response is in the log, and no other{doubt}"),
            all => format!(
                "agrees: all {} with a response are in the log, and no others{doubt}",
                counted(all, "request")
            ),
        };
    }
    let part = |all: &crate::Differences, what: &str| {
        (all.count > 0).then(|| {
            let when = differences::when(all, &audit.run);
            format!("{} {what}, {when}", show_count(all.count))
        })
    };
    let parts = [
        part(&found.not_logged, "not in the log"),
        part(&found.not_sent, "in the log that the run did not send"),
        part(&found.other_status, "with another status"),
        part(&found.other_bytes, "with other bytes"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!("differs: {}", parts.join("; "))
}

fn put_run(audit: &Audit, page: &mut TextPage) {
    let run = &audit.run;
    let mut parts = vec![
        one_line(&run.report),
        masked_url(&one_line(&run.host)).into_owned(),
        format!("{} to {} UTC", clock(run.from_ns), clock(run.to_ns)),
        counted(run.requests, "request"),
    ];
    if let Some(log) = &run.request_log {
        parts.push(format!("in {}", one_line(log)));
    }
    if run.requests == 0 {
        parts.remove(2);
    }
    page.labelled("run", &parts.join(" · "));
    if run.other_rows > 0 {
        let rows = counted(run.other_rows, "row");
        page.labelled("", &format!("{rows} that are not of HTTP are not compared"));
    }
    if run.left_out > 0 {
        let lines = counted(run.left_out, "line");
        page.labelled("", &format!("{lines} are missing in the request log: as many lines of the access log may be of the run"));
    }
    if run.cut_off {
        page.labelled(
            "",
            "requests were cut off at its end: the log may have them or not",
        );
    }
}

fn put_log(audit: &Audit, page: &mut TextPage) {
    let logs = &audit.logs;
    let files: Vec<String> = logs.files.iter().map(|file| one_line(file)).collect();
    let formats: Vec<&str> = logs.formats.iter().map(|(format, _)| &**format).collect();
    let lines = counted(logs.lines, "line");
    page.labelled(
        "log",
        &format!("{} · {} · {lines}", files.join(", "), formats.join(", ")),
    );
    let mut others = Vec::new();
    let mut put = |count: u64, what: &str| {
        if count > 0 {
            others.push(format!("{} {what}", show_count(count)));
        }
    };
    put(audit.outside[0], "from before the run");
    put(audit.outside[1], "from after it");
    put(logs.without_request, "without a request");
    put(logs.unreadable, "unreadable");
    put(audit.excluded.values().sum(), "of other user agents");
    if !others.is_empty() {
        page.labelled("", &format!("not compared: {}", others.join(", ")));
    }
    for line in &logs.first_unreadable {
        let text = format!(
            "{}:{}: {}: {}",
            line.file, line.line, line.reason, line.text
        );
        page.labelled(
            "",
            &format!(
                "✗ {}",
                lgoose_base::line::cut_middle(&one_line(&text), page.width.saturating_sub(14))
            ),
        );
    }
    if logs.unreadable > logs.first_unreadable.len() as u64 {
        let more = logs.unreadable - logs.first_unreadable.len() as u64;
        page.labelled("", &format!("  and {} more", show_count(more)));
    }
}

fn put_matched(audit: &Audit, page: &mut TextPage) {
    let how = match audit.matched_by {
        MatchedBy::Traceparent => "by traceparent",
        MatchedBy::Time => "by method, URL, status and time",
        MatchedBy::Totals => {
            "totals by status and second alone: the report has no single requests; with '--request-log' each is compared"
        }
    };
    let clock = audit.findings.as_ref().and_then(|found| found.clock);
    let is_certain = audit.matched_by == MatchedBy::Traceparent;
    let clock = clock.map_or(String::new(), |clock| {
        format!(" · {}", clocks(&clock, is_certain))
    });
    page.labelled("matched", &format!("{how}{clock}"));
}

/// Returns how far the times are from each other. Which of two lines at one time is that of a request is certain with traces alone.
fn clocks(row: &ClockRow, is_certain: bool) -> String {
    let signed = |ms: f64| {
        let sign = if ms < 0.0 { "−" } else { "+" };
        format!("{sign}{}", time(ms.abs()))
    };
    let mean = format!("the log's times are {} on average", signed(row.avg_ms));
    if is_certain {
        format!("{mean} ({} to {})", signed(row.min_ms), signed(row.max_ms))
    } else {
        mean
    }
}

fn put_found(audit: &Audit, found: &Findings, page: &mut TextPage) {
    compared::put("Compared", &compared::rows(found), page);
    put_others(found, page);
    let run = &audit.run;
    differences::put("Not in the log", "request", &found.not_logged, run, page);
    differences::put("In the log alone", "line", &found.not_sent, run, page);
    differences::put("Another status", "request", &found.other_status, run, page);
    differences::put("Other bytes", "request", &found.other_bytes, run, page);
    travel::put(found, page);
}

/// Puts what is of others and counts as no difference.
fn put_others(found: &Findings, page: &mut TextPage) {
    if found.other_urls.count > 0 {
        page.line("");
        let lines = counted(found.other_urls.count, "line");
        let urls = differences::subjects(&found.other_urls);
        page.labelled(
            "others",
            &format!("{lines} with URLs that the run has not requested: {urls}"),
        );
    }
    if !found.other_agents.is_empty() {
        page.line("");
        let agents = listed(&found.other_agents);
        page.labelled(
            "others",
            &format!("lines of other clients, by user agent: {agents}"),
        );
    }
    if !found.other_hosts.is_empty() {
        page.line("");
        let hosts = listed(&found.other_hosts);
        page.labelled(
            "others",
            &format!("requests to hosts that this log has nothing of: {hosts}"),
        );
    }
}

fn listed(counts: &BTreeMap<String, u64>) -> String {
    let mut all: Vec<_> = counts.iter().collect();
    all.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let named = all.iter().take(MAX_LISTED);
    let named = named.map(|(name, count)| format!("{} × {}", one_line(name), show_count(**count)));
    let mut text = named.collect::<Vec<_>>().join(", ");
    if all.len() > MAX_LISTED {
        text.push_str(&format!(" and {} more", all.len() - MAX_LISTED));
    }
    text
}

fn put_totals(totals: &Totals, page: &mut TextPage) {
    let slack = totals.without_response + totals.retries;
    let row = |subject: &str, sides| {
        let mut row = ComparedRow::of_counts(subject, sides);
        if sides.log > sides.run && sides.log - sides.run <= slack {
            row.agrees = None;
        }
        row
    };
    let mut rows = vec![ComparedRow {
        agrees: None,
        ..row("requests and redirects", totals.requests)
    }];
    for (status, sides) in &totals.status {
        rows.push(row(&format!("  status {status}"), *sides));
    }
    if totals.redirects != Default::default() {
        rows.push(row("  redirects", totals.redirects));
    }
    for (subject, count) in [
        ("without a response", totals.without_response),
        ("sent again", totals.retries),
    ] {
        if count > 0 {
            rows.push(ComparedRow {
                subject: subject.to_owned(),
                run: show_count(count),
                log: "–".to_owned(),
                agrees: None,
                note: "may be logged or not".to_owned(),
            });
        }
    }
    compared::put("Compared", &rows, page);
    if let Some(second) = totals.first_second {
        page.line("");
        let at = lgoose_base::figures::moment(second.max(0) as f64);
        page.indented(
            " ",
            &format!("The numbers of the seconds part until {at} of the run."),
        );
    }
    let mut urls: Vec<_> = totals.urls.iter().collect();
    urls.sort_by_key(|(_, url)| std::cmp::Reverse(url.log));
    let rows: Vec<ComparedRow> = urls
        .iter()
        .take(MAX_LISTED * 2)
        .map(|(url, sides)| ComparedRow {
            subject: lgoose_base::line::cut_middle(&one_line(url), 26),
            run: sides.run.map_or("–".to_owned(), show_count),
            log: show_count(sides.log),
            agrees: None,
            note: String::new(),
        })
        .collect();
    compared::put("By URL, or name", &rows, page);
    if urls.len() > rows.len() {
        page.line(&format!("   and {} more", urls.len() - rows.len()));
    }
    if !totals.other_agents.is_empty() {
        page.line("");
        let agents = listed(&totals.other_agents);
        page.labelled(
            "others",
            &format!("lines of other clients, by user agent: {agents}"),
        );
    }
}

/// Returns what may be the reason of what differs.
fn hints(audit: &Audit) -> Vec<String> {
    let mut hints = Vec::new();
    let Some(found) = &audit.findings else {
        return hints;
    };
    let lacking = &found.not_logged;
    if found.matched_ns.is_none() && lacking.count > 0 {
        let span = audit
            .span_ns
            .map_or("has no requests".to_owned(), |[first, last]| {
                format!("goes from {} to {} UTC", clock(first), clock(last))
            });
        hints.push(format!(
            "nothing is in both. The run's requests were from {} to {} UTC, the log {span}. Is it the log of this site and this \
             time? '--clock-offset' moves the log's times.",
            clock(audit.run.from_ns),
            clock(audit.run.to_ns)
        ));
        return hints;
    }
    if let (Some([first, last]), Some(from), Some(to)) =
        (found.matched_ns, lacking.first_ns, lacking.last_ns)
    {
        if to <= first {
            hints.push(format!(
                "the log begins at {} UTC, and has everything from then on: give its older part, too, such as access.log.1",
                clock(first)
            ));
        } else if from >= last {
            hints.push(format!(
                "the log ends at {} UTC, and has everything until then: had the server written it to the end, or was it moved away?",
                clock(last)
            ));
        }
    }
    if lacking.count > 0 && audit.logs.unreadable > 0 {
        hints.push("lines that could not be read may be those that are missing".to_owned());
    }
    if found.copies > 0 {
        let copies = if found.copies == found.not_sent.count {
            "all lines in the log alone have".to_owned()
        } else if found.copies == 1 {
            "one of the lines in the log alone has".to_owned()
        } else {
            format!(
                "{} of the lines in the log alone have",
                show_count(found.copies)
            )
        };
        hints.push(format!(
            "{copies} the text of another line: is a request logged twice, or a file given twice?"
        ));
    }
    hints
}
