//! Values that must not stand in the text of a plan.

use super::keys::{is_chance, is_key};
use super::lua_text::quoted;
use super::random::is_random;
use std::collections::{BTreeMap, HashMap};

/// A variable of the environment.
#[derive(Debug)]
pub(super) struct Secret {
    /// Its value in the recording; empty if that is not known.
    pub(super) value: String,
    pub(super) what: String,
    is_local: bool,
}

/// The most variables that are locals of a plan: Lua takes 200 of all kinds.
const MAX_LOCALS: usize = 50;

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
        let unique = self.variable_name(name, value, what);
        self.expression(&unique)
    }

    /// Returns the name of the variable that has a secret, in the same way.
    pub(super) fn variable_name(&mut self, name: &str, value: &str, what: &str) -> String {
        let existing = if value.is_empty() {
            self.by_what.get(what)
        } else {
            self.by_value.get(value)
        };
        if let Some(existing) = existing {
            return existing.clone();
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
            is_local: self.all.len() < MAX_LOCALS,
        };
        self.all.insert(unique.clone(), secret);
        unique
    }
}

/// Ends of words in names of fields whose values are secrets, however they look.
const SECRET: [&str; 10] = [
    "password",
    "passwd",
    "passwort",
    "passphrase",
    "passcode",
    "pwd",
    "secret",
    "apikey",
    "accesskey",
    "privatekey",
];
/// The same as whole words.
const SECRET_WORDS: [&str; 9] = [
    "pass",
    "pin",
    "otp",
    "cvv",
    "cvc",
    "pw",
    "credential",
    "credentials",
    "secrets",
];
/// Words before `key` in names of such fields.
const SECRET_KEYS: [&str; 6] = [
    "api",
    "access",
    "private",
    "secret",
    "signing",
    "encryption",
];

/// Words in names of fields whose values are secrets if they look made by chance.
const LIKELY: [&str; 12] = [
    "key",
    "token",
    "tokens",
    "signature",
    "sig",
    "hmac",
    "jwt",
    "auth",
    "authorization",
    "bearer",
    "authkey",
    "appkey",
];
/// Words beside them that mark another kind of value: of one page or request, a place in a list, known to all.
const UNLIKELY: [&str; 32] = [
    "csrf",
    "xsrf",
    "csrfmiddlewaretoken",
    "nonce",
    "authenticity",
    "antiforgery",
    "verification",
    "viewstate",
    "captcha",
    "recaptcha",
    "idempotency",
    "page",
    "next",
    "prev",
    "previous",
    "cursor",
    "continuation",
    "sync",
    "sort",
    "order",
    "cache",
    "partition",
    "primary",
    "foreign",
    "public",
    "publishable",
    "site",
    "row",
    "range",
    "object",
    "form",
    "event",
];

/// Returns whether a field of that name has a secret, however its value looks: a password, a key.
pub(super) fn is_secret(name: &str) -> bool {
    let words = words(name);
    let is_one = |word: &String| {
        let word = word.trim_end_matches(|c: char| c.is_ascii_digit());
        SECRET_WORDS.contains(&word) || SECRET.iter().any(|end| word.ends_with(end))
    };
    let is_key = |at: usize| {
        words[at] == "key"
            && SECRET_KEYS.contains(&words[at - 1].as_str())
            && words.get(at + 1).is_none_or(|next| next != "id")
    };
    words.iter().any(is_one) || (1..words.len()).any(is_key)
}

/// Returns whether a value is of a kind that is never secret: a switch, a mode.
pub(super) fn is_switch(value: &str) -> bool {
    let value = value.to_ascii_lowercase();
    matches!(
        value.as_str(),
        "" | "0"
            | "1"
            | "true"
            | "false"
            | "on"
            | "off"
            | "yes"
            | "no"
            | "null"
            | "none"
            | "include"
            | "omit"
            | "same-origin"
            | "required"
            | "optional"
    )
}

/// Returns whether a random value under a name is a secret: `key`, `authKey`, `x-goog-signature`.
fn is_likely_secret(name: &str) -> bool {
    let words = words(name);
    let is_one = |word: &String| LIKELY.contains(&word.as_str()) || word.ends_with("token");
    let is_id = words.last().is_some_and(|word| word == "id");
    words.iter().any(is_one)
        && !is_id
        && !words.iter().any(|word| UNLIKELY.contains(&word.as_str()))
}

/// Returns whether a value looks like a secret: by its shape, or made by chance where the name of its field says that such a
/// value is one.
pub(super) fn looks_secret(name: &str, value: &str) -> bool {
    is_key(value) || is_likely_secret(name) && (is_random(value) || is_chance(value))
}

/// Returns whether a field has a secret, by its name or by the look of its value.
pub(super) fn is_secret_field(name: &str, value: &str) -> bool {
    !is_switch(value) && (is_secret(name) || looks_secret(name, value))
}

/// Returns whether a header of that name, in lower case, has a secret.
pub(super) fn is_secret_header(name: &str) -> bool {
    let is_paging = words(name).iter().any(|word| {
        matches!(
            word.as_str(),
            "page" | "next" | "cursor" | "continuation" | "sync"
        )
    });
    is_secret(name) || name.contains("authorization") || name.ends_with("-token") && !is_paging
}

/// Returns the words of a name in lower case: `user`, `api` and `key` of `user[apiKey]`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let chars: Vec<char> = name.chars().take(200).collect();
    for (at, c) in chars.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| chars[before]);
        let next = chars.get(at + 1);
        let begins = c.is_ascii_uppercase()
            && before.is_some_and(|before| {
                before.is_ascii_lowercase()
                    || before.is_ascii_uppercase() && next.is_some_and(char::is_ascii_lowercase)
            });
        if begins || !c.is_ascii_alphanumeric() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_ascii_alphanumeric()) {
            word.push(c.to_ascii_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_and_keys_are_secrets_and_their_neighbours_are_not() {
        for name in [
            "pass",
            "password",
            "password2",
            "newPassword",
            "user[password]",
            "USERPASSWORD",
            "userpwd",
            "new-password",
            "passphrase",
            "X-Api-Key",
            "APIKey",
            "apikey",
            "x-goog-api-key",
            "access_key",
            "private key",
            "client_secret",
            "clientSecret",
            "X-Amz-Credential",
            "pin",
            "cvc",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in [
            "passenger",
            "compass",
            "name",
            "shipping",
            "op",
            "keyword",
            "monkey",
            "secretary",
            "sort_key",
            "access_key_id",
            "FIRSTNAME",
            "tokenize",
            "spin",
            "key",
            "token",
        ] {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn some_names_make_chance_a_secret() {
        for name in [
            "key",
            "authKey",
            "token",
            "accessToken",
            "accesstoken",
            "X-Amz-Signature",
            "sig",
            "Ocp-Apim-Subscription-Key",
            "X-Hub-Signature-256",
            "jwt",
        ] {
            assert!(is_likely_secret(name), "{name}");
        }
        for name in [
            "keyword",
            "monkey",
            "tokenize",
            "sort_key",
            "page_token",
            "nextPageToken",
            "csrf_token",
            "authenticity_token",
            "Idempotency-Key",
            "publicKey",
            "site_key",
            "key_id",
            "author",
            "design",
        ] {
            assert!(!is_likely_secret(name), "{name}");
        }
    }

    #[test]
    fn headers_that_name_a_token_have_one() {
        for name in [
            "x-auth-token",
            "private-token",
            "x-amz-security-token",
            "x-api-key",
        ] {
            assert!(is_secret_header(name), "{name}");
        }
        for name in ["x-requested-with", "x-page-token", "x-tokenizer", "accept"] {
            assert!(!is_secret_header(name), "{name}");
        }
    }
}
