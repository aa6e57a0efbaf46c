//! The settings of a run's HTTP clients: plain data, made by `app` from the command line and the plan.

use super::allowed::AllowedHosts;
use super::connect::Tls;
use super::message::Discard;
use super::transport::{Transport, Version};
use http::HeaderMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// Settings that all sessions of a run share.
#[derive(Debug, Clone)]
pub struct ClientConfig {
    /// The time limit from the call to the last byte of the final response.
    pub timeout: Duration,
    /// The largest body that is accepted, in bytes.
    pub max_body: u64,
    /// Whether redirects are shown as they are followed.
    pub show_hops: bool,
    /// Headers sent with every request unless the request has one of that name.
    pub headers: HeaderMap,
    /// The transport that sends the requests.
    pub transport: Transport,
    /// The version of HTTP to use.
    pub version: Version,
    /// The certificates to trust and to present.
    pub tls: Arc<Tls>,
    /// Whether a connection is used for more than one request.
    pub keep_alive: bool,
    /// Whether cookies are kept and sent.
    pub cookies: bool,
    /// The number of redirects to follow, after which a further redirect is itself the response; `None`: ten, and a
    /// further one is a failure.
    pub max_redirects: Option<u32>,
    /// Whether requests name the page that they come from.
    pub referer: bool,
    /// Whether users cache responses as a browser does.
    pub cache: bool,
    /// The bodies that are only counted, and not kept, of requests without a setting of their own.
    pub discard: Discard,
    /// Whether a user whose request is redirected to another host stays on that host.
    pub sticky_follow: bool,
    /// The local addresses that connections come from, in turns; empty for any.
    pub local_addresses: Vec<IpAddr>,
    /// The share of traces that is sampled; `None`: requests have no trace context.
    pub trace_sample: Option<f64>,
    /// The hosts that requests may go to.
    pub allowed: AllowedHosts,
}

impl Default for ClientConfig {
    /// The behaviour of a browser, within a minute and 64 MiB a request.
    fn default() -> ClientConfig {
        ClientConfig {
            timeout: Duration::from_secs(60),
            max_body: 64 << 20,
            show_hops: false,
            headers: HeaderMap::new(),
            transport: Transport::Direct,
            version: Version::Any,
            tls: Arc::new(Tls::with_system_roots()),
            keep_alive: true,
            cookies: true,
            max_redirects: None,
            discard: Discard::Nothing,
            referer: true,
            cache: false,
            sticky_follow: false,
            local_addresses: Vec::new(),
            trace_sample: None,
            allowed: AllowedHosts::default(),
        }
    }
}
