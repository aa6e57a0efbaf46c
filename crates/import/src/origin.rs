//! The place of a value in a response, and the expression of the plan that takes it from there.

use super::exchange::{FinalResponse, RecordedExchange};
use super::lua_text::{field, quoted};
use super::random::plain;
use lgoose_html::{Document, Selector};
use regex::Regex;
use serde_json::Value;

/// The longest responses that are searched: as JSON, as a page.
const JSON_BYTES: usize = 2 << 20;
const PAGE_BYTES: usize = 128 << 20;

/// Ways to take a value from a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ValueExtraction {
    /// Keys and indices, as Lua after `:json()`.
    Json(String),
    /// A header, or the match of a pattern in it.
    Header(String, Option<String>),
    /// The match of a pattern in the address at the end of redirects.
    Address(String),
    /// An attribute of an element.
    Attribute(String, &'static str),
    /// The match of a pattern in the body.
    Match(String),
    /// The form that a selector finds.
    Form(Option<String>),
}

impl ValueExtraction {
    /// Returns the expression for a response in a variable.
    pub(super) fn expression(&self, response: &str) -> String {
        match self {
            ValueExtraction::Json(steps) => format!("{response}:json(){steps}"),
            ValueExtraction::Header(name, None) => format!("{response}:header({})", quoted(name)),
            ValueExtraction::Header(name, Some(pattern)) => {
                format!(
                    "regex({}):match({response}:header({}))",
                    quoted(pattern),
                    quoted(name)
                )
            }
            ValueExtraction::Address(pattern) => {
                format!("regex({}):match({response}.url)", quoted(pattern))
            }
            ValueExtraction::Attribute(css, name) => {
                format!("{response}:attr({}, {})", quoted(css), quoted(name))
            }
            ValueExtraction::Match(pattern) => format!("{response}:match({})", quoted(pattern)),
            ValueExtraction::Form(None) => format!("{response}:form()"),
            ValueExtraction::Form(Some(css)) => format!("{response}:form({})", quoted(css)),
        }
    }
}

/// A value that is searched for.
pub(super) struct SoughtValue<'a> {
    pub(super) value: &'a str,
    /// No person types such a value: it is the same value at any place.
    pub(super) is_random: bool,
    /// Its name in the request, without 'id' and in the singular: unless it is random, its name in the response must be
    /// the same.
    pub(super) stem: &'a str,
}

/// Returns the way to take a value from an exchange's response, and its name there.
pub(super) fn find(
    exchange: &RecordedExchange,
    sought: &SoughtValue<'_>,
) -> Option<(ValueExtraction, String)> {
    let response = exchange.response.as_ref()?;
    let elsewhere =
        from_address(exchange, response, sought).or_else(|| from_header(response, sought));
    if elsewhere.is_some() {
        return elsewhere;
    }
    let body = response.body.as_ref()?;
    memchr::memmem::find(body.as_bytes(), plain(sought.value).as_bytes())?;
    from_json(exchange, response, sought).or_else(|| from_page(response, sought))
}

/// `Location` of a created resource, or the target of the redirect after it.
fn from_address(
    exchange: &RecordedExchange,
    response: &FinalResponse,
    sought: &SoughtValue<'_>,
) -> Option<(ValueExtraction, String)> {
    let creates = !matches!(exchange.method.as_str(), "GET" | "HEAD");
    if !creates && !sought.is_random {
        return None;
    }
    if let Some(location) = response.header("location") {
        let target = exchange.url.join(location).ok()?;
        if let Some((pattern, name)) = address_pattern(&target, sought)
            && captures(&pattern, location).as_deref() == Some(sought.value)
        {
            return Some((
                ValueExtraction::Header("location".to_owned(), Some(pattern)),
                name,
            ));
        }
    }
    if response.url != exchange.url {
        let (pattern, name) = address_pattern(&response.url, sought)?;
        if captures(&pattern, response.url.as_str()).as_deref() == Some(sought.value) {
            return Some((ValueExtraction::Address(pattern), name));
        }
    }
    None
}

/// Returns the pattern that finds a value as a part of an address, and its name there.
fn address_pattern(url: &url::Url, sought: &SoughtValue<'_>) -> Option<(String, String)> {
    let value = sought.value;
    let segments: Vec<&str> = url.path_segments()?.collect();
    let fits = |at: usize| sought.is_random || at > 0 && singular(segments[at - 1]) == sought.stem;
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
    let mut pairs = url.query_pairs().filter(|_| sought.is_random);
    let (name, _) = pairs.find(|(_, found)| found == value)?;
    Some((
        format!("[?&]{}=([^&#]+)", regex::escape(&name)),
        name.into_owned(),
    ))
}

fn from_header(
    response: &FinalResponse,
    sought: &SoughtValue<'_>,
) -> Option<(ValueExtraction, String)> {
    const OTHERS: [&str; 6] = [
        "set-cookie",
        "date",
        "etag",
        "location",
        "last-modified",
        "content-length",
    ];
    if !sought.is_random {
        return None;
    }
    let mut headers = response.headers.iter();
    let (name, _) =
        headers.find(|(name, value)| value == sought.value && !OTHERS.contains(&name.as_str()))?;
    Some((
        ValueExtraction::Header(name.clone(), None),
        name.trim_start_matches("x-").to_owned(),
    ))
}

fn from_json(
    exchange: &RecordedExchange,
    response: &FinalResponse,
    sought: &SoughtValue<'_>,
) -> Option<(ValueExtraction, String)> {
    let body = response
        .body
        .as_ref()
        .filter(|body| body.len() <= JSON_BYTES)?;
    if !response.is_json() {
        return None;
    }
    let json: Value = serde_json::from_str(body).ok()?;
    let mut search = JsonSearch {
        sought,
        place: exchange.url.path().to_ascii_lowercase(),
        keys: Vec::new(),
        steps: String::new(),
    };
    search.walk(&json)
}

struct JsonSearch<'a> {
    sought: &'a SoughtValue<'a>,
    place: String,
    keys: Vec<String>,
    steps: String,
}

impl JsonSearch<'_> {
    fn walk(&mut self, value: &Value) -> Option<(ValueExtraction, String)> {
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
            Value::String(text) if text == self.sought.value => self.here(),
            Value::Number(number) if number.to_string() == self.sought.value => self.here(),
            _ => None,
        }
    }

    fn step(&mut self, step: &str, value: &Value) -> Option<(ValueExtraction, String)> {
        let length = self.steps.len();
        self.steps.push_str(step);
        let found = self.walk(value);
        self.steps.truncate(length);
        found
    }

    fn here(&self) -> Option<(ValueExtraction, String)> {
        let key = self.keys.last().map_or("", String::as_str);
        let place = format!(
            "{}/{}",
            self.place,
            self.keys.join("/").to_ascii_lowercase()
        );
        let fits = self.sought.is_random || is_id(key) && place.contains(self.sought.stem);
        let name = match key.to_ascii_lowercase().as_str() {
            "id" | "uuid" | "" if !self.sought.stem.is_empty() => {
                format!("{}_id", self.sought.stem)
            }
            "" => "value".to_owned(),
            _ => key.to_owned(),
        };
        fits.then(|| (ValueExtraction::Json(self.steps.clone()), name))
    }
}

fn from_page(
    response: &FinalResponse,
    sought: &SoughtValue<'_>,
) -> Option<(ValueExtraction, String)> {
    let body = response.body.as_ref().filter(|_| sought.is_random)?;
    if !body.contains(sought.value) {
        return None;
    }
    let element = if response.is_html() {
        from_element(body, sought.value)
    } else {
        None
    };
    element.or_else(|| from_text(body, sought.value))
}

/// A hidden field or a `<meta>`.
fn from_element(body: &str, value: &str) -> Option<(ValueExtraction, String)> {
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
                return Some((ValueExtraction::Attribute(css, attribute), name.to_owned()));
            }
        }
    }
    None
}

/// A text in a script: found again by the text before it.
fn from_text(body: &str, value: &str) -> Option<(ValueExtraction, String)> {
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
            return Some((ValueExtraction::Match(pattern), name.to_owned()));
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
