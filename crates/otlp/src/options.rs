//! The destination of an export, and its options: the flag, and the environment variables that OpenTelemetry has for
//! all programs (<https://opentelemetry.io/docs/specs/otel/protocol/exporter/>).

use lgoose_base::error::{Diagnostic, Error};
use lgoose_base::pem;
use percent_encoding::percent_decode_str;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// Endpoint without any other word.
const ENDPOINT: &str = "http://localhost:4318";
/// Time between two exports.
const INTERVAL: Duration = Duration::from_secs(10);
/// Time that an export may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Kinds of telemetry that have an endpoint of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TelemetryKind {
    Metrics,
    Traces,
}

impl TelemetryKind {
    fn path(self) -> &'static str {
        match self {
            TelemetryKind::Metrics => "v1/metrics",
            TelemetryKind::Traces => "v1/traces",
        }
    }

    fn word(self) -> &'static str {
        match self {
            TelemetryKind::Metrics => "METRICS",
            TelemetryKind::Traces => "TRACES",
        }
    }
}

/// An endpoint, with the headers and certificates of its requests.
#[derive(Debug, Clone)]
pub(super) struct TelemetryEndpoint {
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) timeout: Duration,
    pub(super) gzip: bool,
    pub(super) certificates: Certificates,
}

/// Trust roots and client identity of an endpoint.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Certificates {
    /// The certificates that alone are trusted; empty for those that this machine trusts.
    pub(super) trusted: Vec<CertificateDer<'static>>,
    /// The certificate chain and key that are shown.
    pub(super) own: Option<(Vec<CertificateDer<'static>>, Arc<PrivateKeyDer<'static>>)>,
}

/// All that is to be known of an export.
#[derive(Debug, Clone)]
pub struct ExportOptions {
    pub(super) metrics: TelemetryEndpoint,
    pub(super) traces: TelemetryEndpoint,
    /// Time between two exports.
    pub(super) interval: Duration,
    /// Attributes of the resource beside those of the run.
    pub(super) attributes: Vec<(String, String)>,
    pub(super) service: Option<String>,
}

impl ExportOptions {
    /// Reads the options; `endpoint` is the value of the flag, `variable` returns a variable of the environment.
    ///
    /// # Errors
    /// A mistake in the flag or in a variable.
    pub fn read(
        endpoint: Option<&str>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<ExportOptions, Error> {
        // An empty one is as none, by the specification.
        let variable = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let milliseconds = |name: &str| match variable(name) {
            None => Ok(None),
            Some(text) => match text.trim().parse() {
                Ok(0) | Err(_) => Err(wrong(
                    name,
                    &text,
                    "a number of milliseconds, such as 10000",
                )),
                Ok(ms) => Ok(Some(Duration::from_millis(ms))),
            },
        };
        let target = |kind: TelemetryKind| -> Result<TelemetryEndpoint, Error> {
            let of_kind = |name: &str| format!("OTEL_EXPORTER_OTLP_{}_{name}", kind.word());
            let of_all = |name: &str| format!("OTEL_EXPORTER_OTLP_{name}");
            let either = |name: &str| {
                let names = [of_kind(name), of_all(name)];
                let found = names
                    .into_iter()
                    .find_map(|name| Some((variable(&name)?, name)));
                found.map(|(value, name)| (name, value))
            };
            let url = match (endpoint, variable(&of_kind("ENDPOINT"))) {
                (Some(base), _) => below(&url(base, "--otlp")?, kind),
                (None, Some(whole)) => url(&whole, &of_kind("ENDPOINT"))?,
                (None, None) => {
                    let name = of_all("ENDPOINT");
                    let base = variable(&name).unwrap_or_else(|| ENDPOINT.to_owned());
                    below(&url(&base, &name)?, kind)
                }
            };
            if endpoint.is_none()
                && let Some((name, protocol)) = either("PROTOCOL")
                && protocol != "http/protobuf"
            {
                return Err(wrong(
                    &name,
                    &protocol,
                    "http/protobuf, or give the URL with '--otlp'",
                ));
            }
            let gzip = match either("COMPRESSION") {
                None => false,
                Some((_, compression)) if compression == "none" => false,
                Some((_, compression)) if compression == "gzip" => true,
                Some((name, other)) => return Err(wrong(&name, &other, "gzip or none")),
            };
            let headers = match either("HEADERS") {
                Some((name, text)) => headers(&name, &text)?,
                None => HeaderMap::new(),
            };
            let timeout = match milliseconds(&of_kind("TIMEOUT"))? {
                Some(own) => own,
                None => milliseconds(&of_all("TIMEOUT"))?.unwrap_or(TIMEOUT),
            };
            Ok(TelemetryEndpoint {
                url,
                headers,
                timeout,
                gzip,
                certificates: certificates(either)?,
            })
        };
        let name = "OTEL_RESOURCE_ATTRIBUTES";
        let attributes = match variable(name) {
            Some(text) => pairs(name, &text)?,
            None => Vec::new(),
        };
        Ok(ExportOptions {
            metrics: target(TelemetryKind::Metrics)?,
            traces: target(TelemetryKind::Traces)?,
            interval: milliseconds("OTEL_METRIC_EXPORT_INTERVAL")?.unwrap_or(INTERVAL),
            attributes,
            service: variable("OTEL_SERVICE_NAME"),
        })
    }
}

/// Reads the files that variables for certificates name.
fn certificates(
    variable: impl Fn(&str) -> Option<(String, String)>,
) -> Result<Certificates, Error> {
    let trusted = match variable("CERTIFICATE") {
        Some((name, path)) => pem::certificates(&name, &path.into())?,
        None => Vec::new(),
    };
    let own = match (variable("CLIENT_CERTIFICATE"), variable("CLIENT_KEY")) {
        (Some((cert_name, cert)), Some((key_name, key))) => {
            let (chain, key) = pem::identity(&cert_name, &cert.into(), &key_name, &key.into())?;
            Some((chain, Arc::new(key)))
        }
        (None, None) => None,
        (Some((name, _)), None) | (None, Some((name, _))) => {
            let message = format!("the variable {name} is set without the other one");
            return Err(Diagnostic::new(message)
                .help("a client certificate needs OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and …_CLIENT_KEY")
                .into());
        }
    };
    Ok(Certificates { trusted, own })
}

/// Reads the URL that `from` gives.
fn url(text: &str, from: &str) -> Result<Url, Error> {
    let url = Url::parse(text.trim()).ok();
    let fits = |url: &Url| matches!(url.scheme(), "http" | "https") && url.host_str().is_some();
    url.filter(fits).ok_or_else(|| {
        // It may hold a password.
        let message = format!("'{from}' is not the URL of a collector");
        Diagnostic::new(message)
            .help("write it as http://collector:4318; lgoose speaks OTLP over HTTP")
            .into()
    })
}

/// Returns the endpoint of a kind below the one of all.
fn below(base: &Url, kind: TelemetryKind) -> Url {
    let mut url = base.clone();
    let path = format!("{}/{}", base.path().trim_end_matches('/'), kind.path());
    url.set_path(&path);
    url
}

/// Reads `key=value,key=value`, percent-encoded.
fn pairs(name: &str, text: &str) -> Result<Vec<(String, String)>, Error> {
    let parts = text.split(',').map(str::trim);
    let pair = |part: &str| {
        let (key, value) = part.split_once('=')?;
        let value = percent_decode_str(value.trim()).decode_utf8().ok()?;
        let key = key.trim();
        (!key.is_empty()).then(|| (key.to_owned(), value.into_owned()))
    };
    let pairs = parts.filter(|part| !part.is_empty()).map(pair);
    pairs.collect::<Option<Vec<_>>>().ok_or_else(|| {
        // Its value may be secret.
        Diagnostic::new(format!("the variable {name} cannot be read"))
            .help("write it as 'key=value,key=value', with %2C for a comma in a value")
            .into()
    })
}

/// Reads headers, each of which can be sent.
fn headers(name: &str, text: &str) -> Result<HeaderMap, Error> {
    let mut headers = HeaderMap::new();
    for (key, value) in pairs(name, text)? {
        let parsed = (HeaderName::try_from(&key), HeaderValue::try_from(value));
        let (Ok(header), Ok(mut value)) = parsed else {
            let message = format!("the variable {name} has a header that cannot be sent: '{key}'");
            return Err(Diagnostic::new(message)
                .help("a name consists of letters, digits and dashes; a value is one line of text")
                .into());
        };
        value.set_sensitive(true);
        headers.append(header, value);
    }
    Ok(headers)
}

fn wrong(name: &str, value: &str, right: &str) -> Error {
    Diagnostic::new(format!("the variable {name} is '{value}'"))
        .help(format!("it must be {right}"))
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(endpoint: Option<&str>, variables: &[(&str, &str)]) -> Result<ExportOptions, Error> {
        ExportOptions::read(endpoint, |name| {
            let found = variables.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| String::from(*value))
        })
    }

    #[test]
    fn endpoints_are_those_of_the_flag_or_of_the_environment() {
        let urls = |options: ExportOptions| {
            [
                options.metrics.url.to_string(),
                options.traces.url.to_string(),
            ]
        };
        let own = "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT";
        let all = "OTEL_EXPORTER_OTLP_ENDPOINT";
        for (flag, variables, metrics, traces) in [
            (
                None,
                &[][..],
                "http://localhost:4318/v1/metrics",
                "http://localhost:4318/v1/traces",
            ),
            (
                Some("https://a/otlp/"),
                &[(all, "http://b")],
                "https://a/otlp/v1/metrics",
                "https://a/otlp/v1/traces",
            ),
            (
                None,
                &[(all, "http://b:1")],
                "http://b:1/v1/metrics",
                "http://b:1/v1/traces",
            ),
            (
                None,
                &[(all, "http://b"), (own, "http://c/m")],
                "http://c/m",
                "http://b/v1/traces",
            ),
            (
                None,
                &[(all, " ")],
                "http://localhost:4318/v1/metrics",
                "http://localhost:4318/v1/traces",
            ),
        ] {
            let options = read(flag, variables).expect("they are right");
            assert_eq!(urls(options), [metrics, traces], "{flag:?} {variables:?}");
        }
    }

    #[test]
    fn variables_are_read_as_the_specification_has_them() {
        let options = read(
            None,
            &[
                ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%2Cb, x=1"),
                ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "t=2"),
                ("OTEL_EXPORTER_OTLP_TIMEOUT", "250"),
                ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
                ("OTEL_METRIC_EXPORT_INTERVAL", "500"),
                ("OTEL_RESOURCE_ATTRIBUTES", "team=web,stage=a%20b"),
                ("OTEL_SERVICE_NAME", "checkout-load"),
            ],
        );
        let options = options.expect("they are right");
        let sent = |target: &TelemetryEndpoint| {
            let all = target.headers.iter();
            let all = all.map(|(key, value)| format!("{key}: {}", value.to_str().expect("text")));
            all.collect::<Vec<String>>()
        };
        assert_eq!(sent(&options.metrics), ["api-key: a,b", "x: 1"]);
        assert_eq!(sent(&options.traces), ["t: 2"]);
        assert!(!format!("{options:?}").contains("a,b"), "it may be secret");
        assert_eq!(options.metrics.timeout, Duration::from_millis(250));
        assert!(options.metrics.gzip && options.traces.gzip);
        assert_eq!(options.interval, Duration::from_millis(500));
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(
            options.attributes,
            [pair("team", "web"), pair("stage", "a b")]
        );
        assert_eq!(options.service.as_deref(), Some("checkout-load"));
    }

    #[test]
    fn mistakes_name_the_variable_and_show_no_secret() {
        for (flag, variables, message) in [
            (Some("collector:4318"), &[][..], "'--otlp' is not the URL"),
            (Some("ftp://a"), &[], "'--otlp' is not the URL"),
            (
                None,
                &[("OTEL_EXPORTER_OTLP_ENDPOINT", "s3cret@")],
                "OTEL_EXPORTER_OTLP_ENDPOINT",
            ),
            (
                None,
                &[("OTEL_EXPORTER_OTLP_HEADERS", "s3cret")],
                "OTEL_EXPORTER_OTLP_HEADERS",
            ),
            (
                None,
                &[("OTEL_EXPORTER_OTLP_HEADERS", "x=1,api key=s3cret")],
                "OTEL_EXPORTER_OTLP_HEADERS has a header that cannot be sent: 'api key'",
            ),
            (
                None,
                &[("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "key=s3cret%0A")],
                "OTEL_EXPORTER_OTLP_TRACES_HEADERS has a header that cannot be sent: 'key'",
            ),
            (
                None,
                &[("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")],
                "http/protobuf",
            ),
            (
                None,
                &[("OTEL_EXPORTER_OTLP_COMPRESSION", "zip")],
                "gzip or none",
            ),
            (
                None,
                &[("OTEL_METRIC_EXPORT_INTERVAL", "0")],
                "milliseconds",
            ),
        ] {
            let error = read(flag, variables).expect_err("it is wrong").text();
            assert!(error.contains(message), "{error}");
            assert!(!error.contains("s3cret"), "{error}");
        }
        let named = [("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")];
        assert!(read(Some("http://a"), &named).is_ok(), "of other programs");
    }
}
