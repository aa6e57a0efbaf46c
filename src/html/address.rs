//! Resolution of addresses as a page writes them to absolute URLs. Driven by `assets`.
//!
//! `Url::join` takes 300–500 ns, so addresses that it would only copy (an absolute path, a path beside the page,
//! the site's own absolute URL; no dots, no spaces, ASCII) are put together as strings, and a test holds both
//! to the same answers.

use std::borrow::Cow;

use url::{Position, Url};

use super::entities::decode_entities;

/// The owner of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Host {
    /// The page's own site: the same scheme, host and port.
    Own,
    /// Another site.
    Foreign,
}

/// A resolver of the addresses of one page.
pub(super) struct Resolver {
    page: Url,
    /// The page's `http://host:port`.
    page_origin: String,
    base: Base,
}

/// The base that relative addresses are joined to.
struct Base {
    url: Url,
    origin: String,
    /// The URL up to the last `/` of its path.
    directory: String,
    host: Host,
    /// Whether a `<base href>` was met; only the first counts.
    declared: bool,
}

impl Resolver {
    /// Creates a resolver for a page at this URL. User name and password of the URL are not passed on to its
    /// assets.
    pub(super) fn new(page: &Url) -> Self {
        let mut page = page.clone();
        page.set_fragment(None);
        // Both fail on URLs that have no host, which then carry no credentials either.
        let _ = page.set_username("");
        let _ = page.set_password(None);
        Self {
            page_origin: origin(&page),
            base: Base::new(page.clone(), Host::Own, false),
            page,
        }
    }

    /// Applies the page's `<base href>`.
    pub(super) fn set_base(&mut self, href: &str) {
        if self.base.declared {
            return;
        }
        let base = self.page.join(href).ok().filter(is_http);
        let url = base.unwrap_or_else(|| self.page.clone());
        let host = self.host(&url);
        self.base = Base::new(url, host, true);
    }

    /// Appends the absolute URL of `raw`, without its fragment, to `out`. `None` for addresses that are not fetched
    /// over HTTP.
    pub(super) fn resolve(&self, raw: &str, out: &mut String) -> Option<Host> {
        let raw = raw.trim_matches(|c: char| c <= ' ');
        out.clear();
        if let Some(host) = self.copy(raw.split('#').next()?, out) {
            return Some(host);
        }
        if raw
            .get(..5)
            .is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"))
        {
            return None; // may be a whole picture
        }
        let mut url = self.base.url.join(raw).ok().filter(is_http)?;
        url.set_fragment(None);
        out.push_str(url.as_str());
        Some(self.host(&url))
    }

    /// Resolves the address by string operations alone, if they are enough.
    fn copy(&self, raw: &str, out: &mut String) -> Option<Host> {
        let first = *raw.as_bytes().first()?;
        if let Some(path) = raw.strip_prefix(&*self.page_origin) {
            return (path.starts_with('/') && is_plain(path)).then(|| {
                out.push_str(raw);
                Host::Own
            });
        }
        let start = if first == b'/' && !raw.starts_with("//") {
            &self.base.origin
        } else if (first.is_ascii_alphanumeric() || first == b'_') && !raw.contains(':') {
            &self.base.directory
        } else {
            return None;
        };
        is_plain(raw).then(|| {
            out.push_str(start);
            out.push_str(raw);
            self.base.host
        })
    }

    fn host(&self, url: &Url) -> Host {
        let same = url.scheme() == self.page.scheme()
            && url.host_str() == self.page.host_str()
            && url.port_or_known_default() == self.page.port_or_known_default();
        if same { Host::Own } else { Host::Foreign }
    }
}

impl Base {
    fn new(mut url: Url, host: Host, declared: bool) -> Self {
        url.set_fragment(None);
        let path = &url[..Position::AfterPath];
        Self {
            directory: path[..path.rfind('/').map_or(0, |at| at + 1)].to_owned(),
            origin: origin(&url),
            url,
            host,
            declared,
        }
    }
}

/// Returns the text of an attribute's bytes, entities decoded.
pub(super) fn attribute_text(value: &[u8]) -> Cow<'_, str> {
    match text_of(value) {
        Cow::Borrowed(text) => decode_entities(text),
        Cow::Owned(text) => Cow::Owned(decode_entities(&text).into_owned()),
    }
}

/// Returns the text of bytes.
pub(super) fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    // The check is several times faster than the conversion, and mostly enough.
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
    }
}

fn is_http(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https")
}

/// Returns `http://host:port` as URLs of this site begin; the default port is left out.
fn origin(url: &Url) -> String {
    url[..Position::BeforePath].to_owned()
}

/// Returns whether `Url::join` would copy this path and query byte by byte: nothing to encode, no `.` or `..`
/// segment.
fn is_plain(path: &str) -> bool {
    let mut before = b'/';
    path.bytes().all(|byte| {
        let dots = before == b'/' && (byte == b'.' || byte == b'%');
        before = byte;
        PLAIN[usize::from(byte)] && !dots
    })
}

/// Returns whether a byte stands for itself in a path and in a query.
const PLAIN: [bool; 256] = {
    let mut plain = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        let b = byte as u8;
        plain[byte] = b.is_ascii_alphanumeric()
            || matches!(
                b,
                b'-' | b'_' | b'.' | b'~' | b'!' | b'$' | b'&' | b'(' | b')' | b'*' | b'+' | b','
            )
            || matches!(
                b,
                b';' | b'=' | b':' | b'@' | b'/' | b'%' | b'?' | b'[' | b']'
            );
        byte += 1;
    }
    plain
};

#[cfg(test)]
mod tests {
    use url::Url;

    use super::{Host, Resolver};

    fn url(text: &str) -> Url {
        Url::parse(text).expect("a URL of the test")
    }

    fn resolve(resolver: &Resolver, raw: &str) -> Option<(String, Host)> {
        let mut out = String::new();
        let host = resolver.resolve(raw, &mut out)?;
        Some((out, host))
    }

    #[test]
    fn string_work_and_url_join_give_the_same_address() {
        let pieces = [
            "/",
            "//",
            "a",
            "b.css",
            ".",
            "..",
            "./",
            "../",
            "?v=1",
            "&",
            "%20",
            "%2e",
            " ",
            "é",
            "#f",
            "[",
            "]",
            "\\",
            ":",
            "http:",
            "HTTP://",
            "http://site",
            "http://site:8080",
            "other",
            "@",
            "|",
            "^",
            "'",
            "\"",
            "\t",
            "~",
            "_",
            "+",
        ];
        for page in [
            "http://site:8080/d/page?x=/y/#f",
            "http://site/",
            "https://[::1]/a/b/c",
        ] {
            let page = url(page);
            let resolver = Resolver::new(&page);
            let mut state = 7_usize;
            for _ in 0..20_000 {
                let mut raw = String::new();
                for _ in 0..1 + state % 5 {
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407);
                    raw.push_str(pieces[(state >> 33) % pieces.len()]);
                }
                let mut joined = page
                    .join(&raw)
                    .ok()
                    .filter(|url| url.scheme().starts_with("http"));
                if let Some(joined) = &mut joined {
                    joined.set_fragment(None);
                }
                let joined = joined.map(String::from);
                assert_eq!(
                    resolve(&resolver, &raw).map(|(url, _)| url),
                    joined,
                    "{raw:?} on {page}"
                );
            }
        }
    }

    #[test]
    fn the_first_base_moves_relative_addresses_only() {
        let mut resolver = Resolver::new(&url("http://site/a/b"));
        resolver.set_base("/deep/er/page");
        resolver.set_base("/ignored/");
        let own = |text: &str| Some((text.to_owned(), Host::Own));
        assert_eq!(resolve(&resolver, "x.js"), own("http://site/deep/er/x.js"));
        assert_eq!(
            resolve(&resolver, "../x.js?v=1#f"),
            own("http://site/deep/x.js?v=1")
        );
        assert_eq!(resolve(&resolver, "/x.js"), own("http://site/x.js"));
        let mut resolver = Resolver::new(&url("http://site/a/b"));
        resolver.set_base("//cdn/");
        assert_eq!(
            resolve(&resolver, "/x.js"),
            Some(("http://cdn/x.js".to_owned(), Host::Foreign))
        );
        assert_eq!(
            resolve(&resolver, "http://site/x.js"),
            own("http://site/x.js")
        );
    }

    #[test]
    fn scheme_host_and_port_make_a_site() {
        let resolver = Resolver::new(&url("http://user:secret@site/"));
        let own = |text: &str| Some((text.to_owned(), Host::Own));
        assert_eq!(resolve(&resolver, "HTTP://SITE:80/x"), own("http://site/x"));
        assert_eq!(resolve(&resolver, " /x "), own("http://site/x"));
        for foreign in [
            "https://site/x",
            "http://site:81/x",
            "http://site.evil/x",
            "//other/x",
        ] {
            assert_eq!(
                resolve(&resolver, foreign).map(|(_, host)| host),
                Some(Host::Foreign)
            );
        }
        for none in [
            "data:image/png;base64,AA",
            "javascript:void(0)",
            "mailto:a@b",
            "http://",
            "ftp://site/x",
        ] {
            assert_eq!(resolve(&resolver, none), None, "{none}");
        }
    }
}
