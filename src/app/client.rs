//! Translates the run's options into those of its HTTP client.

use crate::config::{self, Config, Http, Proxy};
use crate::error::{Diagnostic, Error};
use crate::http::{ClientConfig, ReqwestProxy, Resolver, Tls, TlsOptions, Transport, Version};
use http::{HeaderMap, HeaderName, HeaderValue, header};
use std::sync::Arc;

/// Returns the client of all users and its resolver of hosts.
///
/// # Errors
/// A header or a file that is not what its option wants.
pub(super) fn client(config: &Config) -> Result<(ClientConfig, Resolver), Error> {
    let version = match config.http {
        Http::Any => Version::Any,
        Http::Http1 => Version::Http1,
        Http::Http2 => Version::Http2,
    };
    let tls = TlsOptions {
        ca: config.ca.clone(),
        cert: config.cert.clone(),
        key: config.key.clone(),
        insecure: config.insecure,
    };
    let pinned = config
        .resolve
        .iter()
        .map(|pin| ((pin.host.clone(), pin.port), pin.address));
    let client = ClientConfig {
        timeout: config.timeout,
        max_body: config.max_body,
        headers: headers(config)?,
        transport: transport(config),
        version,
        tls: Arc::new(Tls::new(&tls, version)?),
        keep_alive: config.keep_alive,
        cookies: config.cookies,
        sticky_follow: config.sticky_follow,
        local_address: config.local_address,
        #[cfg(test)]
        script: None,
    };
    Ok((client, Resolver::new(pinned, config.dns_ttl)))
}

fn transport(config: &Config) -> Transport {
    match (config.client, &config.proxy) {
        (config::Client::Direct, _) => Transport::Direct,
        (config::Client::Reqwest, Proxy::None) => Transport::Reqwest(ReqwestProxy::None),
        (config::Client::Reqwest, Proxy::Environment) => {
            Transport::Reqwest(ReqwestProxy::Environment)
        }
        (config::Client::Reqwest, Proxy::At(url)) => {
            Transport::Reqwest(ReqwestProxy::At(url.clone()))
        }
    }
}

fn headers(config: &Config) -> Result<HeaderMap, Error> {
    let mut map = HeaderMap::new();
    for (name, value) in [
        (
            header::USER_AGENT,
            concat!("lgoose/", env!("CARGO_PKG_VERSION")),
        ),
        (header::ACCEPT, "*/*"),
        (header::ACCEPT_ENCODING, crate::http::ACCEPTED_CODINGS),
    ] {
        map.insert(name, HeaderValue::from_static(value));
    }
    for (name, value) in &config.headers {
        let bad = || {
            Diagnostic::new(format!(
                "'{name}: {value}' in the headers of every request is not a header"
            ))
        };
        let name = HeaderName::try_from(name.as_str()).map_err(|_| bad())?;
        map.insert(
            name,
            HeaderValue::try_from(value.as_str()).map_err(|_| bad())?,
        );
    }
    Ok(map)
}
