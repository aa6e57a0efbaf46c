//! The reqwest client of a user, with everything turned off that the session does itself.

use super::connector::{SharedResolver, TraceLayer};
use crate::client::Client;
use crate::failure::{ErrorClass, Failure};
use crate::h2::{CONNECTION_WINDOW, STREAM_WINDOW};
use crate::message::MAX_HEAD;
use crate::transport::{ReqwestProxy, Version};
use std::sync::Arc;

/// The most idle connections that a user keeps for each host: as many as a browser opens.
const MAX_IDLE: usize = 6;

/// A reqwest client for one user and a version of HTTP, which shares no connections with others.
///
/// # Errors
/// A [`Failure`] of class `bad url` if reqwest does not accept the proxy.
pub(crate) fn new_client(
    client: &Client,
    proxy: &ReqwestProxy,
    version: Version,
) -> Result<reqwest::Client, Failure> {
    let config = &client.config;
    let bad = |error: reqwest::Error| Failure::new(ErrorClass::BadUrl, deepest(&error));
    let resolver = SharedResolver::new(client.connector.resolver().clone(), proxy);
    let builder = reqwest::Client::builder()
        // Without this configuration, each client would read the system's certificates: 2 ms and 109 KiB.
        .tls_backend_preconfigured(config.tls.user_config_or_empty()?)
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .retry(reqwest::retry::never())
        .local_address(client.connector.local().next())
        .tcp_keepalive(None)
        .dns_resolver(Arc::new(resolver))
        .connector_layer(TraceLayer)
        .pool_idle_timeout(None)
        .pool_max_idle_per_host(if config.keep_alive { MAX_IDLE } else { 0 })
        .http1_allow_obsolete_multiline_headers_in_responses(true)
        .http1_allow_spaces_after_header_name_in_responses(true)
        .http1_ignore_invalid_headers_in_responses(true)
        .http2_initial_stream_window_size(STREAM_WINDOW)
        .http2_initial_connection_window_size(CONNECTION_WINDOW)
        .http2_max_header_list_size(MAX_HEAD as u32);
    // The request's own timeout alone limits the time for a connection.
    #[cfg(target_os = "linux")]
    let builder = builder.tcp_user_timeout(None);
    let builder = match version {
        Version::Any => builder,
        Version::Http1 => builder.http1_only(),
        Version::Http2 => builder.http2_prior_knowledge(),
    };
    let builder = match proxy {
        ReqwestProxy::None => builder.no_proxy(),
        // reqwest itself would read the variables, too, and pass by a proxy whose URL it cannot use.
        ReqwestProxy::Environment { http, https } => {
            let mut builder = builder.no_proxy();
            let but = reqwest::NoProxy::from_env();
            if let Some(proxy) = http {
                let proxy = reqwest::Proxy::http(proxy.clone()).map_err(bad)?;
                builder = builder.proxy(proxy.no_proxy(but.clone()));
            }
            if let Some(proxy) = https {
                let proxy = reqwest::Proxy::https(proxy.clone()).map_err(bad)?;
                builder = builder.proxy(proxy.no_proxy(but));
            }
            builder
        }
        ReqwestProxy::At(proxy) => builder.proxy(reqwest::Proxy::all(proxy.clone()).map_err(bad)?),
    };
    builder.build().map_err(bad)
}

/// The words of the innermost cause.
fn deepest(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}
