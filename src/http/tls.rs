//! TLS for the direct transport: one client configuration for all users of a run, made when the first of
//! them needs it, and a store of sessions to resume for each user, as each has a browser of its own.

use super::trust::{TrustAnyone, TrustTheKnown, is_about_authority};
use super::{ErrorClass, Failure};
use crate::error::Diagnostic;
use rustls::client::{ClientConfig, Resumption, WebPkiServerVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{CertificateError, ConfigBuilder, RootCertStore, WantsVerifier};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Sessions to resume that one user keeps: one for each host of a plan, and a few to spare.
const RESUMED_HOSTS: usize = 8;

/// Which HTTP a client speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Version {
    /// HTTP/2 where the server offers it over TLS, else HTTP/1.1.
    #[default]
    Any,
    /// HTTP/1.1 only.
    Http1,
    /// HTTP/2 only; without TLS on the knowledge that the server speaks it.
    Http2,
}

/// Whom to trust and as whom to appear.
#[derive(Debug, Clone, Default)]
pub struct TlsOptions {
    /// Certificates (PEM) to trust instead of the system's.
    pub ca: Option<PathBuf>,
    /// The client's certificate chain (PEM).
    pub cert: Option<PathBuf>,
    /// The client's private key (PEM); the file of the certificate if it is missing.
    pub key: Option<PathBuf>,
    /// Trust every certificate.
    pub insecure: bool,
}

/// What is read from the files of [`TlsOptions`], and what is made of it once.
#[derive(Debug)]
pub struct Tls {
    ca: Option<(RootCertStore, Vec<CertificateDer<'static>>)>,
    identity: Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>,
    insecure: bool,
    version: Version,
    shared: OnceLock<Result<Arc<ClientConfig>, Failure>>,
}

impl Tls {
    /// Reads the files; whether they fit each other is found out with them.
    ///
    /// # Errors
    /// A [`Diagnostic`] that names the flag and the file.
    pub fn new(options: &TlsOptions, version: Version) -> Result<Tls, Diagnostic> {
        let ca = options.ca.as_deref().map(authorities).transpose()?;
        let identity = match (&options.cert, &options.key) {
            (Some(cert), key) => Some(identity(cert, key.as_deref().unwrap_or(cert))?),
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

    /// Makes the shared configuration now, so that no request is found to have taken as long as that.
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

    /// Trusts whom the system trusts, and offers HTTP/2.
    pub fn trusting_the_system() -> Tls {
        Tls {
            ca: None,
            identity: None,
            insecure: false,
            version: Version::Any,
            shared: OnceLock::new(),
        }
    }

    /// A configuration of one user's own: shares all but the sessions to resume.
    ///
    /// # Errors
    /// A [`Failure`] of class `tls` if the system has no certificates to trust.
    pub(super) fn of_user(&self) -> Result<Arc<ClientConfig>, Failure> {
        let mut config = ClientConfig::clone(&*self.shared()?);
        config.resumption = Resumption::in_memory_sessions(RESUMED_HOSTS);
        Ok(Arc::new(config))
    }

    /// Whether https can be spoken at all.
    ///
    /// # Errors
    /// A [`Failure`] of class `tls` if the system has no certificates to trust.
    pub(super) fn check(&self) -> Result<(), Failure> {
        self.shared().map(|_| ())
    }

    /// As [`Tls::of_user`], or a configuration that trusts nobody if the system has no certificates to trust: enough
    /// for whoever asks for no https.
    ///
    /// # Errors
    /// A [`Failure`] of class `tls` if rustls cannot be configured at all.
    pub(super) fn of_user_or_nobody(&self) -> Result<ClientConfig, Failure> {
        match self.of_user() {
            Ok(config) => Ok(Arc::unwrap_or_clone(config)),
            Err(_) => {
                let provider = Arc::new(rustls::crypto::ring::default_provider());
                let nobody = RootCertStore::empty();
                let config = builder(provider)?.with_root_certificates(nobody);
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
                .with_custom_certificate_verifier(Arc::new(TrustAnyone(provider))),
            (false, Some((roots, known))) => {
                let roots = Arc::new(roots.clone());
                let authorities = WebPkiServerVerifier::builder_with_provider(roots, provider)
                    .build()
                    .map_err(|error| Failure::new(ErrorClass::Tls, error.to_string()))?;
                let known = known.clone();
                builder
                    .dangerous()
                    .with_custom_certificate_verifier(Arc::new(TrustTheKnown {
                        authorities,
                        known,
                    }))
            }
            (false, None) => builder.with_root_certificates(system_authorities()?),
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

fn unreadable(flag: &str, path: &Path, problem: &dyn std::fmt::Display) -> Diagnostic {
    Diagnostic::new(format!("'{flag} {}': {problem}", path.display()))
        .help("a file in PEM form is wanted, as in '-----BEGIN CERTIFICATE-----'")
}

fn certificates(flag: &str, path: &Path) -> Result<Vec<CertificateDer<'static>>, Diagnostic> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match read {
        Ok(found) if found.is_empty() => {
            Err(unreadable(flag, path, &"there is no certificate in it"))
        }
        Ok(found) => Ok(found),
        Err(error) => Err(unreadable(flag, path, &error)),
    }
}

/// The authorities of a file, and its certificates as they are.
fn authorities(path: &Path) -> Result<(RootCertStore, Vec<CertificateDer<'static>>), Diagnostic> {
    let mut store = RootCertStore::empty();
    let known = certificates("--ca", path)?;
    for certificate in &known {
        store
            .add(certificate.clone())
            .map_err(|error| unreadable("--ca", path, &error))?;
    }
    Ok((store, known))
}

fn identity(
    cert: &Path,
    key: &Path,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), Diagnostic> {
    let chain = certificates("--cert", cert)?;
    let key =
        PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable("--key", key, &error))?;
    Ok((chain, key))
}

fn system_authorities() -> Result<RootCertStore, Failure> {
    let found = rustls_native_certs::load_native_certs();
    let mut store = RootCertStore::empty();
    store.add_parsable_certificates(found.certs);
    match store.is_empty() {
        true => Err(Failure::new(
            ErrorClass::Tls,
            "this system has no certificates to trust",
        )),
        false => Ok(store),
    }
}

/// What a failed handshake means, in words that are the same for every failure of one cause.
pub(super) fn handshake_failure(error: &std::io::Error, host: &str) -> Failure {
    let cause = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let detail = match cause {
        Some(error) => return handshake_error(error, host),
        None if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            "the server closed during the handshake".to_owned()
        }
        None => Failure::exchanging(error).to_string(),
    };
    Failure::new(ErrorClass::Tls, detail)
}

/// The same for the error of rustls behind it.
pub(super) fn handshake_error(error: &rustls::Error, host: &str) -> Failure {
    let detail = match error {
        rustls::Error::InvalidCertificate(problem) => certificate_problem(problem, host),
        rustls::Error::InvalidMessage(_) => "the server does not speak TLS".to_owned(),
        other => other.to_string(),
    };
    Failure::new(ErrorClass::Tls, detail)
}

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
        other if is_about_authority(other) => format!(
            "the certificate of '{host}' is signed by itself: trust it with '--ca', \
             or trust every certificate with '--insecure'"
        ),
        other => format!("the certificate of '{host}': {other}"),
    }
}

/// The name that a host's certificate is checked against.
///
/// # Errors
/// A [`Failure`] of class `tls` if no certificate can be for it.
pub(super) fn server_name(host: &str) -> Result<ServerName<'static>, Failure> {
    ServerName::try_from(host.to_owned()).map_err(|_| {
        Failure::new(
            ErrorClass::Tls,
            format!("no certificate can be for '{host}'"),
        )
    })
}
