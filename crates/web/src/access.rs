//! Access control: the token, the names that this server goes by, and the headers that keep a browser from misusing a
//! response. Every request passes here first.

use super::connections::Admitted;
use super::responses::ErrorResponse;
use axum::extract::{Request, State};
use axum::http::header::{
    ACCEPT, AUTHORIZATION, CACHE_CONTROL, CONNECTION, CONTENT_SECURITY_POLICY, COOKIE, HOST,
    HeaderName, HeaderValue, LOCATION, ORIGIN, REFERRER_POLICY, SET_COOKIE, WWW_AUTHENTICATE,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse, Response};
use hmac::{Hmac, KeyInit as _, Mac as _};
use lgoose_report::html::content_hash;
use sha2::{Digest as _, Sha256};
use std::net::IpAddr;
use std::sync::Arc;
use subtle::ConstantTimeEq as _;

/// Resources that the page may load: its own files, nothing in its own text, and it is in nobody's frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Headers of every response.
const HEADERS: [(HeaderName, &str); 6] = [
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    (REFERRER_POLICY, "no-referrer"),
    (CACHE_CONTROL, "no-store"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

/// Header that marks a request by a page of another site.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

const NO_TOKEN: &str = "open the address that lgoose has printed, with its token, or send the header \
    'Authorization: Bearer TOKEN'";

/// Page for a person without the token: a form for it, which needs no script. `ERROR` stands for the error.
const ENTRANCE: &str = include_str!("entrance.html");

/// The rules of one server.
#[derive(Debug)]
pub(super) struct Access {
    pub(super) token: String,
    /// Names beside addresses that this server goes by.
    pub(super) names: Vec<String>,
    /// The origin of the page behind a proxy, which may pass its name on or this server's.
    pub(super) origin: Option<String>,
    /// Whether it speaks https.
    pub(super) secure: bool,
    /// The port, by which its cookie differs from those of other servers of this machine.
    pub(super) port: u16,
    /// Whether nobody may steer the run.
    pub(super) read_only: bool,
}

/// Lets allowed requests through, and adds the headers of every response.
pub(super) async fn guard(
    State(access): State<Arc<Access>>,
    request: Request,
    next: Next,
) -> Response {
    let entrance = access.judge(&request);
    let is_for_page = is_for_page(&request);
    let is_admitted = entrance.is_ok();
    let mut response = match entrance {
        Ok(Entrance::Open) => next.run(request).await,
        Ok(Entrance::WithCookie) => access.set_cookie(request.headers()),
        Err(failure) => refused(failure, is_for_page),
    };
    if is_admitted {
        response.extensions_mut().insert(Admitted);
    }
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // Some responses have a policy of their own, stricter than this.
    let policy = HeaderValue::from_static(POLICY);
    headers.entry(CONTENT_SECURITY_POLICY).or_insert(policy);
    response
}

/// Returns whether a browser requests the page itself, and not a program or the page something else.
fn is_for_page(request: &Request) -> bool {
    let accepts = request.headers().get(ACCEPT);
    let accepts = accepts.and_then(|accepts| accepts.to_str().ok());
    request.uri().path() == "/" && accepts.is_some_and(|accepts| accepts.contains("text/html"))
}

fn refused(failure: ErrorResponse, is_for_page: bool) -> Response {
    let is_unauthorized = failure.status == StatusCode::UNAUTHORIZED;
    let mut response = if is_unauthorized && is_for_page {
        entrance(&failure)
    } else {
        failure.into_response()
    };
    // It has nothing to keep a connection for.
    let close = HeaderValue::from_static("close");
    response.headers_mut().insert(CONNECTION, close);
    if is_unauthorized {
        let bearer = HeaderValue::from_static("Bearer realm=\"lgoose\"");
        response.headers_mut().insert(WWW_AUTHENTICATE, bearer);
    }
    response
}

/// Returns the form for the token.
fn entrance(failure: &ErrorResponse) -> Response {
    let page = ENTRANCE.replace("ERROR", failure.message());
    let style = ENTRANCE
        .split_once("<style>")
        .and_then(|(_, rest)| rest.split_once("</style>"));
    let hash = content_hash(style.map_or("", |(style, _)| style));
    let policy = format!(
        "default-src 'none'; style-src '{hash}'; img-src data:; base-uri 'none'; form-action 'self'; \
         frame-ancestors 'none'"
    );
    (
        failure.status,
        [(CONTENT_SECURITY_POLICY, policy)],
        Html(page),
    )
        .into_response()
}

/// Way in of a request.
enum Entrance {
    Open,
    /// By the address with the token, which a cookie replaces.
    WithCookie,
}

/// Returns whether a browser marks the request as one of another site's page.
fn is_foreign(headers: &HeaderMap) -> bool {
    let site = headers.get(FETCH_SITE);
    site.is_some_and(|site| site == "cross-site" || site == "same-site")
}

impl Access {
    fn judge(&self, request: &Request) -> Result<Entrance, ErrorResponse> {
        let (headers, uri) = (request.headers(), request.uri());
        let host = self.host(headers, uri)?;
        self.origin(headers, host)?;
        let reads = matches!(*request.method(), Method::GET | Method::HEAD);
        if !reads && is_foreign(headers) {
            return Err(forbidden("this request comes from a page of another site"));
        }
        let offered = uri.query().and_then(token_of);
        if let Some(token) = offered.filter(|_| uri.path() == "/" && reads) {
            return if self.is_token(token) {
                Ok(Entrance::WithCookie)
            } else {
                Err(wrong_token())
            };
        }
        if !self.has_token(headers)? {
            let message = "this request has no token";
            return Err(ErrorResponse::new(StatusCode::UNAUTHORIZED, message).help(NO_TOKEN));
        }
        if !reads && self.read_only {
            return Err(forbidden(
                "this run may only be watched: lgoose was started with '--web-read-only'",
            ));
        }
        Ok(Entrance::Open)
    }

    /// Returns the host that the request names, with its port, if this server goes by it: a page whose name leads here
    /// by a trick of DNS names its own.
    fn host<'a>(&self, headers: &'a HeaderMap, uri: &'a Uri) -> Result<&'a str, ErrorResponse> {
        let mut named = headers.get_all(HOST).iter();
        let host = match (named.next(), named.next()) {
            (Some(host), None) => host.to_str().ok(),
            _ => None,
        };
        let host = host.filter(|host| uri.authority().is_none_or(|uri| uri.as_str() == *host));
        let host = host.filter(|host| self.goes_by(host));
        host.ok_or_else(|| {
            forbidden("the request's 'Host' is not a name of this server")
                .help("use an IP address, 'localhost', or the name that was given to '--web'")
        })
    }

    fn goes_by(&self, host: &str) -> bool {
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.parse::<u16>().is_ok() => name,
            Some((_, port)) if !port.ends_with(']') => return false,
            _ => host,
        };
        let bare = name
            .strip_prefix('[')
            .and_then(|name| name.strip_suffix(']'));
        let is_address = match bare {
            Some(name) => name.parse::<std::net::Ipv6Addr>().is_ok(),
            None => name.parse::<IpAddr>().is_ok_and(|ip| ip.is_ipv4()),
        };
        is_address
            || self.public_host() == Some(host)
            || self
                .names
                .iter()
                .any(|allowed| allowed.eq_ignore_ascii_case(name))
    }

    /// The host, with its port if that is not the usual one, of the origin behind a proxy.
    fn public_host(&self) -> Option<&str> {
        let (_, host) = self.origin.as_deref()?.split_once("://")?;
        Some(host)
    }

    fn origin(&self, headers: &HeaderMap, host: &str) -> Result<(), ErrorResponse> {
        let scheme = if self.secure { "https" } else { "http" };
        let own = |origin: &HeaderValue| {
            let Ok(origin) = origin.to_str() else {
                return false;
            };
            let rest = origin.strip_prefix(scheme);
            rest.and_then(|rest| rest.strip_prefix("://")) == Some(host)
                || self.origin.as_deref() == Some(origin)
        };
        if headers.get_all(ORIGIN).iter().all(own) {
            Ok(())
        } else {
            Err(
                forbidden("this request comes from a page of another origin")
                    .help("behind a proxy that ends TLS, say its origin with '--web-origin'"),
            )
        }
    }

    /// Returns whether a request shows the token.
    fn has_token(&self, headers: &HeaderMap) -> Result<bool, ErrorResponse> {
        if let Some(value) = headers.get(AUTHORIZATION) {
            let bearer = value.to_str().ok().and_then(|value| value.split_once(' '));
            let token = bearer.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
            return match token {
                Some((_, token)) if self.is_token(token.trim()) => Ok(true),
                _ => Err(wrong_token()),
            };
        }
        let name = self.cookie_name();
        let cookies = headers.get_all(COOKIE).iter();
        let cookies = cookies.filter_map(|value| value.to_str().ok());
        let mut pairs = cookies.flat_map(|value| value.split(';'));
        let session = self.session();
        Ok(pairs.any(|pair| {
            pair.trim()
                .split_once('=')
                .is_some_and(|(key, offered)| key == name && is_same(offered, &session))
        }))
    }

    fn is_token(&self, offered: &str) -> bool {
        is_same(offered, &self.token)
    }

    /// Returns the value of the cookie. Browsers send it to all ports of a host, thus to a site under test, too, which must
    /// not learn the token. It stays the same when a server with the same token and port starts again.
    fn session(&self) -> String {
        let mut key = Hmac::<Sha256>::new_from_slice(self.token.as_bytes())
            .expect("a key of any length will do");
        key.update(self.cookie_name().as_bytes());
        let bytes = key.finalize().into_bytes();
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn cookie_name(&self) -> String {
        format!("lgoose_{}", self.port)
    }

    /// Leads to the page without the token in its address. A browser that comes by a link of another site would not
    /// send the cookie after a redirect, which that site has caused; it does when a page of this one leads on.
    fn set_cookie(&self, headers: &HeaderMap) -> Response {
        let mut response = if is_foreign(headers) {
            Html(
                "<!doctype html><meta http-equiv=refresh content=\"0;url=/\"><title>lgoose</title>",
            )
            .into_response()
        } else {
            (StatusCode::SEE_OTHER, [(LOCATION, "/")]).into_response()
        };
        let public = self.origin.as_deref();
        let is_secure = public.map_or(self.secure, |origin| origin.starts_with("https:"));
        let secure = if is_secure { "; Secure" } else { "" };
        let name = self.cookie_name();
        let session = self.session();
        let cookie = format!("{name}={session}; Path=/; HttpOnly; SameSite=Strict{secure}");
        // It has nothing that a header could not hold.
        if let Ok(cookie) = HeaderValue::from_str(&cookie) {
            response.headers_mut().insert(SET_COOKIE, cookie);
        }
        response
    }
}

/// Compares in a time that says nothing of where two secrets differ, nor of the length of the true one.
fn is_same(offered: &str, secret: &str) -> bool {
    let digest = |text: &str| Sha256::digest(text.as_bytes());
    digest(offered)
        .as_slice()
        .ct_eq(digest(secret).as_slice())
        .into()
}

fn forbidden(error: &'static str) -> ErrorResponse {
    ErrorResponse::new(StatusCode::FORBIDDEN, error)
}

fn wrong_token() -> ErrorResponse {
    ErrorResponse::new(StatusCode::UNAUTHORIZED, "the token is wrong").help(NO_TOKEN)
}

/// Returns the token of a query. Tokens have nothing that has to be encoded there.
fn token_of(query: &str) -> Option<&str> {
    query
        .split('&')
        .find_map(|pair| pair.strip_prefix("token="))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    fn access() -> Access {
        Access {
            token: "0123456789abcdef".to_owned(),
            names: vec!["localhost".to_owned(), "loadbox".to_owned()],
            origin: None,
            secure: false,
            port: 7400,
            read_only: false,
        }
    }

    fn judge(access: &Access, method: &str, path: &str, headers: &[(&str, &str)]) -> u16 {
        let mut request = axum::http::Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::empty()).expect("a request");
        match access.judge(&request) {
            Ok(Entrance::Open) => 200,
            Ok(Entrance::WithCookie) => 303,
            Err(failure) => failure.status.as_u16(),
        }
    }

    const BEARER: (&str, &str) = ("authorization", "Bearer 0123456789abcdef");

    #[test]
    fn hosts_are_addresses_and_listed_names() {
        for (host, status) in [
            ("127.0.0.1:7400", 200),
            ("127.0.0.1", 200),
            ("localhost:9000", 200),
            ("LoadBox", 200),
            ("[::1]:7400", 200),
            ("[::1]", 200),
            ("10.1.2.3:80", 200),
            ("evil.example:7400", 403),
            ("localhost.evil.example", 403),
            ("127.0.0.1.evil.example:7400", 403),
            ("localhost:x", 403),
            ("::1", 403),
            ("[localhost]", 403),
            ("", 403),
        ] {
            let found = judge(&access(), "GET", "/metrics", &[("host", host), BEARER]);
            assert_eq!(found, status, "{host}");
        }
        let two = [("host", "localhost"), ("host", "evil.example"), BEARER];
        assert_eq!(judge(&access(), "GET", "/", &two), 403);
        assert_eq!(judge(&access(), "GET", "/", &[BEARER]), 403);
        let other = judge(
            &access(),
            "GET",
            "http://evil.example/",
            &[("host", "localhost"), BEARER],
        );
        assert_eq!(other, 403);
    }

    #[test]
    fn origins_are_this_server_or_none() {
        for (origin, status) in [
            ("http://localhost:7400", 200),
            ("https://localhost:7400", 403),
            ("http://localhost:8080", 403),
            ("http://evil.example", 403),
            ("null", 403),
        ] {
            for method in ["GET", "POST"] {
                let headers = [("host", "localhost:7400"), ("origin", origin), BEARER];
                assert_eq!(
                    judge(&access(), method, "/", &headers),
                    status,
                    "{method} {origin}"
                );
            }
        }
        for (site, get, post) in [
            ("same-origin", 200, 200),
            ("none", 200, 200),
            ("same-site", 200, 403),
            ("cross-site", 200, 403),
        ] {
            let headers = [("host", "localhost"), ("sec-fetch-site", site), BEARER];
            assert_eq!(judge(&access(), "GET", "/", &headers), get, "{site}");
            assert_eq!(judge(&access(), "POST", "/", &headers), post, "{site}");
        }
    }

    #[test]
    fn the_origin_behind_a_proxy_is_this_server_too() {
        let access = Access {
            origin: Some("https://load.example.com".to_owned()),
            ..access()
        };
        for (host, origin, status) in [
            ("load.example.com", "https://load.example.com", 200),
            ("localhost:7400", "https://load.example.com", 200),
            ("localhost:7400", "http://localhost:7400", 200),
            ("load.example.com", "https://evil.example", 403),
            ("load.example.com", "https://load.example.com:8443", 403),
            ("evil.example", "https://load.example.com", 403),
        ] {
            let headers = [("host", host), ("origin", origin), BEARER];
            let found = judge(&access, "POST", "/api/v1/stop", &headers);
            assert_eq!(found, status, "{host} {origin}");
        }
        let response = access.set_cookie(&HeaderMap::new());
        let cookie = response.headers()[SET_COOKIE].to_str().expect("a text");
        assert!(cookie.ends_with("; Secure"), "{cookie}");
    }

    #[test]
    fn the_token_comes_by_address_cookie_or_header() {
        let (host, session) = (("host", "localhost"), access().session());
        for (path, header, status) in [
            ("/", None, 401),
            ("/", Some(BEARER), 200),
            ("/", Some(("authorization", "bearer 0123456789abcdef")), 200),
            ("/", Some(("authorization", "Bearer 0123456789abcdeF")), 401),
            ("/", Some(("authorization", "Bearer 0123456789abcde")), 401),
            ("/", Some(("authorization", "Bearer ")), 401),
            ("/", Some(("authorization", "Basic 0123456789abcdef")), 401),
            (
                "/",
                Some(("cookie", &*format!("a=b; lgoose_7400={session}"))),
                200,
            ),
            (
                "/",
                Some(("cookie", &*format!("lgoose_7401={session}"))),
                401,
            ),
            ("/", Some(("cookie", "lgoose_7400=0123456789abcdef")), 401),
            (
                "/",
                Some(("authorization", &*format!("Bearer {session}"))),
                401,
            ),
            ("/", Some(("cookie", "lgoose_7400=")), 401),
            ("/?token=0123456789abcdef", None, 303),
            ("/?x=1&token=0123456789abcdef", None, 303),
            ("/?token=wrong", Some(BEARER), 401),
            ("/api/v1/status?token=0123456789abcdef", None, 401),
        ] {
            let headers: Vec<_> = [host].into_iter().chain(header).collect();
            assert_eq!(
                judge(&access(), "GET", path, &headers),
                status,
                "{path} {header:?}"
            );
        }
        let post = judge(&access(), "POST", "/?token=0123456789abcdef", &[host]);
        assert_eq!(post, 401, "an address alone changes nothing");
    }

    #[test]
    fn a_browser_without_the_token_gets_a_form_and_a_program_gets_json() {
        for (path, accept, is_form) in [
            (
                "/",
                Some("text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"),
                true,
            ),
            ("/?token=wrong", Some("text/html"), true),
            ("/", Some("*/*"), false),
            ("/", None, false),
            ("/api/v1/status", Some("text/html"), false),
        ] {
            let mut request = axum::http::Request::builder()
                .uri(path)
                .header("host", "localhost");
            if let Some(accept) = accept {
                request = request.header("accept", accept);
            }
            let request = request.body(Body::empty()).expect("a request");
            let is_for_page = is_for_page(&request);
            let Err(failure) = access().judge(&request) else {
                panic!("{path} is open");
            };
            let response = refused(failure, is_for_page);
            assert_eq!(response.status(), StatusCode::UNAUTHORIZED, "{path}");
            let kind = response.headers()["content-type"].to_str().expect("a text");
            assert_eq!(
                kind.starts_with("text/html"),
                is_form,
                "{path} {accept:?}: {kind}"
            );
            let policy = response.headers().get(CONTENT_SECURITY_POLICY).cloned();
            let policy = policy.map(|policy| policy.to_str().expect("a text").to_owned());
            assert_eq!(
                policy.is_some_and(|policy| policy.contains("form-action 'self'")),
                is_form
            );
        }
    }

    #[test]
    fn who_may_only_watch_changes_nothing() {
        let access = Access {
            read_only: true,
            ..access()
        };
        let headers = [("host", "localhost"), BEARER];
        assert_eq!(judge(&access, "GET", "/api/v1/status", &headers), 200);
        for method in ["POST", "PUT", "DELETE"] {
            assert_eq!(judge(&access, method, "/api/v1/stop", &headers), 403);
        }
    }
}
