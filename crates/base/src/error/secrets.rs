//! Secrets in texts that people read, recognized by their shape: tokens, passwords and keys that a message quotes.

use std::borrow::Cow;

/// Names before `=` or `:` whose values are secret.
const NAMES: [&str; 17] = [
    "password",
    "passwd",
    "passwort",
    "pwd",
    "secret",
    "client_secret",
    "token",
    "access_token",
    "refresh_token",
    "id_token",
    "csrf_token",
    "api_key",
    "apikey",
    "api-key",
    "authorization",
    "session_id",
    "sessionid",
];

/// Beginnings of keys that services give out.
const PREFIXES: [&str; 8] = [
    "eyJ",
    "ghp_",
    "github_pat_",
    "sk_live_",
    "sk-",
    "xoxb-",
    "AKIA",
    "glpat-",
];

/// Schemes of authentication, before credentials.
const SCHEMES: [&str; 2] = ["bearer", "basic"];

/// The fewest characters of a key that begins so.
const SHORTEST_KEY: usize = 16;

const MASK: &str = "***";

/// Returns a text with `***` in place of each part that has the shape of a secret.
pub fn masked_secrets(text: &str) -> Cow<'_, str> {
    let mut shown = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some((from, to)) = next_word(text, at) {
        at = to;
        let word = &text[from..to];
        let secret = if is_key(word) {
            Some((from, to))
        } else if is_one_of(&SCHEMES, word) {
            scheme_value(text, to)
        } else if is_one_of(&NAMES, word) {
            named_value(text, to)
        } else {
            None
        };
        if let Some((from, to)) = secret {
            shown.push_str(&text[copied..from]);
            shown.push_str(MASK);
            (copied, at) = (to, to);
        }
    }
    match copied {
        0 => text.into(),
        _ => (shown + &text[copied..]).into(),
    }
}

fn is_one_of(words: &[&str], word: &str) -> bool {
    words.iter().any(|one| word.eq_ignore_ascii_case(one))
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

/// Returns the next word from a place on. Keys may have dots in them.
fn next_word(text: &str, at: usize) -> Option<(usize, usize)> {
    let from = at + text[at..].find(is_word)?;
    let rest = &text[from..];
    let is_key_start = PREFIXES.iter().any(|prefix| rest.starts_with(prefix));
    let end = rest.find(|c| !(is_word(c) || is_key_start && c == '.'));
    Some((from, from + end.unwrap_or(rest.len())))
}

fn is_key(word: &str) -> bool {
    let has_prefix = PREFIXES.iter().any(|prefix| word.starts_with(prefix));
    has_prefix && word.len() >= SHORTEST_KEY && word.bytes().any(|byte| byte.is_ascii_digit())
}

/// Returns the range of the credentials after `Bearer` or `Basic`.
fn scheme_value(text: &str, at: usize) -> Option<(usize, usize)> {
    let rest = text[at..].strip_prefix(' ')?;
    let is_value = |c: char| is_word(c) || matches!(c, '.' | '+' | '/' | '=' | '~');
    let length = rest.find(|c| !is_value(c)).unwrap_or(rest.len());
    // Words of a sentence are shorter, or have no digit.
    let value = &rest[..length];
    let is_secret = length >= 8 && value.bytes().any(|byte| byte.is_ascii_digit());
    is_secret.then_some((at + 1, at + 1 + length))
}

/// Returns the range of the value after a name, as in `token=x`, `"token":"x"` and `token: x`.
fn named_value(text: &str, at: usize) -> Option<(usize, usize)> {
    let rest = text[at..].trim_start_matches(['"', '\'']);
    let rest = rest.strip_prefix(['=', ':'])?;
    let rest = rest.strip_prefix(' ').unwrap_or(rest);
    let quoted = rest.starts_with(['"', '\'']);
    let value = rest.strip_prefix(['"', '\'']).unwrap_or(rest);
    let from = text.len() - value.len();
    let ends: &[char] = if quoted {
        &['"', '\'']
    } else {
        &[' ', '&', ',', ';', '"', '\'', ')', '}', '\n']
    };
    let length = value.find(ends).unwrap_or(value.len());
    // 'Bearer x' is a value of two words.
    let scheme = value.split(' ').next().unwrap_or_default();
    if is_one_of(&SCHEMES, scheme) {
        return scheme_value(text, from + scheme.len());
    }
    // A sentence goes on with words: only what could be a secret is masked.
    let is_sentence = !quoted && text[at..].starts_with(": ");
    let has_digit = value[..length].bytes().any(|byte| byte.is_ascii_digit());
    let is_value = length >= 4 && (has_digit || !is_sentence);
    is_value.then_some((from, from + length))
}

#[cfg(test)]
mod tests {
    use super::masked_secrets;

    #[test]
    fn secrets_are_masked_by_their_shape() {
        for (text, masked) in [
            ("no Bearer abcdef123456", "no Bearer ***"),
            (
                "Authorization: Bearer abc.def-123",
                "Authorization: Bearer ***",
            ),
            (
                "/login?user=a&password=hunter2&x=1",
                "/login?user=a&password=***&x=1",
            ),
            (
                "{\"token\":\"abcdef\",\"a\":1}",
                "{\"token\":\"***\",\"a\":1}",
            ),
            (
                "got eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln here",
                "got *** here",
            ),
            ("key AKIAIOSFODNN7EXAMPLE", "key ***"),
            ("token: a1b2c3d4", "token: ***"),
        ] {
            assert_eq!(masked_secrets(text), masked, "{text}");
        }
        for plain in [
            "attempt to concatenate a nil value (field 'token')",
            "the token of user:bearer must be a string, not nil",
            "password: a string is needed",
            "basic auth is missing",
            "eyJ",
            "a token=",
            "",
            "é password é",
        ] {
            assert_eq!(masked_secrets(plain), plain, "{plain}");
        }
    }
}
