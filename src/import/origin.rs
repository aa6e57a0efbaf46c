//! Where in an answer a value stands, and the expression of the plan that takes it from there.

use super::exchange::{Answer, Exchange};
use super::lua_text::{field, quoted};
use super::random::plain;
use crate::html::{Document, Selector};
use regex::Regex;
use serde_json::Value;

/// The longest answers that are searched: as JSON, as a page.
const JSON_BYTES: usize = 2 << 20;
const PAGE_BYTES: usize = 128 << 20;

/// How a value is taken from an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum How {
    /// Keys and indices, as Lua after `:json()`.
    Json(String),
    /// A header, or what a pattern finds in it.
    Header(String, Option<String>),
    /// What a pattern finds in the address that redirects led to.
    Address(String),
    /// An attribute of an element.
    Attribute(String, &'static str),
    /// What a pattern finds in the body.
    Match(String),
    /// The form that a selector finds.
    Form(Option<String>),
}

impl How {
    /// Returns the expression for an answer in a variable.
    pub(super) fn expression(&self, answer: &str) -> String {
        match self {
            How::Json(steps) => format!("{answer}:json(){steps}"),
            How::Header(name, None) => format!("{answer}:header({})", quoted(name)),
            How::Header(name, Some(pattern)) => {
                format!(
                    "regex({}):match({answer}:header({}))",
                    quoted(pattern),
                    quoted(name)
                )
            }
            How::Address(pattern) => format!("regex({}):match({answer}.url)", quoted(pattern)),
            How::Attribute(css, name) => {
                format!("{answer}:attr({}, {})", quoted(css), quoted(name))
            }
            How::Match(pattern) => format!("{answer}:match({})", quoted(pattern)),
            How::Form(None) => format!("{answer}:form()"),
            How::Form(Some(css)) => format!("{answer}:form({})", quoted(css)),
        }
    }
}

/// A value that is looked for.
pub(super) struct Wanted<'a> {
    pub(super) value: &'a str,
    /// Nobody types such a value: it is what it is wherever it stands.
    pub(super) is_random: bool,
    /// What the request calls it, without 'id' and in the singular: it must be named so in the answer, too, unless it is random.
    pub(super) stem: &'a str,
}

/// Returns how a value is taken from an exchange's answer, and what it is called there.
pub(super) fn find(exchange: &Exchange, wanted: &Wanted<'_>) -> Option<(How, String)> {
    let answer = exchange.answer.as_ref()?;
    let elsewhere = from_address(exchange, answer, wanted).or_else(|| from_header(answer, wanted));
    if elsewhere.is_some() {
        return elsewhere;
    }
    let body = answer.body.as_ref()?;
    memchr::memmem::find(body.as_bytes(), plain(wanted.value).as_bytes())?;
    from_json(exchange, answer, wanted).or_else(|| from_page(answer, wanted))
}

/// `Location` of what was created, or where the redirect after it led.
fn from_address(
    exchange: &Exchange,
    answer: &Answer,
    wanted: &Wanted<'_>,
) -> Option<(How, String)> {
    let creates = !matches!(exchange.method.as_str(), "GET" | "HEAD");
    if !creates && !wanted.is_random {
        return None;
    }
    if let Some(location) = answer.header("location") {
        let target = exchange.url.join(location).ok()?;
        if let Some((pattern, name)) = address_pattern(&target, wanted)
            && captures(&pattern, location).as_deref() == Some(wanted.value)
        {
            return Some((How::Header("location".to_owned(), Some(pattern)), name));
        }
    }
    if answer.url != exchange.url {
        let (pattern, name) = address_pattern(&answer.url, wanted)?;
        if captures(&pattern, answer.url.as_str()).as_deref() == Some(wanted.value) {
            return Some((How::Address(pattern), name));
        }
    }
    None
}

/// Returns the pattern that finds a value as a part of an address, and what it is called there.
fn address_pattern(url: &url::Url, wanted: &Wanted<'_>) -> Option<(String, String)> {
    let value = wanted.value;
    let segments: Vec<&str> = url.path_segments()?.collect();
    let fits = |at: usize| wanted.is_random || at > 0 && singular(segments[at - 1]) == wanted.stem;
    let place = segments.iter().position(|segment| *segment == value);
    if let Some(at) = place.filter(|at| fits(*at)) {
        let before = if at == 0 { "" } else { segments[at - 1] };
        let pattern = format!("/{}/([^/?#]+)", regex::escape(before));
        let pattern = if at == 0 {
            "^(?:https?://[^/]+)?/([^/?#]+)".to_owned()
        } else {
            pattern
        };
        return Some((pattern, format!("{}_id", singular(before))));
    }
    let mut pairs = url.query_pairs().filter(|_| wanted.is_random);
    let (name, _) = pairs.find(|(_, found)| found == value)?;
    Some((
        format!("[?&]{}=([^&#]+)", regex::escape(&name)),
        name.into_owned(),
    ))
}

fn from_header(answer: &Answer, wanted: &Wanted<'_>) -> Option<(How, String)> {
    const OTHERS: [&str; 6] = [
        "set-cookie",
        "date",
        "etag",
        "location",
        "last-modified",
        "content-length",
    ];
    if !wanted.is_random {
        return None;
    }
    let mut headers = answer.headers.iter();
    let (name, _) =
        headers.find(|(name, value)| value == wanted.value && !OTHERS.contains(&name.as_str()))?;
    Some((
        How::Header(name.clone(), None),
        name.trim_start_matches("x-").to_owned(),
    ))
}

fn from_json(exchange: &Exchange, answer: &Answer, wanted: &Wanted<'_>) -> Option<(How, String)> {
    let body = answer
        .body
        .as_ref()
        .filter(|body| body.len() <= JSON_BYTES)?;
    if !answer.is_json() {
        return None;
    }
    let json: Value = serde_json::from_str(body).ok()?;
    let mut search = JsonSearch {
        wanted,
        place: exchange.url.path().to_ascii_lowercase(),
        keys: Vec::new(),
        steps: String::new(),
    };
    search.walk(&json)
}

struct JsonSearch<'a> {
    wanted: &'a Wanted<'a>,
    place: String,
    keys: Vec<String>,
    steps: String,
}

impl JsonSearch<'_> {
    fn walk(&mut self, value: &Value) -> Option<(How, String)> {
        match value {
            Value::Object(fields) => fields.iter().find_map(|(name, value)| {
                self.keys.push(name.clone());
                let found = self.step(&field(name), value);
                self.keys.pop();
                found
            }),
            Value::Array(items) => {
                let mut items = items.iter().enumerate();
                items.find_map(|(at, item)| self.step(&format!("[{}]", at + 1), item))
            }
            Value::String(text) if text == self.wanted.value => self.here(),
            Value::Number(number) if number.to_string() == self.wanted.value => self.here(),
            _ => None,
        }
    }

    fn step(&mut self, step: &str, value: &Value) -> Option<(How, String)> {
        let length = self.steps.len();
        self.steps.push_str(step);
        let found = self.walk(value);
        self.steps.truncate(length);
        found
    }

    fn here(&self) -> Option<(How, String)> {
        let key = self.keys.last().map_or("", String::as_str);
        let place = format!(
            "{}/{}",
            self.place,
            self.keys.join("/").to_ascii_lowercase()
        );
        let fits = self.wanted.is_random || is_id(key) && place.contains(self.wanted.stem);
        let name = match key.to_ascii_lowercase().as_str() {
            "id" | "uuid" | "" if !self.wanted.stem.is_empty() => {
                format!("{}_id", self.wanted.stem)
            }
            "" => "value".to_owned(),
            _ => key.to_owned(),
        };
        fits.then(|| (How::Json(self.steps.clone()), name))
    }
}

fn from_page(answer: &Answer, wanted: &Wanted<'_>) -> Option<(How, String)> {
    let body = answer.body.as_ref().filter(|_| wanted.is_random)?;
    if !body.contains(wanted.value) {
        return None;
    }
    let element = if answer.is_html() {
        from_element(body, wanted.value)
    } else {
        None
    };
    element.or_else(|| from_text(body, wanted.value))
}

/// A hidden field or a `<meta>`.
fn from_element(body: &str, value: &str) -> Option<(How, String)> {
    let document = Document::parse_within(body.as_bytes(), PAGE_BYTES)?;
    let select = |css: &str| {
        let selector = Selector::parse(css).ok()?;
        document.select_while(&selector, None, &|| true)
    };
    for (element, by, attribute) in [
        ("input", "name", "value"),
        ("meta", "name", "content"),
        ("meta", "property", "content"),
    ] {
        for key in select(&format!("{element}[{by}]"))? {
            if document.attr(key, attribute) != Some(value) {
                continue;
            }
            let name = document.attr(key, by).unwrap_or_default();
            if name.is_empty() || name.contains(['"', '\\', '\n']) {
                continue;
            }
            let css = format!("{element}[{by}=\"{name}\"]");
            let first = select(&css)?.first().copied();
            if first.is_some_and(|first| document.attr(first, attribute) == Some(value)) {
                return Some((How::Attribute(css, attribute), name.to_owned()));
            }
        }
    }
    None
}

/// A text in a script: found again by what stands before it.
fn from_text(body: &str, value: &str) -> Option<(How, String)> {
    let at = body.find(value)?;
    let line = body[..at].rfind('\n').map_or(0, |line| line + 1);
    let before = &body[line..at];
    for length in [8, 16, 24, 40, 80] {
        let from = before
            .char_indices()
            .rev()
            .nth(length - 1)
            .map_or(0, |(from, _)| from);
        let context = &before[from..];
        let pattern = format!("{}([^\"'<>\\s,;&]+)", regex::escape(context));
        if !context.is_empty() && captures(&pattern, body).as_deref() == Some(value) {
            let mut words = context.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let name = words.rfind(|word| word.len() > 2).unwrap_or("token");
            return Some((How::Match(pattern), name.to_owned()));
        }
    }
    None
}

fn captures(pattern: &str, text: &str) -> Option<String> {
    let found = Regex::new(pattern).ok()?.captures(text)?;
    Some(found.get(1)?.as_str().to_owned())
}

/// Returns whether a key is that of an id.
pub(super) fn is_id(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    key.ends_with("id")
        || matches!(
            key.as_str(),
            "number" | "key" | "code" | "ref" | "sku" | "slug" | "cursor" | "token" | "href"
        )
}

/// Returns a noun in the singular, in lower case.
pub(super) fn singular(noun: &str) -> String {
    let noun = noun.to_ascii_lowercase();
    match (noun.strip_suffix("ies"), noun.strip_suffix('s')) {
        (Some(stem), _) => format!("{stem}y"),
        (None, Some(stem)) if !stem.ends_with('s') => stem.to_owned(),
        _ => noun,
    }
}
