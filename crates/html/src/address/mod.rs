//! Resolution of addresses as a page writes them to absolute URLs. Driven by `assets`.
//!
//! `Url::join` takes 300–500 ns, so addresses that it would only copy (an absolute path, a path beside the page, the
//! site's own absolute URL; no dots, no spaces, ASCII) are put together as strings, and a test compares the results of
//! both.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};

use memchr::memchr;
use url::{Position, Url};

use super::entities::decode_entities;
use super::join::{host, join};

/// The owner of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AddressOwner {
    /// The page's own site: the same scheme, host and port.
    Own,
    /// Another site.
    Foreign,
}

/// The address of a page: absolute, without fragment. It is parsed only where that is needed: most addresses of a page
/// are resolved without parsing.
#[derive(Debug)]
pub struct PageAddress {
    text: String,
    /// The length of `http://host:port`.
    origin: usize,
    /// The length up to the last `/` of its path.
    directory: usize,
    url: OnceCell<Url>,
}

impl PageAddress {
    /// Puts an address together. `origin` is `http://host:port`, without a default port; `path` begins with a slash and
    /// may have a query. Together they are a valid URL.
    pub fn new(origin: &str, path: &str) -> Self {
        let text = [origin, path].concat();
        let path = path.split('?').next().unwrap_or_default();
        PageAddress {
            origin: origin.len(),
            directory: origin.len() + path.rfind('/').map_or(0, |at| at + 1),
            text,
            url: OnceCell::new(),
        }
    }

    /// Takes the address from a URL, without its fragment.
    fn of(url: &Url) -> Self {
        let path = &url[Position::BeforePath..Position::AfterQuery];
        PageAddress::new(&url[..Position::BeforePath], path)
    }

    /// Returns it as text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns its path, without the query.
    pub fn path(&self) -> &str {
        let path = &self.text[self.origin..];
        path.split('?').next().unwrap_or(path)
    }

    /// Returns it as a URL.
    pub(super) fn url(&self) -> &Url {
        let parse = || Url::parse(&self.text).expect("it is a valid URL");
        self.url.get_or_init(parse)
    }

    /// Returns `http://host:port` as URLs of this site begin; the default port is left out.
    pub(super) fn origin(&self) -> &str {
        &self.text[..self.origin]
    }

    fn directory(&self) -> &str {
        &self.text[..self.directory]
    }
}

impl From<&Url> for PageAddress {
    /// Leaves out the fragment, and user name and password, which are not passed on to assets.
    fn from(url: &Url) -> Self {
        let mut url = url.clone();
        // Both fail on URLs that have no host, which then carry no credentials either.
        let _ = (url.set_username(""), url.set_password(None));
        PageAddress::of(&url)
    }
}

/// A resolver of the addresses of one page.
pub(super) struct AddressResolver<'a> {
    page: &'a PageAddress,
    /// The base that a `<base href>` has declared; only the first counts.
    base: Option<Base>,
    /// The remaining cost for the page's addresses, in bytes to be copied.
    work: Cell<usize>,
}

/// The largest cost of the addresses of a page, in bytes to be copied, which takes some tenths of a second: a hundred
/// thousand of 2 KB each. Short references may be to a long base, and to one that is known.
const MOST_WORK: usize = 256 << 20;
/// The cost of each byte of a host. One of 240 Chinese letters, the worst, takes 90 us.
const HOST_WORK: usize = 64;

/// The base that relative addresses are joined to where it is not the page.
struct Base {
    address: PageAddress,
    host: AddressOwner,
}

impl<'a> AddressResolver<'a> {
    /// Creates a resolver for a page at this address.
    pub(super) fn new(page: &'a PageAddress) -> Self {
        AddressResolver {
            page,
            base: None,
            work: Cell::new(MOST_WORK),
        }
    }

    /// Applies the page's `<base href>`.
    pub(super) fn set_base(&mut self, href: &str) {
        if self.base.is_some() {
            return;
        }
        let page = self.page.url();
        let base = join(page, href).filter(is_http);
        let url = base.as_ref().unwrap_or(page);
        self.base = Some(Base {
            address: PageAddress::of(url),
            host: self.host(url),
        });
    }

    /// Appends the absolute URL of `raw`, without its fragment, to `out`. `None` for addresses that are not fetched
    /// over HTTP, and for all once they have cost too much.
    pub(super) fn resolve(&self, raw: &str, out: &mut String) -> Option<AddressOwner> {
        let raw = raw.trim_matches(|c: char| c <= ' ');
        out.clear();
        let fragment = memchr(b'#', raw.as_bytes()).unwrap_or(raw.len());
        if let Some(host) = self.copy(&raw[..fragment], out) {
            return Some(host);
        }
        if raw
            .get(..5)
            .is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"))
        {
            return None; // may be a whole picture
        }
        let (base, _) = self.base();
        let mut url = self.join(base, raw).filter(is_http)?;
        url.set_fragment(None);
        out.push_str(url.as_str());
        Some(self.host(&url))
    }

    /// Resolves the address by string operations alone, if they are enough.
    fn copy(&self, raw: &str, out: &mut String) -> Option<AddressOwner> {
        let first = *raw.as_bytes().first()?;
        if let Some(path) = raw.strip_prefix(self.page.origin()) {
            return (path.starts_with('/') && is_plain(path)).then(|| {
                out.push_str(raw);
                AddressOwner::Own
            });
        }
        let (base, host) = self.base();
        let start = if first == b'/' && !raw.starts_with("//") {
            base.origin()
        } else if (first.is_ascii_alphanumeric() || first == b'_') && !raw.contains(':') {
            base.directory()
        } else {
            return None;
        };
        (is_plain(raw) && self.affords(start.len())).then(|| {
            out.reserve_exact(start.len() + raw.len());
            out.push_str(start);
            out.push_str(raw);
            host
        })
    }

    /// Returns the URL of an address on the page itself, whatever its base.
    pub(super) fn on_page(&self, raw: &str) -> Option<Url> {
        self.join(self.page, raw)
    }

    fn join(&self, base: &PageAddress, raw: &str) -> Option<Url> {
        let work = base.text.len() + HOST_WORK * host(raw).len();
        self.affords(work).then(|| join(base.url(), raw))?
    }

    /// Takes the cost of an address from the remaining cost; returns whether there was enough.
    fn affords(&self, work: usize) -> bool {
        let remaining = self.work.get().checked_sub(work);
        self.work.set(remaining.unwrap_or(0));
        remaining.is_some()
    }

    /// Returns the base of relative addresses, and its owner.
    fn base(&self) -> (&PageAddress, AddressOwner) {
        match &self.base {
            Some(base) => (&base.address, base.host),
            None => (self.page, AddressOwner::Own),
        }
    }

    fn host(&self, url: &Url) -> AddressOwner {
        let page = self.page.url();
        let same = url.scheme() == page.scheme()
            && url.host_str() == page.host_str()
            && url.port_or_known_default() == page.port_or_known_default();
        if same {
            AddressOwner::Own
        } else {
            AddressOwner::Foreign
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
mod tests;
