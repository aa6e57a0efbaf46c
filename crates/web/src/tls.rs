//! The certificate that a server shows.

use lgoose_base::error::Diagnostic;
use lgoose_base::pem;
use rustls::ServerConfig;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;

/// Reads the certificate's chain and its key; without a file of its own the key is in that of the certificate.
///
/// # Errors
/// A mistake that names the flag and the file.
pub(super) fn acceptor(cert: &Path, key: Option<&PathBuf>) -> Result<TlsAcceptor, Diagnostic> {
    let key = key.map_or(cert, PathBuf::as_path);
    let (chain, key) = pem::identity("--web-cert", &cert.into(), "--web-key", &key.into())?;
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
