//! Failures of a TLS handshake, in words that name the host and the remedy.

use super::verifiers::is_ca_used_as_end_entity;
use crate::failure::{ErrorClass, Failure};
use rustls::CertificateError;
use rustls::pki_types::ServerName;
use std::fmt;

/// The other side of a handshake.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Peer<'a> {
    /// The site of that name.
    Site(&'a str),
    /// The proxy of that name.
    #[cfg(feature = "reqwest")]
    Proxy(&'a str),
}

impl Peer<'_> {
    /// Its name in a message.
    fn kind(self) -> &'static str {
        match self {
            Peer::Site(_) => "the server",
            #[cfg(feature = "reqwest")]
            Peer::Proxy(_) => "the proxy",
        }
    }
}

/// Its name; that of a proxy says so.
impl fmt::Display for Peer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Peer::Site(name) => write!(f, "'{name}'"),
            #[cfg(feature = "reqwest")]
            Peer::Proxy(name) => write!(f, "the proxy '{name}'"),
        }
    }
}

/// The failure for an error during the handshake. Failures of the same cause have the same words.
pub(crate) fn handshake_failure(error: &std::io::Error, peer: Peer<'_>) -> Failure {
    let cause = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let detail = match cause {
        Some(error) => return handshake_error(error, peer),
        None if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            format!("{} closed during the handshake", peer.kind())
        }
        None => Failure::from_io_error(error).to_string(),
    };
    Failure::new(ErrorClass::Tls, detail)
}

/// The failure for an error of rustls during the handshake.
pub(crate) fn handshake_error(error: &rustls::Error, peer: Peer<'_>) -> Failure {
    let detail = match error {
        rustls::Error::InvalidCertificate(problem) => certificate_problem(problem, peer),
        rustls::Error::InvalidMessage(_) => format!("{} does not speak TLS", peer.kind()),
        other => return Failure::from_tls_error(other),
    };
    Failure::new(ErrorClass::Tls, detail)
}

/// The words for a problem with a certificate.
fn certificate_problem(problem: &CertificateError, peer: Peer<'_>) -> String {
    match problem {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            format!("the certificate of {peer} has expired")
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            format!("the certificate of {peer} is not valid yet")
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            format!("the certificate is not for {peer}")
        }
        CertificateError::UnknownIssuer => format!(
            "the certificate of {peer} is from an unknown issuer: trust that with '--ca', \
             or trust every certificate with '--insecure'"
        ),
        other if is_ca_used_as_end_entity(other) => format!(
            "the certificate of {peer} is self-signed: trust it with '--ca', \
             or trust every certificate with '--insecure'"
        ),
        other => format!("the certificate of {peer}: {other}"),
    }
}

/// The name that the certificate of a host must be for.
///
/// # Errors
/// A [`Failure`] of class `tls` if no certificate can be for such a name.
pub(super) fn server_name(host: &str) -> Result<ServerName<'static>, Failure> {
    ServerName::try_from(host.to_owned()).map_err(|_| {
        Failure::new(
            ErrorClass::Tls,
            format!("no certificate can be for '{host}'"),
        )
    })
}
