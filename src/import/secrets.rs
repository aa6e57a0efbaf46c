//! Tells what no plan should have in its text.

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
