//! Hands telemetry over: protobuf in POST requests.

use super::options::{Certificates, TelemetryEndpoint};
use flate2::Compression;
use flate2::write::GzEncoder;
use lgoose_base::error::Error;
use prost::Message;
use reqwest::Client;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue};
use rustls::{ClientConfig, RootCertStore};
use std::io::Write as _;
use std::sync::Arc;

/// The most bytes of a response that are read.
const MAX_RESPONSE_BYTES: usize = 64 << 10;

/// The body of a response: that to metrics and that to spans have fields of the same numbers, whose names alone differ.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
struct ExportResponse {
    #[prost(message, optional, tag = "1")]
    partial_success: Option<PartialSuccess>,
}

/// The part of an export that a collector rejected.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub(super) struct PartialSuccess {
    /// The number of points or of spans.
    #[prost(int64, tag = "1")]
    pub(super) rejected: i64,
    #[prost(string, tag = "2")]
    pub(super) error_message: String,
}

/// Makes a client, which connections of several endpoints may share.
///
/// # Errors
/// Trouble with TLS.
pub(super) fn client(certificates: &Certificates) -> Result<Client, Error> {
    let cannot =
        |error: &dyn std::fmt::Display| Error::trouble(format!("cannot export by OTLP: {error}"));
    let client = Client::builder()
        .tls_backend_preconfigured(tls(certificates).map_err(|error| cannot(&error))?)
        .redirect(reqwest::redirect::Policy::none());
    client.build().map_err(|error| cannot(&error))
}

/// Sends to one endpoint.
#[derive(Debug)]
pub(super) struct EndpointSender {
    client: Client,
    target: TelemetryEndpoint,
    headers: HeaderMap,
}

impl EndpointSender {
    /// Makes a sender that uses this client.
    pub(super) fn new(client: Client, target: TelemetryEndpoint) -> EndpointSender {
        let mut headers = target.headers.clone();
        headers.insert(
            CONTENT_TYPE,
            HeaderValue::from_static("application/x-protobuf"),
        );
        if target.gzip {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        EndpointSender {
            client,
            target,
            headers,
        }
    }

    /// Hands a message over, and returns the part that the collector rejected.
    ///
    /// # Errors
    /// The reason why it did not arrive, as a sentence.
    pub(super) async fn send(&self, message: &impl Message) -> Result<PartialSuccess, String> {
        let bytes = message.encode_to_vec();
        let body = if self.target.gzip {
            packed(&bytes).map_err(|error| error.to_string())?
        } else {
            bytes
        };
        let request = self.client.post(self.target.url.clone());
        let request = request.timeout(self.target.timeout);
        let request = request.headers(self.headers.clone()).body(body);
        let mut response = request.send().await.map_err(words)?;
        if !response.status().is_success() {
            return Err(format!("the collector answers {}", response.status()));
        }
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(words)? {
            if body.len() + piece.len() > MAX_RESPONSE_BYTES {
                break;
            }
            body.extend_from_slice(&piece);
        }
        // A response that is no message has still taken the figures.
        let response = ExportResponse::decode(&*body).unwrap_or_default();
        Ok(response.partial_success.unwrap_or_default())
    }
}

/// Returns the words of the innermost cause, without the URL: that may hold a password.
fn words(error: reqwest::Error) -> String {
    if error.is_timeout() {
        return "the collector did not answer in time".to_owned();
    }
    let error = error.without_url();
    let mut cause: &dyn std::error::Error = &error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

fn packed(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut packing = GzEncoder::new(Vec::new(), Compression::fast());
    packing.write_all(bytes)?;
    packing.finish()
}

fn tls(certificates: &Certificates) -> Result<ClientConfig, rustls::Error> {
    let mut roots = RootCertStore::empty();
    for trusted in &certificates.trusted {
        roots.add(trusted.clone())?;
    }
    if roots.is_empty() {
        // Without any, plain HTTP still goes.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let config = config.with_root_certificates(roots);
    match &certificates.own {
        Some((chain, key)) => config.with_client_auth_cert(chain.clone(), key.clone_key()),
        None => Ok(config.with_no_client_auth()),
    }
}
