//! The cookie jar of one user: `cookie_store`, with a cached header for the usual case. Matching cookies against a
//! URL takes about a microsecond, and sites mostly set their cookies for the whole site.

use crate::http::target::{Origin, Target};
use cookie_store::{Cookie, CookieDomain, CookieExpiration, CookieStore, RawCookie};
use http::HeaderValue;
use std::cmp::Reverse;
use std::rc::Rc;

/// The limits of one cookie and of one jar, like those of browsers: a site that sets a new cookie with each response
/// must not fill the memory.
const MAX_BYTES: usize = 4096;
const MAX_COOKIES: usize = 180;
/// The longest value of an attribute such as the path, in bytes (RFC 6265bis, section 5.6): longer ones are ignored.
const MAX_ATTRIBUTE: usize = 1024;

/// The cookies of one user.
#[derive(Debug, Default)]
pub(in crate::http) struct CookieJar {
    // Boxed and made on the first cookie: most users of most tests never get one.
    store: Option<Box<CookieStore>>,
    cached: Option<CachedHeader>,
}

/// Where a cookie is sent.
#[derive(Debug, Clone, Default)]
pub(crate) struct CookieScope {
    /// The domain, which includes its subdomains; `None`: only the host of the request.
    pub domain: Option<String>,
    /// The path; `None`: all of them.
    pub path: Option<String>,
    /// Whether it is sent over https only.
    pub secure: bool,
}

/// A cookie of a jar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredCookie {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// The host or domain that it belongs to.
    pub domain: String,
    /// Whether it is sent to that host only, and not to its subdomains.
    pub host_only: bool,
    /// The path below which it is sent.
    pub path: String,
    /// Whether it is sent over https only.
    pub secure: bool,
    /// Whether it is hidden from scripts of the page.
    pub http_only: bool,
    /// When it expires, in seconds since 1970; `None`: with the user.
    pub expires: Option<i64>,
}

/// The name and value of a `Set-Cookie` line; `None` if it is malformed.
pub(crate) fn parse_set_cookie(line: &[u8]) -> Option<(String, String)> {
    let cookie = RawCookie::parse(std::str::from_utf8(line).ok()?).ok()?;
    Some((cookie.name().to_owned(), cookie.value().to_owned()))
}

/// The header with the cookies of the jar and those of the request, which replace others of the same name.
pub(super) fn with_own(jar: Option<HeaderValue>, own: &[(String, String)]) -> Option<HeaderValue> {
    let jar = jar.as_ref().and_then(|header| header.to_str().ok());
    let from_jar = jar.unwrap_or_default().split("; ").filter(|pair| {
        let name = pair.split('=').next().unwrap_or_default();
        !pair.is_empty() && !own.iter().any(|(key, _)| key == name)
    });
    let own = own.iter().map(|(name, value)| format!("{name}={value}"));
    let pairs: Vec<String> = from_jar.map(str::to_owned).chain(own).collect();
    HeaderValue::try_from(pairs.join("; "))
        .ok()
        .filter(|header| !header.is_empty())
}

/// Whether a cookie can have this name and value.
pub(crate) fn is_cookie(name: &str, value: &str) -> bool {
    fits(name) && fits(value) && !name.is_empty() && !name.contains('=')
}

fn fits(text: &str) -> bool {
    text.bytes()
        .all(|byte| (b' '..=b'~').contains(&byte) && byte != b';')
}

/// The header for every path of one origin, cached while no cookie of the jar depends on a path, on https or on a
/// time within the run.
#[derive(Debug)]
struct CachedHeader {
    origin: Rc<Origin>,
    header: Option<HeaderValue>,
}

impl CookieJar {
    /// The `Cookie` header for a request, if there is one to send.
    pub(in crate::http) fn header(&mut self, target: &Target) -> Option<HeaderValue> {
        let store = self.store.as_deref()?;
        if let Some(cached) = &self.cached
            && cached.origin.same(&target.origin)
        {
            return cached.header.clone();
        }
        let url = target.url();
        let mut text = String::new();
        let mut cookies = store.matches(&url);
        // Longer paths first (RFC 6265, section 5.4); the store returns them in any order.
        cookies.sort_unstable_by_key(|cookie| (Reverse(cookie.path.len()), cookie.name()));
        for (name, value) in cookies.into_iter().map(|cookie| cookie.name_value()) {
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
        // The path is that of the cookie or, if it names none, the folder of the URL that set it.
        let simple = store
            .iter_any()
            .all(|cookie| &*cookie.path == "/" && !cookie.is_expired() && lives_long(cookie));
        if simple {
            self.cached = Some(CachedHeader {
                origin: target.origin.clone(),
                header: header.clone(),
            });
        }
        header
    }

    /// Stores the cookies of a response's `Set-Cookie` lines. It leaves out malformed cookies, as browsers do, and
    /// cookies for hosts other than the site's own.
    pub(in crate::http) fn store<'a>(
        &mut self,
        target: &Target,
        lines: impl Iterator<Item = &'a [u8]>,
    ) {
        self.cached = None;
        let url = target.url();
        let store = self.store.get_or_insert_default();
        for line in lines {
            let cookie = std::str::from_utf8(line)
                .ok()
                .and_then(|text| received(text, &target.origin.host))
                .filter(satisfies_prefix)
                .and_then(|raw| Cookie::try_from_raw_cookie(&raw, &url).ok())
                // Without an attribute, it is that of the URL.
                .filter(|cookie| cookie.path.len() <= MAX_ATTRIBUTE);
            if let Some(cookie) = cookie.filter(|cookie| has_room(store, cookie)) {
                let _refused = store.insert(cookie.into_owned(), &url);
            }
        }
    }
}

/// The cookie of a `Set-Cookie` line as the site at `host` may set it. The parser keeps the line whole: of a long one,
/// only what belongs to the cookie is copied.
fn received<'a>(line: &'a str, host: &str) -> Option<RawCookie<'a>> {
    if line.len() <= MAX_ATTRIBUTE {
        return allowed(RawCookie::parse(line).ok()?, host);
    }
    let parsed = allowed(RawCookie::parse(without_long_attributes(line)).ok()?, host)?;
    let mut cookie = RawCookie::new(parsed.name().to_owned(), parsed.value().to_owned());
    if let Some(domain) = parsed.domain() {
        cookie.set_domain(domain.to_owned());
    }
    if let Some(path) = parsed.path() {
        cookie.set_path(path.to_owned());
    }
    if let Some(expires) = parsed.expires() {
        cookie.set_expires(expires);
    }
    cookie.set_max_age(parsed.max_age());
    cookie.set_secure(parsed.secure());
    cookie.set_http_only(parsed.http_only());
    Some(cookie)
}

/// The line without the attributes whose values are too long.
fn without_long_attributes(line: &str) -> String {
    let mut parts = line.split(';');
    let pair = parts.next().unwrap_or_default();
    let attributes = parts.filter(|attribute| {
        let value = attribute.split_once('=').map(|(_, value)| value.trim());
        value.is_none_or(|value| value.len() <= MAX_ATTRIBUTE)
    });
    let retained: Vec<_> = std::iter::once(pair).chain(attributes).collect();
    retained.join(";")
}

/// Whether a cookie has the attributes that the prefix of its name promises (RFC 6265bis, section 4.1.3).
fn satisfies_prefix(cookie: &RawCookie<'_>) -> bool {
    let has_prefix = |prefix: &str| {
        let start = cookie.name().get(..prefix.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    let is_secure = cookie.secure() == Some(true);
    let is_of_host = || cookie.domain().is_none() && cookie.path() == Some("/");
    if has_prefix("__Host-") {
        is_secure && is_of_host()
    } else {
        is_secure || !has_prefix("__Secure-")
    }
}

/// Whether the jar takes a cookie: it always replaces one that it has; a new one needs room, which expired cookies
/// make.
fn has_room(store: &mut CookieStore, cookie: &Cookie<'_>) -> bool {
    if store.iter_any().count() < MAX_COOKIES {
        return true;
    }
    let key = |cookie: &Cookie<'_>| {
        let (domain, path) = (String::from(&cookie.domain), String::from(&cookie.path));
        (domain, path, cookie.name().to_owned())
    };
    let expired = store.iter_any().filter(|cookie| cookie.is_expired());
    for (domain, path, name) in expired.map(key).collect::<Vec<_>>() {
        store.remove(&domain, &path, &name);
    }
    let (domain, path, name) = key(cookie);
    store.iter_any().count() < MAX_COOKIES || store.contains_any(&domain, &path, &name)
}

/// The cookie as the site at `host` may set it. A site may not set cookies for a public suffix such as `co.uk`,
/// unless it is that host itself: then the cookie is for that host only (RFC 6265, section 5.3, step 5).
fn allowed<'a>(mut cookie: RawCookie<'a>, host: &str) -> Option<RawCookie<'a>> {
    if cookie.name().len() + cookie.value().len() > MAX_BYTES {
        return None;
    }
    let domain = cookie
        .domain()
        .and_then(|domain| url::Host::parse(domain).ok());
    if let Some(domain) = domain.map(|domain| domain.to_string())
        && psl::suffix_str(&domain) == Some(&domain)
    {
        if domain != host {
            return None;
        }
        cookie.unset_domain();
    }
    Some(cookie)
}

impl CookieJar {
    /// The value of the cookie with that name that a request to `target` would send.
    pub(in crate::http) fn get(&self, target: &Target, name: &str) -> Option<String> {
        let store = self.store.as_deref()?;
        let url = target.url();
        let mut values = store.get_request_values(&url);
        values
            .find(|(key, _)| *key == name)
            .map(|(_, value)| value.to_owned())
    }

    /// Sets a cookie for the host of `target`, or where the scope says. Returns false if name, value or scope are not
    /// possible for a cookie.
    pub(super) fn set(
        &mut self,
        target: &Target,
        name: &str,
        value: &str,
        scope: &CookieScope,
    ) -> bool {
        let path = scope.path.as_deref().unwrap_or("/");
        let domain = scope.domain.as_deref();
        let domain = domain.map(|domain| domain.trim_start_matches('.'));
        let sendable = is_cookie(name, value);
        let placed = fits(path) && path.starts_with('/') && domain.is_none_or(fits);
        let is_short = name.len() + value.len() <= MAX_BYTES
            && path.len().max(domain.map_or(0, str::len)) <= MAX_ATTRIBUTE;
        if !is_short || !sendable || !placed {
            return false;
        }
        let mut line = format!("{name}={value}; Path={path}");
        let mut url = target.url();
        if let Some(domain) = domain {
            let Ok(host) = url::Host::parse(domain) else {
                return false;
            };
            let placed = url.set_host(Some(&host.to_string()));
            line += &format!("; Domain={host}");
            if placed.is_err() {
                return false;
            }
        }
        if scope.secure {
            line += "; Secure";
        }
        self.cached = None;
        let store = self.store.get_or_insert_default();
        let cookie = RawCookie::parse(line).ok();
        let cookie = cookie.and_then(|raw| allowed(raw, url.host_str().unwrap_or_default()));
        match cookie.map(|raw| Cookie::try_from_raw_cookie(&raw, &url)) {
            Some(Ok(cookie)) if has_room(store, &cookie) => {
                store.insert(cookie.into_owned(), &url).is_ok()
            }
            _ => false,
        }
    }

    /// The cookies that have not expired, sorted by domain, path and name.
    pub(super) fn list(&self) -> Vec<StoredCookie> {
        let store = self.store.as_deref();
        let unexpired = store.into_iter().flat_map(CookieStore::iter_unexpired);
        let mut list: Vec<_> = unexpired
            .map(|cookie| StoredCookie {
                name: cookie.name().to_owned(),
                value: cookie.value().to_owned(),
                domain: String::from(&cookie.domain),
                host_only: matches!(cookie.domain, CookieDomain::HostOnly(_)),
                path: String::from(&cookie.path),
                secure: cookie.secure().unwrap_or(false),
                http_only: cookie.http_only().unwrap_or(false),
                expires: match cookie.expires {
                    CookieExpiration::AtUtc(time) => Some(time.unix_timestamp()),
                    CookieExpiration::SessionEnd => None,
                },
            })
            .collect();
        let key = |cookie: &StoredCookie| {
            let StoredCookie {
                name, domain, path, ..
            } = cookie;
            (domain.clone(), path.clone(), name.clone())
        };
        list.sort_by_key(key);
        list
    }

    /// Removes the cookies with that name; the scope may restrict them to a domain and a path. Returns how many it
    /// removed.
    pub(super) fn delete(&mut self, name: &str, scope: &CookieScope) -> usize {
        self.cached = None;
        let domain = scope.domain.as_deref();
        let domain = domain.map(|domain| domain.trim_start_matches('.').to_ascii_lowercase());
        let mut listed = self.list();
        listed.retain(|cookie| {
            cookie.name == name
                && domain
                    .as_ref()
                    .is_none_or(|domain| cookie.domain == *domain)
                && scope.path.as_ref().is_none_or(|path| cookie.path == *path)
        });
        if let Some(store) = self.store.as_deref_mut() {
            for cookie in &listed {
                store.remove(&cookie.domain, &cookie.path, &cookie.name);
            }
        }
        listed.len()
    }

    /// Removes all cookies.
    pub(super) fn clear(&mut self) {
        *self = CookieJar::default();
    }
}

/// Whether a cookie stays valid for at least a day, so that a cached header need not check the time.
fn lives_long(cookie: &Cookie<'_>) -> bool {
    let tomorrow = std::time::SystemTime::now() + std::time::Duration::from_secs(86_400);
    !cookie.expires.is_expired() && !cookie.expires.expires_by(&tomorrow.into())
}

#[cfg(test)]
mod tests;
