//! The target of a request: an [`Origin`] and a path. Plain paths on a known origin bypass the URL parser, which
//! costs more than all other work for building a request.

use super::failure::{ErrorClass, Failure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use http::HeaderValue;
use lgoose_base::error::{masked_address, masked_url};
use percent_encoding::percent_decode_str;
use std::borrow::Cow;
use std::rc::Rc;
use url::{ParseError, Position, Url};

/// The beginning of the address of a Unix socket.
pub(super) const UNIX: &str = "unix:";
/// The most bytes of a socket's path that all systems take (108 on Linux, 104 on macOS, with a NUL at the end).
const LONGEST_PATH: usize = if cfg!(target_os = "linux") { 107 } else { 103 };

/// A Unix socket.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UnixSocket {
    /// Its address, such as `unix:/run/app.sock`.
    pub(super) shown: String,
}

impl UnixSocket {
    /// Its path, relative to the working directory unless it begins with a slash.
    pub(super) fn path(&self) -> &str {
        &self.shown[UNIX.len()..]
    }
}

/// A scheme, host and port, with values that are derived from them once.
#[derive(Debug)]
pub struct Origin {
    /// Whether the scheme is https.
    pub secure: bool,
    /// The host: a DNS name, or an address literal without brackets.
    pub host: String,
    /// The port, also if it is the default of the scheme.
    pub port: u16,
    /// `scheme://host[:port]`, without a slash at the end.
    pub text: String,
    /// The Unix socket that connections go to, in place of host and port.
    pub(super) socket: Option<Box<UnixSocket>>,
    /// The `Host` header.
    pub(super) host_header: HeaderValue,
    /// The `Authorization` header for the user name and password in its URL.
    pub(super) credentials: Option<HeaderValue>,
}

impl Origin {
    /// The origin of a URL.
    ///
    /// # Errors
    /// A [`Failure`] of class `bad url` if the scheme is not http or https or the host is missing.
    pub fn of(url: &Url) -> Result<Origin, Failure> {
        let bad = |why: &str| {
            // Without slashes, this may be a host without a scheme, whose user name is taken for one.
            let shown = if url.cannot_be_a_base() {
                masked_address(url.as_str())
            } else {
                masked_url(url.as_str())
            };
            Failure::new(ErrorClass::BadUrl, format!("{shown}: {why}"))
        };
        let secure = match url.scheme() {
            "http" => false,
            "https" => true,
            _ => return Err(bad("only http:// and https:// can be requested")),
        };
        let host = url.host_str().ok_or_else(|| bad("it has no host"))?;
        let port = url.port_or_known_default().unwrap_or(80);
        let authority = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        Ok(Origin {
            secure,
            host: host
                .trim_start_matches('[')
                .trim_end_matches(']')
                .to_owned(),
            port,
            text: format!("{}://{authority}", url.scheme()),
            socket: None,
            host_header: HeaderValue::try_from(authority)
                .map_err(|_| bad("its host is not valid"))?,
            credentials: credentials(url),
        })
    }

    /// The origin that is reached by a Unix socket at `unix:PATH`. To the server and in URLs, it is `http://localhost`, as
    /// with curl.
    ///
    /// # Errors
    /// The problem with the address.
    pub(super) fn of_socket(address: &str) -> Result<Origin, String> {
        let path = address.strip_prefix(UNIX).unwrap_or_default();
        if path.trim_matches('/').is_empty() {
            return Err("it has no path; write unix:/run/app.sock".to_owned());
        }
        if path.contains('\0') {
            return Err("its path has a NUL character".to_owned());
        }
        if path.len() > LONGEST_PATH {
            return Err(format!(
                "a socket's path may have {LONGEST_PATH} bytes, and this one has {}; name it relative to the working \
                 directory",
                path.len()
            ));
        }
        let host = "localhost";
        Ok(Origin {
            secure: false,
            host: host.to_owned(),
            port: 80,
            text: format!("http://{host}"),
            socket: Some(Box::new(UnixSocket {
                shown: address.to_owned(),
            })),
            host_header: HeaderValue::from_static(host),
            credentials: None,
        })
    }

    /// What the plan calls it: the address of its socket, or else the scheme, host and port.
    pub fn name(&self) -> &str {
        match &self.socket {
            None => &self.text,
            Some(socket) => &socket.shown,
        }
    }

    /// Host and port as a URL has them, the port always.
    pub(super) fn authority(&self) -> String {
        if let Some(socket) = &self.socket {
            socket.shown.clone()
        } else if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    /// Whether both name the same scheme, host and port, by the same socket if there is one.
    pub fn same(&self, other: &Origin) -> bool {
        std::ptr::eq(self, other) || self.text == other.text && self.socket == other.socket
    }

    /// Whether both name the same host and port; the default ports of http and https count as one.
    pub(crate) fn is_host_of(&self, other: &Origin) -> bool {
        let port =
            |origin: &Origin| (origin.port != 80 && origin.port != 443).then_some(origin.port);
        self.host == other.host && port(self) == port(other) && self.socket == other.socket
    }
}

/// The user name and password of a URL as basic authentication (RFC 7617).
fn credentials(url: &Url) -> Option<HeaderValue> {
    let (name, password) = (url.username(), url.password().unwrap_or_default());
    if name.is_empty() && password.is_empty() {
        return None;
    }
    let decoded = |text| percent_decode_str(text).collect::<Vec<u8>>();
    let plain = [&decoded(name)[..], b":", &decoded(password)].concat();
    let mut value = HeaderValue::try_from(format!("Basic {}", BASE64.encode(plain))).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// An origin and a path on it.
#[derive(Debug, Clone)]
pub struct Target {
    /// The scheme, host and port.
    pub origin: Rc<Origin>,
    /// The path and query as sent; shared with the request if nothing had to be resolved.
    pub path: Rc<str>,
}

impl Target {
    /// The target of an absolute URL; its fragment is dropped.
    ///
    /// # Errors
    /// A [`Failure`] of class `bad url`.
    pub fn of(url: &Url) -> Result<Target, Failure> {
        Ok(Target {
            path: path_of(url),
            origin: Rc::new(Origin::of(url)?),
        })
    }

    /// The target of a base URL.
    ///
    /// # Errors
    /// A [`Failure`] of class `bad url` that says why it cannot be requested.
    pub(super) fn of_base(base: &str) -> Result<Target, Failure> {
        if base.starts_with(UNIX) {
            let origin = Origin::of_socket(base)
                .map_err(|why| Failure::new(ErrorClass::BadUrl, format!("'{base}': {why}")))?;
            return Ok(Target {
                origin: Rc::new(origin),
                path: "/".into(),
            });
        }
        let url = Url::parse(base).map_err(|error| {
            Failure::new(
                ErrorClass::BadUrl,
                format!("'{}': {error}", masked_address(base)),
            )
        })?;
        Target::of(&url)
    }

    /// The root page of the same origin.
    pub(super) fn root(&self) -> Target {
        self.with_path("/".into())
    }

    /// The URL as text.
    pub fn text(&self) -> String {
        format!("{}{}", self.origin.text, self.path)
    }

    /// The URL, parsed.
    pub fn url(&self) -> Url {
        Url::parse(&self.text()).expect("a target is made from a valid URL")
    }

    /// The target of a plan's request, where this is the base URL of its user. A URL with a scheme is taken as it is.
    /// Anything else is a path, a query or a fragment below the path of the base, with a slash at its start or without,
    /// and never leaves the origin: two slashes name a host in a link of a page ([`Target::join`]), but not here, where
    /// they may come from joining texts. A path that is sent as it is is shared.
    ///
    /// # Errors
    /// A [`Failure`] of class `bad url`.
    pub(super) fn resolve(&self, requested: &Rc<str>) -> Result<Target, Failure> {
        if &*self.path == "/"
            && requested.starts_with('/')
            && plain_path(&self.origin, requested).is_some()
        {
            return Ok(self.with_path(requested.clone()));
        }
        // As the parser does.
        let reference = requested.trim_start_matches(|c| c <= ' ');
        if has_scheme(reference) {
            return self.join(reference);
        }
        let above = self.path.split('?').next().unwrap_or_default();
        let above = above.trim_end_matches('/');
        let slash = match reference.as_bytes().first() {
            None | Some(b'/' | b'?' | b'#') => "",
            Some(_) => "/",
        };
        let path = format!("{above}{slash}{reference}");
        if plain_path(&self.origin, &path).is_some() {
            return Ok(self.with_path(path.into()));
        }
        // Behind an authority, no path can become one.
        let url = Url::parse(&format!("{}{path}", self.origin.text));
        let url = url.map_err(|error| bad_reference(requested, error))?;
        Ok(self.with_path(path_of(&url)))
    }

    /// A path and query, as they are sent, on the same origin.
    fn with_path(&self, path: Rc<str>) -> Target {
        Target {
            origin: self.origin.clone(),
            path,
        }
    }

    /// The target of `reference`, a link of the page at this target or where it redirects to: absolute, or relative to this one. If the origin stays the same, it is
    /// shared.
    ///
    /// # Errors
    /// A [`Failure`] of class `bad url`.
    pub fn join(&self, reference: &str) -> Result<Target, Failure> {
        if let Some(path) = plain_path(&self.origin, reference) {
            return Ok(self.with_path(path.into()));
        }
        let url = self.url().join(&with_two_slashes(reference));
        let url = url.map_err(|error| bad_reference(reference, error))?;
        let target = Target::of(&url)?;
        // A reference to the same site keeps the site's credentials, unless it has its own.
        // What names the host of a socket means the socket.
        let shares = target.origin.text == self.origin.text && target.origin.credentials.is_none();
        Ok(if shares {
            self.with_path(target.path)
        } else {
            target
        })
    }
}

fn bad_reference(reference: &str, why: ParseError) -> Failure {
    let shown = masked_address(reference);
    Failure::new(ErrorClass::BadUrl, format!("'{shown}': {why}"))
}

/// Whether a reference begins with a scheme (RFC 3986, section 3.1).
fn has_scheme(reference: &str) -> bool {
    let scheme = reference.split_once(':').map_or("", |(scheme, _)| scheme);
    scheme.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
}

/// The path and query of a URL, as they are sent.
fn path_of(url: &Url) -> Rc<str> {
    as_sent(&url[Position::BeforePath..Position::AfterQuery])
}

/// A path and query with the two characters encoded that browsers encode in a path and the parser does not.
fn as_sent(path_and_query: &str) -> Rc<str> {
    let path = path_and_query.split('?').next().unwrap_or_default();
    if !path.contains(['|', '^']) {
        return path_and_query.into();
    }
    let query = &path_and_query[path.len()..];
    let encoded = path.replace('|', "%7C").replace('^', "%5E");
    (encoded + query).into()
}

/// A reference that begins with more than two slashes with two: the rest of them counts for nothing (the URL standard,
/// "special authority ignore slashes state"), but the parser takes the text between them for a host.
fn with_two_slashes(reference: &str) -> Cow<'_, str> {
    let reference = reference.trim_start_matches(|c| c <= ' ');
    let rest = reference.trim_start_matches(['/', '\\']);
    match reference.len() - rest.len() {
        0..=2 => Cow::Borrowed(reference),
        _ => Cow::Owned(format!("//{rest}")),
    }
}

/// `reference` as a path on `origin`, if no URL rule can change it: it starts with one slash (or with the origin and
/// then one) and has only characters that are sent as they are.
fn plain_path<'a>(origin: &Origin, reference: &'a str) -> Option<&'a str> {
    let path = match reference.as_bytes() {
        [b'/', b'/', ..] => return None,
        [b'/', ..] => reference,
        _ => reference.strip_prefix(origin.text.as_str())?,
    };
    // A dot at the beginning of a segment or after another dot may be a segment that is resolved; '%2e' also means '.'.
    let mut before = b'/';
    let is_plain = path.bytes().all(|byte| {
        let dots = byte == b'.' && matches!(before, b'/' | b'.') || byte == b'2' && before == b'%';
        before = byte;
        PLAIN[usize::from(byte)] && !dots
    });
    (is_plain && path.starts_with('/')).then_some(path)
}

/// The characters that no URL rule changes in a path or query, wherever they stand; dots and percent signs where
/// [`plain_path`] lets them.
const PLAIN: [bool; 256] = {
    let signs = b"-_~/?=&+,:;@!()*$[].%";
    let mut plain = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        plain[byte] = (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    let mut sign = 0;
    while sign < signs.len() {
        plain[signs[sign] as usize] = true;
        sign += 1;
    }
    plain
};

#[cfg(test)]
mod tests {
    use super::*;

    fn base() -> Target {
        Target::of(&Url::parse("http://127.0.0.1:8080/dir/page?q=1#top").expect("valid"))
            .expect("valid")
    }

    #[test]
    fn a_socket_is_a_site_whose_links_stay_on_it_and_nothing_else_leads_to_it() {
        let base = Target::of_base("unix:/run/app.sock").expect("a socket");
        assert_eq!(base.text(), "http://localhost/");
        assert_eq!(base.origin.name(), "unix:/run/app.sock");
        for reference in [
            "/a",
            "a",
            "http://localhost/a",
            "http://LOCALHOST:80/b/../a",
        ] {
            for target in [base.join(reference), base.resolve(&reference.into())] {
                let target = target.expect(reference);
                assert!(target.origin.same(&base.origin), "{reference}");
                assert_eq!(&*target.path, "/a");
            }
        }
        let other = base.join("http://localhost:81/a").expect("a URL");
        assert!(other.origin.socket.is_none());
        for link in ["unix:/run/other.sock", "http+unix://x/"] {
            assert!(base.join(link).is_err(), "{link}");
            assert!(base.resolve(&link.into()).is_err(), "{link}");
        }
        let tcp = Target::of_base("http://localhost").expect("a URL");
        assert!(!tcp.origin.same(&base.origin));
        assert!(!base.origin.is_host_of(&tcp.origin));
        for wrong in [
            "unix:",
            "unix:/",
            "unix:a\0b",
            &format!("unix:{}", "a".repeat(200)),
        ] {
            assert!(Target::of_base(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn references_resolve_as_the_url_standard_requires() {
        for (reference, expected) in [
            ("/node/1", "http://127.0.0.1:8080/node/1"),
            ("/a?b=c&d=%20x", "http://127.0.0.1:8080/a?b=c&d=%20x"),
            ("/../x", "http://127.0.0.1:8080/x"),
            ("/a/%2e%2e/x", "http://127.0.0.1:8080/x"),
            ("/tags/cocción", "http://127.0.0.1:8080/tags/cocci%C3%B3n"),
            ("/a b", "http://127.0.0.1:8080/a%20b"),
            ("/node/1#comment-3", "http://127.0.0.1:8080/node/1"),
            ("other", "http://127.0.0.1:8080/dir/other"),
            ("?page=2", "http://127.0.0.1:8080/dir/page?page=2"),
            ("//example.org/x", "http://example.org/x"),
            (" \\//example.org/x", "http://example.org/x"),
            ("/a|b^c?d|e^f", "http://127.0.0.1:8080/a%7Cb%5Ec?d|e^f"),
            ("https://example.org", "https://example.org/"),
            (
                "http://127.0.0.1:8080/misc/a.js?v=1",
                "http://127.0.0.1:8080/misc/a.js?v=1",
            ),
        ] {
            assert_eq!(
                base().join(reference).expect(reference).text(),
                expected,
                "{reference}"
            );
        }
    }

    #[test]
    fn what_a_plan_requests_without_a_scheme_stays_on_the_host_of_its_base() {
        let host = "http://127.0.0.1:8080";
        // A base, the requested URL, and the path and query that are sent.
        for (base, requested, expected) in [
            ("", "/x", "/x"),
            ("", "x?q=1", "/x?q=1"),
            ("", "", "/"),
            ("", "//", "//"),
            ("", "//example.org/x", "//example.org/x"),
            ("", "///example.org", "///example.org"),
            ("", "//example.org:99999/x", "//example.org:99999/x"),
            (
                "",
                "//ada:secret@example.org/x",
                "//ada:secret@example.org/x",
            ),
            ("", "/\\example.org/x", "//example.org/x"),
            ("", "\\\\example.org/x", "///example.org/x"),
            ("", "\\example.org", "//example.org"),
            ("", " //example.org/x", "//example.org/x"),
            ("", "/\t/example.org/x", "//example.org/x"),
            ("", "/./ /x", "/%20/x"),
            ("", "/.//example.org/x", "//example.org/x"),
            ("", "/a/..//example.org/x", "//example.org/x"),
            ("", "/%2F%2Fexample.org/x", "/%2F%2Fexample.org/x"),
            ("", "/%2f/example.org", "/%2f/example.org"),
            ("", "//example.org/a|b", "//example.org/a%7Cb"),
            ("", "//example.org#top", "//example.org"),
            ("", "?//example.org", "/?//example.org"),
            ("", "#//example.org", "/"),
            ("", "@example.org/x", "/@example.org/x"),
            ("", ":8081/x", "/:8081/x"),
            ("", ".example.org", "/.example.org"),
            ("/x/", "/y", "/x/y"),
            ("/x//", "/y", "/x/y"),
            ("/x//", "y", "/x/y"),
            ("/x", "//y", "/x//y"),
            ("/x/", "//example.org/y", "/x//example.org/y"),
            ("/x", "..//example.org/y", "//example.org/y"),
            ("/x?q=1#top", "/y", "/x/y"),
            ("/x?q=//example.org", "?r=2", "/x?r=2"),
            ("?q=1", "//example.org", "//example.org"),
            ("//", "/y", "/y"),
            ("//", "//y", "//y"),
            ("//127.0.0.1:8081", "/", "//127.0.0.1:8081/"),
            ("//127.0.0.1:8081", "", "//127.0.0.1:8081"),
            ("//127.0.0.1:8081", "y", "//127.0.0.1:8081/y"),
            ("//127.0.0.1:8081/", "?q", "//127.0.0.1:8081?q"),
            ("//127.0.0.1:8081", "//y", "//127.0.0.1:8081//y"),
            ("///127.0.0.1:8081", "/y", "///127.0.0.1:8081/y"),
            ("/.//127.0.0.1:8081", "/y", "//127.0.0.1:8081/y"),
            ("/\\127.0.0.1:8081", "/y", "//127.0.0.1:8081/y"),
            ("\\\\127.0.0.1:8081", "/y", "//127.0.0.1:8081/y"),
            ("/x/..//127.0.0.1:8081", "/y", "//127.0.0.1:8081/y"),
            ("//127.0.0.1:8081?q=1#top", "/y", "//127.0.0.1:8081/y"),
            ("//ada@127.0.0.1:8081", "/y", "//ada@127.0.0.1:8081/y"),
            ("/%2F/127.0.0.1:8081", "/y", "/%2F/127.0.0.1:8081/y"),
        ] {
            let base = Target::of_base(&format!("{host}{base}")).expect(base);
            let case = format!("'{requested}' below '{}'", base.text());
            let target = base.resolve(&requested.into()).expect(&case);
            assert_eq!(target.text(), format!("{host}{expected}"), "{case}");
            assert!(Rc::ptr_eq(&target.origin, &base.origin), "{case}");
            // Later readings of it name the same host.
            assert_eq!(target.url().port(), Some(8080), "{case}");
        }
    }

    #[test]
    fn what_a_plan_requests_with_a_scheme_is_what_it_is() {
        let base = Target::of_base("http://127.0.0.1:8080//127.0.0.1:8081").expect("valid");
        for (requested, expected) in [
            ("http://example.org//x", "http://example.org//x"),
            (" https://example.org", "https://example.org/"),
            ("HTTP://127.0.0.1:8080//y", "http://127.0.0.1:8080//y"),
            ("http:///example.org/x", "http://example.org/x"),
            ("http:\\\\example.org\\x", "http://example.org/x"),
        ] {
            let target = base.resolve(&requested.into()).expect(requested);
            assert_eq!(target.text(), expected, "{requested}");
        }
        for bad in ["mailto:ada@example.org", "a:b/c", "ftp://example.org"] {
            let failure = base.resolve(&bad.into()).expect_err(bad);
            assert_eq!(failure.class, ErrorClass::BadUrl, "{bad}");
        }
    }

    #[test]
    fn the_credentials_of_a_url_belong_to_its_origin_and_are_not_shown() {
        let target = |url: &str| Target::of_base(url).expect("valid");
        let sent = |target: &Target| {
            let credentials = target.origin.credentials.as_ref();
            credentials.map(|value| value.to_str().expect("text").to_owned())
        };
        let base = target("http://ada:s%40cret@127.0.0.1:8080/");
        assert_eq!(base.text(), "http://127.0.0.1:8080/");
        let ada = Some("Basic YWRhOnNAY3JldA==".to_owned());
        assert_eq!(sent(&base), ada);
        for (reference, expected) in [
            ("/x", ada.clone()),
            ("/a b", ada.clone()),
            ("http://127.0.0.1:8080/x", ada),
            ("http://127.0.0.1:8081/x", None),
            (
                "http://bob@127.0.0.1:8080/x",
                Some("Basic Ym9iOg==".to_owned()),
            ),
        ] {
            let joined = base.join(reference).expect(reference);
            assert_eq!(sent(&joined), expected, "{reference}");
        }
        let failure = base.join("http://ada:secret@").expect_err("no host");
        assert!(!failure.detail.contains("secret"), "{}", failure.detail);
    }

    #[test]
    fn what_cannot_be_requested_is_a_bad_url() {
        for reference in ["ftp://example.org/", "http://", "javascript:alert(1)"] {
            let failure = base().join(reference).expect_err(reference);
            assert_eq!(failure.class, ErrorClass::BadUrl, "{reference}");
        }
    }
}
