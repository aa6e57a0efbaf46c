//! Options of a run that is served over HTTP.

use super::masked;
use clap::Args;
use lgoose_base::units;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// Fewest characters of a token: nobody finds 16 by trying.
const TOKEN: usize = 16;

/// Options of a run that is served over HTTP.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Web")]
pub(crate) struct WebArgs {
    /// Serve the run over HTTP: a page, commands, metrics [default: 127.0.0.1:7400]
    ///
    /// lgoose prints the address of the page, with the token that it needs. Without a port, it uses 7400, or the next free
    /// port if 7400 is taken. The server ends with lgoose.
    #[arg(long, value_name = "ADDR:PORT", num_args = 0..=1, default_missing_value = "127.0.0.1", value_parser = place)]
    pub web: Option<WebPlace>,
    /// The token instead of a random one; LGOOSE_WEB_TOKEN keeps it out of the process list
    #[arg(long, value_name = "TOKEN", hide_env_values = true, value_parser = masked::secret(token))]
    pub web_token: Option<String>,
    /// Do not let anybody steer the run over HTTP
    #[arg(long)]
    pub web_read_only: bool,
    /// Serve plain HTTP even if other machines can reach it
    #[arg(long)]
    pub web_insecure: bool,
    /// The origin of the page behind a proxy that ends TLS, such as https://load.example.com
    #[arg(long, value_name = "ORIGIN", value_parser = origin)]
    pub web_origin: Option<String>,
    /// Serve https with this certificate (PEM)
    #[arg(long, value_name = "FILE")]
    pub web_cert: Option<PathBuf>,
    /// Its private key (PEM) [default: in the file of --web-cert]
    #[arg(long, value_name = "FILE")]
    pub web_key: Option<PathBuf>,
    /// Open the page in the browser of this machine
    #[arg(long)]
    pub open: bool,
    /// The socket of the host of the run, which gets the address in place of the terminal.
    #[arg(skip)]
    pub host: Option<Arc<UnixStream>>,
}

/// Options of a server that ends with its run.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Export")]
pub(crate) struct LingerArgs {
    /// Wait this long after the end for one more scrape of /metrics [default: their interval, at most 60s]
    ///
    /// Only where two scrapes or more have come, so that the last one has the figures of the report. It is written before. 0 waits
    /// for none; Ctrl-C skips the wait.
    #[arg(long, value_name = "D", value_parser = units::duration)]
    pub web_linger: Option<Duration>,
}

/// An address to serve at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WebPlace {
    /// An address or a name of this machine.
    pub host: String,
    /// The port, if one was said.
    pub port: Option<u16>,
}

/// Reads `127.0.0.1:7400`, `[::1]:7400`, `localhost:7400`, `:7400`, `7400` or an address alone.
fn place(text: &str) -> Result<WebPlace, String> {
    let wrong = || {
        format!(
            "'{text}' is not an address to serve at: write '127.0.0.1:7400', or '--web' after the plan for just that"
        )
    };
    let (host, port) = match text.rsplit_once(':') {
        _ if text.parse::<u16>().is_ok() => ("127.0.0.1", Some(text)),
        Some(("", port)) => ("127.0.0.1", Some(port)),
        // An IPv6 address alone has colons, too.
        Some(_) if text.parse::<std::net::Ipv6Addr>().is_ok() || text.ends_with(']') => {
            (text, None)
        }
        Some((host, port)) => (host, Some(port)),
        None => (text, None),
    };
    let port = port.map(str::parse).transpose().map_err(|_| wrong())?;
    let host = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(host);
    let is_address = host.parse::<std::net::IpAddr>().is_ok();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
    // A value that ends so is a plan in the wrong place.
    let is_name = !host.is_empty() && host.chars().all(plain) && !host.ends_with(".lua");
    let is_number = host.chars().all(|c| c.is_ascii_digit() || c == '.');
    if is_address || is_name && !is_number {
        Ok(WebPlace {
            host: host.to_owned(),
            port,
        })
    } else {
        Err(wrong())
    }
}

/// Reads the origin of a page: `https://load.example.com`.
fn origin(text: &str) -> Result<String, String> {
    let url = Url::parse(text).ok().filter(|url| {
        let is_web = matches!(url.scheme(), "http" | "https") && url.username().is_empty();
        is_web && url.path() == "/" && url.query().is_none() && url.fragment().is_none()
    });
    let origin = url.map(|url| url.origin().ascii_serialization());
    origin.ok_or_else(|| {
        format!("'{text}' is not an origin: write scheme, host and port alone, as in 'https://load.example.com'")
    })
}

fn token(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '~');
    if text.len() >= TOKEN && text.chars().all(plain) {
        Ok(text.to_owned())
    } else {
        // Not the token itself: it may be almost right.
        Err(format!(
            "a token has {TOKEN} or more of the characters a-z, A-Z, 0-9, '-', '_', '.' and '~', such as those of \
             'openssl rand -hex 16'"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_in_several_ways() {
        for (text, host, port) in [
            ("127.0.0.1:7400", "127.0.0.1", Some(7400)),
            ("127.0.0.1", "127.0.0.1", None),
            ("7401", "127.0.0.1", Some(7401)),
            (":7401", "127.0.0.1", Some(7401)),
            ("[::1]:80", "::1", Some(80)),
            ("::1", "::1", None),
            ("[::]", "::", None),
            ("0.0.0.0", "0.0.0.0", None),
            ("localhost:9", "localhost", Some(9)),
            ("load-box.example", "load-box.example", None),
        ] {
            let host = host.to_owned();
            assert_eq!(place(text), Ok(WebPlace { host, port }), "{text}");
        }
        for wrong in [
            "",
            "plan.lua",
            "plans/a.lua",
            "http://a",
            "a:b",
            "a:70000",
            "70000",
            "1.2.3",
            "a b",
        ] {
            assert!(place(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_origin_is_a_scheme_a_host_and_a_port() {
        for (text, expected) in [
            ("https://load.example.com", "https://load.example.com"),
            ("https://Load.example.com:443/", "https://load.example.com"),
            ("http://10.0.0.1:8080", "http://10.0.0.1:8080"),
        ] {
            assert_eq!(origin(text).as_deref(), Ok(expected), "{text}");
        }
        for wrong in [
            "load.example.com",
            "https://load.example.com/tests",
            "https://me@load.example.com",
            "https://load.example.com/?a",
            "ws://load.example.com",
            "",
        ] {
            assert!(origin(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_token_is_long_and_plain_and_not_shown_when_it_is_wrong() {
        assert!(token("0123456789abcdef").is_ok());
        for wrong in [
            "",
            "0123456789abcde",
            "0123456789abcde;",
            "0123456789abcde ",
        ] {
            let message = token(wrong).expect_err("it is wrong");
            assert!(message.contains("openssl rand"), "{message}");
            assert!(wrong.is_empty() || !message.contains(wrong), "{message}");
        }
    }
}
