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

/// Returns whether a name says that a value without meaning is a key: `key`, `authKey`, `x-goog-key`.
pub(super) fn names_key(name: &str) -> bool {
    name == "key"
        || ["Key", "_key", "-key", "KEY"]
            .iter()
            .any(|end| name.ends_with(end))
}

/// How keys of well-known services begin, and how long they are at least.
const KEYS: [(&str, usize); 30] = [
    ("sk_live_", 16),
    ("sk_test_", 16),
    ("rk_live_", 16),
    ("rk_test_", 16),
    ("whsec_", 16),
    ("sk-", 20),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghu_", 20),
    ("ghs_", 20),
    ("ghr_", 20),
    ("github_pat_", 20),
    ("glpat-", 20),
    ("xoxb-", 15),
    ("xoxp-", 15),
    ("xoxa-", 15),
    ("xapp-", 15),
    ("AKIA", 20),
    ("ASIA", 20),
    ("AIza", 30),
    ("ya29.", 20),
    ("SG.", 30),
    ("npm_", 20),
    ("pypi-", 20),
    ("shpat_", 20),
    ("dop_v1_", 20),
    ("hf_", 20),
    ("lin_api_", 20),
    ("eyJ", 30),
    ("key-", 30),
];

/// Returns whether a text looks like a key: as those of a well-known service begin.
pub(super) fn is_key(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.=".contains(c);
    text.chars().all(plain)
        && KEYS
            .iter()
            .any(|(start, least)| text.len() >= *least && text.starts_with(start))
}

/// Returns whether a header of that name, in lower case, has a secret.
pub(super) fn is_secret_header(name: &str) -> bool {
    let auth = [
        "authorization",
        "security-token",
        "auth-token",
        "access-token",
        "api-token",
        "session-token",
    ];
    is_secret(name)
        || auth.iter().any(|word| name.contains(word))
        || name.starts_with("x-") && name.ends_with("-token")
        || name == "x-token"
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
        for key in ["sk_live_EXAMPLE0example0example", "AKIAIOSFODNN7EXAMPLE"] {
            assert!(is_key(key), "{key}");
        }
        for text in [
            "sk_live_",
            "FIRSTNAME",
            "skeleton",
            "AKIA and more of words",
        ] {
            assert!(!is_key(text), "{text}");
        }
        for name in ["passenger", "compass", "name", "shipping", "op", "keyword"] {
            assert!(!is_secret(name), "{name}");
        }
        assert!(is_secret_header("x-auth-token") && !is_secret_header("x-requested-with"));
    }
}
