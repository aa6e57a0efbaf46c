//! The hosts that the text of a plan names, for `lgoose check`. Hosts that a plan makes up while it runs are not among them.

use super::review::pattern;
use crate::diagnostics::{TokenKind, tokens};
use crate::plan_files::Program;
use std::collections::BTreeSet;

/// Returns the hosts in the texts of a plan and its modules, each with its port if it has one: those of URLs, addresses such
/// as `127.0.0.1:6379`, and Unix sockets.
pub fn named_hosts(program: &Program) -> BTreeSet<String> {
    let mut hosts = BTreeSet::new();
    for source in program.sources.all() {
        hosts.extend(hosts_in(&source.text));
    }
    hosts
}

fn hosts_in(source: &str) -> BTreeSet<String> {
    let url =
        pattern(r#"(?i)\b(?:https?|wss?)://(?:[^\s/@"']*@)?([\w.-]+|\[[0-9a-f:.]+\])(:\d+)?"#);
    let address =
        pattern(r#"^["']((?:[\w-]+\.)*[a-z][\w-]*|[\d.]+\.\d+|\[[0-9A-Fa-f:.]+\]):(\d{1,5})["']$"#);
    let unix = pattern(r#"^(?:["']|\[=*\[)(unix:[^"'\]]+)"#);
    let words = tokens(source);
    let mut hosts = BTreeSet::new();
    for (place, text) in words.iter().enumerate() {
        if text.kind != TokenKind::Text {
            continue;
        }
        // A socket is the whole of a text: one that the plan puts together is known only by its beginning.
        if let Some(found) = unix.captures(text.text) {
            hosts.insert(found[1].to_owned());
        }
        for found in url.captures_iter(text.text) {
            let port = found.get(2).map_or("", |port| port.as_str());
            hosts.insert(format!("{}{port}", found[1].to_ascii_lowercase()));
        }
        // A name alone may be that of a user, with a password.
        let mut before = words[..place].iter().rev();
        let opens_socket = before
            .find(|word| !matches!(word.text, "(" | "="))
            .is_some_and(|word| matches!(word.text, "tcp" | "tls" | "udp" | "address"));
        if let Some(found) = address.captures(text.text)
            && (opens_socket || found[1].contains(['.', '[']))
        {
            hosts.insert(format!("{}:{}", &found[1], &found[2]));
        }
    }
    hosts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_urls_and_addresses_are_found() {
        for (text, hosts) in [
            (
                "user:get 'https://Shop.example/a?b=http://c.d'",
                &["c.d", "shop.example"][..],
            ),
            ("user:get(\"http://\" .. host)", &[]),
            ("host = [[http://u:p@[::1]:8080/]]", &["[::1]:8080"]),
            (
                "user:tcp '127.0.0.1:6379' user:udp(\"dns:53\")",
                &["127.0.0.1:6379", "dns:53"],
            ),
            ("-- http://comment.example\nlocal at = '10:30'", &[]),
            (
                "host = 'unix:/run/App.sock' user:tcp('unix:' .. path) log 'about unix:/x'",
                &["unix:/run/App.sock"],
            ),
            ("user:websocket 'wss://a.b/c'", &["a.b"]),
            (
                "{ address = 'cache:6379' } base64.encode 'ada:12345'",
                &["cache:6379"],
            ),
        ] {
            assert!(
                hosts_in(text).iter().eq(hosts),
                "{text}: {:?}",
                hosts_in(text)
            );
        }
    }
}
