//! The cookie jar of one user, as browsers have it (RFC 6265bis), with a cached header for the usual case: sites mostly set
//! their cookies for the whole site.

mod date;
mod set_cookie;

use crate::target::{Origin, Target};
use http::HeaderValue;
use jiff::{SignedDuration, Timestamp};
pub use set_cookie::SetCookie;
use set_cookie::{MAX_ATTRIBUTE, MAX_BYTES};
use std::cmp::Reverse;
use std::net::IpAddr;
use std::rc::Rc;

/// The most cookies of a jar for one site, such as `example.org` with its subdomains, and in all. Where one more comes,
/// the oldest ones go, until there is some room: these are the numbers of Chromium.
const MAX_OF_SITE: usize = 180;
const LEFT_OF_SITE: usize = 150;
const MAX_IN_ALL: usize = 3300;
const LEFT_IN_ALL: usize = 3000;

/// The cookies of one user.
#[derive(Debug, Default)]
pub(crate) struct CookieJar {
    /// In the order in which they are sent: longer paths first, then by their creation (RFC 6265, section 5.4).
    cookies: Vec<StoredCookie>,
    /// The number of cookies created.
    created: u64,
    cached: Option<CachedHeader>,
}

/// The hosts and paths to which a cookie is sent.
#[derive(Debug, Clone, Default)]
pub struct CookieScope {
    /// The domain, which includes its subdomains; `None`: only the host of the request.
    pub domain: Option<String>,
    /// The path; `None`: all of them.
    pub path: Option<String>,
    /// Whether it is sent over https only.
    pub secure: bool,
}

/// A cookie of a jar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCookie {
    /// Its name, empty if the site set a value alone.
    pub name: Vec<u8>,
    /// Its value.
    pub value: Vec<u8>,
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
    /// Its expiry; `None`: with the user.
    pub expires: Option<Timestamp>,
    /// Its place among all cookies that the jar has created.
    created: u64,
}

/// The header for every path of one origin, cached while no cookie of the jar depends on a path or on a time within the
/// run.
#[derive(Debug)]
struct CachedHeader {
    origin: Rc<Origin>,
    header: Option<HeaderValue>,
}

/// Returns the cookies of a header and others, which replace those of the same name.
pub(crate) fn joined_cookies(header: Option<&HeaderValue>, own: &[u8]) -> Option<HeaderValue> {
    let pairs = |text| pairs_of(text).map(|pair| (name_of(pair), pair));
    let replaced = |name: &[u8]| pairs(own).any(|(own, _)| own == name);
    let jar = header.map_or(&b""[..], HeaderValue::as_bytes);
    let rest = pairs(jar).filter(|(name, _)| !replaced(name));
    let all: Vec<&[u8]> = rest.chain(pairs(own)).map(|(_, pair)| pair).collect();
    HeaderValue::from_bytes(&all.join(&b"; "[..]))
        .ok()
        .filter(|header| !header.is_empty())
}

/// Returns the cookies of a `Cookie` header.
fn pairs_of(header: &[u8]) -> impl Iterator<Item = &[u8]> {
    let pairs = header.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
    pairs.filter(|pair| !pair.is_empty())
}

/// Returns the name of a cookie as it is sent; it is empty where there is a value alone.
fn name_of(pair: &[u8]) -> &[u8] {
    let end = pair.iter().position(|byte| *byte == b'=');
    &pair[..end.unwrap_or(0)]
}

/// Whether a plan can give a cookie this name and value.
pub fn is_cookie(name: &str, value: &str) -> bool {
    fits(name) && fits(value) && !name.is_empty() && !name.contains('=')
}

fn fits(text: &str) -> bool {
    text.bytes()
        .all(|byte| (b' '..=b'~').contains(&byte) && byte != b';')
}

impl CookieJar {
    /// The `Cookie` header for a request, if there is one to send.
    pub(crate) fn header(&mut self, target: &Target) -> Option<HeaderValue> {
        if self.cookies.is_empty() {
            return None;
        }
        if let Some(cached) = &self.cached
            && cached.origin.same(&target.origin)
        {
            return cached.header.clone();
        }
        let mut text = Vec::new();
        for cookie in self.sent_to(target) {
            if !text.is_empty() {
                text.extend_from_slice(b"; ");
            }
            if !cookie.name.is_empty() {
                text.extend_from_slice(&cookie.name);
                text.push(b'=');
            }
            text.extend_from_slice(&cookie.value);
        }
        let header = (!text.is_empty())
            .then(|| HeaderValue::try_from(text).ok())
            .flatten();
        let tomorrow = Timestamp::now() + SignedDuration::from_hours(24);
        let lives_long = |cookie: &StoredCookie| cookie.expires.is_none_or(|end| end > tomorrow);
        if self
            .cookies
            .iter()
            .all(|cookie| cookie.path == "/" && lives_long(cookie))
        {
            self.cached = Some(CachedHeader {
                origin: target.origin.clone(),
                header: header.clone(),
            });
        }
        header
    }

    /// The cookies that a request sends, in their order (RFC 6265, section 5.4).
    fn sent_to(&self, target: &Target) -> impl Iterator<Item = &StoredCookie> {
        let (origin, now) = (&*target.origin, Timestamp::now());
        let path = path_of(target);
        self.cookies.iter().filter(move |cookie| {
            cookie.belongs_to(&origin.host)
                && path_matches(&cookie.path, path)
                && (!cookie.secure || is_trustworthy(origin))
                && !cookie.has_expired(now)
        })
    }

    /// Stores the cookies of a response's `Set-Cookie` lines. It leaves out malformed cookies, as browsers do, and
    /// cookies for hosts other than the site's own.
    pub(crate) fn store<'a>(&mut self, target: &Target, lines: impl Iterator<Item = &'a [u8]>) {
        self.cached = None;
        for cookie in lines.filter_map(SetCookie::parse) {
            if let Some(cookie) = admitted(&cookie, target) {
                self.insert(cookie, is_trustworthy(&target.origin));
            }
        }
    }

    /// Stores a cookie instead of the one with its name, domain and path (RFC 6265bis, section 5.7), or removes that one if
    /// the new one has expired. As in Chromium, a cookie keeps its place only while its value stays the same. A site without
    /// TLS replaces no cookie of one with TLS.
    fn insert(&mut self, mut cookie: StoredCookie, from_secure: bool) {
        if !from_secure && self.cookies.iter().any(|old| old.is_guarded_from(&cookie)) {
            return;
        }
        let same = |old: &StoredCookie| {
            (&old.name, &old.domain, old.host_only, &old.path)
                == (&cookie.name, &cookie.domain, cookie.host_only, &cookie.path)
        };
        let old = self.cookies.iter().position(same);
        let old = old.map(|at| self.cookies.remove(at));
        if !cookie.has_expired(Timestamp::now()) {
            cookie.created = match old {
                Some(old) if old.value == cookie.value => old.created,
                _ => {
                    self.created += 1;
                    self.created
                }
            };
            let order = |cookie: &StoredCookie| (Reverse(cookie.path.len()), cookie.created);
            let place = order(&cookie);
            let at = self.cookies.partition_point(|other| order(other) < place);
            let site = site_of(&cookie.domain).to_owned();
            self.cookies.insert(at, cookie);
            if self.cookies.len() > MAX_OF_SITE {
                self.evict(MAX_OF_SITE, LEFT_OF_SITE, |cookie| {
                    cookie.domain == site || is_below(&cookie.domain, &site)
                });
                self.evict(MAX_IN_ALL, LEFT_IN_ALL, |_| true);
            }
        }
    }

    /// Removes cookies of a kind if there are more than `most`, until only `left` remain: those that have expired, then those
    /// without `Secure`, the oldest first.
    fn evict(&mut self, most: usize, left: usize, kind: impl Fn(&StoredCookie) -> bool) {
        let count = |jar: &CookieJar| jar.cookies.iter().filter(|cookie| kind(cookie)).count();
        if count(self) <= most {
            return;
        }
        let now = Timestamp::now();
        self.cookies
            .retain(|cookie| !kind(cookie) || !cookie.has_expired(now));
        if count(self) <= most {
            return;
        }
        let mut order: Vec<_> = self.cookies.iter().filter(|cookie| kind(cookie)).collect();
        order.sort_by_key(|cookie| (cookie.secure, cookie.created));
        order.truncate(order.len() - left);
        let mut gone: Vec<u64> = order.iter().map(|cookie| cookie.created).collect();
        gone.sort_unstable();
        self.cookies
            .retain(|cookie| gone.binary_search(&cookie.created).is_err());
    }

    /// The value of the cookie with that name that a request to `target` would send.
    pub(crate) fn get(&self, target: &Target, name: &[u8]) -> Option<Vec<u8>> {
        let mut sent = self.sent_to(target);
        sent.find(|cookie| cookie.name == name)
            .map(|cookie| cookie.value.clone())
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
        let placed = fits(path) && path.starts_with('/') && domain.is_none_or(fits);
        let is_short = name.len() + value.len() <= MAX_BYTES
            && path.len().max(domain.map_or(0, str::len)) <= MAX_ATTRIBUTE;
        if !is_short || !is_cookie(name, value) || !placed {
            return false;
        }
        let domain = match domain.map(url::Host::parse) {
            None => None,
            Some(Ok(host)) => Some(host.to_string()),
            Some(Err(_)) => return false,
        };
        let host_only = domain
            .as_deref()
            .is_none_or(|domain| is_public_suffix(domain) || is_address(domain));
        self.cached = None;
        let cookie = StoredCookie {
            name: name.as_bytes().to_owned(),
            value: value.as_bytes().to_owned(),
            domain: domain.unwrap_or_else(|| target.origin.host.clone()),
            host_only,
            path: path.to_owned(),
            secure: scope.secure,
            http_only: false,
            expires: None,
            created: 0,
        };
        self.insert(cookie, true);
        true
    }

    /// The cookies that have not expired, sorted by domain, path and name.
    pub(super) fn list(&self) -> Vec<StoredCookie> {
        let now = Timestamp::now();
        let unexpired = self
            .cookies
            .iter()
            .filter(|cookie| !cookie.has_expired(now));
        let mut list: Vec<_> = unexpired.cloned().collect();
        list.sort_by(|a, b| (&a.domain, &a.path, &a.name).cmp(&(&b.domain, &b.path, &b.name)));
        list
    }

    /// Removes the cookies with that name; the scope may restrict them to a domain and a path. Returns how many it
    /// removed.
    pub(super) fn delete(&mut self, name: &str, scope: &CookieScope) -> usize {
        self.cached = None;
        let domain = scope.domain.as_deref();
        let domain = domain.map(|domain| domain.trim_start_matches('.').to_ascii_lowercase());
        let (before, now) = (self.cookies.len(), Timestamp::now());
        self.cookies.retain(|cookie| !cookie.has_expired(now));
        let expired = before - self.cookies.len();
        self.cookies.retain(|cookie| {
            cookie.name != name.as_bytes()
                || domain
                    .as_ref()
                    .is_some_and(|domain| cookie.domain != *domain)
                || scope.path.as_ref().is_some_and(|path| cookie.path != *path)
        });
        before - expired - self.cookies.len()
    }

    /// Removes all cookies.
    pub(super) fn clear(&mut self) {
        *self = CookieJar::default();
    }
}

impl StoredCookie {
    fn has_expired(&self, now: Timestamp) -> bool {
        self.expires.is_some_and(|end| end <= now)
    }

    /// Whether it goes to that host (RFC 6265, section 5.1.3).
    fn belongs_to(&self, host: &str) -> bool {
        host == self.domain || !self.host_only && is_below(host, &self.domain)
    }

    /// Whether a site without TLS may not set another cookie, since this one is of a site with TLS (RFC 6265bis, section
    /// 5.7, step 16).
    fn is_guarded_from(&self, other: &StoredCookie) -> bool {
        let (a, b) = (&*self.domain, &*other.domain);
        self.secure
            && self.name == other.name
            && (a == b || is_below(a, b) || is_below(b, a))
            && path_matches(&self.path, &other.path)
    }
}

/// Returns a cookie as the site at `target` may set it; `None` if it may not (RFC 6265bis, section 5.7).
fn admitted(cookie: &SetCookie<'_>, target: &Target) -> Option<StoredCookie> {
    let host = &target.origin.host;
    let needs_secure = cookie.same_site_none || cookie.partitioned;
    if cookie.secure && !is_trustworthy(&target.origin)
        || needs_secure && !cookie.secure
        || !cookie.keeps_its_promise()
    {
        return None;
    }
    let mut host_only = cookie.domain.is_empty();
    let mut domain = host.clone();
    if !host_only {
        let named = std::str::from_utf8(cookie.domain).ok()?;
        let named = named.strip_prefix('.').unwrap_or(named);
        // A URL may escape its host; a domain may not.
        let host_of_url = Some(named).filter(|named| !named.contains('%'));
        let named = url::Host::parse(host_of_url?).ok()?.to_string();
        let named = named.trim_start_matches('[').trim_end_matches(']');
        // A public suffix such as `co.uk` shares its cookies with nobody, nor does an address.
        host_only = is_address(named) || is_public_suffix(named);
        if named != host && (host_only || !is_below(host, named)) {
            return None;
        }
        domain = named.to_owned();
    }
    let path = match std::str::from_utf8(cookie.path) {
        Ok(path) if path.starts_with('/') => path.to_owned(),
        _ => default_path(target).to_owned(),
    };
    if path.len() > MAX_ATTRIBUTE {
        return None;
    }
    Some(StoredCookie {
        name: cookie.name.to_owned(),
        value: cookie.value.to_owned(),
        domain,
        host_only,
        path,
        secure: cookie.secure,
        http_only: cookie.http_only,
        expires: cookie.expiry(Timestamp::now()),
        created: 0,
    })
}

/// The folder of a URL, where its cookies belong unless they say more (RFC 6265, section 5.1.4).
fn default_path(target: &Target) -> &str {
    let path = path_of(target);
    match path.rfind('/') {
        None | Some(0) => "/",
        Some(end) => &path[..end],
    }
}

/// The path of a URL without its query.
fn path_of(target: &Target) -> &str {
    target.path.split('?').next().unwrap_or_default()
}

/// Whether a path is at or below that of a cookie (RFC 6265, section 5.1.4).
fn path_matches(cookie: &str, path: &str) -> bool {
    path.strip_prefix(cookie)
        .is_some_and(|rest| rest.is_empty() || cookie.ends_with('/') || rest.starts_with('/'))
}

/// Whether a host is a subdomain of a domain.
fn is_below(host: &str, domain: &str) -> bool {
    let above = host.strip_suffix(domain);
    above.is_some_and(|above| above.ends_with('.')) && !is_address(host)
}

fn is_address(host: &str) -> bool {
    host.parse::<IpAddr>().is_ok()
}

fn is_public_suffix(domain: &str) -> bool {
    psl2::lookup(domain).is_some_and(|found| found.suffix() == domain)
}

/// Whether cookies with `Secure` go to a site: one with TLS, or this machine, which browsers trust without.
fn is_trustworthy(origin: &Origin) -> bool {
    let is_local = || match origin.host.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => origin.host == "localhost" || origin.host.ends_with(".localhost"),
    };
    origin.secure || is_local()
}

/// The site that a host belongs to, such as `example.org`, whose cookies are counted together.
fn site_of(host: &str) -> &str {
    let found = psl2::lookup(host);
    let domain = found.and_then(|found| found.registrable_domain());
    domain.unwrap_or(host)
}

#[cfg(test)]
mod tests;
