//! Tells what no plan should have in its text.

use super::lua_text::quoted;
use std::collections::{BTreeMap, HashMap};

/// A variable of the environment.
#[derive(Debug)]
pub(super) struct Secret {
    /// What it was in the recording; empty if that is not known.
    pub(super) value: String,
    pub(super) what: String,
    is_local: bool,
}

/// The most variables that are locals of a plan: Lua takes 200 of all kinds.
const LOCALS: usize = 70;

/// The variables of the environment that a plan needs, by name.
#[derive(Debug, Default)]
pub(super) struct Secrets {
    all: BTreeMap<String, Secret>,
    /// Their names by their values, and by their descriptions where these are empty.
    by_value: HashMap<String, String>,
    by_what: HashMap<String, String>,
    /// The numbers that come next for names that others had.
    next: HashMap<String, u64>,
}

impl Secrets {
    pub(super) fn iter(&self) -> impl Iterator<Item = (&String, &Secret)> {
        self.all.iter()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.all.keys()
    }

    /// Returns the names of those that are locals.
    pub(super) fn locals(&self) -> impl Iterator<Item = &String> {
        let locals = self.all.iter().filter(|(_, secret)| secret.is_local);
        locals.map(|(name, _)| name)
    }

    /// Returns the expression for a variable.
    pub(super) fn expression(&self, name: &str) -> String {
        if self.all.get(name).is_some_and(|secret| secret.is_local) {
            name.to_owned()
        } else {
            format!("env {}", quoted(name))
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns the expression for a secret; one for each value, or for each description where that is empty.
    pub(super) fn variable(&mut self, name: &str, value: &str, what: &str) -> String {
        let existing = if value.is_empty() {
            self.by_what.get(what)
        } else {
            self.by_value.get(value)
        };
        if let Some(existing) = existing {
            return self.expression(existing);
        }
        let plain = |c: char| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_uppercase()
            } else {
                '_'
            }
        };
        let upper: String = name.chars().take(40).map(plain).collect();
        let upper = upper.trim_matches('_').trim_start_matches("X_");
        let upper = match upper {
            "PASS" | "PWD" | "PASSWD" | "" => "PASSWORD",
            upper => upper,
        };
        let upper = if upper.starts_with(|c: char| c.is_ascii_digit()) {
            format!("SECRET_{upper}")
        } else {
            upper.to_owned()
        };
        let mut unique = upper.clone();
        while self.all.contains_key(&unique) {
            let number = self.next.entry(upper.clone()).or_insert(2);
            unique = format!("{upper}_{number}");
            *number += 1;
        }
        if value.is_empty() {
            self.by_what.insert(what.to_owned(), unique.clone())
        } else {
            self.by_value.insert(value.to_owned(), unique.clone())
        };
        let secret = Secret {
            value: value.to_owned(),
            what: what.to_owned(),
            is_local: self.all.len() < LOCALS,
        };
        self.all.insert(unique.clone(), secret);
        self.expression(&unique)
    }
}

/// The words in names of fields whose values are secrets.
const WORDS: [&str; 12] = [
    "password",
    "passwd",
    "passwort",
    "passphrase",
    "pwd",
    "secret",
    "api_key",
    "apikey",
    "access_key",
    "accesskey",
    "private_key",
    "credential",
];

/// Returns whether a field of that name has a secret: a password, a key.
pub(super) fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace(['-', ' '], "_");
    let whole = |part: &str| matches!(part, "pass" | "pin" | "otp" | "cvv" | "cvc" | "pw");
    let mut parts = name.split(|c: char| !c.is_ascii_alphanumeric());
    WORDS.iter().any(|word| name.contains(word)) || parts.any(whole)
}

/// Returns whether a header of that name, in lower case, has a secret.
pub(super) fn is_secret_header(name: &str) -> bool {
    let auth = [
        "authorization",
        "auth-token",
        "access-token",
        "api-token",
        "session-token",
    ];
    is_secret(name) || auth.iter().any(|word| name.contains(word)) || name == "x-token"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_and_keys_are_secrets_and_their_neighbours_are_not() {
        for name in [
            "pass",
            "user[password]",
            "X-Api-Key",
            "client_secret",
            "new-password",
            "pin",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in ["passenger", "compass", "name", "shipping", "op", "keyword"] {
            assert!(!is_secret(name), "{name}");
        }
        assert!(is_secret_header("x-auth-token") && !is_secret_header("x-requested-with"));
    }
}
