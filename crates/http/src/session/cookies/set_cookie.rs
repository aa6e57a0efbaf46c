//! The lines with which sites set cookies.

use super::date::parse_date;
use jiff::{SignedDuration, Timestamp};

/// The longest name and value together, in bytes.
pub(super) const MAX_BYTES: usize = 4096;
/// The longest value of an attribute such as the path, in bytes: longer ones are ignored.
pub(super) const MAX_ATTRIBUTE: usize = 1024;

/// A `Set-Cookie` line as browsers read it (RFC 6265bis, section 5.6). Names, values and attributes are bytes: some
/// sites set cookies that are not UTF-8.
#[derive(Debug, Default)]
pub struct SetCookie<'a> {
    /// Empty for a line without `=`.
    pub name: &'a [u8],
    /// The value as it is written.
    pub value: &'a [u8],
    pub(super) domain: &'a [u8],
    pub(super) path: &'a [u8],
    pub(super) expires: Option<Timestamp>,
    /// In seconds from now; not above zero for a cookie that goes.
    pub(super) max_age: Option<i64>,
    pub(super) secure: bool,
    pub(super) http_only: bool,
    /// Whether it says that it goes to other sites, too.
    pub(super) same_site_none: bool,
    pub(super) partitioned: bool,
}

impl<'a> SetCookie<'a> {
    /// Reads the line; `None` for one that browsers ignore.
    pub fn parse(line: &'a [u8]) -> Option<SetCookie<'a>> {
        let is_control = |byte: &u8| byte.is_ascii_control() && *byte != b'\t';
        if line.iter().any(is_control) {
            return None;
        }
        let mut parts = line.split(|byte| *byte == b';');
        let (name, value) = match split_pair(parts.next()?) {
            (value, None) => (&b""[..], value),
            (name, Some(value)) => (name, value),
        };
        let is_nameless = name.is_empty() && (value.is_empty() || value.contains(&b'='));
        let has_tab = name.contains(&b'\t') || value.contains(&b'\t');
        if is_nameless || has_tab || name.len() + value.len() > MAX_BYTES {
            return None;
        }
        let mut cookie = SetCookie {
            name,
            value,
            ..SetCookie::default()
        };
        for part in parts {
            let (attribute, value) = split_pair(part);
            let value = value.unwrap_or_default();
            if value.len() <= MAX_ATTRIBUTE {
                cookie.set(attribute, value);
            }
        }
        Some(cookie)
    }

    /// Notes an attribute; the last of a name counts.
    fn set(&mut self, attribute: &[u8], value: &'a [u8]) {
        match attribute.to_ascii_lowercase().as_slice() {
            b"expires" => self.expires = parse_date(value),
            b"max-age" => self.max_age = parse_age(value),
            b"domain" => self.domain = value,
            b"path" => self.path = value,
            b"secure" => self.secure = true,
            b"httponly" => self.http_only = true,
            b"samesite" => self.same_site_none = value.eq_ignore_ascii_case(b"none"),
            b"partitioned" => self.partitioned = true,
            _ => {}
        }
    }

    /// Returns when the cookie expires; `Max-Age` counts before `Expires`.
    pub(super) fn expiry(&self, now: Timestamp) -> Option<Timestamp> {
        match self.max_age {
            Some(..=0) => Some(Timestamp::MIN),
            Some(age) => now.saturating_add(SignedDuration::from_secs(age)).ok(),
            None => self.expires,
        }
    }

    /// Whether it has the attributes that the prefix of its name promises (RFC 6265bis, section 4.1.3). A cookie without a
    /// name must not look like one that has such a prefix.
    pub(super) fn keeps_its_promise(&self) -> bool {
        let has_prefix = |text: &[u8], prefix: &[u8]| {
            let start = text.get(..prefix.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(prefix))
        };
        let named = if self.name.is_empty() {
            self.value
        } else {
            self.name
        };
        let is_of_host = || self.secure && self.domain.is_empty() && self.path == b"/";
        let is_kept = if has_prefix(named, b"__Host-Http-") {
            is_of_host() && self.http_only
        } else if has_prefix(named, b"__Host-") {
            is_of_host()
        } else if has_prefix(named, b"__Http-") {
            self.secure && self.http_only
        } else if has_prefix(named, b"__Secure-") {
            self.secure
        } else {
            return true;
        };
        is_kept && !self.name.is_empty()
    }
}

/// Splits `name = value`, without the blanks around both.
fn split_pair(text: &[u8]) -> (&[u8], Option<&[u8]>) {
    match text.iter().position(|byte| *byte == b'=') {
        Some(at) => (text[..at].trim_ascii(), Some(text[at + 1..].trim_ascii())),
        None => (text.trim_ascii(), None),
    }
}

/// Reads a `Max-Age`, a whole number that may be longer than any number here.
fn parse_age(text: &[u8]) -> Option<i64> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let is_negative = digits.len() < text.len();
    let number = std::str::from_utf8(digits).ok()?.parse();
    let age = number.unwrap_or(i64::MAX);
    Some(if is_negative { -age } else { age })
}
