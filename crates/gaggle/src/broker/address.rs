//! Address of the broker with its credentials, which are never shown.

use lgoose_base::error::Diagnostic;
use std::fmt;
use std::path::PathBuf;
use url::Url;

/// Port of a broker whose URL has none.
const PORT: u16 = 4222;

/// Address of a broker, and the credentials for it.
#[derive(Clone, Default)]
pub struct BrokerAddress {
    /// `nats://host:4222` or `tls://host:4222`, without credentials; of several nodes with commas between.
    url: String,
    user: Option<String>,
    password: Option<String>,
    /// File with a JWT and its key, as NATS writes it.
    pub creds: Option<PathBuf>,
    /// Certificates to trust.
    pub ca: Option<PathBuf>,
    /// The client's certificate and, below, its key.
    pub cert: Option<PathBuf>,
    /// The file of its private key.
    pub key: Option<PathBuf>,
    /// Prefix of the subjects on which replies come, if not the usual one.
    pub inbox: Option<String>,
}

/// Credentials in the address.
pub(super) enum Credentials<'a> {
    None,
    Token(&'a str),
    Password(&'a str, &'a str),
}

impl BrokerAddress {
    /// Reads `nats://[USER:PASSWORD@|TOKEN@]HOST[:PORT]`, or `tls://…`, or several of them with commas between: the nodes of
    /// a cluster. The scheme and credentials of the first hold for the others.
    ///
    /// # Errors
    /// A mistake whose text does not repeat secrets.
    pub fn parse(text: &str) -> Result<BrokerAddress, Diagnostic> {
        let mut nodes = text.split(',').map(str::trim);
        let first = nodes.next().unwrap_or_default();
        let mut address = BrokerAddress::parse_node(first, "nats")?;
        for node in nodes {
            let scheme = if address.is_tls() { "tls" } else { "nats" };
            let other = BrokerAddress::parse_node(node, scheme)?;
            if other.is_tls() != address.is_tls() {
                return Err(wrong("has nodes with nats:// and others with tls://"));
            }
            address.url = format!("{},{}", address.url, other.url);
            address.user = address.user.or(other.user);
            address.password = address.password.or(other.password);
        }
        Ok(address)
    }

    /// Reads the address of one node, whose scheme may be missing.
    fn parse_node(text: &str, scheme: &str) -> Result<BrokerAddress, Diagnostic> {
        let text = if text.contains("://") {
            text.to_owned()
        } else {
            format!("{scheme}://{text}")
        };
        let url = Url::parse(&text).map_err(|_| wrong("cannot be read"))?;
        if !matches!(url.scheme(), "nats" | "tls") {
            return Err(wrong("begins neither with nats:// nor with tls://"));
        }
        let host = url.host_str().filter(|host| !host.is_empty());
        let host = host.ok_or_else(|| wrong("has no host"))?;
        let plain = |text: &str| {
            percent_encoding::percent_decode_str(text)
                .decode_utf8_lossy()
                .into_owned()
        };
        Ok(BrokerAddress {
            url: format!("{}://{host}:{}", url.scheme(), url.port().unwrap_or(PORT)),
            user: Some(url.username())
                .filter(|user| !user.is_empty())
                .map(plain),
            password: url.password().map(plain),
            ..BrokerAddress::default()
        })
    }

    /// Returns the URL without credentials; those of several nodes with commas between.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the URLs of the nodes.
    pub(super) fn servers(&self) -> Vec<&str> {
        self.url.split(',').collect()
    }

    pub(super) fn is_tls(&self) -> bool {
        self.url.starts_with("tls:")
    }

    pub(super) fn credentials(&self) -> Credentials<'_> {
        match (&self.user, &self.password) {
            (Some(user), Some(password)) => Credentials::Password(user, password),
            (Some(token), None) => Credentials::Token(token),
            (None, _) => Credentials::None,
        }
    }
}

fn wrong(why: &str) -> Diagnostic {
    Diagnostic::new(format!("the address of the broker {why}")).help(
        "write it as 'nats://HOST:4222', 'nats://TOKEN@HOST:4222' or 'tls://USER:PASSWORD@HOST:4222', the nodes of a cluster \
         as 'nats://HOST:4222,HOST:4222'",
    )
}

impl fmt::Debug for BrokerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_port_and_may_have_credentials() {
        let address = BrokerAddress::parse("broker").expect("a host");
        assert_eq!(address.url(), "nats://broker:4222");
        assert!(matches!(address.credentials(), Credentials::None));
        let address = BrokerAddress::parse("nats://s%40cret@10.0.0.1:5000").expect("a token");
        assert!(matches!(
            address.credentials(),
            Credentials::Token("s@cret")
        ));
        let address = BrokerAddress::parse("tls://me:hidden@broker").expect("a password");
        assert!(matches!(
            address.credentials(),
            Credentials::Password("me", "hidden")
        ));
        assert!(address.is_tls());
        assert_eq!(
            format!("{address:?} {}", address.url()),
            "tls://broker:4222 tls://broker:4222"
        );
        let address = BrokerAddress::parse("nats://s3cret@a,b:5000, nats://c").expect("a cluster");
        let nodes = ["nats://a:4222", "nats://b:5000", "nats://c:4222"];
        assert_eq!(address.servers(), nodes);
        assert!(matches!(
            address.credentials(),
            Credentials::Token("s3cret")
        ));
    }

    #[test]
    fn a_wrong_address_is_refused_without_its_secrets() {
        for wrong in [
            "http://hidden@broker",
            "nats://hidden@:4222",
            "nats://hidden@bro ker",
            "nats://hidden@a,",
            "nats://hidden@a,tls://b",
            "nats://a,http://hidden@b",
        ] {
            let message = BrokerAddress::parse(wrong).expect_err(wrong).to_string();
            assert!(
                message.contains("nats://HOST:4222") && !message.contains("hidden"),
                "{message}"
            );
        }
    }
}
