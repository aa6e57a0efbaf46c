//! The choice of transport: the client that sends requests, through which proxy, and with which version of HTTP.

#[cfg(feature = "reqwest")]
use super::target::Origin;
#[cfg(feature = "reqwest")]
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
#[cfg(feature = "reqwest")]
use url::Url;

/// The client that sends requests.
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
    /// The proxies that environment variables name, but for the hosts of `NO_PROXY`.
    Environment {
        /// The proxy for `http://` URLs.
        http: Option<Url>,
        /// The proxy for `https://` URLs.
        https: Option<Url>,
    },
    /// The proxy at this URL.
    At(Url),
}

impl Transport {
    /// Whether it is lgoose's own transport.
    pub fn is_direct(&self) -> bool {
        matches!(self, Transport::Direct)
    }

    /// Whether a proxy is contacted over TLS.
    pub fn needs_tls(&self) -> bool {
        #[cfg(feature = "reqwest")]
        if let Transport::Reqwest(proxy) = self {
            return proxy.urls().any(|proxy| proxy.scheme() == "https");
        }
        false
    }

    /// The proxy for requests to an origin, unless `NO_PROXY` lists that.
    #[cfg(feature = "reqwest")]
    pub(super) fn proxy_for(&self, origin: &Origin) -> Option<&Url> {
        match self {
            Transport::Direct | Transport::Reqwest(ReqwestProxy::None) => None,
            Transport::Reqwest(ReqwestProxy::Environment { https, .. }) if origin.secure => {
                https.as_ref()
            }
            Transport::Reqwest(ReqwestProxy::Environment { http, .. }) => http.as_ref(),
            Transport::Reqwest(ReqwestProxy::At(url)) => Some(url),
        }
    }

    /// The proxy for requests to an origin, with `NO_PROXY` obeyed.
    #[cfg(feature = "reqwest")]
    pub(super) fn intercept(&self, origin: &Origin) -> Option<Intercept> {
        if origin.socket.is_some() {
            return None;
        }
        let url = self.proxy_for(origin)?;
        let matcher = Matcher::builder().all(url.as_str());
        let matcher = match self {
            Transport::Reqwest(ReqwestProxy::Environment { .. }) => {
                let of = |name| std::env::var(name).ok();
                matcher.no(of("NO_PROXY")
                    .or_else(|| of("no_proxy"))
                    .unwrap_or_default())
            }
            _ => matcher,
        };
        matcher.build().intercept(&origin.text.parse().ok()?)
    }

    /// Whether lgoose itself opens the connections to an origin, since reqwest cannot: to a Unix socket, or through a proxy
    /// over TLS to an IPv6 address.
    #[cfg(feature = "reqwest")]
    pub(super) fn needs_own_connection(&self, origin: &Origin) -> bool {
        if origin.socket.is_some() {
            return true;
        }
        let tunnels = || {
            self.proxy_for(origin)
                .is_some_and(|url| url.scheme() != "https")
        };
        origin.secure && origin.host.contains(':') && tunnels() && self.intercept(origin).is_some()
    }

    /// A warning for the report if the environment should name proxies, and names none.
    pub fn warning(&self) -> Option<&'static str> {
        #[cfg(feature = "reqwest")]
        if let Transport::Reqwest(proxy @ ReqwestProxy::Environment { .. }) = self
            && proxy.urls().next().is_none()
        {
            return Some(
                "requests went to the site directly: '--proxy env' found neither HTTP_PROXY nor HTTPS_PROXY nor \
                 ALL_PROXY in the environment",
            );
        }
        None
    }
}

#[cfg(feature = "reqwest")]
impl ReqwestProxy {
    /// All proxies that requests may go through.
    pub(super) fn urls(&self) -> impl Iterator<Item = &Url> {
        let (first, second) = match self {
            ReqwestProxy::None => (None, None),
            ReqwestProxy::Environment { http, https } => (http.as_ref(), https.as_ref()),
            ReqwestProxy::At(url) => (Some(url), None),
        };
        first.into_iter().chain(second)
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
