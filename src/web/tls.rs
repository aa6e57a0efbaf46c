//! The certificate that a server shows.

use crate::error::Diagnostic;
use crate::files;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;

/// Reads the certificate's chain and its key; without a file of its own the key is in that of the certificate.
///
/// # Errors
/// A mistake that names the flag and the file.
pub(super) fn acceptor(cert: &Path, key: Option<&PathBuf>) -> Result<TlsAcceptor, Diagnostic> {
    let pem = files::read(cert).map_err(|error| unreadable("--web-cert", cert, &error))?;
    let chain = CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>();
    let chain = chain.map_err(|error| unreadable("--web-cert", cert, &error))?;
    if chain.is_empty() {
        return Err(unreadable(
            "--web-cert",
            cert,
            &"there is no certificate in it",
        ));
    }
    let key = key.map_or(cert, PathBuf::as_path);
    let pem = files::read(key).map_err(|error| unreadable("--web-key", key, &error))?;
    let key = PrivateKeyDer::from_pem_slice(&pem)
        .map_err(|error| unreadable("--web-key", key, &error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key));
    let mut config = config.map_err(|error| {
        Diagnostic::new(format!("'--web-cert' and '--web-key': {error}"))
            .help("give a certificate chain and the private key of its first certificate")
    })?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn unreadable(flag: &str, path: &Path, problem: &dyn std::fmt::Display) -> Diagnostic {
    Diagnostic::new(format!("'{flag} {}': {problem}", path.display()))
        .help("a file in PEM form is wanted, as in '-----BEGIN CERTIFICATE-----'")
}
