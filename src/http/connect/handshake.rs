//! Failures of a TLS handshake, in words that name the host and the remedy.

use super::verifiers::is_ca_used_as_end_entity;
use crate::http::failure::{ErrorClass, Failure};
use rustls::CertificateError;
use rustls::pki_types::ServerName;

/// The failure for an error during the handshake. Failures of the same cause have the same words.
pub(in crate::http) fn handshake_failure(error: &std::io::Error, host: &str) -> Failure {
    let cause = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let detail = match cause {
        Some(error) => return handshake_error(error, host),
        None if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            "the server closed during the handshake".to_owned()
        }
        None => Failure::from_io_error(error).to_string(),
    };
    Failure::new(ErrorClass::Tls, detail)
}

/// The failure for an error of rustls during the handshake.
pub(in crate::http) fn handshake_error(error: &rustls::Error, host: &str) -> Failure {
    let detail = match error {
        rustls::Error::InvalidCertificate(problem) => certificate_problem(problem, host),
        rustls::Error::InvalidMessage(_) => "the server does not speak TLS".to_owned(),
        other => other.to_string(),
    };
    Failure::new(ErrorClass::Tls, detail)
}

/// The words for a problem with a certificate.
fn certificate_problem(problem: &CertificateError, host: &str) -> String {
    match problem {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            format!("the certificate of '{host}' has expired")
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            format!("the certificate of '{host}' is not valid yet")
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            format!("the certificate is not for '{host}'")
        }
        CertificateError::UnknownIssuer => format!(
            "the certificate of '{host}' is from an unknown issuer: trust that with '--ca', \
             or trust every certificate with '--insecure'"
        ),
        other if is_ca_used_as_end_entity(other) => format!(
            "the certificate of '{host}' is self-signed: trust it with '--ca', \
             or trust every certificate with '--insecure'"
        ),
        other => format!("the certificate of '{host}': {other}"),
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
