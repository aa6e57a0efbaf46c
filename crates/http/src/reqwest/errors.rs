//! The failures for errors of `reqwest`. An error hides the problem in a chain of causes from several libraries. The
//! first known cause decides, and the failure has the words of the direct transport where it has some.
//!
//! Types decide, not texts, except where a library has no type: replies of a SOCKS proxy, and three errors of hyper.

use super::connector::ResolveError;
use crate::config::ClientConfig;
use crate::connect::{Peer, handshake_error, handshake_failure, not_of_this_machine};
use crate::failure::{ErrorClass, Failure};
use crate::target::Origin;
use crate::transport::{ReqwestProxy, Transport};
use http::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use std::error::Error;
use std::io;
use std::io::ErrorKind::{AddrNotAvailable, ConnectionRefused, InvalidData, InvalidInput};
use std::net::{IpAddr, UdpSocket};
use tower_service::Service;
use url::Url;

/// An error of a TCP connection, to a host or to its proxy. hyper-util's errors have no public names of their own.
type TcpError = <HttpConnector as Service<Uri>>::Error;
/// An error of a tunnel through a proxy, among them those of opening a connection to the proxy.
type TunnelError = <Tunnel<HttpConnector> as Service<Uri>>::Error;
/// An error of a SOCKS proxy, or of the connection to it.
type SocksError = <SocksV5<HttpConnector> as Service<Uri>>::Error;

/// The reply of a SOCKS proxy that a site refuses connections, of a type that has no public name at all.
const REFUSED_BY_SITE: &str = "Command(ConnectionRefused)";

/// hyper's words for a response that begins with another version than HTTP's.
const WRONG_VERSION: &str = "invalid HTTP version parsed";
/// hyper's words for an error of the connection itself.
const CONNECTION_ERROR: &str = "connection error";

/// The failure for an error of a request to `origin`.
pub(super) fn failure(error: &reqwest::Error, origin: &Origin, config: &ClientConfig) -> Failure {
    let mut causes = ErrorCauses::default();
    for cause in std::iter::successors(Some(error as &(dyn Error + 'static)), |cause| {
        cause_of(*cause)
    }) {
        if let Some(ResolveError(failure)) = cause.downcast_ref() {
            return failure.clone();
        }
        causes.tls = causes.tls.or(cause.downcast_ref());
        causes.io = cause.downcast_ref().or(causes.io);
        causes.http1 = causes.http1.or(cause.downcast_ref());
        causes.http2 = causes.http2.or(cause.downcast_ref());
        causes.tunnel = causes.tunnel.or(cause.downcast_ref());
        causes.socks = causes.socks.or(cause.downcast_ref());
        causes.tcp = causes.tcp.or(cause.downcast_ref());
        causes.deepest = Some(cause);
    }
    if error.is_connect() {
        causes.connecting(origin, config)
    } else if error.is_builder() {
        Failure::new(ErrorClass::BadUrl, causes.words())
    } else {
        causes.exchanging(origin)
    }
}

/// The cause of an error, also that of an `io::Error`, whose `source` does not return the error that it wraps.
fn cause_of<'a>(cause: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    let wrapped = cause
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref);
    match wrapped {
        Some(inner) => Some(inner),
        None => cause.source(),
    }
}

/// The known causes of an error: if there are several of a type, the outermost one, but of `io` the innermost one.
#[derive(Default)]
struct ErrorCauses<'a> {
    tls: Option<&'a rustls::Error>,
    io: Option<&'a io::Error>,
    http1: Option<&'a hyper::Error>,
    http2: Option<&'a h2::Error>,
    tunnel: Option<&'a TunnelError>,
    socks: Option<&'a SocksError>,
    tcp: Option<&'a TcpError>,
    deepest: Option<&'a (dyn Error + 'static)>,
}

impl ErrorCauses<'_> {
    /// The words of the innermost cause.
    fn words(&self) -> String {
        self.deepest.map_or_else(String::new, ToString::to_string)
    }

    /// The failure of opening a connection.
    fn connecting(&self, origin: &Origin, config: &ClientConfig) -> Failure {
        let proxy = config.transport.proxy_for(origin);
        // For a site without TLS, an error of TLS is the proxy's.
        let of_proxy =
            proxy.filter(|_| self.tunnel.is_some() || !origin.secure && self.tls.is_some());
        if let Some(error) = self.tls {
            let proxy = of_proxy.and_then(Url::host_str);
            return handshake_error(error, proxy.map_or(Peer::Site(&origin.host), Peer::Proxy));
        }
        let peer = match of_proxy {
            Some(proxy) => format!("the proxy {}", place(proxy)),
            None => peer(origin, &config.transport),
        };
        match self.io {
            Some(error)
                if error.kind() == AddrNotAvailable
                    && let Some(local) = foreign(&config.local_addresses) =>
            {
                not_of_this_machine(local)
            }
            Some(error) if origin.secure && !self.came_before_handshake() => {
                handshake_failure(error, Peer::Site(&origin.host))
            }
            Some(error) => Failure::from_connect_error(error, &peer),
            None => {
                let class = if self.socks.is_some_and(is_refused) {
                    ErrorClass::Refused
                } else {
                    ErrorClass::Connect
                };
                let detail = match self.tunnel {
                    Some(TunnelError::TunnelUnsuccessful) => {
                        format!("{peer} refused the tunnel (CONNECT)")
                    }
                    _ => format!("{peer}: {}", self.words()),
                };
                Failure::new(class, detail)
            }
        }
    }

    /// Whether the error came before the TLS handshake with the site.
    fn came_before_handshake(&self) -> bool {
        self.tcp.is_some() || self.tunnel.is_some() || self.socks.is_some()
    }

    /// The failure of an exchange over an open connection.
    fn exchanging(&self, origin: &Origin) -> Failure {
        if let Some(error) = self.tls {
            return Failure::from_tls_error(error);
        }
        if let Some(error) = self.http2 {
            return http2_failure(error);
        }
        match (self.http1, self.io) {
            (Some(error), _) if error.is_parse_too_large() => {
                Failure::new(ErrorClass::TooLarge, "response headers")
            }
            (Some(error), None) if error.is_parse() => {
                let words = self.words();
                // The bytes that came instead are unknown; most often they are a TLS alert.
                let hint = if !origin.secure && words.starts_with(WRONG_VERSION) {
                    "; if the server speaks TLS, use https://"
                } else {
                    ""
                };
                Failure::new(ErrorClass::Protocol, words + hint)
            }
            (Some(error), None) if error.is_canceled() => Failure::not_sent(),
            (Some(error), None) if error.is_incomplete_message() => {
                Failure::new(ErrorClass::ClosedEarly, "")
            }
            // Of the end of an HTTP/2 connection hyper keeps no more than h2.
            (Some(outer), Some(error))
                if outer.to_string() == CONNECTION_ERROR && is_tls(error) =>
            {
                Failure::new(ErrorClass::Tls, error.to_string())
            }
            // hyper reports wrong chunks as errors of these kinds.
            (_, Some(error)) if matches!(error.kind(), InvalidInput | InvalidData) => {
                Failure::new(ErrorClass::Protocol, self.words())
            }
            (_, Some(error)) => Failure::from_io_error(error),
            (_, None) => Failure::new(ErrorClass::Protocol, self.words()),
        }
    }
}

/// Whether a SOCKS proxy refuses connections, or says that the site does.
fn is_refused(error: &SocksError) -> bool {
    match error {
        SocksError::Inner(error) => {
            let cause = error.source().and_then(<dyn Error>::downcast_ref);
            cause.is_some_and(|cause: &io::Error| cause.kind() == ConnectionRefused)
        }
        SocksError::Io(error) => error.kind() == ConnectionRefused,
        SocksError::V5(reply) => format!("{reply:?}") == REFUSED_BY_SITE,
        _ => false,
    }
}

/// The first of these addresses to which no socket can be bound.
fn foreign(addresses: &[IpAddr]) -> Option<IpAddr> {
    let mut addresses = addresses.iter().copied();
    addresses.find(|address| UdpSocket::bind((*address, 0)).is_err())
}

/// Whether an error of a connection over which HTTP/2 is spoken is one of rustls: h2 keeps only its kind and words, and no
/// other error of a connection has this kind.
fn is_tls(error: &io::Error) -> bool {
    error.kind() == InvalidData
}

/// The failure for an error of HTTP/2.
fn http2_failure(error: &h2::Error) -> Failure {
    if let Some(error) = error.get_io() {
        if is_tls(error) {
            return Failure::new(ErrorClass::Tls, error.to_string());
        }
        return Failure::from_io_error(error);
    }
    match error.reason() {
        Some(h2::Reason::HTTP_1_1_REQUIRED) if error.is_remote() => Failure::http1_required(),
        // Only streams above the last one that the server processes end like this, whatever its reason to leave (RFC
        // 9113, section 6.8); those below end with the connection.
        Some(_) if error.is_go_away() && error.is_remote() => Failure::refused_stream(),
        Some(h2::Reason::REFUSED_STREAM) => Failure::refused_stream(),
        Some(reason) => {
            let class = if error.is_remote() {
                ErrorClass::Reset
            } else {
                ErrorClass::Protocol
            };
            Failure::from_http2(class, reason.description())
        }
        None => Failure::from_http2(ErrorClass::Protocol, error),
    }
}

/// The host or proxy to which the connection was opened, as far as this is known.
fn peer(origin: &Origin, transport: &Transport) -> String {
    let host = format!("{}:{}", origin.host, origin.port);
    match (transport.proxy_for(origin), transport) {
        (None, _) => host,
        (Some(proxy), Transport::Reqwest(ReqwestProxy::Environment { .. })) => {
            format!("{host} or the proxy {}", place(proxy))
        }
        (Some(proxy), _) => format!("the proxy {}", place(proxy)),
    }
}

/// The host and port of a proxy.
fn place(proxy: &Url) -> String {
    let port = proxy.port_or_known_default().unwrap_or_default();
    format!("{}:{port}", proxy.host_str().unwrap_or_default())
}
