//! Hosts that requests may go to: a limit for plans that other people wrote.

use super::failure::{ErrorClass, Failure};
use super::target::{Origin, UNIX};
use lgoose_base::wildcard::fits;
use std::net::IpAddr;
use std::sync::Arc;
use url::Host;

/// Lists of patterns of hosts, in the form of hosts in URLs: a host is allowed if it is in each. Without any, every host is
/// allowed. A Unix socket is allowed only by a pattern that begins as it does, with `unix:`.
#[derive(Debug, Clone, Default)]
pub struct AllowedHosts {
    lists: Arc<[Vec<String>]>,
    /// Whether Unix sockets have to be named even if there is no list.
    names_sockets: bool,
}

impl AllowedHosts {
    /// Makes the limit from host patterns; '*' stands for any text.
    pub fn new(patterns: &[String]) -> AllowedHosts {
        AllowedHosts::default().and(patterns)
    }

    /// Returns this limit with another one, which lifts it nowhere; without patterns, it is none.
    pub fn and(&self, patterns: &[String]) -> AllowedHosts {
        let patterns: Vec<String> = patterns.iter().map(|one| compared(one)).collect();
        let more = (!patterns.is_empty()).then_some(patterns);
        AllowedHosts {
            lists: self.lists.iter().cloned().chain(more).collect(),
            names_sockets: self.names_sockets,
        }
    }

    /// Returns this limit with that of other people's plans: a Unix socket of this machine, through which a plan could do
    /// much else, must be in the last list.
    pub fn for_strangers(&self, patterns: &[String]) -> AllowedHosts {
        let mut limit = self.and(patterns);
        limit.names_sockets |= patterns.is_empty();
        limit
    }

    /// Checks that requests may go to that origin.
    ///
    /// # Errors
    /// A failure of class `host not allowed`.
    #[inline]
    pub(super) fn check(&self, origin: &Origin) -> Result<(), Failure> {
        if self.lists.is_empty() && !self.names_sockets {
            return Ok(());
        }
        match &origin.socket {
            None => self.check_host(&origin.host),
            Some(socket) => self.check_socket(&socket.shown),
        }
    }

    fn check_host(&self, host: &str) -> Result<(), Failure> {
        let name = host.to_lowercase();
        let has = |list: &Vec<String>| list.iter().any(|pattern| fits(pattern, &name));
        if self.lists.iter().all(has) {
            return Ok(());
        }
        let detail = format!("'{host}' is not among the hosts of '--allow-host'");
        Err(Failure::new(ErrorClass::NotAllowed, detail))
    }

    fn check_socket(&self, shown: &str) -> Result<(), Failure> {
        // '..' would lead out of the folder that a pattern names.
        let is_plain = !shown.split('/').any(|part| part == "..");
        let allows = |pattern: &String| {
            pattern == shown || is_plain && pattern.starts_with(UNIX) && fits(pattern, shown)
        };
        let has = |list: &Vec<String>| list.iter().any(allows);
        if !self.names_sockets && self.lists.iter().all(has) {
            return Ok(());
        }
        let detail = format!(
            "'{shown}' is a socket of this machine, which must be named: '--allow-host {shown}'"
        );
        Err(Failure::new(ErrorClass::NotAllowed, detail))
    }
}

/// Returns a pattern as hosts of URLs are written, an IPv6 address without its brackets.
fn compared(pattern: &str) -> String {
    if pattern.starts_with(UNIX) {
        return pattern.to_owned();
    }
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
            assert!(allowed.check_host(host).is_ok(), "{host}");
        }
        for host in [
            "staging.example.com",
            "a.staging.example.com.evil.org",
            "127.0.0.10",
            "127x0.0.1",
            "",
        ] {
            let failure = allowed.check_host(host).expect_err(host);
            assert!(
                failure.detail.contains("--allow-host"),
                "{}",
                failure.detail
            );
        }
        for (pattern, host) in [
            ("[::1]", "::1"),
            ("0:0::1", "::1"),
            ("B\u{fc}cher.example", "xn--bcher-kva.example"),
            ("*.B\u{fc}cher.example", "a.xn--bcher-kva.example"),
            ("10.0.*", "10.0.0.1"),
        ] {
            let allowed = AllowedHosts::new(&[pattern.to_owned()]);
            assert!(allowed.check_host(host).is_ok(), "{pattern}");
        }
    }

    #[test]
    fn a_socket_is_allowed_only_by_a_pattern_for_sockets() {
        let checked = |allowed: &AllowedHosts, shown: &str| {
            let origin = Origin::of_socket(shown).expect("a path");
            allowed.check(&origin).is_ok()
        };
        let (socket, any) = ("unix:/run/App.sock", AllowedHosts::default());
        assert!(checked(&any, socket));
        assert!(!checked(&any.for_strangers(&[]), socket));
        for (pattern, named, is_allowed) in [
            ("*", socket, false),
            ("*.sock", socket, false),
            (socket, socket, true),
            ("unix:/run/app.sock", socket, false),
            ("unix:/run/*", socket, true),
            ("unix:*", socket, true),
            ("unix:/run/*", "unix:/run/../etc/other.sock", false),
            ("unix:../app.sock", "unix:../app.sock", true),
            ("unix:/run/*", "unix:run/App.sock", false),
        ] {
            let patterns = [pattern.to_owned()];
            let hosts = [AllowedHosts::new(&patterns), any.for_strangers(&patterns)];
            for allowed in hosts {
                assert_eq!(checked(&allowed, named), is_allowed, "{pattern} {named}");
            }
        }
        let both = AllowedHosts::new(&["127.0.0.1".to_owned()]);
        assert!(!checked(&both.for_strangers(&[socket.to_owned()]), socket));
    }
}
