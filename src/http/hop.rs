//! Redirects: what changes of a request from one hop to the next, and where the next one goes.

use super::{ErrorClass, Failure, Target};
use bytes::Bytes;
use http::{HeaderName, Method, header};

/// What changes of a request from one redirect to the next.
pub(super) struct Hop {
    pub(super) method: Method,
    pub(super) body: Bytes,
    /// Whether it has left the origin it was meant for.
    pub(super) foreign: bool,
}

impl Hop {
    /// The Fetch standard's rule: 303 turns all but GET and HEAD into GET, 301 and 302 turn POST into GET.
    /// Another origin gets no credentials.
    pub(super) fn redirect(&mut self, status: u16, leaves_origin: bool) {
        let becomes_get = match status {
            303 => !matches!(self.method, Method::GET | Method::HEAD),
            301 | 302 => self.method == Method::POST,
            _ => false,
        };
        if becomes_get {
            self.method = Method::GET;
            self.body = Bytes::new();
        }
        self.foreign |= leaves_origin;
    }

    /// Whether a header of the request is still sent.
    pub(super) fn sends(&self, name: &HeaderName, original_body: &Bytes) -> bool {
        let of_body = [header::CONTENT_TYPE, header::CONTENT_ENCODING];
        let secret = [header::AUTHORIZATION, header::COOKIE];
        let body_dropped = self.body.is_empty() && !original_body.is_empty();
        *name != header::HOST
            && *name != header::CONTENT_LENGTH
            && !(body_dropped && of_body.contains(name))
            && !(self.foreign && secret.contains(name))
    }
}

/// Whether a status sends the client on.
pub(super) fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

/// Where a redirect leads.
///
/// # Errors
/// A [`Failure`] of class `bad redirect`.
pub(super) fn redirect_target(from: &Target, location: &[u8]) -> Result<Target, Failure> {
    let bad = |detail: String| Failure::new(ErrorClass::BadRedirect, detail);
    // Servers send raw UTF-8 in Location; browsers take it as such.
    let text =
        std::str::from_utf8(location).map_err(|_| bad("Location is not UTF-8".to_owned()))?;
    from.join(text).map_err(|failure| bad(failure.detail))
}
