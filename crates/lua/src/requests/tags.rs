//! Tags that a plan gives to its requests while it runs: by an option, by `user.tags`, by a transaction.

use crate::limits::{Budget, HeldBytes};
use crate::values::{
    DisplayText, describe_mismatch, escape_invalid, read_scalar, shorten, to_one_line,
};
use lgoose_base::tags::{MOST_BYTES, SCENARIO, Tags};
use lgoose_plan::config::unknown_word;
use mlua::{Table, Value};
use std::rc::Rc;

/// Tags of a user in addition to those that its tasks declare.
#[derive(Debug, Default)]
pub(crate) struct OwnTags {
    /// Tags set by `user.tags`.
    user: Tags,
    /// The transactions with tags that the running code is in, the outermost first.
    transactions: Vec<Transaction>,
    /// All of them together, once a request has needed them.
    all: Option<Rc<Tags>>,
}

/// A transaction that has tags.
#[derive(Debug, Clone)]
pub(crate) struct Transaction {
    /// With its memory, and as much again for its part of all tags.
    tags: Rc<(Tags, HeldBytes)>,
}

impl Transaction {
    /// Creates one whose tags count as held.
    pub(crate) fn new(tags: Tags, held: HeldBytes) -> Transaction {
        Transaction {
            tags: Rc::new((tags, held)),
        }
    }
}

/// The most transactions with tags that code is in.
const MOST_TRANSACTIONS: usize = 100;

impl OwnTags {
    /// Returns the tags set by `user.tags`.
    pub(crate) fn of_user(&self) -> &Tags {
        &self.user
    }

    /// Returns the same, to change them.
    pub(crate) fn of_user_mut(&mut self) -> &mut Tags {
        self.all = None;
        &mut self.user
    }

    /// Enters transactions, the outermost first. Returns how many the code was in before.
    ///
    /// # Errors
    /// They would be too many. None is entered then.
    pub(crate) fn enter(&mut self, inner: &mut Vec<Transaction>) -> Result<usize, String> {
        let before = self.transactions.len();
        if before + inner.len() > MOST_TRANSACTIONS {
            return Err(format!(
                "a user may be in {MOST_TRANSACTIONS} transactions with tags at a time"
            ));
        }
        if !inner.is_empty() {
            self.all = None;
            self.transactions.append(inner);
        }
        Ok(before)
    }

    /// Returns how many transactions the code is in.
    pub(crate) fn depth(&self) -> usize {
        self.transactions.len()
    }

    /// Leaves the innermost transactions until the code is in that many, and returns them.
    pub(crate) fn leave(&mut self, depth: usize) -> Vec<Transaction> {
        if depth >= self.transactions.len() {
            return Vec::new();
        }
        self.all = None;
        self.transactions.split_off(depth)
    }

    /// Returns the transactions that the code is in, for a job that it begins.
    pub(crate) fn transactions(&self) -> Vec<Transaction> {
        self.transactions.clone()
    }

    /// Exchanges the transactions that the code is in for those of other code.
    pub(crate) fn exchange(&mut self, transactions: &mut Vec<Transaction>) {
        if !self.transactions.is_empty() || !transactions.is_empty() {
            self.all = None;
            std::mem::swap(&mut self.transactions, transactions);
        }
    }

    /// Returns all tags; those of the innermost transaction win.
    pub(crate) fn all(&mut self) -> Rc<Tags> {
        let all = self.all.get_or_insert_with(|| {
            let mut all = self.user.clone();
            for transaction in &self.transactions {
                all.add(&transaction.tags.0);
            }
            Rc::new(all)
        });
        all.clone()
    }
}

/// The most tags that a user, a request or a transaction has.
const MOST_TAGS: usize = 100;

/// Sets a tag to a value of the plan.
///
/// # Errors
/// The form that it must have.
pub(crate) fn set_tag(tags: &mut Tags, key: &str, value: &Value) -> Result<(), String> {
    if key == SCENARIO {
        return Err(
            "the tag 'scenario' is set by lgoose: it is the name of the scenario".to_owned(),
        );
    }
    // A longer one is refused in any case, and may be too long to quote.
    let shown;
    let key = if key.len() > MOST_BYTES {
        shown = shorten(key);
        &shown
    } else {
        key
    };
    if tags.pairs().count() >= MOST_TAGS && tags.pairs().all(|(name, _)| name != key) {
        return Err(format!(
            "the tag '{key}' is one too many: there may be {MOST_TAGS}; keep values that do not distinguish requests in user.data"
        ));
    }
    let text = match value {
        Value::String(text) if text.as_bytes().len() > MOST_BYTES => {
            text.as_bytes()[..=MOST_BYTES].to_vec()
        }
        value => read_scalar(value, &format!("the tag '{key}'"))?,
    };
    tags.set(key, &String::from_utf8_lossy(&text))
}

/// Reads a table of tags.
///
/// # Errors
/// The problem with it.
pub(crate) fn read_tags(value: &Value, what: &str) -> Result<Tags, String> {
    let wrong = || describe_mismatch(what, "a table such as { region = \"eu\" }", value);
    let Value::Table(table) = value else {
        return Err(wrong());
    };
    let mut tags = Tags::default();
    for pair in table.pairs::<Value, Value>() {
        match pair.map_err(|error| error.to_string())? {
            (Value::String(key), value) => set_tag(&mut tags, &escape_invalid(&key), &value)?,
            _ => return Err(wrong()),
        }
    }
    Ok(tags)
}

/// Reads the tags of a request or call of its own.
///
/// # Errors
/// The problem with them, or the message for a plan that would hold more than it may.
pub(crate) fn read_own_tags(value: &Value, budget: &mut Budget) -> Result<Rc<Tags>, String> {
    let tags = read_tags(value, "option 'tags'")?;
    budget.take(tags.bytes())?;
    Ok(Rc::new(tags))
}

/// The options of a transaction.
pub(crate) const TRANSACTION: [&str; 1] = ["tags"];

/// Reads the options of a transaction, and returns its tags.
///
/// # Errors
/// The problem with them.
pub(crate) fn read_transaction(options: &Table) -> Result<Tags, String> {
    let mut tags = Tags::default();
    for pair in options.pairs::<DisplayText, Value>() {
        let (DisplayText(key), value) = pair.map_err(|error| error.to_string())?;
        match key.as_str() {
            "tags" => tags = read_tags(&value, "option 'tags'")?,
            unknown => {
                let mistake =
                    unknown_word("option", &shorten(unknown), "a transaction", &TRANSACTION);
                return Err(to_one_line(mistake));
            }
        }
    }
    Ok(tags)
}
