//! The client that sends requests, and its proxy: `--client`, `--proxy`.

use super::value::Value;
use lgoose_base::error::Diagnostic;
use serde::{Deserialize, Serialize};
use url::Url;

/// The forms of a proxy's URL.
pub(super) const FORMS: &str = "write http://HOST:PORT, https://HOST:PORT, socks5://HOST:PORT or socks5h://HOST:PORT, with \
                     USER:PASSWORD@ before the host if the proxy wants it";

/// The client that sends the requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClientKind {
    /// lgoose's own client.
    #[default]
    Direct,
    /// The reqwest library.
    Reqwest,
}

impl ClientKind {
    /// Reads `direct` or `reqwest`.
    ///
    /// # Errors
    /// A sentence that names both.
    pub fn parse(text: &str) -> Result<ClientKind, String> {
        match text {
            "direct" => Ok(ClientKind::Direct),
            "reqwest" => Ok(ClientKind::Reqwest),
            other => Err(format!(
                "'{other}' is not a client: write direct or reqwest"
            )),
        }
    }
}

/// The time for which a user keeps its connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConnectionLifetime {
    /// The lifetime of the user.
    User,
    /// One iteration.
    Iteration,
}

impl ConnectionLifetime {
    /// Reads `user` or `iteration`.
    ///
    /// # Errors
    /// A sentence that names both.
    pub fn parse(text: &str) -> Result<ConnectionLifetime, String> {
        match text {
            "user" => Ok(ConnectionLifetime::User),
            "iteration" => Ok(ConnectionLifetime::Iteration),
            other => Err(format!(
                "'{other}' is not a lifetime of connections: write user or iteration ('-u N' sets the number of users)"
            )),
        }
    }

    /// Returns the word that `parse` reads.
    pub fn word(self) -> &'static str {
        match self {
            ConnectionLifetime::User => "user",
            ConnectionLifetime::Iteration => "iteration",
        }
    }
}

/// The bodies of responses that are only counted, and not kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DiscardedBodies {
    /// All are kept.
    #[default]
    None,
    /// Those with a status below 400.
    Successful,
    /// All.
    All,
}

impl DiscardedBodies {
    /// Reads `successful` or `all`.
    ///
    /// # Errors
    /// A sentence that names both.
    pub fn parse(text: &str) -> Result<DiscardedBodies, String> {
        match text {
            "successful" => Ok(DiscardedBodies::Successful),
            "all" => Ok(DiscardedBodies::All),
            other => Err(format!(
                "'{other}' is not a kind of bodies: write successful or all"
            )),
        }
    }

    /// Reads a plan's value: true, false or `successful`.
    ///
    /// # Errors
    /// A sentence that names them.
    pub(super) fn read(value: &Value) -> Result<DiscardedBodies, String> {
        match value {
            Value::Flag(true) => Ok(DiscardedBodies::All),
            Value::Flag(false) => Ok(DiscardedBodies::None),
            Value::Text(text) if text == "successful" => Ok(DiscardedBodies::Successful),
            other => Err(format!(
                "expected true, false or \"successful\", not {}",
                other.type_name()
            )),
        }
    }

    /// Returns the word for it.
    pub fn word(self) -> &'static str {
        match self {
            DiscardedBodies::None => "none",
            DiscardedBodies::Successful => "successful",
            DiscardedBodies::All => "all",
        }
    }
}

/// The most connections of a user to one host at the same time, unless it is set: as browsers have over HTTP/1.1.
pub(crate) const CONNECTIONS_PER_HOST: u32 = 6;

/// Reads the most connections of a user to one host at the same time.
///
/// # Errors
/// A sentence with the expected form.
pub fn read_connections_per_host(text: &str) -> Result<u32, String> {
    let number = text.parse().ok();
    number
        .and_then(|number| connections_per_host(number).ok())
        .ok_or_else(|| format!("'{text}' is not a whole number from 1 to 256"))
}

/// Checks a number of connections of a user to one host.
///
/// # Errors
/// A sentence with the expected form.
pub(super) fn connections_per_host(number: u64) -> Result<u32, String> {
    match number {
        1..=256 => Ok(number as u32),
        _ => Err(format!("'{number}' is not a whole number from 1 to 256")),
    }
}

/// Reads the most redirects that are followed.
///
/// # Errors
/// A sentence with the expected form.
pub fn read_max_redirects(text: &str) -> Result<u32, String> {
    let wrong = || format!("'{text}' is not a whole number from 0 to 100");
    let number = text.parse().map_err(|_| wrong())?;
    few_redirects(number).map_err(|_| wrong())
}

/// Checks a number of redirects.
///
/// # Errors
/// A sentence with the expected form.
pub(super) fn few_redirects(number: u64) -> Result<u32, String> {
    match number {
        0..=100 => Ok(number as u32),
        _ => Err(format!("'{number}' is not a whole number from 0 to 100")),
    }
}

/// The proxy that requests go through.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Proxy {
    /// No proxy, whatever the environment says.
    #[default]
    None,
    /// The proxies from `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`.
    Environment,
    /// This proxy, for every host.
    At(Url),
}

impl Proxy {
    /// Returns the same proxy without its user and password.
    pub(super) fn without_credentials(&self) -> Proxy {
        let mut proxy = self.clone();
        if let Proxy::At(url) = &mut proxy {
            // A URL without a host has none.
            let _none = (url.set_username(""), url.set_password(None));
        }
        proxy
    }

    /// Reads `none`, `env` or the URL of a proxy; without a scheme, it is an HTTP proxy.
    ///
    /// # Errors
    /// A sentence that shows the form.
    pub fn parse(text: &str) -> Result<Proxy, String> {
        match text {
            "none" => Ok(Proxy::None),
            "env" => Ok(Proxy::Environment),
            _ => {
                let url = proxy_url(text);
                url.map(Proxy::At)
                    .map_err(|why| format!("{why}: {FORMS}, or env or none"))
            }
        }
    }
}

/// Reads the URL of a proxy; without a scheme, it is an HTTP proxy.
///
/// # Errors
/// The problem with it. The text itself may hold a password and is not repeated.
pub(super) fn proxy_url(text: &str) -> Result<Url, String> {
    let with_scheme = if text.contains("://") {
        text.to_owned()
    } else {
        format!("http://{text}")
    };
    let mut url =
        Url::parse(&with_scheme).map_err(|error| format!("this is not a proxy's URL ({error})"))?;
    let usual_port = match url.scheme() {
        "http" | "https" => None,
        "socks5" | "socks5h" => Some(1080),
        other => return Err(format!("'{other}' is not a protocol for proxies")),
    };
    if url.host_str().is_none_or(str::is_empty) {
        return Err("a proxy's URL names a host".to_owned());
    }
    if url.port().is_none() && usual_port.is_some() {
        // Fails only for a URL without a host.
        let _set = url.set_port(usual_port);
    }
    match (url.path(), url.query(), url.fragment()) {
        // The client reads it again, by rules of its own, and would send past a proxy that it cannot read.
        ("" | "/", None, None) if url.as_str().parse::<http::Uri>().is_ok() => Ok(url),
        ("" | "/", None, None) => Err("a proxy's host has ASCII characters only".to_owned()),
        _ => Err("a proxy's URL has no path".to_owned()),
    }
}

/// Returns the client of a run: reqwest if there is a proxy, since only reqwest can use one.
///
/// # Errors
/// Returns a [`Diagnostic`] if the other client is requested together with a proxy.
pub(super) fn chosen(client: Option<ClientKind>, proxy: &Proxy) -> Result<ClientKind, Diagnostic> {
    match (client, proxy) {
        (client, Proxy::None) => Ok(client.unwrap_or_default()),
        (None | Some(ClientKind::Reqwest), _) => Ok(ClientKind::Reqwest),
        (Some(ClientKind::Direct), _) => Err(Diagnostic::new(
            "'--client direct' cannot go through the proxy of '--proxy'",
        )
        .help(
            "leave '--client' out, which lets '--proxy' choose 'reqwest', or give '--proxy none'",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_a_url_or_a_word() {
        for (text, expected) in [
            ("none", Some("none")),
            ("env", Some("env")),
            ("127.0.0.1:3128", Some("http://127.0.0.1:3128/")),
            (
                "http://me:secret@proxy:8080",
                Some("http://me:secret@proxy:8080/"),
            ),
            ("https://proxy", Some("https://proxy/")),
            ("socks5://127.0.0.1", Some("socks5://127.0.0.1:1080")),
            ("socks5h://[::1]:9050", Some("socks5h://[::1]:9050")),
            ("http://höst", Some("http://xn--hst-sna/")),
            ("socks5://höst", None),
            ("socks5://me:s%20t@höst", None),
            ("socks4://127.0.0.1", None),
            ("ftp://127.0.0.1", None),
            ("http://proxy/path", None),
            ("http://", None),
            ("socks5://", None),
            ("", None),
        ] {
            let shown = Proxy::parse(text).ok().map(|proxy| match proxy {
                Proxy::None => "none".to_owned(),
                Proxy::Environment => "env".to_owned(),
                Proxy::At(url) => url.to_string(),
            });
            assert_eq!(shown.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_about_a_proxy_is_reported_without_its_password() {
        for text in [
            "ftp://me:secret@host",
            "http://me:secret@host:x",
            "http://me:secret@host/p",
        ] {
            let message = Proxy::parse(text).expect_err(text);
            assert!(!message.contains("secret"), "{message}");
        }
    }

    #[test]
    fn a_proxy_chooses_the_client_that_can_use_it() {
        let proxy = Proxy::Environment;
        assert_eq!(chosen(None, &Proxy::None), Ok(ClientKind::Direct));
        assert_eq!(
            chosen(Some(ClientKind::Reqwest), &Proxy::None),
            Ok(ClientKind::Reqwest)
        );
        assert_eq!(chosen(None, &proxy), Ok(ClientKind::Reqwest));
        assert_eq!(
            chosen(Some(ClientKind::Reqwest), &proxy),
            Ok(ClientKind::Reqwest)
        );
        assert!(chosen(Some(ClientKind::Direct), &proxy).is_err());
    }
}
