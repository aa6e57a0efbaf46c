//! What the values of requests are: brought by an earlier answer, a secret, or what was typed. Keeps what it has found, so
//! that a plan written twice is the same: the first time shows which values are used where.

use super::exchange::{Exchange, set_cookies};
use super::index::Index;
use super::names::Names;
use super::origin::{self, How, Wanted, singular};
use super::places::{is_id_value, may_be_id, named_token, sends, stem};
use super::random::is_random;
use super::secrets::{self, Secrets};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The most bytes of answers that are searched, all searches together: some seconds.
const SEARCHED_BYTES: usize = 16 << 30;
/// The most values of a task that are locals: Lua takes 200.
const LOCALS: usize = 100;

/// Where in a request a value stands.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place<'a> {
    /// After this part of the path.
    Path(&'a str),
    /// A field of a query, a form or JSON of that name.
    Field(&'a str),
    Header(&'a str),
}

/// What a value is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Meaning {
    /// What it says.
    Plain,
    /// Changes from visit to visit, as it seems, and no answer brought it.
    Unknown,
    Value(usize),
    /// A cookie of that name, and whether it is percent-encoded there.
    Cookie(String, bool),
    /// The name of a variable.
    Secret(String),
}

/// A value that an answer brings.
#[derive(Debug)]
pub(super) struct Value {
    pub(super) name: String,
    pub(super) source: usize,
    pub(super) how: How,
    /// The tasks that use it.
    used_in: BTreeSet<usize>,
    is_local: bool,
}

pub(super) struct Resolver<'a> {
    exchanges: &'a [Exchange],
    index: Index,
    pub(super) values: Vec<Value>,
    pub(super) secrets: Secrets,
    known: HashMap<(usize, String, String), Meaning>,
    names: Names,
    searched: usize,
    /// Some values were not looked for any more.
    pub(super) gave_up: bool,
}

impl<'a> Resolver<'a> {
    /// `requests` are the exchanges that the plan sends.
    pub(super) fn new(exchanges: &'a [Exchange], requests: &[usize]) -> Self {
        Resolver {
            exchanges,
            index: Index::new(exchanges, requests),
            values: Vec::new(),
            secrets: Secrets::default(),
            known: HashMap::new(),
            names: Names::default(),
            searched: 0,
            gave_up: false,
        }
    }

    /// Returns the meaning of a value in the request of an exchange.
    pub(super) fn meaning(
        &mut self,
        at: usize,
        task: usize,
        place: Place<'_>,
        value: &str,
    ) -> Meaning {
        let key = (at, format!("{place:?}"), value.to_owned());
        let meaning = match self.known.get(&key) {
            Some(known) => known.clone(),
            None => {
                let found = self.look_up(at, place, value);
                self.known.insert(key, found.clone());
                found
            }
        };
        if let Meaning::Value(number) = meaning {
            self.values[number].used_in.insert(task);
        }
        meaning
    }

    fn look_up(&mut self, at: usize, place: Place<'_>, value: &str) -> Meaning {
        let exchanges = self.exchanges;
        if value.is_empty() || value.len() > 8192 {
            return Meaning::Plain;
        }
        let (key, is_header) = match place {
            Place::Path(_) => ("", false),
            Place::Field(name) => (name, false),
            Place::Header(name) => (name, true),
        };
        if !is_header && secrets::is_secret(key) {
            let request = &exchanges[at];
            let what = format!("field '{key}' of {} {}", request.method, request.url.path());
            return Meaning::Secret(self.secrets.variable(key, value, &what));
        }
        let is_token = named_token(key) && value.len() >= 6;
        let random = is_random(value) || is_token;
        let stem = match place {
            Place::Path(before) => singular(before),
            Place::Field(name) => stem(name),
            Place::Header(_) => String::new(),
        };
        let id = is_id_value(value) && !is_header && may_be_id(place, &stem);
        let secret_header = is_header && secrets::is_secret_header(key);
        if !(random || id || secret_header) {
            return Meaning::Plain;
        }
        if self.searched > SEARCHED_BYTES {
            self.gave_up = true;
        } else {
            let wanted = Wanted {
                value,
                is_random: random,
                stem: &stem,
            };
            if random && let Some(cookie) = self.cookie(at, value) {
                return cookie;
            }
            if let Some((source, how, name)) = self.brought(at, &wanted) {
                return Meaning::Value(self.value(source, how, &name));
            }
        }
        if secret_header {
            let name = if key == "authorization" { "TOKEN" } else { key };
            let what = format!(
                "header '{key}' of {} {}",
                exchanges[at].method,
                exchanges[at].url.path()
            );
            return Meaning::Secret(self.secrets.variable(name, value, &what));
        }
        if !is_header
            && matches!(
                key.to_ascii_lowercase().as_str(),
                "access_token" | "auth_token" | "refresh_token" | "id_token"
            )
        {
            let what = format!(
                "field '{key}' of {} {}",
                exchanges[at].method,
                exchanges[at].url.path()
            );
            return Meaning::Secret(self.secrets.variable(key, value, &what));
        }
        if random {
            Meaning::Unknown
        } else {
            Meaning::Plain
        }
    }

    /// Returns the first answer before an exchange that brings a value, unless a request sent it before.
    fn brought(&mut self, at: usize, wanted: &Wanted<'_>) -> Option<(usize, How, String)> {
        let exchanges = self.exchanges;
        let known = self.index.known(wanted.value, wanted.is_random);
        let candidates: Vec<usize> = match &known {
            Some(known) => known.answers.clone(),
            None => (0..at).collect(),
        };
        let candidates = candidates.into_iter().take_while(|source| *source < at);
        for source in candidates {
            let exchange = &exchanges[source];
            let Some(answer) = exchange.source() else {
                continue;
            };
            self.searched += answer.body.as_ref().map_or(0, String::len);
            let Some((how, name)) = origin::find(exchange, wanted) else {
                continue;
            };
            let sent = match known.and_then(|known| known.first_sent) {
                Some(first) => first.is_some_and(|first| first <= source),
                None => exchanges[..=source]
                    .iter()
                    .any(|exchange| sends(exchange, wanted)),
            };
            return (!sent).then_some((source, how, name));
        }
        None
    }

    fn cookie(&self, at: usize, value: &str) -> Option<Meaning> {
        let answers = self.exchanges[..at]
            .iter()
            .filter_map(|exchange| exchange.answer.as_ref());
        let set: Vec<(&str, &str)> = answers.flat_map(set_cookies).collect();
        set.into_iter().rev().find_map(|(name, found)| {
            let decoded = percent_encoding::percent_decode_str(found).decode_utf8_lossy();
            match () {
                () if found == value => Some(Meaning::Cookie(name.to_owned(), false)),
                () if decoded == value => Some(Meaning::Cookie(name.to_owned(), true)),
                () => None,
            }
        })
    }

    /// Returns the number of a value, which is new unless it is taken from the same place already.
    pub(super) fn value(&mut self, source: usize, how: How, name: &str) -> usize {
        let known = self
            .values
            .iter()
            .position(|value| value.source == source && value.how == how);
        known.unwrap_or_else(|| {
            let name = self.names.unique(name);
            self.values.push(Value {
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
        let number = self.value(source, How::Form(selector), "form");
        self.values[number].used_in.insert(task);
        number
    }

    /// Returns which answers brought what each request sends.
    pub(super) fn needs(&self) -> HashMap<usize, Vec<usize>> {
        let mut needs: HashMap<usize, Vec<usize>> = HashMap::new();
        for ((at, _, value), meaning) in &self.known {
            let source = match meaning {
                Meaning::Value(number) => Some(self.values[*number].source),
                Meaning::Cookie(name, _) => self.first_setter(*at, name, value),
                _ => None,
            };
            needs.entry(*at).or_default().extend(source);
        }
        needs
    }

    /// Returns the first answer before an exchange that set a cookie to a value.
    fn first_setter(&self, at: usize, name: &str, value: &str) -> Option<usize> {
        let mut before = self.exchanges[..at].iter();
        before.position(|exchange| {
            let mut set = exchange.answer.iter().flat_map(set_cookies);
            set.any(|(known, found)| {
                let decoded = || percent_encoding::percent_decode_str(found).decode_utf8_lossy();
                known == name && (found == value || decoded() == value)
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
            value.is_local = value.used_in.iter().all(|used| *used == task) && *count < LOCALS;
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

    /// Returns the statement that takes a value from the variable of an answer.
    pub(super) fn extraction(&self, number: usize, answer: &str) -> String {
        let value = &self.values[number];
        let local = if value.is_local { "local " } else { "" };
        format!(
            "{local}{} = {}",
            self.expression(number),
            value.how.expression(answer)
        )
    }
}
