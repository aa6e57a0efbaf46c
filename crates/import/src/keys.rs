//! Keys and tokens, by the prefixes of well-known services and by their randomness.

/// Prefixes of the keys of well-known services, with their least length. The rest is not made of words.
const KEYS: &[(&str, usize)] = &[
    // Stripe, Square
    ("sk_live_", 16),
    ("sk_test_", 16),
    ("rk_live_", 16),
    ("rk_test_", 16),
    ("whsec_", 16),
    ("sq0atp-", 25),
    ("sq0csp-", 30),
    // GitHub, GitLab
    ("ghp_", 20),
    ("gho_", 20),
    ("ghu_", 20),
    ("ghs_", 20),
    ("ghr_", 20),
    ("github_pat_", 20),
    ("glpat-", 20),
    ("gldt-", 20),
    ("glrt-", 20),
    ("glptt-", 20),
    ("glcbt-", 20),
    ("glsoat-", 20),
    // Slack
    ("xoxb-", 15),
    ("xoxp-", 15),
    ("xoxa-", 15),
    ("xoxr-", 15),
    ("xoxs-", 15),
    ("xoxe-", 15),
    ("xoxe.", 15),
    ("xapp-", 15),
    // Google
    ("AIza", 30),
    ("ya29.", 20),
    ("GOCSPX-", 20),
    // Registries of packages
    ("npm_", 20),
    ("pypi-", 20),
    ("rubygems_", 20),
    ("dckr_pat_", 20),
    // Mail and messages
    ("SG.", 30),
    ("key-", 30),
    ("xkeysib-", 30),
    ("re_", 20),
    // Shops
    ("shpat_", 20),
    ("shpca_", 20),
    ("shppa_", 20),
    ("shpss_", 20),
    // Models
    ("sk-", 20),
    ("hf_", 20),
    ("gsk_", 20),
    ("r8_", 20),
    ("xai-", 20),
    ("pplx-", 20),
    // Clouds
    ("dop_v1_", 20),
    ("doo_v1_", 20),
    ("dor_v1_", 20),
    ("HRKU-", 20),
    ("nfp_", 20),
    ("fo1_", 20),
    ("sbp_", 20),
    ("pscale_tkn_", 20),
    ("pscale_pw_", 20),
    ("hvs.", 20),
    ("hvb.", 20),
    ("hvr.", 20),
    ("dapi", 36),
    ("LTAI", 16),
    ("AKID", 36),
    // Watching
    ("glc_", 20),
    ("glsa_", 20),
    ("NRAK-", 20),
    ("sntrys_", 20),
    ("sntryu_", 20),
    ("phx_", 20),
    // Offices
    ("lin_api_", 20),
    ("secret_", 30),
    ("ntn_", 20),
    ("PMAK-", 20),
    ("figd_", 20),
    ("ATATT3", 30),
    ("ATCTT3", 30),
    ("dp.pt.", 20),
    ("dp.st.", 20),
    ("sk.eyJ", 30),
    ("tfp_", 20),
    ("CFPAT-", 20),
    ("1//0", 30),
];

/// The prefix of a key, its length, and whether a character may be in the rest.
type ExactKey = (&'static str, usize, fn(u8) -> bool);

/// Keys whose length is known, and which are of certain characters.
const EXACT: &[ExactKey] = &[
    // AWS
    ("AKIA", 20, is_upper_or_digit),
    ("ASIA", 20, is_upper_or_digit),
    ("ABIA", 20, is_upper_or_digit),
    ("ACCA", 20, is_upper_or_digit),
    // Twilio
    ("SK", 34, is_hex),
];

fn is_upper_or_digit(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

fn is_hex(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

/// Returns whether a text looks like a key: as those of a well-known service, as a signed token, as a private key in its
/// text form.
pub(super) fn is_key(text: &str) -> bool {
    if text.contains("-----BEGIN ") && text.contains("PRIVATE KEY-----") {
        return true;
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.=/+~".contains(c);
    if !text.chars().all(plain) {
        return is_bot_token(text);
    }
    let begins = |(start, least): &(&str, usize)| {
        let rest = text.strip_prefix(start).filter(|_| text.len() >= *least);
        rest.is_some_and(|rest| !is_wordy(rest))
    };
    let fits = |(start, length, is_of): &ExactKey| {
        let rest = text.strip_prefix(start).filter(|_| text.len() == *length);
        rest.is_some_and(|rest| rest.bytes().all(is_of))
    };
    is_signed_token(text) || KEYS.iter().any(begins) || EXACT.iter().any(fits)
}

/// Three parts of which the first is an object in base64 (RFC 7519), or five of them, encrypted.
fn is_signed_token(text: &str) -> bool {
    text.len() >= 30 && text.starts_with("eyJ") && matches!(text.matches('.').count(), 2 | 4)
}

/// A number and a key of 35 characters (Telegram).
fn is_bot_token(text: &str) -> bool {
    let (number, key) = text.split_once(':').unwrap_or_default();
    let number = number.strip_prefix("bot").unwrap_or(number);
    (8..=10).contains(&number.len())
        && number.bytes().all(|byte| byte.is_ascii_digit())
        && key.len() == 35
        && key
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

/// Returns whether a text is made of words and numbers with signs in between: `my-first-article-of-2024`.
fn is_wordy(text: &str) -> bool {
    let parts = text.split(|c: char| !c.is_ascii_alphanumeric());
    let is_word = |part: &str| {
        let of = |is_of: fn(&u8) -> bool| part.bytes().all(|byte| is_of(&byte));
        let tail = part.get(1..).unwrap_or_default();
        of(u8::is_ascii_lowercase)
            || of(u8::is_ascii_uppercase)
            || of(u8::is_ascii_digit)
            || tail.bytes().all(|byte| byte.is_ascii_lowercase())
    };
    let longest = parts.clone().map(str::len).max();
    parts.clone().all(is_word) && longest.is_some_and(|longest| longest < 20)
}

/// Returns whether a value has so much chance in it that nobody made it up: 16 characters or more, which differ
/// (<https://en.wikipedia.org/wiki/Entropy_(information_theory)>), and are no words. For values whose names say that they
/// are secret; a name alone or chance alone says too little.
pub(super) fn is_chance(value: &str) -> bool {
    const LEAST: usize = 16;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~+/=:|".contains(&byte);
    if value.len() < LEAST || value.len() > 8192 || !value.bytes().all(plain) || is_wordy(value) {
        return false;
    }
    let count = |is_of: fn(&u8) -> bool| value.bytes().filter(is_of).count();
    // A number, a time.
    let letters = count(u8::is_ascii_alphabetic);
    if letters < 3 || letters * 12 < value.len() {
        return false;
    }
    let has = |is_of| count(is_of) > 0;
    let (lower, upper, digits) = (
        has(u8::is_ascii_lowercase),
        has(u8::is_ascii_uppercase),
        has(u8::is_ascii_digit),
    );
    // Words in one, `ApplicationController`, have fewer letters than chance has.
    let least = if digits { 2.9 } else { 3.8 };
    // Small letters alone change never.
    let is_mixed = digits || lower && upper;
    entropy(value) >= least && (!is_mixed || changes(value) * 8 >= value.len().min(64))
}

/// Returns the bits that a character of a text has on average.
fn entropy(text: &str) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in text.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let all = text.len() as f64;
    let counts = counts.iter().filter(|count| **count > 0);
    counts
        .map(|count| {
            let share = f64::from(*count) / all;
            -share * share.log2()
        })
        .sum()
}

/// Returns how often a letter, a capital or a digit follows one of the other two.
fn changes(text: &str) -> usize {
    let kind = |byte: u8| (byte.is_ascii_digit(), byte.is_ascii_uppercase());
    let pairs = text.as_bytes().windows(2).filter(|pair| {
        pair.iter().all(u8::is_ascii_alphanumeric) && kind(pair[0]) != kind(pair[1])
    });
    pairs.count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made up, each of the shape that its service gives. Joined here, so that no scanner takes them for real ones.
    const KEYS_OF_SERVICES: [(&str, &str); 40] = [
        ("sk_", "live_EXAMPLE0example0example"),
        ("sk_", "test_4eC39HqLyjWDarjtT1zdp7dc"),
        ("rk_", "live_51HxExample0Key1Of2Some3"),
        ("whsec_", "a1B2c3D4e5F6g7H8i9J0"),
        ("gh", "p_0a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R"),
        ("gh", "s_0a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R"),
        ("github", "_pat_11ABCDE0Y0a1B2c3D4e5F6_g7H8i9J0k1L2m3"),
        ("glpat", "-x1Y2z3A4b5C6d7E8f9G0"),
        ("gldt", "-x1Y2z3A4b5C6d7E8f9G0"),
        ("xoxb", "-123456789012-1234567890123-a1B2c3D4e5F6g7H8"),
        ("xoxp", "-1234567890-a1b2c3d4e5f6"),
        ("xapp", "-1-A0123BCDEF-1234567890-a1b2c3d4e5f6a7b8"),
        ("AIza", "SyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q"),
        ("ya29", ".a0AfH6SMB1c2D3e4F5g6H7i8J9"),
        ("GOCSPX", "-a1B2c3D4e5F6g7H8i9J0"),
        ("1//0", "gA1b2C3d4E5f6G7h8I9j0K1l2M3n4"),
        ("npm", "_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"),
        ("pypi", "-AgEIcHlwaS5vcmcCJGExYjJjM2Q0"),
        ("rubygems", "_0a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d"),
        ("SG", ".a1B2c3D4e5F6g7H8.i9J0k1L2m3N4o5P6q7R8"),
        ("key", "-0a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d"),
        ("shpat", "_0a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d"),
        ("shpss", "_0a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d"),
        ("sk", "-proj-a1B2c3D4e5F6g7H8i9J0k1L2"),
        ("sk", "-ant-api03-a1B2c3D4e5F6g7H8"),
        ("hf", "_aBcDeFgHiJkLmNoPqRsTuVwXyZ012345"),
        ("dop", "_v1_0a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d"),
        ("HRKU", "-01234567-89ab-cdef-0123-456789abcdef"),
        ("hvs", ".CAESIJ1b2C3d4E5f6G7h8I9j0K"),
        ("glsa", "_a1B2c3D4e5F6g7H8i9J0k1L2m3N4_5e6f7a8b"),
        ("NRAK", "-A1B2C3D4E5F6G7H8I9J0K1L2M3N"),
        ("lin", "_api_a1B2c3D4e5F6g7H8i9J0k1L2"),
        ("PMAK", "-0a1b2c3d4e5f6a7b8c9d0e1f-2a3b4c5d"),
        ("figd", "_a1B2c3D4e5F6g7H8i9J0"),
        ("AKIA", "IOSFODNN7EXAMPLE"),
        ("ASIA", "IOSFODNN7EXAMPLE"),
        ("SK", "0a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d"),
        ("eyJ", "hbGciOiJIUzI1NiJ9.eyJzdWIiOiJ1c2VyNyJ9.c2lnbmF0dXJl"),
        ("123456789", ":AAa1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q"),
        (
            "-----BEGIN RSA ",
            "PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----",
        ),
    ];

    #[test]
    fn keys_of_well_known_services_are_keys() {
        for (start, rest) in KEYS_OF_SERVICES {
            let key = format!("{start}{rest}");
            assert!(is_key(&key), "{key}");
        }
    }

    #[test]
    fn what_only_begins_like_a_key_is_none() {
        for text in [
            "sk_live_",
            "FIRSTNAME",
            "skeleton",
            "sk-learn-tutorial-for-beginners",
            "AKIA and more of words",
            "AKIATECHNOLOGIES",
            "key-account-manager-of-berlin-2024",
            "npm_package_manager_settings",
            "hf_something_with_words_only",
            "secret_garden_by_frances_hodgson_burnett",
            "SG.singapore.example.org.and.more",
            "re_engineering_of_some_software",
            "glc_and_other_words_of_a_name",
            "Asian-Kung-Fu-Generation-2004",
            "SKU-2024-0001-BLUE-EXTRA-LARGE-SHIRT",
            "eyJwYWdlIjoxLCJzaXplIjoyMCwic29ydCI6InByaWNlIn0",
            "eyJ.a.b",
            "1234:567",
            "user:password",
            "-----BEGIN CERTIFICATE-----",
            "pk_live_words",
            "",
        ] {
            assert!(!is_key(text), "{text}");
        }
    }

    #[test]
    fn chance_is_distinguished_from_words_and_numbers() {
        for value in [
            "d94f3f016ae679c3008de268209132f2",
            "550e8400-e29b-41d4-a716-446655440000",
            "9a8B7c6D5e4F3g2H",
            "Zk3Qp9xW2vLmN8rT",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "abc123abc124xyz9",
            "qZxVkJwPfMhGtYbNdRsL",
            "dGhpcyBpcyBhIHNlY3JldCE=",
        ] {
            assert!(is_chance(value), "{value}");
        }
        for value in [
            "price",
            "short1A2b3C",
            "12345678901234567890",
            "2026-11-27T19:26:35Z",
            "my-first-article-of-2024",
            "uploads/2024/11/photo-of-a-cat.png",
            "ApplicationController",
            "internationalization",
            "aaaaaaaaaaaaaaaaaaaa1",
            "same-origin-and-more",
            "First_Name_Last_Name",
            "two words with 1a2b3c4d",
            "application/json;charset",
            "user@example.com/and/more",
        ] {
            assert!(!is_chance(value), "{value}");
        }
    }
}
