//! The places of the values of requests in responses: all texts are searched once for all values.

use super::exchange::{Body, RecordedExchange, read_query};
use super::forms::is_form;
use super::places::{is_id_value, named_token};
use super::random::{is_plain, is_random, plain};
use aho_corasick::AhoCorasick;
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// The most values of each kind; further ones are searched for one by one.
const MAX_VALUES: usize = 20_000;
/// The searched prefix of a value in bytes: each match is compared as a whole.
const PREFIX_BYTES: usize = 32;
/// The shortest part of a value that is searched for.
const MIN_PART_BYTES: usize = 4;
/// The most responses that are kept for a value.
const MAX_RESPONSES: usize = 64;

/// The places of values. Numbers are those of exchanges.
#[derive(Debug, Default)]
pub(super) struct ValueIndex {
    /// Random values, and their numbers.
    random: HashMap<String, usize>,
    /// The responses that may have them.
    brought: Vec<Vec<usize>>,
    /// The first request that sends them.
    sent: Vec<Option<usize>>,
    /// Ids, with the responses that have them.
    ids: HashMap<String, Vec<usize>>,
    /// Headers and parts of addresses, with their responses.
    elsewhere: HashMap<String, Vec<usize>>,
}

/// The entry of a value in the index.
pub(super) struct IndexedValue {
    /// The responses that may have brought it, in their order.
    pub(super) responses: Vec<usize>,
    /// The first request that sends it, where that is known.
    pub(super) first_sent: Option<Option<usize>>,
}

impl ValueIndex {
    /// Searches all responses for the values of these requests.
    pub(super) fn new(exchanges: &[RecordedExchange], requests: &[usize]) -> ValueIndex {
        let mut index = ValueIndex::default();
        let mut ids: HashSet<String> = HashSet::new();
        for at in requests {
            for_each_value(&exchanges[*at], &mut |key, value| {
                if value.is_empty() || value.len() > 8192 {
                    return;
                }
                let is_token = named_token(key) && value.len() >= 6;
                if is_random(value) || is_token {
                    let number = index.random.len();
                    if number < MAX_VALUES && plain(value).len() >= MIN_PART_BYTES {
                        index.random.entry(value.to_owned()).or_insert(number);
                    }
                }
                if is_id_value(value) && ids.len() < MAX_VALUES {
                    ids.insert(value.to_owned());
                }
            });
        }
        index.search_responses(exchanges, &ids);
        index.search_requests(exchanges);
        index
    }

    fn search_responses(&mut self, exchanges: &[RecordedExchange], ids: &HashSet<String>) {
        self.brought = vec![Vec::new(); self.random.len()];
        let mut patterns = vec![""; self.random.len()];
        for (value, number) in &self.random {
            let part = plain(value);
            patterns[*number] = &part[..part.len().min(PREFIX_BYTES)];
        }
        let search = AhoCorasick::new(&patterns).ok();
        if search.is_none() {
            self.random.clear();
        }
        for id in ids {
            self.ids.insert(id.clone(), Vec::new());
        }
        for (at, exchange) in exchanges.iter().enumerate() {
            let Some(response) = exchange.source() else {
                continue;
            };
            for text in elsewhere(exchange) {
                if self.random.contains_key(&text) || ids.contains(&text) {
                    add(self.elsewhere.entry(text).or_default(), at);
                }
            }
            let Some(body) = &response.body else { continue };
            if let Some(search) = &search {
                for found in search.find_overlapping_iter(body) {
                    add(&mut self.brought[found.pattern().as_usize()], at);
                }
            }
            if !ids.is_empty() {
                for run in body
                    .split(|c: char| !is_plain(c))
                    .filter(|run| run.len() <= 40)
                {
                    if let Some(responses) = self.ids.get_mut(run) {
                        add(responses, at);
                    }
                }
            }
        }
    }

    /// Finds the first request that sends each random value.
    fn search_requests(&mut self, exchanges: &[RecordedExchange]) {
        self.sent = vec![None; self.random.len()];
        let mut patterns = vec![""; self.random.len()];
        for (value, number) in &self.random {
            let mut end = value.len().min(PREFIX_BYTES * 4);
            while !value.is_char_boundary(end) {
                end -= 1;
            }
            patterns[*number] = &value[..end];
        }
        let Ok(search) = AhoCorasick::new(&patterns) else {
            self.random.clear();
            return;
        };
        let mut texts = String::new();
        for (at, exchange) in exchanges.iter().enumerate() {
            texts.clear();
            texts.push_str(exchange.url.as_str());
            for_each_value(exchange, &mut |_, value| {
                texts.push('\n');
                texts.push_str(value);
            });
            if let Some(Body::Text(text)) = &exchange.body {
                texts.push('\n');
                texts.push_str(text);
            }
            for found in search.find_overlapping_iter(&texts) {
                self.sent[found.pattern().as_usize()].get_or_insert(at);
            }
        }
    }

    /// Returns the entry of a value; `None` if it is not in the index.
    pub(super) fn look_up(&self, value: &str, is_random: bool) -> Option<IndexedValue> {
        let number = self.random.get(value);
        let (in_bodies, first_sent) = match (is_random, number) {
            (true, Some(number)) => (&self.brought[*number], Some(self.sent[*number])),
            (true, None) => return None,
            (false, _) => (self.ids.get(value)?, None),
        };
        let mut responses = in_bodies.clone();
        responses.extend(self.elsewhere.get(value).into_iter().flatten());
        responses.sort_unstable();
        responses.dedup();
        Some(IndexedValue {
            responses,
            first_sent,
        })
    }
}

fn add(responses: &mut Vec<usize>, at: usize) {
    if responses.last() != Some(&at) && responses.len() < MAX_RESPONSES {
        responses.push(at);
    }
}

/// Returns the headers of a response, and the parts of the addresses that it names.
fn elsewhere(exchange: &RecordedExchange) -> Vec<String> {
    let Some(response) = &exchange.response else {
        return Vec::new();
    };
    let mut texts: Vec<String> = response
        .headers
        .iter()
        .map(|(_, value)| value.clone())
        .collect();
    let location = response
        .header("location")
        .and_then(|location| exchange.url.join(location).ok());
    let led = Some(&response.url).filter(|url| **url != exchange.url);
    for url in location.iter().chain(led) {
        texts.extend(url.path_segments().into_iter().flatten().map(str::to_owned));
        texts.extend(url.query_pairs().map(|(_, value)| value.into_owned()));
    }
    texts
}

/// Hands out all values that a request sends, each with its name, which parts of the path lack.
fn for_each_value(exchange: &RecordedExchange, take: &mut dyn FnMut(&str, &str)) {
    let decoded = |text: &str| {
        percent_encoding::percent_decode_str(text)
            .decode_utf8_lossy()
            .into_owned()
    };
    for segment in exchange.url.path_segments().into_iter().flatten() {
        take("", &decoded(segment));
    }
    for pair in exchange.url.query().unwrap_or_default().split('&') {
        if let Some((name, value)) = pair.split_once('=') {
            take(name, &decoded(&value.replace('+', " ")));
        }
    }
    for (name, value) in exchange.headers.iter().filter(|(name, _)| name != "cookie") {
        take(name, value);
        if let Some((_, token)) = value.split_once(' ').filter(|_| name == "authorization") {
            take(name, token.trim());
        }
    }
    match &exchange.body {
        Some(Body::Form(fields)) => fields.iter().for_each(|(name, value)| take(name, value)),
        Some(Body::Multipart(parts)) => {
            for part in parts {
                take(&part.name, part.data.as_deref().unwrap_or_default());
            }
        }
        Some(Body::Json(json)) => scalars("", json, take),
        Some(Body::Text(text)) if is_form(exchange) => {
            let fields = read_query(text);
            fields.iter().for_each(|(name, value)| take(name, value));
        }
        Some(Body::Text(_) | Body::Bytes(_)) | None => {}
    }
}

fn scalars(name: &str, value: &Value, take: &mut dyn FnMut(&str, &str)) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| scalars(name, item, take)),
        Value::Object(fields) => fields
            .iter()
            .for_each(|(name, value)| scalars(name, value, take)),
        Value::String(text) => take(name, text),
        Value::Number(number) => take(name, &number.to_string()),
        _ => {}
    }
}
