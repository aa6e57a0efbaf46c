//! Finds the form of an earlier page that a recorded request submitted, and the fields that its author filled in.

use super::exchange::{Body, ExchangeKind, RecordedExchange, RecordedPart, media_of};
use super::random::is_random;
use lgoose_html::{Button, Document, Form, NodeKey, Selector, find_form_within};
use std::collections::{BTreeSet, HashMap, HashSet};
use url::Url;

/// The number of pages back in which a form is searched for, and the memory that a page may take.
const PAGES: usize = 12;
const PAGE_BYTES: usize = 128 << 20;
/// The most forms of a page that are read.
const FORMS: usize = 200;

/// The submission of a form.
#[derive(Debug)]
pub(super) struct FormSubmission {
    /// The exchange that brought the page.
    pub(super) source: usize,
    /// `None`: the page's first form.
    pub(super) selector: Option<String>,
    /// Names and values of the fields that differ from the form as it arrived; a field without values was not sent.
    pub(super) fields: Vec<(String, Vec<RecordedPart>)>,
    pub(super) press: ButtonPress,
    /// The fields of several lines, which are written anew in each visit.
    pub(super) free: BTreeSet<String>,
}

/// A request that a form could have sent.
enum SentForm {
    Fields(Vec<RecordedPart>),
    /// The recording lacks it.
    Unknown,
}

/// The button that was pressed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ButtonPress {
    Default,
    None,
    Named(String),
}

/// Finds the form that an exchange submitted.
pub(super) fn find(exchanges: &[RecordedExchange], at: usize) -> Option<FormSubmission> {
    let exchange = &exchanges[at];
    let sent_all = sent(exchange)?;
    let sent: &[RecordedPart] = match &sent_all {
        SentForm::Fields(sent) => sent,
        SentForm::Unknown => &[],
    };
    let pages = exchanges[..at].iter().enumerate().rev();
    let pages = pages
        .filter(|(_, page)| page.kind == ExchangeKind::Page)
        .take(PAGES);
    for (source, page) in pages {
        let Some((response, body)) = page
            .response
            .as_ref()
            .and_then(|response| Some((response, response.body.as_ref()?)))
        else {
            continue;
        };
        if !response.is_html() || !body.contains("<form") && !body.contains("<FORM") {
            continue;
        }
        let Some(document) = Document::parse_within(body.as_bytes(), PAGE_BYTES) else {
            continue;
        };
        let mut best: Option<(usize, NodeKey, Form)> = None;
        for key in select(&document, "form").into_iter().take(FORMS) {
            let Some(form) = form_of(&document, Some(&[key]), &response.url) else {
                continue;
            };
            if let Some(distance) = distance(&form, exchange, sent)
                && best.as_ref().is_none_or(|(least, ..)| distance < *least)
            {
                best = Some((distance, key, form));
            }
        }
        if let Some((_, key, form)) = best {
            let selector = selector(&document, key, &form, response);
            let Some(selector) = selector else { continue };
            if !has_order(&form, sent) {
                continue;
            }
            let (fields, press) = match &sent_all {
                SentForm::Fields(sent) => typed(&form, sent),
                SentForm::Unknown => (files(&form), ButtonPress::Default),
            };
            let areas = select(&document, "textarea[name]").into_iter();
            let areas = areas.filter_map(|key| document.attr(key, "name").map(str::to_owned));
            let free = match exchange.method.as_str() {
                "POST" => areas.collect(),
                _ => BTreeSet::new(),
            };
            return Some(FormSubmission {
                source,
                selector,
                fields,
                press,
                free,
            });
        }
    }
    None
}

fn select(document: &Document, css: &str) -> Vec<NodeKey> {
    let selector = Selector::parse(css).ok();
    selector
        .and_then(|selector| document.select_while(&selector, None, &|| true))
        .unwrap_or_default()
}

/// Returns whether fields of these names say something else in another order than that of their names, as a table of a plan
/// sends them: a name that comes again after others, and rows without numbers (`items[][name]`, `items[][amount]`).
pub(super) fn order_matters<'a>(names: impl Iterator<Item = &'a str>) -> bool {
    let mut seen = HashSet::new();
    let mut rows: HashMap<&str, &str> = HashMap::new();
    let mut before = None;
    for name in names {
        if before != Some(name) && !seen.insert(name) {
            return true;
        }
        before = Some(name);
        let row = name.find("[][").map(|at| &name[..at]);
        let last = row.and_then(|row| rows.insert(row, name));
        if last.is_some_and(|last| last > name) {
            return true;
        }
    }
    false
}

/// Returns whether a form, whose fields are sent in its own order, sends these in theirs.
fn has_order(form: &Form, sent: &[RecordedPart]) -> bool {
    let names = || sent.iter().map(|part| part.name.as_str());
    let own: HashSet<&str> = form.fields.iter().map(|(name, _)| name.as_str()).collect();
    let of_form = form.fields.iter().map(|(name, _)| name.as_str());
    !order_matters(names()) || names().filter(|name| own.contains(name)).eq(of_form)
}

/// Returns the fields that a navigation sent as a form does.
fn sent(exchange: &RecordedExchange) -> Option<SentForm> {
    let part = |(name, value)| RecordedPart {
        content: None,
        name,
        filename: None,
        media: None,
        data: Some(value),
    };
    if exchange.kind != ExchangeKind::Page {
        return None;
    }
    match (&exchange.body, exchange.method.as_str()) {
        (Some(Body::Form(fields)), "POST") => {
            let fields = fields.iter().cloned().map(part);
            Some(SentForm::Fields(fields.collect()))
        }
        (Some(Body::Text(text)), "POST") if is_form(exchange) => {
            let fields = super::exchange::read_query(text).into_iter().map(part);
            Some(SentForm::Fields(fields.collect()))
        }
        (Some(Body::Multipart(parts)), "POST") => Some(SentForm::Fields(parts.clone())),
        (None, "POST") if lacks_body(exchange) => Some(SentForm::Unknown),
        (None, "POST") => Some(SentForm::Fields(Vec::new())),
        (None, "GET") => {
            let query = exchange.url.query().filter(|query| !query.is_empty())?;
            let fields = super::exchange::read_query(query);
            Some(SentForm::Fields(fields.into_iter().map(part).collect()))
        }
        _ => None,
    }
}

/// Returns whether the body of a request is URL-encoded fields of a form, by its headers.
pub(super) fn is_form(exchange: &RecordedExchange) -> bool {
    let kind = exchange.header("content-type").map(media_of);
    kind.as_deref() == Some("application/x-www-form-urlencoded")
}

/// Returns whether a request has sent something that the recording lacks, as it may where files are sent.
pub(super) fn lacks_body(exchange: &RecordedExchange) -> bool {
    let length = exchange.header("content-length");
    let length = length.and_then(|length| length.trim().parse::<u64>().ok());
    let kind = exchange.header("content-type").unwrap_or_default();
    exchange.body.is_none()
        && (length > Some(0) || kind.starts_with("multipart/") && length.is_none())
}

/// Returns a file for each input of a form that takes some.
fn files(form: &Form) -> Vec<(String, Vec<RecordedPart>)> {
    let files = form.files.iter().map(|name| {
        let part = RecordedPart {
            content: None,
            name: name.clone(),
            filename: Some("picture.png".to_owned()),
            media: None,
            data: None,
        };
        (name.clone(), vec![part])
    });
    files.collect()
}

/// Returns the number of names in which a form differs from the request; `None` if it is another form.
fn distance(form: &Form, exchange: &RecordedExchange, sent: &[RecordedPart]) -> Option<usize> {
    let mut url = exchange.url.clone();
    let mut action = form.action.clone()?;
    if form.method.name() == "GET" {
        url.set_query(None);
        action.set_query(None);
    }
    if form.method.name() != exchange.method || url != action {
        return None;
    }
    let mut expected: BTreeSet<&str> = form.fields.iter().map(|(name, _)| name.as_str()).collect();
    let files = form.files.iter().map(String::as_str);
    expected.extend(files);
    let buttons = form.buttons.iter().flat_map(Button::entries);
    let buttons: BTreeSet<String> = buttons.map(|(name, _)| name).collect();
    let names: BTreeSet<&str> = sent.iter().map(|part| part.name.as_str()).collect();
    let missing = expected.difference(&names).count();
    let extra = names
        .iter()
        .filter(|name| !expected.contains(**name) && !buttons.contains(**name))
        .count();
    let common = names.intersection(&expected).count();
    // A link with a query is no search: its names are the form's.
    let is_another = match exchange.method.as_str() {
        "GET" => extra > 0 || common == 0,
        _ => !names.is_empty() && common == 0 && extra > 0,
    };
    (!is_another).then_some(missing + extra)
}

/// Returns a selector that finds this form on its page, `Some(None)` where it is the page's first.
fn selector(
    document: &Document,
    key: NodeKey,
    form: &Form,
    response: &super::exchange::FinalResponse,
) -> Option<Option<String>> {
    let plain = |text: &&str| {
        !text.is_empty()
            && text.len() < 80
            && !text.contains(['"', '\\'])
            && !is_random(text)
            && text.chars().all(|c| !c.is_control())
    };
    let word = |text: &&str| {
        let mut bytes = text.bytes();
        bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic())
            && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    let attribute = |name: &str| {
        let value = document.attr(key, name).filter(plain)?;
        Some(format!("form[{name}=\"{value}\"]"))
    };
    let id = document
        .attr(key, "id")
        .filter(plain)
        .filter(word)
        .map(|id| format!("#{id}"));
    let candidates = [
        id,
        attribute("name"),
        attribute("action"),
        attribute("class"),
    ];
    for css in candidates.into_iter().flatten() {
        let found = form_of(document, Some(&select(document, &css)), &response.url);
        if found.as_ref() == Some(form) {
            return Some(Some(css));
        }
    }
    let first = form_of(document, None, &response.url);
    (first.as_ref() == Some(form)).then_some(None)
}

/// Returns the first form among these elements or around one of them, or the page's first; none that is made to be large.
fn form_of(document: &Document, among: Option<&[NodeKey]>, page: &Url) -> Option<Form> {
    find_form_within(document, among, page, PAGE_BYTES).unwrap_or_default()
}

/// Writes the line breaks of a form, which are sent as CRLF, as pages have them.
fn line_feeds(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// Returns the fields that a person has filled in, and the button.
fn typed(form: &Form, sent: &[RecordedPart]) -> (Vec<(String, Vec<RecordedPart>)>, ButtonPress) {
    let is_of = |button: &Button, part: &RecordedPart| {
        let mut entries = button.entries().into_iter();
        // Where an image was pressed differs.
        entries.any(|(name, value)| {
            part.name == name && (button.image || part.data.as_ref() == Some(&value))
        })
    };
    let is_pressed = |button: &Button| sent.iter().any(|part| is_of(button, part));
    let pressed = form.buttons.iter().position(is_pressed);
    let press = match pressed {
        Some(0) => ButtonPress::Default,
        Some(at) => {
            let button = &form.buttons[at];
            let alike = form
                .buttons
                .iter()
                .filter(|other| other.name == button.name)
                .count();
            ButtonPress::Named(if alike == 1 {
                button.name.clone()
            } else {
                button.value.clone()
            })
        }
        // A button without a name leaves no trace.
        None if form
            .buttons
            .first()
            .is_none_or(|button| button.name.is_empty()) =>
        {
            ButtonPress::Default
        }
        None => ButtonPress::None,
    };
    let of_button = |part: &RecordedPart| pressed.is_some_and(|at| is_of(&form.buttons[at], part));
    let mut fields: Vec<(String, Vec<RecordedPart>)> = Vec::new();
    for part in sent.iter().filter(|part| !of_button(part)) {
        match fields.iter_mut().find(|(name, _)| *name == part.name) {
            Some((_, values)) => values.push(part.clone()),
            None => fields.push((part.name.clone(), vec![part.clone()])),
        }
    }
    for (name, _) in &form.fields {
        if !fields.iter().any(|(key, _)| key == name) {
            fields.push((name.clone(), Vec::new()));
        }
    }
    fields.retain(|(name, values)| {
        let preset = form
            .fields
            .iter()
            .filter(|(key, _)| key == name)
            .map(|(_, value)| Some(line_feeds(value)));
        let empty_file = form.files.contains(name)
            && values
                .iter()
                .all(|part| part.filename.as_deref().is_none_or(str::is_empty));
        let data = values.iter().map(|part| part.data.as_deref());
        let same = preset.eq(data.map(|data| data.map(line_feeds)));
        !(empty_file || same && values.iter().all(|part| part.filename.is_none()))
    });
    (fields, press)
}

#[cfg(test)]
mod tests {
    use super::order_matters;

    #[test]
    fn the_order_of_rows_and_of_names_that_come_again_matters() {
        for names in [
            &[
                "items[][name]",
                "items[][qty]",
                "items[][name]",
                "items[][qty]",
            ][..],
            &["items[][qty]", "items[][name]"],
            &["name", "qty", "name", "qty"],
            &["tags[]", "title", "tags[]"],
        ] {
            assert!(order_matters(names.iter().copied()), "{names:?}");
        }
        for names in [
            &["b", "a"][..],
            &["tags[]", "tags[]", "title"],
            &["items[][name]", "items[][qty]"],
            &["items[0][qty]", "items[0][name]", "items[1][qty]"],
            &["agree", "agree"],
            &[],
        ] {
            assert!(!order_matters(names.iter().copied()), "{names:?}");
        }
    }
}
