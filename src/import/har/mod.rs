//! HAR files as Chromium and Firefox write them. They are read entry by entry; bodies of images and films are dropped, and
//! all that is kept has a limit.

mod document;
mod entry;
mod kind;
mod times;

use crate::error::Diagnostic;
use crate::import::bounded::{BoundedTexts, ByteLimit, CutCount};
use crate::import::exchange::{
    Body, ExchangeKind, FinalResponse, PlanOptions, RecordedExchange, RecordedPart,
    RecordedTraffic, media_of, read_body,
};
use base64::Engine as _;
pub(super) use document::DOCUMENT_BYTES;
use document::{DOCUMENT_KEYS, explain};
use entry::{HarContent, HarEntry, HarHeader, HarPostData};
use kind::kind;
use serde::de::{self, DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;
use std::io::{BufRead, BufReader};
use times::Times;
use url::Url;

/// The most bytes of one text of the file, and of all that is kept of bodies.
const TEXT_BYTES: usize = 4 << 20;
const STORED_BYTES: usize = 64 << 20;
/// The longest address and header that are kept.
const LONGEST: usize = 16 << 10;
/// The most requests that are kept.
const MOST: usize = 50_000;

/// What a file of JSON has turned out to be.
pub(super) enum JsonFile {
    Recording(RecordedTraffic),
    /// No recording: what its object has, of the names that are known.
    Other(Map<String, Value>),
}

/// Reads a file of JSON, whose kind shows on the way.
///
/// # Errors
/// What is wrong with it and where.
pub(super) fn read(name: &str, reader: impl BufRead) -> Result<JsonFile, Diagnostic> {
    let (reader, cuts, limit) = BoundedTexts::new(reader, TEXT_BYTES);
    let mut found = HarContents {
        cuts,
        limit,
        stored: 0,
        recording: RecordedTraffic::default(),
        omitted: 0,
        has_log: false,
        others: Map::new(),
    };
    // It is read byte by byte.
    let mut json = serde_json::Deserializer::from_reader(BufReader::new(reader));
    let read = FileSeed(&mut found)
        .deserialize(&mut json)
        .and_then(|()| json.end());
    read.map_err(|error| explain(name, found.has_log, &error))?;
    if !found.has_log {
        return Ok(JsonFile::Other(found.others));
    }
    let mut recording = found.recording;
    if found.omitted > 0 {
        let note = "of the recording's texts, {} were too long to be looked at: what they brought is not found";
        recording
            .notes
            .push(note.replace("{}", &found.omitted.to_string()));
    }
    // Stable: entries that began together stay in the order of the file.
    recording
        .exchanges
        .sort_by(|a, b| a.start_ms.total_cmp(&b.start_ms));
    recording.options = PlanOptions::default();
    Ok(JsonFile::Recording(recording))
}

struct HarContents {
    cuts: CutCount,
    limit: ByteLimit,
    /// What is there besides a recording.
    others: Map<String, Value>,
    stored: usize,
    recording: RecordedTraffic,
    omitted: u64,
    has_log: bool,
}

struct FileSeed<'a>(&'a mut HarContents);
struct LogSeed<'a>(&'a mut HarContents);
struct EntriesSeed<'a>(&'a mut HarContents);

impl<'de> DeserializeSeed<'de> for FileSeed<'_> {
    type Value = ();
    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for FileSeed<'_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with 'log'")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "log" => {
                    self.0.limit.set(u64::MAX);
                    self.0.has_log = true;
                    self.0.others.clear();
                    map.next_value_seed(LogSeed(self.0))?;
                }
                key if !self.0.has_log && DOCUMENT_KEYS.contains(&key) => {
                    self.0.limit.set(DOCUMENT_BYTES);
                    let value = map.next_value()?;
                    self.0.others.insert(key.to_owned(), value);
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for LogSeed<'_> {
    type Value = ();
    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for LogSeed<'_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object as 'log'")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "entries" => map.next_value_seed(EntriesSeed(self.0))?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for EntriesSeed<'_> {
    type Value = ();
    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for EntriesSeed<'_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list as 'entries'")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let mut cuts = self.0.cuts.get();
        while let Some(entry) = seq.next_element::<HarEntry>()? {
            let is_cut = self.0.cuts.get() != cuts;
            cuts = self.0.cuts.get();
            self.0.take(entry, is_cut).map_err(de::Error::custom)?;
        }
        Ok(())
    }
}

impl HarContents {
    fn take(&mut self, entry: HarEntry, is_cut: bool) -> Result<(), String> {
        if self.recording.exchanges.len() >= MOST {
            return Err(format!("more than {MOST} requests; record a shorter visit"));
        }
        let Ok(mut url) = Url::parse(&entry.request.url) else {
            return Ok(());
        };
        if !matches!(url.scheme(), "http" | "https") || url.as_str().len() > LONGEST {
            return Ok(());
        }
        url.set_fragment(None);
        let before = self.recording.exchanges.last();
        let times = Times::of(&entry, before.map(|before| before.end_ms));
        let auth = credentials(&mut url);
        let method = entry.request.method.to_ascii_uppercase();
        let headers = lower(entry.request.headers);
        let status = entry.response.as_ref().and_then(|response| response.status);
        // Blocked, cut short, or a question of the browser's own.
        let unanswered = !status.is_some_and(|status| (100..=599).contains(&status));
        let socket = status == Some(101);
        let is_name = method.bytes().all(|byte| byte.is_ascii_alphabetic()) && !method.is_empty();
        if unanswered
            || socket
            || !is_name
            || method == "CONNECT"
            || is_preflight(&method, &headers)
        {
            return Ok(());
        }
        let status = status
            .and_then(|status| u16::try_from(status).ok())
            .unwrap_or(0);
        let response = entry.response.map(|response| {
            let media = response
                .content
                .as_ref()
                .and_then(|content| content.mime_type.clone());
            let mut headers = lower(response.headers);
            let to = response.redirect_url.filter(|to| !to.is_empty());
            if let Some(to) = to
                && !headers.iter().any(|(name, _)| name == "location")
            {
                headers.push(("location".to_owned(), to));
            }
            (
                headers,
                media_of(&media.unwrap_or_default()),
                response.content,
            )
        });
        let (response_headers, media, content) = response.unwrap_or_default();
        let kind = kind(
            entry.resource_type.as_deref(),
            &method,
            &headers,
            &media,
            status,
        );
        if matches!(
            entry.resource_type.as_deref(),
            Some("ping" | "websocket" | "eventsource" | "preflight" | "csp-violation-report")
        ) {
            return Ok(());
        }
        let is_text = kind != ExchangeKind::Asset;
        let text = content.filter(|_| is_text && !is_cut).and_then(text_of);
        let body = entry.request.post_data.filter(|_| is_text);
        let body = body.and_then(|post| body_of(post, &headers));
        let size = text.as_ref().map_or(0, String::len);
        let fits = self.stored + size <= STORED_BYTES;
        self.omitted += u64::from(is_text && (is_cut || !fits));
        self.stored += if fits { size } else { 0 };
        self.recording.exchanges.push(RecordedExchange {
            kind,
            method,
            headers: if is_text { headers } else { Vec::new() },
            body,
            auth,
            digest: false,
            is_typed: false,
            call: Vec::new(),
            start_ms: times.start_ms,
            end_ms: times.end_ms,
            responded_ms: times.responded_ms,
            cached: entry.from_cache.is_some() || (status == 304 && kind == ExchangeKind::Asset),
            follows: true,
            response: Some(FinalResponse {
                status,
                url: url.clone(),
                headers: response_headers,
                media,
                body: text.filter(|_| fits),
            }),
            url,
        });
        Ok(())
    }
}

/// Takes user and password out of a URL.
pub(super) fn credentials(url: &mut Url) -> Option<(String, String)> {
    let decoded = |text: &str| {
        percent_encoding::percent_decode_str(text)
            .decode_utf8_lossy()
            .into_owned()
    };
    let found = (
        decoded(url.username()),
        decoded(url.password().unwrap_or_default()),
    );
    let had = !found.0.is_empty() || !found.1.is_empty();
    // A URL over http has a host, so that it can be without them.
    let _always = url.set_username("");
    let _always = url.set_password(None);
    had.then_some(found)
}

fn lower(headers: Vec<HarHeader>) -> Vec<(String, String)> {
    let retained = headers
        .into_iter()
        .filter(|header| header.name.len() + header.value.len() <= LONGEST);
    retained
        .map(|header| (header.name.to_ascii_lowercase(), header.value))
        .collect()
}

fn is_preflight(method: &str, headers: &[(String, String)]) -> bool {
    method == "OPTIONS"
        && headers
            .iter()
            .any(|(name, _)| name == "access-control-request-method")
}

/// Returns the text of an answer, if it is one.
fn text_of(content: HarContent) -> Option<String> {
    let text = content.text.filter(|text| !text.is_empty())?;
    match content.encoding.as_deref() {
        Some("base64") => {
            let bytes = base64::engine::general_purpose::STANDARD
                .decode(text.as_bytes())
                .ok()?;
            String::from_utf8(bytes).ok()
        }
        _ => Some(text),
    }
}

fn body_of(post: HarPostData, headers: &[(String, String)]) -> Option<Body> {
    let media = headers
        .iter()
        .find(|(name, _)| name == "content-type")
        .map(|(_, value)| value.clone());
    let media = post
        .mime_type
        .filter(|media| !media.is_empty())
        .or(media)
        .unwrap_or_default();
    let text = post.text.filter(|text| !text.is_empty());
    let params = post.params.filter(|params| !params.is_empty());
    match (text, params) {
        (Some(text), _) => {
            // Firefox repeats the headers of a multipart body before it.
            let text = match (media.starts_with("multipart/"), text.find("--")) {
                (true, Some(from))
                    if from > 0 && text[..from].to_ascii_lowercase().contains("content-type:") =>
                {
                    text[from..].to_owned()
                }
                _ => text,
            };
            read_body(&media, text)
        }
        (None, Some(params)) if media_of(&media) == "multipart/form-data" => {
            let parts = params.into_iter().map(|param| RecordedPart {
                content: None,
                data: param
                    .value
                    .filter(|value| param.file_name.is_none() || !value.is_empty()),
                name: param.name,
                filename: param.file_name,
                media: param.content_type,
            });
            Some(Body::Multipart(parts.collect()))
        }
        (None, Some(params)) => {
            let pairs = params
                .into_iter()
                .map(|param| (param.name, param.value.unwrap_or_default()));
            // Params are as they were sent: encoded.
            let decoded = |text: String| {
                let spaced = text.replace('+', " ");
                percent_encoding::percent_decode_str(&spaced)
                    .decode_utf8_lossy()
                    .into_owned()
            };
            Some(Body::Form(
                pairs
                    .map(|(name, value)| (decoded(name), decoded(value)))
                    .collect(),
            ))
        }
        (None, None) => None,
    }
}
