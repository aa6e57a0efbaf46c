//! Recorded requests with their responses, from any source.

use super::forms::order_matters;
use super::script_variables::ScriptVariables;
use serde_json::Value;
use url::Url;

/// All that was recorded.
#[derive(Debug, Default)]
pub(super) struct RecordedTraffic {
    /// The exchanges in the order in which they began.
    pub(super) exchanges: Vec<RecordedExchange>,
    /// The origin of the pages that most requests came from, where that is known.
    pub(super) site: Option<Url>,
    pub(super) options: PlanOptions,
    /// The unknown variables in the texts of a script.
    pub(super) variables: ScriptVariables,
    pub(super) notes: Vec<String>,
}

/// Fields of the plan that a recording decides, with their values as Lua.
#[derive(Debug, Default)]
pub(super) struct PlanOptions {
    pub(super) fields: Vec<(String, String)>,
}

impl PlanOptions {
    /// Sets a field.
    pub(super) fn set(&mut self, name: &str, value: String) {
        self.fields.retain(|(known, _)| known != name);
        self.fields.push((name.to_owned(), value));
    }

    /// Adds a text to a field that is a list.
    pub(super) fn add(&mut self, name: &str, text: String) {
        match self.fields.iter_mut().find(|(known, _)| known == name) {
            Some((_, list)) => {
                let end = list.len() - 2;
                list.insert_str(end, &format!(", {text}"));
            }
            None => self.set(name, format!("{{ {text} }}")),
        }
    }
}

/// The purposes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExchangeKind {
    /// A page that the browser shows.
    Page,
    /// A part of a page: image, script, stylesheet, font.
    Asset,
    /// Anything else: requests of scripts, frames.
    Call,
}

/// A request and its response.
#[derive(Debug)]
pub(super) struct RecordedExchange {
    pub(super) kind: ExchangeKind,
    pub(super) method: String,
    /// Without fragment, user and password.
    pub(super) url: Url,
    /// Names in lower case.
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Option<Body>,
    /// Credentials of basic or digest authentication.
    pub(super) auth: Option<(String, String)>,
    pub(super) digest: bool,
    /// A person has typed it: all of its headers are intended.
    pub(super) is_typed: bool,
    /// Options of its call, with their values as Lua.
    pub(super) call: Vec<(String, String)>,
    /// Milliseconds since 1970.
    pub(super) start_ms: f64,
    pub(super) end_ms: f64,
    /// The time at which its response began to arrive.
    pub(super) responded_ms: f64,
    /// The browser had it in its cache, and sent nothing.
    pub(super) cached: bool,
    /// Redirects are followed, as browsers do.
    pub(super) follows: bool,
    pub(super) response: Option<FinalResponse>,
}

impl RecordedExchange {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the response, if values that later requests send may have come from it: an asset's have none.
    pub(super) fn source(&self) -> Option<&FinalResponse> {
        self.response
            .as_ref()
            .filter(|_| self.kind != ExchangeKind::Asset)
    }
}

/// The response to the last request of a chain of redirects.
#[derive(Debug)]
pub(super) struct FinalResponse {
    pub(super) status: u16,
    /// The address of the response, after redirects.
    pub(super) url: Url,
    /// Names in lower case.
    pub(super) headers: Vec<(String, String)>,
    /// Media type in lower case, without parameters.
    pub(super) media: String,
    /// Kept of texts alone.
    pub(super) body: Option<String>,
}

impl FinalResponse {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(super) fn is_html(&self) -> bool {
        matches!(self.media.as_str(), "text/html" | "application/xhtml+xml")
    }

    pub(super) fn is_json(&self) -> bool {
        is_json(&self.media)
    }
}

/// Returns names and values of the cookies that a response sets.
pub(super) fn set_cookies(response: &FinalResponse) -> impl Iterator<Item = (&str, &str)> {
    let set = response.headers.iter();
    let set = set.filter(|(name, _)| name == "set-cookie");
    // Firefox joins several by line breaks.
    let lines = set.flat_map(|(_, value)| value.lines());
    lines.filter_map(|line| {
        let (name, value) = line.split(';').next()?.split_once('=')?;
        Some((name.trim(), value.trim()))
    })
}

/// The body of a request.
#[derive(Debug, Clone)]
pub(super) enum Body {
    Form(Vec<(String, String)>),
    Multipart(Vec<RecordedPart>),
    Json(Value),
    Text(String),
    /// Bytes that are no text.
    Bytes(Vec<u8>),
}

/// A part of a multipart body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RecordedPart {
    pub(super) name: String,
    pub(super) filename: Option<String>,
    pub(super) media: Option<String>,
    /// `None` where the recording has left it out.
    pub(super) data: Option<String>,
    /// The bytes of a file that are known although it has left them out.
    pub(super) content: Option<Vec<u8>>,
}

/// Returns whether a media type is one of JSON.
pub(super) fn is_json(media: &str) -> bool {
    media == "application/json" || media == "text/json" || media.ends_with("+json")
}

/// Returns the media type of a `Content-Type`, in lower case.
pub(super) fn media_of(content_type: &str) -> String {
    let media = content_type.split(';').next().unwrap_or_default();
    media.trim().to_ascii_lowercase()
}

/// Reads a body according to its media type; one that does not parse is text.
pub(super) fn read_body(content_type: &str, text: String) -> Option<Body> {
    if text.is_empty() {
        return None;
    }
    let media = media_of(content_type);
    Some(match media.as_str() {
        "application/x-www-form-urlencoded" => {
            let fields = read_query(&text);
            if order_matters(fields.iter().map(|(name, _)| name.as_str())) {
                Body::Text(text)
            } else {
                Body::Form(fields)
            }
        }
        "multipart/form-data" => match super::multipart::read(content_type, &text) {
            Some(parts) => Body::Multipart(parts),
            None => Body::Text(text),
        },
        media if is_json(media) => match serde_json::from_str(&text) {
            Ok(value) => Body::Json(value),
            Err(_) => Body::Text(text),
        },
        _ => Body::Text(text),
    })
}

/// Reads `a=1&b=2`.
pub(super) fn read_query(text: &str) -> Vec<(String, String)> {
    let pairs = url::form_urlencoded::parse(text.as_bytes());
    pairs
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect()
}
