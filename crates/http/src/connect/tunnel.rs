//! Tunnels through proxies for connections that `reqwest` does not make: plain sockets, and https sites whose host is
//! an IPv6 address, for which `reqwest` knows no certificate, since it leaves the brackets around it. Driven by the
//! connector.

use crate::failure::{ErrorClass, Failure};
use crate::target::Origin;
use http::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::proxy::matcher::Intercept;
use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use tokio::net::TcpStream;
use tower_service::Service as _;

/// A connection to `origin` through a proxy at that address: by CONNECT, or by SOCKS.
///
/// # Errors
/// A [`Failure`] that names the proxy, or says that the site cannot be reached through it.
pub(super) async fn tunnel(
    proxy: &Intercept,
    address: SocketAddr,
    origin: &Origin,
    local: Option<IpAddr>,
) -> Result<TcpStream, Failure> {
    let named = proxy.uri().host().unwrap_or_default();
    let failed = |error: &dyn Error| {
        let mut words = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            words = error.to_string();
            cause = error.source();
        }
        let detail = format!("through the proxy {named}:{}: {words}", address.port());
        Failure::new(ErrorClass::Connect, detail)
    };
    let to = |scheme: &str, place: &str| {
        let uri = format!("{scheme}://{place}").parse::<Uri>();
        uri.map_err(|error| failed(&error))
    };
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_local_address(local);
    let at = to("http", &address.to_string())?;
    let site = to("https", &origin.authority())?;
    let opened = if proxy.uri().scheme_str() == Some("http") {
        let mut tunnel = Tunnel::new(at, tcp);
        if let Some(credentials) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(credentials.clone());
        }
        tunnel.call(site).await.map_err(|error| failed(&error))
    } else {
        let mut socks = SocksV5::new(at, tcp);
        if let Some((user, password)) = proxy.raw_auth() {
            socks = socks.with_auth(user.to_owned(), password.to_owned());
        }
        socks.call(site).await.map_err(|error| failed(&error))
    };
    Ok(opened?.into_inner())
}
