//! One hop of a request: the changes by redirects, and the target of the next one.

use super::failure::{ErrorClass, Failure};
use super::message::{NamedPage, Referrer};
use super::target::Target;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, header};
use lgoose_html::ReferrerPolicy;
use percent_encoding::{AsciiSet, percent_encode};
use std::borrow::Cow;

/// The part of a request that redirects change.
pub(super) struct Hop {
    pub(super) method: Method,
    pub(super) body: Bytes,
    /// Whether a redirect has dropped the body.
    content_dropped: bool,
    /// Whether a redirect has led to another origin.
    pub(super) cross_origin: bool,
    /// Whether a site other than that of the referring page has redirected the request to another origin.
    pub(super) tainted: bool,
    /// The referrer policy that the latest redirect with one has set.
    pub(super) policy: Option<ReferrerPolicy>,
    /// The most of the referring page that may still be named.
    nameable: NamedPage,
    /// The credentials for a digest challenge of the site, which replace any other `Authorization`.
    pub(super) authorization: Option<HeaderValue>,
}

impl Hop {
    /// The first hop of a request.
    #[inline]
    pub(super) fn first(method: &Method, body: &Bytes) -> Hop {
        Hop {
            method: method.clone(),
            body: body.clone(),
            content_dropped: false,
            cross_origin: false,
            tainted: false,
            policy: None,
            nameable: NamedPage::Whole,
            authorization: None,
        }
    }

    /// Changes the request as the Fetch standard says: 303 turns every method but GET and HEAD into GET, 301 and 302
    /// turn POST into GET. A hop to another origin gets no credentials.
    pub(super) fn redirect(&mut self, status: u16, leaves_origin: bool) {
        let becomes_get = match status {
            303 => !matches!(self.method, Method::GET | Method::HEAD),
            301 | 302 => self.method == Method::POST,
            _ => false,
        };
        if becomes_get {
            self.method = Method::GET;
            self.body = Bytes::new();
            self.content_dropped = true;
        }
        self.cross_origin |= leaves_origin;
    }

    /// The part of the referring page's URL that the hop to `target` sends.
    pub(super) fn named_page(&self, page: &Referrer, target: &Target) -> NamedPage {
        page.named_to(target, self.policy).min(self.nameable)
    }

    /// Notes a redirect from `target`, which may reduce the part of the referring page's URL that is sent. `policy` is
    /// its `Referrer-Policy`.
    pub(super) fn redirect_page(&mut self, page: &Referrer, target: &Target, policy: &str) {
        self.nameable = self.named_page(page, target);
        self.policy = ReferrerPolicy::of_header(policy).or(self.policy);
    }

    /// Whether a header of the request is still sent. Those that describe a body go with it (RFC 9110, section 15.4; the
    /// "request-body-header names" of the Fetch standard are some of them).
    pub(super) fn sends(&self, name: &HeaderName) -> bool {
        let of_body =
            || *name == header::TRANSFER_ENCODING || name.as_str().starts_with("content-");
        let secret = [
            header::AUTHORIZATION,
            header::PROXY_AUTHORIZATION,
            header::COOKIE,
        ];
        *name != header::HOST
            && *name != header::CONTENT_LENGTH
            && !(self.content_dropped && of_body())
            && !(self.cross_origin && secret.contains(name))
            && !(self.authorization.is_some() && *name == header::AUTHORIZATION)
    }

    /// The `Content-Length` to send. A POST, PUT or PATCH without a body has one too, as in browsers.
    pub(super) fn content_length(&self) -> Option<usize> {
        let sent = !self.body.is_empty()
            || matches!(self.method, Method::POST | Method::PUT | Method::PATCH);
        sent.then_some(self.body.len())
    }
}

/// Whether a status redirects the client.
pub(super) fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

/// The target of a redirect.
///
/// # Errors
/// A [`Failure`] of class `bad redirect`.
pub(super) fn redirect_target(from: &Target, location: &[u8]) -> Result<Target, Failure> {
    let bad = |detail: String| Failure::new(ErrorClass::BadRedirect, detail);
    // Servers send raw UTF-8 in Location. Other bytes stay as they are, as in browsers.
    let text = match std::str::from_utf8(location) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => percent_encode(location, &AsciiSet::EMPTY).into(),
    };
    from.join(&text).map_err(|failure| bad(failure.detail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_the_body_go_with_it_and_secrets_stay_with_their_origin() {
        let names = [
            "content-type",
            "content-language",
            "content-location",
            "content-disposition",
            "transfer-encoding",
            "x-content-type",
            "accept",
            "authorization",
        ];
        let kept = |method: &Method, body: &'static str, status, leaves| {
            let mut hop = Hop::first(method, &Bytes::from_static(body.as_bytes()));
            hop.redirect(status, leaves);
            let names = names.map(HeaderName::from_static);
            names.iter().filter(|name| hop.sends(name)).count()
        };
        for (method, body, status, leaves, expected) in [
            (Method::POST, "a", 301, false, 3),
            (Method::POST, "a", 302, true, 2),
            (Method::POST, "", 302, false, 3),
            (Method::POST, "a", 307, false, 8),
            (Method::POST, "a", 308, true, 7),
            (Method::PUT, "a", 302, false, 8),
            (Method::PUT, "a", 303, false, 3),
            (Method::GET, "", 303, false, 8),
        ] {
            let kept = kept(&method, body, status, leaves);
            assert_eq!(kept, expected, "{method} {status}");
        }
    }
}
