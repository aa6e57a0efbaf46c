//! The choice of transport: what sends requests, through which proxy, and with which version of HTTP.

#[cfg(feature = "reqwest")]
use url::Url;

/// What sends requests.
#[derive(Debug, Clone, Default)]
pub enum Transport {
    /// lgoose's own HTTP/1.1 and HTTP/2.
    #[default]
    Direct,
    /// reqwest, with or without a proxy.
    #[cfg(feature = "reqwest")]
    Reqwest(ReqwestProxy),
}

/// The proxy that reqwest sends requests through.
#[cfg(feature = "reqwest")]
#[derive(Debug, Clone)]
pub enum ReqwestProxy {
    /// No proxy.
    None,
    /// The proxy that environment variables name.
    Environment,
    /// The proxy at this URL.
    At(Url),
}

impl Transport {
    /// Whether it is lgoose's own transport.
    pub fn is_direct(&self) -> bool {
        matches!(self, Transport::Direct)
    }

    /// Whether the proxy is contacted over TLS, as far as this is known before a request.
    pub fn needs_tls(&self) -> bool {
        match self {
            #[cfg(feature = "reqwest")]
            Transport::Reqwest(ReqwestProxy::At(proxy)) => proxy.scheme() == "https",
            _ => false,
        }
    }
}

/// The version of HTTP that a client uses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Version {
    /// HTTP/2 where the server offers it over TLS, else HTTP/1.1.
    #[default]
    Any,
    /// HTTP/1.1 only.
    Http1,
    /// HTTP/2 only; without TLS it assumes that the server supports it.
    Http2,
}
