//! The failure of a request: the reason why it got no usable response. It is data: it is counted under its class, and
//! the run goes on.

use lgoose_base::error::cut;
use rustls::AlertDescription;
use std::fmt;
use std::io;

/// The classes under which failures without a response are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// The host's name could not be looked up.
    Dns,
    /// Nothing listens at the address.
    Refused,
    /// No connection was made within the timeout.
    ConnectTimeout,
    /// Any other failure to connect.
    Connect,
    /// The TLS handshake failed.
    Tls,
    /// The connection was reset.
    Reset,
    /// The connection was closed before the response was complete.
    ClosedEarly,
    /// No complete response came within the timeout.
    Timeout,
    /// The response breaks the protocol.
    Protocol,
    /// The headers or the body are larger than the limit.
    TooLarge,
    /// The body could not be decoded.
    Decoding,
    /// More redirects than the request allows.
    TooManyRedirects,
    /// A redirect without a usable `Location`.
    BadRedirect,
    /// The URL cannot be requested.
    BadUrl,
    /// Requests may not go to the host.
    NotAllowed,
    /// No local port is free.
    OutOfPorts,
    /// No file descriptor is free.
    OutOfDescriptors,
    /// The run was aborted while the request was under way.
    Aborted,
}

impl ErrorClass {
    /// The name of the class in reports.
    pub fn name(self) -> &'static str {
        match self {
            ErrorClass::Dns => "dns",
            ErrorClass::Refused => "connection refused",
            ErrorClass::ConnectTimeout => "connect timeout",
            ErrorClass::Connect => "connect failed",
            ErrorClass::Tls => "tls",
            ErrorClass::Reset => "connection reset",
            ErrorClass::ClosedEarly => "closed early",
            ErrorClass::Timeout => "timeout",
            ErrorClass::Protocol => "protocol",
            ErrorClass::TooLarge => "too large",
            ErrorClass::Decoding => "decoding",
            ErrorClass::TooManyRedirects => "too many redirects",
            ErrorClass::BadRedirect => "bad redirect",
            ErrorClass::BadUrl => "bad url",
            ErrorClass::NotAllowed => "host not allowed",
            ErrorClass::OutOfPorts => "out of ports",
            ErrorClass::OutOfDescriptors => "out of descriptors",
            ErrorClass::Aborted => "aborted",
        }
    }
}

/// A failed request: its class, and a detail that is the same for every failure of one cause, so that reports can
/// count them together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The class that reports count it under.
    pub class: ErrorClass,
    /// The exact reason; may be empty.
    pub detail: String,
}

impl Failure {
    /// A failure of a class with a detail.
    pub fn new(class: ErrorClass, detail: impl Into<String>) -> Self {
        Failure {
            class,
            detail: cut(detail.into()),
        }
    }

    /// Whether no connection was opened, so that an immediate retry would only burn CPU.
    pub fn is_connect(&self) -> bool {
        use ErrorClass::*;
        matches!(
            self.class,
            Dns | Refused | ConnectTimeout | Connect | Tls | OutOfPorts | OutOfDescriptors
        )
    }

    /// The failure of a stream that the server says it has not processed, so that any request on it may be sent again
    /// (RFC 9113, section 8.7).
    pub(super) fn refused_stream() -> Self {
        Failure::new(ErrorClass::ClosedEarly, REFUSED_STREAM)
    }

    /// The failure of a request whose connection was gone before any of it was sent.
    #[cfg(feature = "reqwest")]
    pub(super) fn not_sent() -> Self {
        Failure::new(ErrorClass::ClosedEarly, NOT_SENT)
    }

    /// The failure of a stream of a server that wants the request over HTTP/1.1 (RFC 9113, section 7).
    pub(super) fn http1_required() -> Self {
        Failure::new(ErrorClass::Reset, HTTP1_REQUIRED)
    }

    /// Whether the server wants the request over HTTP/1.1.
    pub(super) fn is_http1_required(&self) -> bool {
        self.class == ErrorClass::Reset && self.detail == HTTP1_REQUIRED
    }

    /// Whether the server has not processed the request, so that any request may be sent again.
    pub(super) fn is_unseen(&self) -> bool {
        self.is_refused_stream()
            || self.is_http1_required()
            || self.class == ErrorClass::ClosedEarly && self.detail == NOT_SENT
    }

    /// Whether this is the failure of a refused stream.
    pub(super) fn is_refused_stream(&self) -> bool {
        self.class == ErrorClass::ClosedEarly && self.detail == REFUSED_STREAM
    }

    /// Whether this happens when a server closes an idle connection, provided that no byte of a response has come.
    /// The reset of an HTTP/2 stream is not such a failure: the server has processed the request.
    pub(super) fn is_stale(&self) -> bool {
        let of_connection = !self.detail.starts_with(HTTP2);
        of_connection && matches!(self.class, ErrorClass::Reset | ErrorClass::ClosedEarly)
    }

    /// The failure for an error of the HTTP/2 protocol.
    pub(super) fn from_http2(class: ErrorClass, detail: impl fmt::Display) -> Self {
        Failure::new(class, format!("{HTTP2}{detail}"))
    }

    /// The failure for an error while connecting to `address`.
    pub(crate) fn from_connect_error(error: &io::Error, address: &str) -> Self {
        match class_of(error) {
            Some(class) => Failure::new(class, address),
            None => Failure::new(ErrorClass::Connect, format!("{address}: {error}")),
        }
    }

    /// Whether an error means that no file descriptor was free.
    pub(super) fn is_out_of_descriptors(error: &io::Error) -> bool {
        class_of(error) == Some(ErrorClass::OutOfDescriptors)
    }

    /// The failure for an error of TLS, with the remedy where a server rejects the client's certificate.
    pub(super) fn from_tls_error(error: &rustls::Error) -> Self {
        use AlertDescription::*;
        let detail = match error {
            rustls::Error::AlertReceived(CertificateRequired) => {
                "the server demands a client certificate: give one with '--cert' and '--key'"
                    .to_owned()
            }
            rustls::Error::AlertReceived(
                alert @ (BadCertificate | UnsupportedCertificate | CertificateRevoked
                | CertificateExpired | CertificateUnknown | UnknownCA | AccessDenied),
            ) => {
                format!("the server refuses the client certificate of '--cert' ({alert:?})")
            }
            rustls::Error::AlertReceived(HandshakeFailure) => {
                "the server ends the handshake: it accepts none of the offered algorithms, or demands a client \
                 certificate ('--cert' and '--key')"
                    .to_owned()
            }
            other => other.to_string(),
        };
        Failure::new(ErrorClass::Tls, detail)
    }

    /// The failure for an error on an open connection.
    pub fn from_io_error(error: &io::Error) -> Self {
        // A server may refuse a client's certificate only after the handshake (RFC 8446, section 4.4.2.4).
        let of_tls = error
            .get_ref()
            .and_then(|inner| inner.downcast_ref::<rustls::Error>());
        if let Some(error) = of_tls {
            return Failure::from_tls_error(error);
        }
        match class_of(error) {
            Some(class) => Failure::new(class, ""),
            None => Failure::new(ErrorClass::Reset, error.to_string()),
        }
    }
}

/// Prefix of the details of HTTP/2 protocol errors.
const HTTP2: &str = "http/2: ";
const REFUSED_STREAM: &str = "http/2: refused stream";
const HTTP1_REQUIRED: &str = "http/2: endpoint requires HTTP/1.1";
const NOT_SENT: &str = "before the request was sent";

fn class_of(error: &io::Error) -> Option<ErrorClass> {
    const EMFILE: i32 = 24;
    const ENFILE: i32 = 23;
    match (error.kind(), error.raw_os_error()) {
        (_, Some(EMFILE | ENFILE)) => Some(ErrorClass::OutOfDescriptors),
        (io::ErrorKind::AddrNotAvailable | io::ErrorKind::AddrInUse, _) => {
            Some(ErrorClass::OutOfPorts)
        }
        (io::ErrorKind::ConnectionRefused, _) => Some(ErrorClass::Refused),
        (io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe, _) => Some(ErrorClass::Reset),
        (io::ErrorKind::UnexpectedEof, _) => Some(ErrorClass::ClosedEarly),
        (io::ErrorKind::TimedOut, _) => Some(ErrorClass::ConnectTimeout),
        _ => None,
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.class.name())?;
        if !self.detail.is_empty() {
            write!(f, ": {}", self.detail)?;
        }
        Ok(())
    }
}
