//! Bodies that are ready to be sent, also compressed. Driven by the sites; knows neither pages nor files.

use std::io::Write;
use std::sync::OnceLock;

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use http::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH, VARY,
};
use http::{Response, StatusCode};
use http_body_util::Full;

use super::server::SiteResponse;

/// A body that is sent to many clients.
pub(super) struct PreparedBody {
    plain: Bytes,
    /// The body in gzip, made for the first client that accepts it; `None` if it is never compressed.
    gzip: Option<OnceLock<Bytes>>,
    etag: HeaderValue,
}

impl PreparedBody {
    /// A body that is never compressed. No other of the same URL has `tag`, of letters and digits.
    pub(super) fn plain(body: Bytes, tag: &str) -> Self {
        PreparedBody {
            plain: body,
            gzip: None,
            etag: HeaderValue::try_from(format!("\"{tag}\"")).expect("tags are plain characters"),
        }
    }

    /// A body that is compressed for clients that accept it, with a tag in the same way.
    pub(super) fn compressed(body: Bytes, tag: &str) -> Self {
        PreparedBody {
            gzip: Some(OnceLock::new()),
            ..PreparedBody::plain(body, tag)
        }
    }

    /// The response to a request with those headers: the body, compressed if the client accepts it, or 304 if the
    /// client has it already.
    pub(super) fn respond(&self, headers: &HeaderMap) -> SiteResponse {
        let mut response = match &self.gzip {
            _ if headers.get(IF_NONE_MATCH) == Some(&self.etag) => {
                let mut response = SiteResponse::default();
                *response.status_mut() = StatusCode::NOT_MODIFIED;
                response
            }
            Some(body) if accepts_gzip(headers) => {
                let body = body.get_or_init(|| gzip(&self.plain, Compression::default()));
                encoded(body.clone())
            }
            _ => Response::new(Full::new(self.plain.clone())),
        };
        response.headers_mut().insert(ETAG, self.etag.clone());
        if self.gzip.is_some() {
            vary(&mut response);
        }
        response
    }

    /// The body before any compression.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> &Bytes {
        &self.plain
    }
}

/// A response whose body is for this client alone, compressed if the client accepts it.
pub(super) fn uncached(body: String, headers: &HeaderMap) -> SiteResponse {
    let mut response = if accepts_gzip(headers) {
        encoded(gzip(body.as_bytes(), Compression::fast()))
    } else {
        Response::new(Full::from(body))
    };
    vary(&mut response);
    response
}

/// Returns whether a client accepts gzip.
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let lists = headers.get_all(ACCEPT_ENCODING).iter();
    let lists = lists.filter_map(|list| list.to_str().ok());
    let mut codings = lists.flat_map(|list| list.split(','));
    codings.any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let weight = weight.trim().strip_prefix("q=").unwrap_or("1");
        name.trim().eq_ignore_ascii_case("gzip") && weight.parse() != Ok(0.0)
    })
}

fn vary(response: &mut SiteResponse) {
    let encoding = HeaderValue::from_static("Accept-Encoding");
    response.headers_mut().insert(VARY, encoding);
}

fn encoded(body: Bytes) -> SiteResponse {
    let mut response = Response::new(Full::new(body));
    let gzip = HeaderValue::from_static("gzip");
    response.headers_mut().insert(CONTENT_ENCODING, gzip);
    response
}

fn gzip(body: &[u8], level: Compression) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), level);
    let written = encoder.write_all(body).and_then(|()| encoder.finish());
    written.expect("a Vec takes everything").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_sent_only_to_those_who_take_it() {
        for (accepted, takes) in [
            ("gzip", true),
            ("br, GZIP;q=0.5", true),
            ("br;q=1.0, gzip;q=0", false),
            ("gzip; q=0.0", false),
            ("gzip;q=1.0", true),
            ("br", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(accepted));
            let body = PreparedBody::compressed(Bytes::from_static(b"body"), "1");
            let response = body.respond(&headers);
            assert_eq!(
                response.headers().contains_key(CONTENT_ENCODING),
                takes,
                "{accepted}"
            );
        }
    }

    #[test]
    fn a_client_that_has_the_body_is_not_sent_it_again() {
        let body = PreparedBody::plain(Bytes::from_static(b"body"), "1");
        let mut headers = HeaderMap::new();
        let first = body.respond(&headers);
        headers.insert(IF_NONE_MATCH, first.headers()[ETAG].clone());
        let again = body.respond(&headers);
        assert_eq!(
            (first.status(), again.status()),
            (StatusCode::OK, StatusCode::NOT_MODIFIED)
        );
    }
}
