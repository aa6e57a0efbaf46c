//! The session cookie of a Drupal site of any version. Driven by the sites; knows no session.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use http::header::{COOKIE, HeaderMap, HeaderValue, SET_COOKIE};
use jiff::Timestamp;

use super::server::SiteResponse;

/// The time that a browser keeps it.
const AGE: Duration = Duration::from_secs(2_000_000);

/// The values of all session cookies of a request.
pub(super) fn values(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let lines = headers.get_all(COOKIE).iter();
    let lines = lines.filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';'));
    let pairs = pairs.filter_map(|pair| pair.trim().split_once('='));
    pairs.filter_map(|(name, value)| name.starts_with("SESS").then_some(value))
}

/// Sets the session cookie of `host` with the response.
pub(super) fn set(response: &mut SiteResponse, host: &str, session: &str) {
    let expires = Timestamp::now() + AGE;
    let cookie = format!(
        "{}={session}; expires={}; Max-Age={}; path=/; HttpOnly",
        name(host),
        expires.strftime("%a, %d-%b-%Y %H:%M:%S GMT"),
        AGE.as_secs(),
    );
    insert(response, cookie);
}

/// Deletes the session cookie of `host` with the response.
pub(super) fn delete(response: &mut SiteResponse, host: &str) {
    let cookie = format!(
        "{}=deleted; expires=Thu, 01-Jan-1970 00:00:01 GMT; Max-Age=0; path=/; HttpOnly",
        name(host)
    );
    insert(response, cookie);
}

fn insert(response: &mut SiteResponse, cookie: String) {
    let cookie = HeaderValue::try_from(cookie).expect("cookies are made of plain characters");
    response.headers_mut().insert(SET_COOKIE, cookie);
}

/// The name of the cookie: `SESS` and 32 hexadecimal digits that depend on the host.
fn name(host: &str) -> String {
    let half = |seed: u8| {
        let mut hasher = DefaultHasher::new();
        (seed, host).hash(&mut hasher);
        hasher.finish()
    };
    format!("SESS{:016x}{:016x}", half(0), half(1))
}
