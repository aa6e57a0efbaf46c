//! What an error of `reqwest` means. It hides what went wrong in a chain of causes of several libraries;
//! the first of them that we know decides, in the words of the direct transport where it knows the same.

use super::delegated::{Proxied, Transport};
use super::setup::Unknown;
use super::{ClientConfig, ErrorClass, Failure, Origin, multiplexed, tls};
use std::error::Error;
use std::io;
use std::io::ErrorKind::{AddrNotAvailable, InvalidData, InvalidInput};

/// How errors begin that are of opening the way to a host, not of shaking hands with it: their types have
/// no public names.
const ON_THE_WAY: [&str; 3] = ["tcp ", "tunnel error", "SOCKS error"];

/// What a failed request to `origin` means.
pub(super) fn failure(error: &reqwest::Error, origin: &Origin, config: &ClientConfig) -> Failure {
    let mut told = Told::default();
    for cause in std::iter::successors(Some(error as &(dyn Error + 'static)), |cause| next(*cause))
    {
        if let Some(Unknown(failure)) = cause.downcast_ref() {
            return failure.clone();
        }
        told.tls = told.tls.or(cause.downcast_ref());
        told.io = cause.downcast_ref().or(told.io);
        told.http1 = told.http1.or(cause.downcast_ref());
        told.http2 = told.http2.or(cause.downcast_ref());
        let words = cause.to_string();
        told.on_the_way |= ON_THE_WAY.iter().any(|start| words.starts_with(start));
        told.binding |= words.starts_with("tcp bind local");
        told.deepest = Some(cause);
    }
    match error.is_connect() {
        true => told.connecting(origin, config),
        false if error.is_builder() => Failure::new(ErrorClass::BadUrl, told.words()),
        false => told.exchanging(),
    }
}

/// The cause of a cause; that an `io::Error` wraps another error is not shown by its `source`.
fn next<'a>(cause: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    let wrapped = cause
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref);
    match wrapped {
        Some(inner) => Some(inner),
        None => cause.source(),
    }
}

/// What is known among the causes: of several of a kind the outermost, of `io` the innermost.
#[derive(Default)]
struct Told<'a> {
    tls: Option<&'a rustls::Error>,
    io: Option<&'a io::Error>,
    http1: Option<&'a hyper::Error>,
    http2: Option<&'a h2::Error>,
    deepest: Option<&'a (dyn Error + 'static)>,
    /// Whether the way to the host was not open yet.
    on_the_way: bool,
    /// Whether the address of this end could not be taken.
    binding: bool,
}

impl Told<'_> {
    fn words(&self) -> String {
        self.deepest.map_or_else(String::new, ToString::to_string)
    }

    fn connecting(&self, origin: &Origin, config: &ClientConfig) -> Failure {
        if let Some(error) = self.tls {
            return tls::handshake_error(error, &origin.host);
        }
        let towards = towards(origin, &config.transport);
        match self.io {
            Some(error)
                if error.kind() == AddrNotAvailable
                    && let Some(local) = config.local_address.filter(|_| self.binding) =>
            {
                let detail = format!("'--local-address {local}' is not an address of this machine");
                Failure::new(ErrorClass::Connect, detail)
            }
            Some(error) if origin.secure && !self.on_the_way => {
                tls::handshake_failure(error, &origin.host)
            }
            Some(error) => Failure::connecting(error, &towards),
            None => {
                // What goes wrong on the way to a SOCKS proxy or behind it is shown as text only.
                let shown = self
                    .deepest
                    .map_or_else(String::new, |cause| format!("{cause:?}"));
                let class = match shown.contains("ConnectionRefused") {
                    true => ErrorClass::Refused,
                    false => ErrorClass::Connect,
                };
                Failure::new(class, format!("{towards}: {}", self.words()))
            }
        }
    }

    fn exchanging(&self) -> Failure {
        if let Some(error) = self.http2 {
            return multiplexed::failure(error);
        }
        match (self.http1, self.io) {
            (Some(error), _) if error.is_parse_too_large() => {
                Failure::new(ErrorClass::TooLarge, "response headers")
            }
            (Some(error), None) if error.is_parse() => {
                Failure::new(ErrorClass::Protocol, self.words())
            }
            (Some(error), None) if error.is_incomplete_message() || error.is_canceled() => {
                Failure::new(ErrorClass::ClosedEarly, "")
            }
            // Wrong chunks are errors of these kinds to hyper; rustls has errors of its own.
            (_, Some(error))
                if matches!(error.kind(), InvalidInput | InvalidData) && self.tls.is_none() =>
            {
                Failure::new(ErrorClass::Protocol, self.words())
            }
            (_, Some(error)) => Failure::exchanging(error),
            (_, None) => Failure::new(ErrorClass::Protocol, self.words()),
        }
    }
}

/// Whom a connection was opened to, as far as that is known.
fn towards(origin: &Origin, transport: &Transport) -> String {
    let host = format!("{}:{}", origin.host, origin.port);
    match transport {
        Transport::Reqwest(Proxied::By(proxy)) => {
            let port = proxy.port_or_known_default().unwrap_or_default();
            format!("the proxy {}:{port}", proxy.host_str().unwrap_or_default())
        }
        Transport::Reqwest(Proxied::ByEnvironment) => format!("{host} or the environment's proxy"),
        Transport::Reqwest(Proxied::No) | Transport::Direct => host,
    }
}
