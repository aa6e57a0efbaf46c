//! Hosts that requests may go to: a limit for plans that other people wrote.

use super::failure::{ErrorClass, Failure};
use lgoose_base::wildcard::fits;
use std::net::IpAddr;
use std::sync::Arc;
use url::Host;

/// Lists of patterns of hosts, in the form of hosts in URLs: a host is allowed if it is in each. Without any, every host is allowed.
#[derive(Debug, Clone, Default)]
pub struct AllowedHosts(Arc<[Vec<String>]>);

impl AllowedHosts {
    /// Makes the limit from host patterns; '*' stands for any text.
    pub fn new(patterns: &[String]) -> AllowedHosts {
        AllowedHosts::default().and(patterns)
    }

    /// Returns this limit with another one, which lifts it nowhere; without patterns, it is none.
    pub fn and(&self, patterns: &[String]) -> AllowedHosts {
        let patterns: Vec<String> = patterns.iter().map(|one| compared(one)).collect();
        let more = (!patterns.is_empty()).then_some(patterns);
        AllowedHosts(self.0.iter().cloned().chain(more).collect())
    }

    /// Checks that requests may go to that host.
    ///
    /// # Errors
    /// A failure of class `host not allowed`.
    pub fn check(&self, host: &str) -> Result<(), Failure> {
        if self.0.is_empty() {
            return Ok(());
        }
        let name = host.to_lowercase();
        let has = |list: &Vec<String>| list.iter().any(|pattern| fits(pattern, &name));
        if self.0.iter().all(has) {
            Ok(())
        } else {
            Err(Failure::new(
                ErrorClass::NotAllowed,
                format!("'{host}' is not among the hosts of '--allow-host'"),
            ))
        }
    }
}

/// Returns a pattern as hosts of URLs are written, an IPv6 address without its brackets.
fn compared(pattern: &str) -> String {
    let address = pattern
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    if let Ok(address) = address.unwrap_or(pattern).parse::<IpAddr>() {
        return address.to_string();
    }
    Host::parse(pattern).map_or_else(|_| pattern.to_lowercase(), |host| host.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_allowed_by_patterns_as_a_whole() {
        let patterns = ["*.staging.example.com", "127.0.0.1"].map(str::to_owned);
        let allowed = AllowedHosts::new(&patterns);
        for host in [
            "a.staging.example.com",
            "A.B.Staging.Example.com",
            "127.0.0.1",
        ] {
            assert!(allowed.check(host).is_ok(), "{host}");
        }
        for host in [
            "staging.example.com",
            "a.staging.example.com.evil.org",
            "127.0.0.10",
            "127x0.0.1",
            "",
        ] {
            let failure = allowed.check(host).expect_err(host);
            assert!(
                failure.detail.contains("--allow-host"),
                "{}",
                failure.detail
            );
        }
        assert!(AllowedHosts::default().check("anything").is_ok());
        for (pattern, host) in [
            ("[::1]", "::1"),
            ("0:0::1", "::1"),
            ("B\u{fc}cher.example", "xn--bcher-kva.example"),
            ("*.B\u{fc}cher.example", "a.xn--bcher-kva.example"),
            ("10.0.*", "10.0.0.1"),
        ] {
            let allowed = AllowedHosts::new(&[pattern.to_owned()]);
            assert!(allowed.check(host).is_ok(), "{pattern}");
        }
    }
}
