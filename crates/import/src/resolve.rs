//! The origins of the values of requests: an earlier response, a secret, or a text that was typed. Keeps its results,
//! so that a plan written twice is the same: the first pass shows which values are used where.

use super::exchange::{RecordedExchange, set_cookies};
use super::index::ValueIndex;
use super::names::UsedNames;
use super::origin::{self, SoughtValue, ValueExtraction, singular};
use super::places::{is_id_value, may_be_id, named_token, sends, stem};
use super::random::is_random;
use super::secrets::{self, Secrets};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The most bytes of responses that are searched, all searches together: some seconds.
const SEARCHED_BYTES: usize = 16 << 30;
/// The most values of a task that are locals: Lua takes 200.
const MAX_LOCALS: usize = 100;

/// The place of a value in a request.
#[derive(Debug, Clone, Copy)]
pub(super) enum ValuePosition<'a> {
    /// The place after this part of the path.
    Path(&'a str),
    /// A field of a query, a form or JSON of that name.
    Field(&'a str),
    Header(&'a str),
}

/// The origin of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ValueOrigin {
    /// A plain text.
    Plain,
    /// A value that seems to change from visit to visit, and that no response brought.
    Unknown,
    Value(usize),
    /// A cookie of that name, and whether it is percent-encoded there.
    Cookie(String, bool),
    /// The name of a variable.
    Secret(String),
}

/// A value that a response brings.
#[derive(Debug)]
pub(super) struct ResponseValue {
    pub(super) name: String,
    pub(super) source: usize,
    pub(super) how: ValueExtraction,
    /// The tasks that use it.
    used_in: BTreeSet<usize>,
    is_local: bool,
}

pub(super) struct ValueResolver<'a> {
    exchanges: &'a [RecordedExchange],
    index: ValueIndex,
    pub(super) values: Vec<ResponseValue>,
    pub(super) secrets: Secrets,
    meanings: HashMap<(usize, String, String), ValueOrigin>,
    names: UsedNames,
    searched: usize,
    /// Whether the search for some values was given up.
    pub(super) is_incomplete: bool,
}

impl<'a> ValueResolver<'a> {
    /// `requests` are the exchanges that the plan sends.
    pub(super) fn new(exchanges: &'a [RecordedExchange], requests: &[usize]) -> Self {
        ValueResolver {
            exchanges,
            index: ValueIndex::new(exchanges, requests),
            values: Vec::new(),
            secrets: Secrets::default(),
            meanings: HashMap::new(),
            names: UsedNames::default(),
            searched: 0,
            is_incomplete: false,
        }
    }

    /// Returns the meaning of a value in the request of an exchange.
    pub(super) fn meaning(
        &mut self,
        at: usize,
        task: usize,
        place: ValuePosition<'_>,
        value: &str,
    ) -> ValueOrigin {
        let key = (at, format!("{place:?}"), value.to_owned());
        let meaning = match self.meanings.get(&key) {
            Some(existing) => existing.clone(),
            None => {
                let found = self.look_up(at, place, value);
                self.meanings.insert(key, found.clone());
                found
            }
        };
        if let ValueOrigin::Value(number) = meaning {
            self.values[number].used_in.insert(task);
        }
        meaning
    }

    fn look_up(&mut self, at: usize, place: ValuePosition<'_>, value: &str) -> ValueOrigin {
        let exchanges = self.exchanges;
        if value.is_empty() || value.len() > 8192 {
            return ValueOrigin::Plain;
        }
        if let ValuePosition::Header(name) = place
            && let Some((source, header)) = self.version(at, name, value)
        {
            let how = ValueExtraction::Header(header.to_owned(), None);
            return ValueOrigin::Value(self.value(source, how, header));
        }
        let (key, is_header) = match place {
            ValuePosition::Path(_) => ("", false),
            ValuePosition::Field(name) => (name, false),
            ValuePosition::Header(name) => (name, true),
        };
        let is_switch = secrets::is_switch(value);
        if !is_header && secrets::is_secret(key) && !is_switch {
            let request = &exchanges[at];
            let what = format!("field '{key}' of {} {}", request.method, request.url.path());
            return ValueOrigin::Secret(self.secrets.variable(key, value, &what));
        }
        let looks_secret = secrets::looks_secret(key, value);
        let is_token = named_token(key) && value.len() >= 6;
        let random = is_random(value) || is_token || looks_secret;
        let stem = match place {
            ValuePosition::Path(before) => singular(before),
            ValuePosition::Field(name) => stem(name),
            ValuePosition::Header(_) => String::new(),
        };
        let id = is_id_value(value) && !is_header && may_be_id(place, &stem);
        let secret_header = is_header && secrets::is_secret_header(key) && !is_switch;
        if !(random || id || secret_header) {
            return ValueOrigin::Plain;
        }
        if self.searched > SEARCHED_BYTES {
            self.is_incomplete = true;
        } else {
            let sought = SoughtValue {
                value,
                is_random: random,
                stem: &stem,
            };
            if random && let Some(cookie) = self.cookie(at, value) {
                return cookie;
            }
            if let Some((source, how, name)) = self.brought(at, &sought) {
                return ValueOrigin::Value(self.value(source, how, &name));
            }
        }
        let request = format!("{} {}", exchanges[at].method, exchanges[at].url.path());
        if secret_header {
            let name = if key == "authorization" { "TOKEN" } else { key };
            let what = format!("header '{key}' of {request}");
            return ValueOrigin::Secret(self.secrets.variable(name, value, &what));
        }
        if !is_header
            && matches!(
                key.to_ascii_lowercase().as_str(),
                "access_token" | "auth_token" | "refresh_token" | "id_token"
            )
        {
            let what = format!("field '{key}' of {request}");
            return ValueOrigin::Secret(self.secrets.variable(key, value, &what));
        }
        if looks_secret {
            let what = format!("the key in {request}");
            let name = if key.is_empty() { "API_KEY" } else { key };
            return ValueOrigin::Secret(self.secrets.variable(name, value, &what));
        }
        if random {
            ValueOrigin::Unknown
        } else {
            ValueOrigin::Plain
        }
    }

    /// Returns the last response before an exchange with the version that a header names, and its header there: of the
    /// same address, if there is one.
    fn version(&self, at: usize, name: &str, value: &str) -> Option<(usize, &'static str)> {
        let header = match name {
            "if-match" | "if-none-match" => "etag",
            "if-modified-since" | "if-unmodified-since" => "last-modified",
            "if-range" if value.ends_with('"') => "etag",
            "if-range" => "last-modified",
            _ => return None,
        };
        let path = self.exchanges[at].url.path();
        let names = |exchange: &RecordedExchange| {
            let response = exchange.source();
            response.and_then(|response| response.header(header)) == Some(value)
        };
        let before = self.exchanges[..at].iter();
        let same = before
            .clone()
            .rposition(|e| e.url.path() == path && names(e));
        let source = same.or_else(|| before.rev().position(names).map(|back| at - 1 - back))?;
        Some((source, header))
    }

    /// Returns the first response before an exchange that brings a value, unless a request sent it before.
    fn brought(
        &mut self,
        at: usize,
        sought: &SoughtValue<'_>,
    ) -> Option<(usize, ValueExtraction, String)> {
        let exchanges = self.exchanges;
        let indexed = self.index.look_up(sought.value, sought.is_random);
        let candidates: Vec<usize> = match &indexed {
            Some(indexed) => indexed.responses.clone(),
            None => (0..at).collect(),
        };
        let candidates = candidates.into_iter().take_while(|source| *source < at);
        for source in candidates {
            let exchange = &exchanges[source];
            let Some(response) = exchange.source() else {
                continue;
            };
            self.searched += response.body.as_ref().map_or(0, String::len);
            let Some((how, name)) = origin::find(exchange, sought) else {
                continue;
            };
            let sent = match indexed.and_then(|indexed| indexed.first_sent) {
                Some(first) => first.is_some_and(|first| first <= source),
                None => exchanges[..=source]
                    .iter()
                    .any(|exchange| sends(exchange, sought)),
            };
            return (!sent).then_some((source, how, name));
        }
        None
    }

    fn cookie(&self, at: usize, value: &str) -> Option<ValueOrigin> {
        let earlier = self.exchanges[..at]
            .iter()
            .filter_map(|exchange| exchange.response.as_ref());
        let set: Vec<(&str, &str)> = earlier.flat_map(set_cookies).collect();
        set.into_iter().rev().find_map(|(name, found)| {
            let decoded = percent_encoding::percent_decode_str(found).decode_utf8_lossy();
            let is_decoded = found != value;
            (found == value || decoded == value)
                .then(|| ValueOrigin::Cookie(name.to_owned(), is_decoded))
        })
    }

    /// Returns the number of a value, which is new unless it is taken from the same place already.
    pub(super) fn value(&mut self, source: usize, how: ValueExtraction, name: &str) -> usize {
        let position = self
            .values
            .iter()
            .position(|value| value.source == source && value.how == how);
        position.unwrap_or_else(|| {
            let name = self.names.unique(name);
            self.values.push(ResponseValue {
                name,
                source,
                how,
                used_in: BTreeSet::new(),
                is_local: false,
            });
            self.values.len() - 1
        })
    }

    /// Returns the number of a form that a task submits.
    pub(super) fn form(&mut self, source: usize, selector: Option<String>, task: usize) -> usize {
        let number = self.value(source, ValueExtraction::Form(selector), "form");
        self.values[number].used_in.insert(task);
        number
    }

    /// Returns the responses that brought the values of each request.
    pub(super) fn needs(&self) -> HashMap<usize, Vec<usize>> {
        let mut needs: HashMap<usize, Vec<usize>> = HashMap::new();
        for ((at, _, value), meaning) in &self.meanings {
            let source = match meaning {
                ValueOrigin::Value(number) => Some(self.values[*number].source),
                ValueOrigin::Cookie(name, _) => self.first_setter(*at, name, value),
                _ => None,
            };
            needs.entry(*at).or_default().extend(source);
        }
        needs
    }

    /// Returns the first response before an exchange that set a cookie to a value.
    fn first_setter(&self, at: usize, name: &str, value: &str) -> Option<usize> {
        let mut before = self.exchanges[..at].iter();
        before.position(|exchange| {
            let mut set = exchange.response.iter().flat_map(set_cookies);
            set.any(|(key, found)| {
                let decoded = || percent_encoding::percent_decode_str(found).decode_utf8_lossy();
                key == name && (found == value || decoded() == value)
            })
        })
    }

    /// Decides which values are locals, once all of their uses are known: those used in the task of their source.
    pub(super) fn settle(&mut self, task_of: &dyn Fn(usize) -> Option<usize>) {
        let mut locals: BTreeMap<usize, usize> = BTreeMap::new();
        for value in &mut self.values {
            let Some(task) = task_of(value.source) else {
                continue;
            };
            let count = locals.entry(task).or_default();
            value.is_local = value.used_in.iter().all(|used| *used == task) && *count < MAX_LOCALS;
            *count += usize::from(value.is_local);
        }
    }

    /// Returns the expression for a value.
    pub(super) fn expression(&self, number: usize) -> String {
        let value = &self.values[number];
        if value.is_local {
            value.name.clone()
        } else {
            format!("user.data.{}", value.name)
        }
    }

    /// Returns the statement that takes a value from the variable of a response.
    pub(super) fn extraction(&self, number: usize, response: &str) -> String {
        let value = &self.values[number];
        let local = if value.is_local { "local " } else { "" };
        format!(
            "{local}{} = {}",
            self.expression(number),
            value.how.expression(response)
        )
    }
}
