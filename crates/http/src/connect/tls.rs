//! The TLS configuration: all users of a run share one, made when the first of them needs it, but each user has a
//! store of sessions to resume, like a browser.

use super::verifiers::{AcceptAny, CaFileVerifier};
use crate::failure::{ErrorClass, Failure};
use crate::transport::Version;
use lgoose_base::error::Diagnostic;
use lgoose_base::files::NamedFile;
use lgoose_base::pem;
use rustls::client::{ClientConfig, Resumption, WebPkiServerVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ConfigBuilder, RootCertStore, WantsVerifier};
use std::sync::{Arc, OnceLock};

/// The number of TLS sessions to resume that one user keeps: one for each host of a plan, and a few to spare.
const RESUMED_HOSTS: usize = 8;

/// The certificates to trust and to present, as the command line names them.
#[derive(Debug, Clone, Default)]
pub struct TlsOptions {
    /// Certificates (PEM) to trust instead of the system's.
    pub ca: Option<NamedFile>,
    /// The client's certificate chain (PEM).
    pub cert: Option<NamedFile>,
    /// The client's private key (PEM); if not given, it is in the file of the certificate.
    pub key: Option<NamedFile>,
    /// Whether every certificate is trusted.
    pub insecure: bool,
}

/// The content of the files of [`TlsOptions`], and the configuration made from it once.
#[derive(Debug)]
pub struct Tls {
    ca: Option<(RootCertStore, Vec<CertificateDer<'static>>)>,
    identity: Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>,
    insecure: bool,
    version: Version,
    shared: OnceLock<Result<Arc<ClientConfig>, Failure>>,
}

impl Tls {
    /// Reads the files and checks that they fit each other.
    ///
    /// # Errors
    /// A [`Diagnostic`] that names the flag and the file.
    pub fn new(options: &TlsOptions, version: Version) -> Result<Tls, Diagnostic> {
        let ca = options.ca.as_ref().map(authorities).transpose()?;
        let identity = match (&options.cert, &options.key) {
            (Some(cert), Some(key)) => Some(pem::identity("--cert", cert, "--key", key)?),
            (Some(cert), None) => Some(pem::identity("--cert", cert, "--cert", cert)?),
            (None, Some(_)) => {
                return Err(Diagnostic::new("'--key' is given without '--cert'")
                    .help("name the certificate that the key belongs to with '--cert FILE'"));
            }
            (None, None) => None,
        };
        let tls = Tls {
            ca,
            identity,
            insecure: options.insecure,
            version,
            shared: OnceLock::new(),
        };
        if tls.identity.is_some() {
            tls.shared().map_err(|failure| {
                Diagnostic::new(format!("'--cert' and '--key': {}", failure.detail))
                    .help("give a certificate chain and the private key of its first certificate")
            })?;
        }
        Ok(tls)
    }

    /// Makes the shared configuration now, so that no request is measured with the time that this takes.
    ///
    /// # Errors
    /// A [`Diagnostic`] if this system has no certificates to trust.
    pub fn prepare(&self) -> Result<(), Diagnostic> {
        match self.shared() {
            Ok(_) => Ok(()),
            Err(failure) => Err(Diagnostic::new(failure.detail)
                .help("give some with '--ca FILE', or trust every certificate with '--insecure'")),
        }
    }

    /// The configuration that trusts the system's certificates and offers HTTP/2.
    pub fn with_system_roots() -> Tls {
        Tls {
            ca: None,
            identity: None,
            insecure: false,
            version: Version::Any,
            shared: OnceLock::new(),
        }
    }

    /// One user's configuration: it shares everything but the sessions to resume.
    ///
    /// # Errors
    /// A [`Failure`] of class `tls` if the system has no certificates to trust.
    pub(crate) fn user_config(&self) -> Result<Arc<ClientConfig>, Failure> {
        let mut config = ClientConfig::clone(&*self.shared()?);
        config.resumption = Resumption::in_memory_sessions(RESUMED_HOSTS);
        Ok(Arc::new(config))
    }

    /// Checks that https can be used at all.
    ///
    /// # Errors
    /// A [`Failure`] of class `tls` if the system has no certificates to trust.
    #[cfg(feature = "reqwest")]
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.shared().map(|_| ())
    }

    /// The same as [`Tls::user_config`], but if the system has no certificates to trust, the configuration trusts
    /// none, which is enough for requests without https.
    ///
    /// # Errors
    /// A [`Failure`] of class `tls` if rustls cannot be configured at all.
    #[cfg(feature = "reqwest")]
    pub(crate) fn user_config_or_empty(&self) -> Result<ClientConfig, Failure> {
        match self.user_config() {
            Ok(config) => Ok(Arc::unwrap_or_clone(config)),
            Err(_) => {
                let provider = Arc::new(rustls::crypto::ring::default_provider());
                let none = RootCertStore::empty();
                let config = builder(provider)?.with_root_certificates(none);
                Ok(config.with_no_client_auth())
            }
        }
    }

    fn shared(&self) -> Result<Arc<ClientConfig>, Failure> {
        self.shared.get_or_init(|| self.make()).clone()
    }

    fn make(&self) -> Result<Arc<ClientConfig>, Failure> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = builder(provider.clone())?;
        let builder = match (self.insecure, &self.ca) {
            (true, _) => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(AcceptAny)),
            (false, Some((roots, certificates))) => {
                let roots = Arc::new(roots.clone());
                let authorities = WebPkiServerVerifier::builder_with_provider(roots, provider)
                    .build()
                    .map_err(|error| Failure::new(ErrorClass::Tls, error.to_string()))?;
                let certificates = certificates.clone();
                builder
                    .dangerous()
                    .with_custom_certificate_verifier(Arc::new(CaFileVerifier {
                        authorities,
                        certificates,
                    }))
            }
            (false, None) => builder.with_root_certificates(system_roots()?),
        };
        let mut config = match &self.identity {
            Some((chain, key)) => builder
                .with_client_auth_cert(chain.clone(), key.clone_key())
                .map_err(|error| failed(&error))?,
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols = match self.version {
            Version::Any => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
            Version::Http1 => vec![b"http/1.1".to_vec()],
            Version::Http2 => vec![b"h2".to_vec()],
        };
        Ok(Arc::new(config))
    }
}

/// The first step of every configuration.
fn builder(
    provider: Arc<CryptoProvider>,
) -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, Failure> {
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(&error))
}

fn failed(error: &rustls::Error) -> Failure {
    Failure::new(ErrorClass::Tls, error.to_string())
}

/// The certificates of a file, as a store of authorities and as a list.
fn authorities(
    file: &NamedFile,
) -> Result<(RootCertStore, Vec<CertificateDer<'static>>), Diagnostic> {
    let mut store = RootCertStore::empty();
    let found = pem::certificates("--ca", file)?;
    for certificate in &found {
        store
            .add(certificate.clone())
            .map_err(|error| pem::unreadable("--ca", file, &error))?;
    }
    Ok((store, found))
}

/// The authorities that the system trusts.
fn system_roots() -> Result<RootCertStore, Failure> {
    let found = rustls_native_certs::load_native_certs();
    let mut store = RootCertStore::empty();
    store.add_parsable_certificates(found.certs);
    if store.is_empty() {
        Err(Failure::new(
            ErrorClass::Tls,
            "this system has no certificates to trust",
        ))
    } else {
        Ok(store)
    }
}
