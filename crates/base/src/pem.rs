//! Certificates and keys in files in PEM form.

use crate::error::Diagnostic;
use crate::files::NamedFile;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::fmt::Display;

/// Returns the certificates of a file, of which there must be one; `flag` names it.
///
/// # Errors
/// A mistake that names the flag and the file.
pub fn certificates(
    flag: &str,
    file: &NamedFile,
) -> Result<Vec<CertificateDer<'static>>, Diagnostic> {
    let pem = file
        .read()
        .map_err(|error| unreadable(flag, file, &error))?;
    let read = CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>();
    match read {
        Ok(found) if found.is_empty() => {
            Err(unreadable(flag, file, &"there is no certificate in it"))
        }
        Ok(found) => Ok(found),
        Err(error) => Err(unreadable(flag, file, &in_words(&error))),
    }
}

/// Returns the problem of a file that is not in PEM form.
fn in_words(error: &pem::Error) -> String {
    match error {
        pem::Error::MissingSectionEnd { .. } => "a section of it has no end".to_owned(),
        pem::Error::IllegalSectionStart { .. } => "a section of it begins wrongly".to_owned(),
        pem::Error::Base64Decode(_) => "a section of it is not base64".to_owned(),
        other => other.to_string(),
    }
}

/// Returns a certificate chain and its private key, each from the file that its flag names.
///
/// # Errors
/// A mistake that names the flag and the file.
pub fn identity(
    cert_flag: &str,
    cert: &NamedFile,
    key_flag: &str,
    key: &NamedFile,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), Diagnostic> {
    let chain = certificates(cert_flag, cert)?;
    let pem = key
        .read()
        .map_err(|error| unreadable(key_flag, key, &error))?;
    let found = PrivateKeyDer::from_pem_slice(&pem);
    let found = found.map_err(|error| match error {
        _ if is_encrypted(&pem) => Diagnostic::new(format!(
            "'{key_flag} {key}': the private key is encrypted"
        ))
        .help(format!(
            "lgoose does not prompt for a passphrase: decrypt it with 'openssl pkey -in {key} -out plain.pem'"
        )),
        pem::Error::NoItemsFound if key_flag == cert_flag => {
            let problem = format!("'{key_flag} {key}': there is no private key in it");
            Diagnostic::new(problem)
                .help("name the file of its private key, with '--key' for '--cert'")
        }
        pem::Error::NoItemsFound => unreadable(key_flag, key, &"there is no private key in it"),
        error => unreadable(key_flag, key, &in_words(&error)),
    })?;
    Ok((chain, found))
}

/// Whether a key is one that a passphrase protects, in the form of PKCS #8 or of old versions of OpenSSL.
fn is_encrypted(pem: &[u8]) -> bool {
    let text = String::from_utf8_lossy(pem);
    text.contains("-----BEGIN ENCRYPTED PRIVATE KEY-----")
        || text.contains("Proc-Type: 4,ENCRYPTED")
}

/// Returns the mistake of a file with that problem.
pub fn unreadable(flag: &str, file: &NamedFile, problem: &dyn Display) -> Diagnostic {
    Diagnostic::new(format!("'{flag} {file}': {problem}"))
        .help("expected a file in PEM form, as in '-----BEGIN CERTIFICATE-----'")
}
