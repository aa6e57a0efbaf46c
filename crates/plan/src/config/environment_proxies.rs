//! The proxies that the environment names, which `--proxy env` uses.

use super::transport::{FORMS, proxy_url};
use lgoose_base::error::Diagnostic;
use std::ffi::{OsStr, OsString};
use url::Url;

/// The proxies that the environment names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EnvironmentProxies {
    /// The proxy for `http://` URLs.
    pub http: Option<Url>,
    /// The proxy for `https://` URLs.
    pub https: Option<Url>,
}

impl EnvironmentProxies {
    /// Reads `HTTP_PROXY`, `HTTPS_PROXY` and, where one of them is not set, `ALL_PROXY`, in capital or in small
    /// letters. `variable` returns the value of a variable.
    ///
    /// # Errors
    /// A [`Diagnostic`] that names the variable whose value cannot be used: without that error, requests would bypass
    /// the proxy.
    pub fn read(
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<EnvironmentProxies, Diagnostic> {
        // In a CGI program that is the value of a request's header 'Proxy'.
        let is_header = |name: &str| name == "HTTP_PROXY" && variable("REQUEST_METHOD").is_some();
        let named = |name: &str| {
            let small = name.to_lowercase();
            let mut spellings = [name, &small].into_iter().filter(|name| !is_header(name));
            let found = spellings.find_map(|name| Some((name, variable(name)?)));
            match found.filter(|(_, value)| !value.is_empty()) {
                Some((name, value)) => value_of_environment(name, &value).map(Some),
                None => Ok(None),
            }
        };
        let or_all = |url: Option<Url>| match url {
            None => named("ALL_PROXY"),
            url => Ok(url),
        };
        Ok(EnvironmentProxies {
            http: or_all(named("HTTP_PROXY")?)?,
            https: or_all(named("HTTPS_PROXY")?)?,
        })
    }
}

/// Reads the proxy that a variable of the environment names.
fn value_of_environment(name: &str, value: &OsStr) -> Result<Url, Diagnostic> {
    let url = match value.to_str() {
        None => Err("it is not UTF-8".to_owned()),
        // These words would be meant as in '--proxy'.
        Some(word @ ("none" | "env")) => Err(format!("'{word}' is not a proxy's URL")),
        Some(text) => proxy_url(text),
    };
    url.map_err(|why| {
        Diagnostic::new(format!(
            "'--proxy env' cannot use {name} of the environment: {why}"
        ))
        .help(format!("{FORMS}, or unset it"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_of_the_environment_are_read_or_refused_by_the_name_of_their_variable() {
        let read = |variables: &[(&str, &str)]| {
            let value = |variable: &str| {
                let mut all = variables.iter();
                all.find_map(|(name, value)| (*name == variable).then(|| OsString::from(value)))
            };
            let proxies = EnvironmentProxies::read(value);
            proxies
                .map(|proxies| {
                    [proxies.http, proxies.https]
                        .map(|url| url.map_or_else(String::new, |url| url.to_string()))
                })
                .map_err(|mistake| mistake.to_string())
        };
        for (variables, http, https) in [
            (&[][..], "", ""),
            (&[("HTTP_PROXY", "")], "", ""),
            (&[("HTTP_PROXY", ""), ("http_proxy", "a:1")], "", ""),
            (&[("http_proxy", "a:1")], "http://a:1/", ""),
            (&[("HTTP_PROXY", "a:1"), ("REQUEST_METHOD", "GET")], "", ""),
            (
                &[("HTTPS_PROXY", "a:1"), ("https_proxy", "b:1")],
                "",
                "http://a:1/",
            ),
            (
                &[("ALL_PROXY", "socks5://a"), ("HTTPS_PROXY", "https://b")],
                "socks5://a:1080",
                "https://b/",
            ),
            // Nothing is left for it, so it does not matter.
            (
                &[
                    ("HTTP_PROXY", "a:1"),
                    ("HTTPS_PROXY", "a:1"),
                    ("all_proxy", "socks://a"),
                ],
                "http://a:1/",
                "http://a:1/",
            ),
        ] {
            let expected = Ok([http, https].map(str::to_owned));
            assert_eq!(read(variables), expected, "{variables:?}");
        }
        for (name, value) in [
            ("HTTPS_PROXY", "ftp://me:secret@127.0.0.1:1"),
            ("HTTP_PROXY", "not a url"),
            ("http_proxy", "http://me:secret@a:99999"),
            ("ALL_PROXY", "none"),
            ("all_proxy", "env"),
        ] {
            let message = read(&[(name, value)]).expect_err(value);
            assert!(
                message.contains(name) && !message.contains("secret"),
                "{message}"
            );
        }
    }
}
