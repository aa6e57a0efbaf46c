//! One user's cookie jar: `cookie_store` with the header for the usual case kept ready. Matching cookies
//! against a URL costs about a microsecond; sites mostly set theirs for the whole site.

use super::Target;
use cookie_store::CookieStore;
use http::HeaderValue;
use std::rc::Rc;

#[derive(Debug, Default)]
pub(super) struct Jar {
    // Boxed and made on the first cookie: most users of most tests never get one.
    store: Option<Box<CookieStore>>,
    ready: Option<Ready>,
}

/// The header that every path of one origin gets, as long as no cookie of the jar is bound to a path, to
/// https or to a time within a run.
#[derive(Debug)]
struct Ready {
    origin: Rc<super::Origin>,
    header: Option<HeaderValue>,
}

impl Jar {
    /// The `Cookie` header for a request, if there is one to send.
    pub(super) fn header(&mut self, target: &Target) -> Option<HeaderValue> {
        let store = self.store.as_deref()?;
        if let Some(ready) = &self.ready
            && ready.origin.same(&target.origin)
        {
            return ready.header.clone();
        }
        let url = target.url();
        let mut text = String::new();
        for (name, value) in store.get_request_values(&url) {
            if !text.is_empty() {
                text.push_str("; ");
            }
            text.push_str(name);
            text.push('=');
            text.push_str(value);
        }
        let header = (!text.is_empty())
            .then(|| HeaderValue::try_from(text).ok())
            .flatten();
        let simple = store.iter_any().all(|cookie| {
            cookie.path().unwrap_or("/") == "/" && !cookie.is_expired() && lives_long(cookie)
        });
        if simple {
            self.ready = Some(Ready {
                origin: target.origin.clone(),
                header: header.clone(),
            });
        }
        header
    }

    /// Takes the `Set-Cookie` lines of an answer. A malformed cookie is left out, as browsers do.
    pub(super) fn store<'a>(&mut self, target: &Target, lines: impl Iterator<Item = &'a [u8]>) {
        self.ready = None;
        let url = target.url();
        let store = self.store.get_or_insert_default();
        for line in lines {
            if let Ok(text) = std::str::from_utf8(line) {
                let _malformed = store.parse(text, &url);
            }
        }
    }
}

impl Jar {
    /// The value of the cookie of that name that a request to `target` would send.
    pub(super) fn get(&self, target: &Target, name: &str) -> Option<String> {
        let store = self.store.as_deref()?;
        let url = target.url();
        let mut values = store.get_request_values(&url);
        values
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value.to_owned())
    }

    /// Sets a cookie for the whole host of `target`. False if its name or value cannot be a cookie's.
    pub(super) fn set(&mut self, target: &Target, name: &str, value: &str) -> bool {
        self.ready = None;
        let fits = |text: &str| !text.contains(['\r', '\n', ';']) && text.is_ascii();
        let cookie = format!("{name}={value}; Path=/");
        let store = self.store.get_or_insert_default();
        fits(name) && fits(value) && !name.is_empty() && store.parse(&cookie, &target.url()).is_ok()
    }

    pub(super) fn clear(&mut self) {
        *self = Jar::default();
    }
}

/// Whether a cookie stays valid for a day at least, so that a kept header need not watch the clock.
fn lives_long(cookie: &cookie_store::Cookie<'_>) -> bool {
    let tomorrow = std::time::SystemTime::now() + std::time::Duration::from_secs(86_400);
    !cookie.expires.is_expired() && !cookie.expires.expires_by(&tomorrow.into())
}
