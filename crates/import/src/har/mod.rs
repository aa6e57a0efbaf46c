//! HAR files as Chromium, Firefox and Safari write them. They are read entry by entry; bodies of images and films are
//! dropped, and all that is kept has a limit.

mod body;
mod browser_headers;
mod document;
mod entry;
mod kind;
mod known_fields;
mod left_out;
mod pages;
mod times;

use crate::bounded::{BoundedTexts, ByteLimit, CutCount};
use crate::exchange::{ExchangeKind, FinalResponse, RecordedExchange, RecordedTraffic, media_of};
use body::{body_of, text_of};
use browser_headers::BrowserHeaders;
pub(super) use document::DOCUMENT_BYTES;
use document::{DOCUMENT_KEYS, explain};
use entry::{HarEntry, HarFields, HarResponse};
use kind::kind;
use known_fields::KnownFields;
use left_out::{LeftOut, OmissionReason};
use lgoose_base::error::Diagnostic;
use pages::{PageMark, RecordedPages};
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
const MAX_HEADER_BYTES: usize = 16 << 10;
/// The most requests that are kept.
const MAX_ENTRIES: usize = 50_000;

/// The kinds of a file of JSON.
pub(super) enum JsonFile {
    Recording(RecordedTraffic),
    /// No recording: those fields of its object whose names are known.
    Other(Map<String, Value>),
}

/// Reads a file of JSON, whose kind shows on the way.
///
/// # Errors
/// The fault, with its place.
pub(super) fn read(name: &str, reader: impl BufRead) -> Result<JsonFile, Diagnostic> {
    let (reader, cuts, limit) = BoundedTexts::new(reader, TEXT_BYTES);
    let mut found = HarContents {
        cuts,
        limit,
        others: Map::new(),
        has_log: false,
        entries: Vec::new(),
        read: 0,
        stored: 0,
        omitted: 0,
        pages: RecordedPages::default(),
        browser: BrowserHeaders::default(),
        left_out: LeftOut::default(),
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
    Ok(JsonFile::Recording(found.recording()))
}

struct HarContents {
    cuts: CutCount,
    limit: ByteLimit,
    /// Fields besides a recording.
    others: Map<String, Value>,
    has_log: bool,
    entries: Vec<(RecordedExchange, PageMark)>,
    /// The number of entries that were read.
    read: usize,
    /// The bytes of bodies that are kept, and how many texts were too long to be.
    stored: usize,
    omitted: u64,
    pages: RecordedPages,
    browser: BrowserHeaders,
    left_out: LeftOut,
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
                "pages" => {
                    let mut fields = KnownFields::default();
                    self.0.take_pages(map.next_value_seed(&mut fields)?);
                }
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
        loop {
            let cuts = self.0.cuts.get();
            let mut fields = KnownFields::default();
            let Some(entry) = seq.next_element_seed(&mut fields)? else {
                return Ok(());
            };
            self.0.read += 1;
            let number = self.0.read;
            let entry = if fields.is_too_large() {
                Err("it has too many fields".to_owned())
            } else {
                HarEntry::read(entry)
            };
            match entry {
                Ok(entry) => {
                    let is_cut = self.0.cuts.get() != cuts;
                    self.0
                        .take(number, entry, is_cut)
                        .map_err(de::Error::custom)?;
                }
                Err(why) => self.0.left_out.mistake(number, &why),
            }
        }
    }
}

impl HarContents {
    fn take_pages(&mut self, pages: Value) {
        let Value::Array(pages) = pages else { return };
        for page in pages {
            if let Value::Object(fields) = page {
                let mut page = HarFields(fields);
                let mut text = |name| page.text(name).ok().flatten();
                self.pages.note_page(text("id"), text("title"));
            }
        }
    }

    /// Takes an entry, which is the one of that number in the file.
    fn take(&mut self, number: usize, mut entry: HarEntry, is_cut: bool) -> Result<(), String> {
        if self.entries.len() >= MAX_ENTRIES {
            return Err(format!(
                "more than {MAX_ENTRIES} requests; record a shorter visit"
            ));
        }
        let mut url = match Url::parse(&entry.url) {
            Ok(url) if url.as_str().len() <= MAX_HEADER_BYTES => url,
            Ok(_) => {
                let why = format!("its 'url' is longer than {} KiB", MAX_HEADER_BYTES >> 10);
                self.left_out.mistake(number, &why);
                return Ok(());
            }
            Err(error) => {
                self.left_out
                    .mistake(number, &format!("its 'url' is none: {error}"));
                return Ok(());
            }
        };
        url.set_fragment(None);
        let method = entry.method.to_ascii_uppercase();
        let mut headers = self.lower(std::mem::take(&mut entry.headers));
        if let Some(reason) = OmissionReason::of(&entry, &method, &url, &headers) {
            self.left_out.request(reason, &method, &url);
            return Ok(());
        }
        let before = self.entries.last().map(|(before, _)| before.end_ms);
        let times = Times::of(&entry, before);
        if !times.is_known {
            self.left_out.untimed(number);
        }
        let auth = credentials(&mut url);
        let mut recorded = entry.response.take();
        let mut response = self.response(recorded.as_mut(), &url);
        let kind = kind(
            entry.resource_type.as_deref(),
            &method,
            &headers,
            &response.media,
            response.status,
        );
        self.browser.note(kind, &url, &headers);
        let mark = self
            .pages
            .mark(kind, &headers, entry.pageref.as_deref(), entry.frame);
        let is_text = kind != ExchangeKind::Asset;
        let text = recorded.as_mut().filter(|_| is_text).and_then(text_of);
        if is_text {
            let size = text.as_ref().map_or(0, String::len);
            let fits = self.stored + size <= STORED_BYTES;
            self.omitted += u64::from(is_cut || !fits);
            if fits && !is_cut {
                self.stored += size;
                response.body = text;
            }
        }
        let post = entry.post_data.filter(|_| is_text);
        let media = post.as_ref().and_then(|post| post.mime_type.clone());
        if let Some(media) = media.filter(|media| !media.is_empty())
            && !headers.iter().any(|(name, _)| name == "content-type")
        {
            headers.push(("content-type".to_owned(), media));
        }
        let exchange = RecordedExchange {
            kind,
            method,
            body: post.and_then(|post| body_of(post, &headers)),
            headers: if is_text { headers } else { Vec::new() },
            auth,
            digest: false,
            is_typed: false,
            call: Vec::new(),
            start_ms: times.start_ms,
            end_ms: times.end_ms,
            responded_ms: times.responded_ms,
            cached: entry.from_cache || (response.status == 304 && kind == ExchangeKind::Asset),
            follows: true,
            response: Some(response),
            url,
        };
        self.entries.push((exchange, mark));
        Ok(())
    }

    /// Returns the response of an entry without its text.
    fn response(&mut self, recorded: Option<&mut HarResponse>, url: &Url) -> FinalResponse {
        let mut response = FinalResponse {
            status: 0,
            url: url.clone(),
            headers: Vec::new(),
            media: String::new(),
            body: None,
        };
        let Some(recorded) = recorded else {
            return response;
        };
        let status = recorded
            .status
            .and_then(|status| u16::try_from(status).ok());
        response.status = status.unwrap_or(0);
        response.media = media_of(recorded.mime_type.as_deref().unwrap_or_default());
        response.headers = self.lower(std::mem::take(&mut recorded.headers));
        if let Some(to) = recorded.redirect_url.take().filter(|to| !to.is_empty())
            && response.header("location").is_none()
        {
            response.headers.push(("location".to_owned(), to));
        }
        response
    }

    fn lower(&mut self, headers: Vec<(String, String)>) -> Vec<(String, String)> {
        let mut lower = Vec::with_capacity(headers.len());
        for (name, value) in headers {
            if name.len() + value.len() <= MAX_HEADER_BYTES {
                lower.push((name.to_ascii_lowercase(), value));
            } else {
                self.left_out.header(&name);
            }
        }
        lower
    }

    /// Returns the recording, in the order in which requests began.
    fn recording(mut self) -> RecordedTraffic {
        // Stable: entries that began together stay in the order of the file.
        self.entries
            .sort_by(|(a, _), (b, _)| a.start_ms.total_cmp(&b.start_ms));
        self.pages.settle(&mut self.entries);
        let entries = self.entries.iter_mut();
        let entries = entries.map(|(exchange, mark)| (exchange, mark.is_document));
        self.browser.remove(entries, &mut self.left_out);
        let mut notes = self.left_out.notes();
        if self.omitted > 0 {
            notes.push(format!(
                "of the recording's texts, {} were too long to be looked at: what they brought is not found",
                self.omitted
            ));
        }
        RecordedTraffic {
            exchanges: self
                .entries
                .into_iter()
                .map(|(exchange, _)| exchange)
                .collect(),
            site: self.pages.site(),
            notes,
            ..RecordedTraffic::default()
        }
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
