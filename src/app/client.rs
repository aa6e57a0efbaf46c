//! Translates the options of a run into those of its HTTP client.

use http::{HeaderMap, HeaderName, HeaderValue, header};
use lgoose_base::error::{Diagnostic, Error};
#[cfg(feature = "reqwest")]
use lgoose_http::ReqwestProxy;
use lgoose_http::{
    AllowedHosts, ClientConfig, Discard, Resolver, Tls, TlsOptions, Transport, Version,
};
#[cfg(feature = "reqwest")]
use lgoose_plan::config::EnvironmentProxies;
use lgoose_plan::config::{self, Config, DiscardedBodies, Http, Proxy, RunConfig, ShowLevel};
use std::sync::Arc;

/// Returns the client of all users and its resolver of host names.
///
/// # Errors
/// Returns a mistake for a header or a file that its option cannot use.
pub(super) fn client(config: &Config) -> Result<(ClientConfig, Resolver), Error> {
    let (config, local) = (&config.run, &config.local);
    if !config.allow_host.is_empty() {
        names_are_addresses(config)?;
    }
    let version = match config.http {
        Http::Any => Version::Any,
        Http::Http1 => Version::Http1,
        Http::Http2 => Version::Http2,
    };
    let tls = TlsOptions {
        ca: local.ca.clone(),
        cert: local.cert.clone(),
        key: local.key.clone(),
        insecure: config.insecure,
    };
    let pinned = config
        .resolve
        .iter()
        .map(|pin| ((pin.host.clone(), pin.port), pin.addresses.clone()));
    let client = ClientConfig {
        timeout: config.timeout,
        max_body: config.max_body,
        show_hops: matches!(local.show, ShowLevel::Messages | ShowLevel::WholeMessages),
        headers: headers(config)?,
        transport: transport(config)?,
        version,
        tls: Arc::new(Tls::new(&tls, version)?),
        keep_alive: config.keep_alive,
        cookies: config.cookies,
        max_redirects: config.max_redirects,
        referer: config.referer,
        cache: config.cache,
        discard: match config.discard {
            DiscardedBodies::None => Discard::Nothing,
            DiscardedBodies::Successful => Discard::Successful,
            DiscardedBodies::All => Discard::All,
        },
        sticky_follow: config.sticky_follow,
        local_addresses: local.local_addresses.clone(),
        trace_sample: config.trace_sample,
        allowed: AllowedHosts::new(&config.allow_host),
    };
    Ok((client, Resolver::new(pinned, config.dns_ttl)))
}

/// Checks that requests go where the host names say, since '--allow-host' only looks at names.
///
/// # Errors
/// A [`Diagnostic`] that names the flag which leads elsewhere.
pub(super) fn names_are_addresses(config: &RunConfig) -> Result<(), Diagnostic> {
    let flag = match (&config.proxy, config.resolve.is_empty()) {
        (Proxy::None, true) => return Ok(()),
        (Proxy::None, false) => "--resolve",
        _ => "--proxy",
    };
    let message = format!(
        "'--allow-host' limits requests to some hosts by their names, and '{flag}' would lead elsewhere"
    );
    Err(Diagnostic::new(message).help(format!("leave one of them out: '{flag}' or '--allow-host'")))
}

#[cfg(feature = "reqwest")]
fn transport(config: &RunConfig) -> Result<Transport, Diagnostic> {
    Ok(match (config.client, &config.proxy) {
        (config::ClientKind::Direct, _) => Transport::Direct,
        (config::ClientKind::Reqwest, Proxy::None) => Transport::Reqwest(ReqwestProxy::None),
        (config::ClientKind::Reqwest, Proxy::Environment) => {
            let EnvironmentProxies { http, https } =
                EnvironmentProxies::read(|name| std::env::var_os(name))?;
            Transport::Reqwest(ReqwestProxy::Environment { http, https })
        }
        (config::ClientKind::Reqwest, Proxy::At(url)) => {
            Transport::Reqwest(ReqwestProxy::At(url.clone()))
        }
    })
}

#[cfg(not(feature = "reqwest"))]
fn transport(config: &RunConfig) -> Result<Transport, Diagnostic> {
    match config.client {
        config::ClientKind::Direct => Ok(Transport::Direct),
        config::ClientKind::Reqwest => Err(Diagnostic::new("this lgoose has no client 'reqwest'")
            .help("build it with the feature 'reqwest', or leave out '--client' and '--proxy'")),
    }
}

fn headers(config: &RunConfig) -> Result<HeaderMap, Error> {
    let mut map = HeaderMap::new();
    for (name, value) in [
        (
            header::USER_AGENT,
            concat!("lgoose/", env!("CARGO_PKG_VERSION")),
        ),
        (header::ACCEPT, "*/*"),
        (header::ACCEPT_ENCODING, lgoose_http::ACCEPTED_CODINGS),
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
