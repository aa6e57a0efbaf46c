//! The choice of transport: what carries requests out, through which proxy, and which version of HTTP it speaks.

#[cfg(feature = "reqwest")]
use url::Url;

/// What carries requests out.
#[derive(Debug, Clone, Default)]
pub enum Transport {
    /// lgoose's own HTTP/1.1, and HTTP/2 over `h2`.
    #[default]
    Direct,
    /// reqwest, through a proxy or not.
    #[cfg(feature = "reqwest")]
    Reqwest(ReqwestProxy),
}

/// The proxy that reqwest sends requests through.
#[cfg(feature = "reqwest")]
#[derive(Debug, Clone)]
pub enum ReqwestProxy {
    /// None.
    None,
    /// The one that the variables of the environment name.
    Environment,
    /// The one at this URL.
    At(Url),
}

impl Transport {
    /// Whether it is lgoose's own.
    pub fn is_direct(&self) -> bool {
        matches!(self, Transport::Direct)
    }

    /// Whether TLS is spoken to its proxy, as far as that is known before a request.
    pub fn needs_tls(&self) -> bool {
        match self {
            #[cfg(feature = "reqwest")]
            Transport::Reqwest(ReqwestProxy::At(proxy)) => proxy.scheme() == "https",
            _ => false,
        }
    }
}

/// The version of HTTP that a client speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Version {
    /// HTTP/2 where the server offers it over TLS, else HTTP/1.1.
    #[default]
    Any,
    /// HTTP/1.1 only.
    Http1,
    /// HTTP/2 only; without TLS on the knowledge that the server speaks it.
    Http2,
}
