//! The table of counts: what the run has, what the log has, and whether they agree.

use super::page::{TextPage, pad_left, pad_right};
use crate::findings::{BytesKind, Findings, SidesCount};
use lgoose_base::units::{show_count, show_size};

/// The columns of subjects and of figures.
const SUBJECT: usize = 26;
const FIGURE: usize = 15;

/// A row of the table.
pub(super) struct ComparedRow {
    pub(super) subject: String,
    pub(super) run: String,
    pub(super) log: String,
    /// `None` where nothing is judged.
    pub(super) agrees: Option<bool>,
    pub(super) note: String,
}

impl ComparedRow {
    /// Compares two counts that are to be the same.
    pub(super) fn of_counts(subject: impl Into<String>, sides: SidesCount) -> ComparedRow {
        ComparedRow {
            subject: subject.into(),
            run: show_count(sides.run),
            log: show_count(sides.log),
            agrees: Some(sides.run == sides.log),
            note: match (sides.run.cmp(&sides.log), sides.run.abs_diff(sides.log)) {
                (std::cmp::Ordering::Less, more) => format!("{} more", show_count(more)),
                (std::cmp::Ordering::Equal, _) => String::new(),
                (std::cmp::Ordering::Greater, fewer) => format!("{} fewer", show_count(fewer)),
            },
        }
    }
}

/// Puts the table.
pub(super) fn put(title: &str, rows: &[ComparedRow], page: &mut TextPage) {
    page.line("");
    page.line(&format!(
        " {}{}{}",
        pad_right(title, SUBJECT),
        pad_left("run", FIGURE),
        pad_left("log", FIGURE)
    ));
    for row in rows {
        let mark = match row.agrees {
            Some(true) => "✓",
            Some(false) => "✗",
            None => " ",
        };
        let head = format!(
            " {}{}{}  {mark} ",
            pad_right(&row.subject, SUBJECT),
            pad_left(&row.run, FIGURE),
            pad_left(&row.log, FIGURE)
        );
        if row.note.is_empty() {
            page.line(&head);
        } else {
            page.indented(&head, &row.note);
        }
    }
}

/// Returns the rows of what was found request by request.
pub(super) fn rows(found: &Findings) -> Vec<ComparedRow> {
    let mut rows = Vec::new();
    let all = found.status.values();
    let all = all.fold(SidesCount::default(), |all, one| SidesCount {
        run: all.run + one.run,
        log: all.log + one.log,
    });
    let mut requests = ComparedRow::of_counts("requests with a response", all);
    // Some may be missing while others are too many.
    let hops = found.hops.run.saturating_sub(found.hops.log);
    requests.agrees = Some(found.not_logged.count == hops && found.not_sent.count == 0);
    rows.push(requests);
    for (status, sides) in &found.status {
        let subject = match status {
            0 => "  status –".to_owned(),
            status => format!("  status {status}"),
        };
        rows.push(ComparedRow::of_counts(subject, *sides));
    }
    if found.hops.run > 0 {
        rows.push(ComparedRow::of_counts("redirects on the way", found.hops));
    }
    if found.retries.run > 0 {
        rows.push(ComparedRow {
            agrees: None,
            note: "not each is logged".to_owned(),
            ..ComparedRow::of_counts("sent again", found.retries)
        });
    }
    rows.extend(without_response(found));
    rows.extend(bytes(found));
    rows.push(ComparedRow {
        subject: "seconds, those that agree".to_owned(),
        run: show_count(found.seconds.all),
        log: show_count(found.seconds.agreeing),
        agrees: Some(found.seconds.all == found.seconds.agreeing),
        note: match found.seconds.all - found.seconds.agreeing {
            0 => String::new(),
            1 => "one differs".to_owned(),
            differ => format!("{} differ", show_count(differ)),
        },
    });
    rows
}

fn without_response(found: &Findings) -> impl Iterator<Item = ComparedRow> {
    found.without_response.iter().map(|(class, row)| {
        let class = match &**class {
            "" => "no response".to_owned(),
            class => format!("no response: {class}"),
        };
        let status = row.logged.iter().map(|(status, count)| match status {
            0 => format!("– × {}", show_count(*count)),
            status => format!("{status} × {}", show_count(*count)),
        });
        let status: Vec<String> = status.collect();
        ComparedRow {
            subject: class,
            run: show_count(row.count),
            log: show_count(row.logged.values().sum()),
            agrees: None,
            note: status.join(", "),
        }
    })
}

fn bytes(found: &Findings) -> Option<ComparedRow> {
    let row = found.bytes?;
    let heads = row.run.saturating_sub(row.log) as f64 / row.requests.max(1) as f64;
    let note = match (row.kind, row.differing) {
        (BytesKind::Whole, 0) => "equal to the byte".to_owned(),
        (BytesKind::Whole, differing) => format!("{} differ", show_count(differing)),
        (BytesKind::Bodies, 0) => format!("heads: {} each", show_size(heads)),
        (BytesKind::Bodies, more) => format!("{} have more", show_count(more)),
    };
    Some(ComparedRow {
        subject: match row.kind {
            BytesKind::Whole => "bytes received".to_owned(),
            BytesKind::Bodies => "bytes, and of bodies".to_owned(),
        },
        run: show_count(row.run),
        log: show_count(row.log),
        agrees: (row.kind == BytesKind::Whole || row.differing > 0).then_some(row.differing == 0),
        note,
    })
}
