//! Options of a connection to the broker, and the state of the connection.

use super::address::{BrokerAddress, Credentials};
use super::denials::{Denials, denied_by};
use async_nats::rustls::{self, AlertDescription};
use async_nats::{ConnectErrorKind, ConnectOptions, Event, ServerError};
use lgoose_base::error::{Error, Trouble};
use lgoose_base::files;
use std::io;
use std::path::Path;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// Time limit for one attempt to connect.
const CONNECT: Duration = Duration::from_secs(5);
/// Time between two attempts.
pub(super) const RETRY_DELAY: Duration = Duration::from_millis(500);

/// The action with the credentials file, for trouble.
const CREDENTIALS: &str = "read the credentials for the broker";

/// Current state of the contact with the broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContactState {
    Up,
    /// Broken since that moment.
    Down(Instant),
}

impl ContactState {
    /// Returns how long the broker has been unreachable; `None` while it can be reached.
    pub(crate) fn down_for(self) -> Option<Duration> {
        match self {
            ContactState::Up => None,
            ContactState::Down(since) => Some(since.elapsed()),
        }
    }
}

/// Reads the credentials file of the address, if it has one, and checks that its other files can be read: the client
/// library would wait for a pipe, and read a device without end.
///
/// # Errors
/// Trouble that names the file.
pub(super) fn credentials(address: &BrokerAddress) -> Result<Option<String>, Error> {
    let cannot = |what: &str, path: &Path, error: io::Error| -> Error {
        Trouble::cannot(what).with_path(path).because(error).into()
    };
    for path in [&address.ca, &address.cert, &address.key]
        .into_iter()
        .flatten()
    {
        let what = "read a certificate or key for the broker";
        files::open(path).map_err(|error| cannot(what, path, error))?;
    }
    let creds = address.creds.as_ref().map(|path| {
        let text = files::read_to_string(path);
        text.map_err(|error| cannot(CREDENTIALS, path, error))
    });
    creds.transpose()
}

/// Returns the options of a connection, whose contact and denials are sent to these channels. `credentials` is the text
/// of the credentials file.
///
/// # Errors
/// Trouble with the credentials file.
pub(super) fn options(
    address: &BrokerAddress,
    credentials: Option<&str>,
    name: &str,
    contact: watch::Sender<ContactState>,
    denials: watch::Sender<Denials>,
) -> Result<ConnectOptions, Error> {
    let mut options = ConnectOptions::new()
        .name(name)
        .connection_timeout(CONNECT)
        .ping_interval(Duration::from_secs(5))
        .reconnect_delay_callback(|attempts| match attempts {
            0 | 1 => Duration::ZERO,
            _ => RETRY_DELAY,
        })
        .event_callback(move |event| {
            let (contact, denials) = (contact.clone(), denials.clone());
            async move { note(&contact, &denials, &event) }
        });
    if let Some(inbox) = &address.inbox {
        options = options.custom_inbox_prefix(inbox.clone());
    }
    if address.is_tls() || address.ca.is_some() || address.cert.is_some() {
        options = options.require_tls(true);
    }
    if let Some(ca) = &address.ca {
        options = options.add_root_certificates(ca.clone());
    }
    if let Some(cert) = &address.cert {
        let key = address.key.as_ref().unwrap_or(cert);
        options = options.add_client_certificate(cert.clone(), key.clone());
    }
    if let (Some(creds), Some(text)) = (&address.creds, credentials) {
        return options.credentials(text).map_err(|error| {
            Trouble::cannot(CREDENTIALS)
                .with_path(creds)
                .because(error)
                .into()
        });
    }
    Ok(match address.credentials() {
        Credentials::None => options,
        Credentials::Token(token) => options.token(token.to_owned()),
        Credentials::Password(user, password) => {
            options.user_and_password(user.to_owned(), password.to_owned())
        }
    })
}

fn note(contact: &watch::Sender<ContactState>, denials: &watch::Sender<Denials>, event: &Event) {
    match event {
        Event::Connected => {
            contact.send_replace(ContactState::Up);
            denials.send_modify(Denials::forget);
        }
        Event::Disconnected | Event::Closed => {
            contact.send_if_modified(|contact| {
                let was_up = *contact == ContactState::Up;
                if was_up {
                    *contact = ContactState::Down(Instant::now());
                }
                was_up
            });
        }
        Event::ServerError(error) => {
            let denied = match error {
                ServerError::Other(text) => denied_by(text),
                _ => None,
            };
            // A denial that comes again and again is reported once.
            let is_new = denied.is_none_or(|what| denials.send_if_modified(|all| all.note(what)));
            if is_new {
                tracing::warn!(target: "lgoose::gaggle", "the broker says: {error}");
            }
        }
        Event::LameDuckMode | Event::Draining | Event::SlowConsumer(_) | Event::ClientError(_) => {}
    }
}

/// Returns trouble for a connection that could not be made, with advice.
pub(super) fn cannot_connect(address: &BrokerAddress, error: &async_nats::ConnectError) -> Error {
    let trouble = Trouble::cannot("connect to the broker").with_address(address.url());
    let source = |error: &async_nats::ConnectError| {
        let inner = std::error::Error::source(error);
        inner.map_or_else(|| error.to_string(), ToString::to_string)
    };
    let tls = tls_error(error);
    match error.kind() {
        _ if address.cert.is_some() && tls.is_some_and(refuses_certificate) => trouble
            .because(format!("it does not accept the certificate of '--nats-cert' ({})", source(error)))
            .help("check whether that has expired, and whether an authority has signed it that the broker trusts"),
        _ if is_without_tls(error) => trouble
            .because("it does not speak TLS")
            .help("write 'nats://' in place of 'tls://', or configure TLS there"),
        _ if tls.is_some_and(is_of_certificates) => trouble
            .because(source(error))
            .help("check its certificate, '--nats-ca', '--nats-cert' and '--nats-key'"),
        ConnectErrorKind::AuthorizationViolation => trouble
            .because("it does not accept these credentials")
            .help("give the token or user and password in the URL, or a file with '--nats-creds'"),
        ConnectErrorKind::Authentication => trouble
            .because(source(error))
            .help("check the file of '--nats-creds'"),
        ConnectErrorKind::Tls => trouble
            .because(source(error))
            .help("check its certificate, '--nats-ca', '--nats-cert' and '--nats-key'"),
        ConnectErrorKind::Io | ConnectErrorKind::TimedOut | ConnectErrorKind::Dns => trouble
            .because(source(error))
            .help("start 'nats-server -js' there, or check host and port"),
        _ => trouble.because(source(error)),
    }
    .into()
}

/// Returns whether the listener there responds to a handshake of TLS with something else.
pub(super) fn is_without_tls(error: &async_nats::ConnectError) -> bool {
    use rustls::InvalidMessage::InvalidContentType;
    matches!(
        tls_error(error),
        Some(rustls::Error::InvalidMessage(InvalidContentType))
    )
}

/// Returns the error of TLS that a connection failed with, if it is one.
fn tls_error(error: &async_nats::ConnectError) -> Option<&rustls::Error> {
    let first = std::error::Error::source(error);
    let mut causes = std::iter::successors(first, |cause| {
        // The source of an `io::Error` is that of the error which it wraps.
        let wrapped = cause.downcast_ref().and_then(io::Error::get_ref);
        match wrapped {
            Some(wrapped) => Some(wrapped as &(dyn std::error::Error + 'static)),
            None => cause.source(),
        }
    });
    causes.find_map(|cause| cause.downcast_ref())
}

/// Returns whether the other side refuses the certificate of this one.
fn refuses_certificate(error: &rustls::Error) -> bool {
    matches!(
        error,
        rustls::Error::AlertReceived(
            AlertDescription::BadCertificate
                | AlertDescription::UnsupportedCertificate
                | AlertDescription::CertificateRevoked
                | AlertDescription::CertificateExpired
                | AlertDescription::CertificateUnknown
                | AlertDescription::CertificateRequired
                | AlertDescription::UnknownCA
        )
    )
}

/// Returns whether one of the two sides does not accept a certificate.
fn is_of_certificates(error: &rustls::Error) -> bool {
    let own = matches!(
        error,
        rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented
    );
    own || refuses_certificate(error)
}
