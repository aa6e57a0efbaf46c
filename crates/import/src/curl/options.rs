//! The options of curl 7.88 and a few newer ones: their names, and whether a value follows (its manual page lists them).

/// An option of curl.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CurlOption {
    pub(super) name: &'static str,
    letter: Option<char>,
    pub(super) takes_value: bool,
    pub(super) effect: OptionEffect,
}

/// Effects of an option on the requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OptionEffect {
    /// The request depends on it, or a field of the plan has its value.
    Read,
    /// It makes no difference to a plan.
    Nothing,
    /// It does something that plans do not do.
    Lost,
}

/// Options with a value and without one, each with its letter before a `/` if it has one.
const READ: [&str; 34] = [
    "X/request",
    "H/header",
    "d/data",
    "data-ascii",
    "data-binary",
    "data-raw",
    "data-urlencode",
    "json",
    "F/form",
    "form-string",
    "u/user",
    "b/cookie",
    "A/user-agent",
    "e/referer",
    "oauth2-bearer",
    "url",
    "url-query",
    "T/upload-file",
    "r/range",
    "x/proxy",
    "socks5",
    "socks5-hostname",
    "resolve",
    "cacert",
    "E/cert",
    "key",
    "m/max-time",
    "max-redirs",
    "interface",
    "K/config",
    "proto-default",
    "request-target",
    "C/continue-at",
    "z/time-cond",
];
const READ_FLAGS: [&str; 16] = [
    "G/get",
    "I/head",
    "L/location",
    "location-trusted",
    "k/insecure",
    ":/next",
    "digest",
    "basic",
    "anyauth",
    "ntlm",
    "negotiate",
    "http1.1",
    "http2-prior-knowledge",
    "g/globoff",
    "path-as-is",
    "form-escape",
];
const NOTHING: [&str; 40] = [
    "o/output",
    "output-dir",
    "w/write-out",
    "connect-timeout",
    "c/cookie-jar",
    "retry",
    "retry-delay",
    "retry-max-time",
    "D/dump-header",
    "stderr",
    "trace",
    "trace-ascii",
    "trace-config",
    "limit-rate",
    "rate",
    "keepalive-time",
    "max-filesize",
    "Y/speed-limit",
    "y/speed-time",
    "expect100-timeout",
    "happy-eyeballs-timeout-ms",
    "create-file-mode",
    "etag-save",
    "hsts",
    "alt-svc",
    "libcurl",
    "parallel-max",
    "random-file",
    "egd-file",
    "dns-servers",
    "dns-interface",
    "dns-ipv4-addr",
    "dns-ipv6-addr",
    "doh-url",
    "proto",
    "proto-redir",
    "h/help",
    "capath",
    "crlfile",
    "local-port",
];
const NOTHING_FLAGS: [&str; 52] = [
    "compressed",
    "s/silent",
    "S/show-error",
    "v/verbose",
    "i/include",
    "N/no-buffer",
    "#/progress-bar",
    "f/fail",
    "fail-early",
    "fail-with-body",
    "http1.0",
    "0/http1.0",
    "http2",
    "http3",
    "http3-only",
    "http0.9",
    "q/disable",
    "no-progress-meter",
    "progress-meter",
    "tcp-nodelay",
    "tcp-fastopen",
    "O/remote-name",
    "J/remote-header-name",
    "remote-name-all",
    "R/remote-time",
    "remove-on-error",
    "create-dirs",
    "clobber",
    "Z/parallel",
    "parallel-immediate",
    "retry-all-errors",
    "retry-connrefused",
    "4/ipv4",
    "6/ipv6",
    "keepalive",
    "sessionid",
    "alpn",
    "npn",
    "styled-output",
    "suppress-connect-headers",
    "trace-time",
    "trace-ids",
    "raw",
    "j/junk-session-cookies",
    "xattr",
    "n/netrc",
    "netrc-optional",
    "post301",
    "post302",
    "post303",
    "M/manual",
    "V/version",
];
const LOST: [&str; 40] = [
    "abstract-unix-socket",
    "unix-socket",
    "aws-sigv4",
    "cert-type",
    "ciphers",
    "connect-to",
    "curves",
    "delegation",
    "engine",
    "etag-compare",
    "key-type",
    "login-options",
    "netrc-file",
    "noproxy",
    "pass",
    "pinnedpubkey",
    "proxy-cacert",
    "proxy-cert",
    "proxy-header",
    "proxy-key",
    "U/proxy-user",
    "proxy-pass",
    "pubkey",
    "Q/quote",
    "socks4",
    "socks4a",
    "t/telnet-option",
    "tls-max",
    "tls13-ciphers",
    "tlsauthtype",
    "tlspassword",
    "tlsuser",
    "proxy1.0",
    "preproxy",
    "service-name",
    "hostpubmd5",
    "mail-from",
    "mail-rcpt",
    "P/ftp-port",
    "sasl-authzid",
];
const LOST_FLAGS: [&str; 24] = [
    "a/append",
    "cert-status",
    "crlf",
    "disallow-username-in-url",
    "ignore-content-length",
    "l/list-only",
    "p/proxytunnel",
    "proxy-insecure",
    "proxy-basic",
    "proxy-digest",
    "proxy-ntlm",
    "proxy-anyauth",
    "ssl",
    "ssl-reqd",
    "2/sslv2",
    "3/sslv3",
    "1/tlsv1",
    "tlsv1.0",
    "tlsv1.1",
    "tlsv1.2",
    "tlsv1.3",
    "tr-encoding",
    "B/use-ascii",
    "ntlm-wb",
];

/// Returns all options.
fn all() -> impl Iterator<Item = CurlOption> {
    let of = |list: &'static [&'static str], takes_value, effect| {
        list.iter().map(move |text| {
            let (letter, name) = match text.split_once('/') {
                Some((letter, name)) => (letter.chars().next(), name),
                None => (None, *text),
            };
            CurlOption {
                name,
                letter,
                takes_value,
                effect,
            }
        })
    };
    of(&READ, true, OptionEffect::Read)
        .chain(of(&READ_FLAGS, false, OptionEffect::Read))
        .chain(of(&NOTHING, true, OptionEffect::Nothing))
        .chain(of(&NOTHING_FLAGS, false, OptionEffect::Nothing))
        .chain(of(&LOST, true, OptionEffect::Lost))
        .chain(of(&LOST_FLAGS, false, OptionEffect::Lost))
}

/// Returns the option of that letter.
pub(super) fn short(letter: char) -> Option<CurlOption> {
    all().find(|option| option.letter == Some(letter))
}

/// Returns the option of that name, without its dashes, and whether it is on: `--no-` takes a flag back. A name may be cut
/// where only one begins so.
pub(super) fn long(name: &str) -> Option<(CurlOption, bool)> {
    if let Some(found) = all().find(|option| option.name == name) {
        return Some((found, true));
    }
    if let Some(positive) = name.strip_prefix("no-") {
        let mut flags = all().filter(|option| !option.takes_value);
        if let Some(found) = flags.find(|option| option.name == positive) {
            return Some((found, false));
        }
    }
    let mut beginning = all().filter(|option| option.name.starts_with(name));
    let found = beginning.next()?;
    let is_only = beginning.all(|other| other.name == found.name);
    is_only.then_some((found, true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_found_by_letter_and_by_name() {
        let name = |found: Option<(CurlOption, bool)>| found.map(|(option, on)| (option.name, on));
        assert_eq!(short('X').map(|option| option.name), Some("request"));
        assert_eq!(short('é'), None);
        assert_eq!(name(long("data-raw")), Some(("data-raw", true)));
        assert_eq!(name(long("no-location")), Some(("location", false)));
        assert_eq!(name(long("no-buffer")), Some(("no-buffer", true)));
        assert_eq!(name(long("insec")), Some(("insecure", true)));
        assert_eq!(name(long("dat")), None, "several begin so");
        assert_eq!(name(long("nonsense")), None);
    }

    #[test]
    fn each_letter_and_each_name_stands_for_one_option() {
        let mut names: Vec<_> = all().map(|option| option.name).collect();
        let mut letters: Vec<_> = all().filter_map(|option| option.letter).collect();
        let count = (names.len(), letters.len());
        names.sort_unstable();
        names.dedup();
        letters.sort_unstable();
        letters.dedup();
        // HTTP/1.0 is there with its letter and without it.
        assert_eq!((names.len() + 1, letters.len()), count);
    }
}
