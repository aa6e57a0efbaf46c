//! Which of the recorded requests are the site's own, and which of them a redirect made: lgoose follows redirects itself.

use super::exchange::{ExchangeKind, RecordedExchange};
use super::script_variables::ScriptVariables;
use crate::error::Diagnostic;
use std::collections::BTreeMap;
use std::path::PathBuf;
use url::Url;

/// How many requests after a redirect the one that it led to is looked for.
const NEAR: usize = 60;

/// What the author chooses.
#[derive(Debug, Default)]
pub(crate) struct Choices {
    /// Hosts whose requests are kept beside those of the site: a name, with a port if it has one; `*` for all.
    pub(crate) hosts: Vec<String>,
    /// Whether files can be written beside the plan.
    pub(crate) files: bool,
    /// Environments and globals of Postman, and the rows of its runner.
    pub(crate) environments: Vec<PathBuf>,
    pub(crate) data: Option<PathBuf>,
    /// Where the file that is imported lies, if it lies anywhere: what it refers to is looked for beside it.
    pub(crate) path: Option<PathBuf>,
}

impl Choices {
    /// Refuses what belongs to a collection of Postman alone.
    ///
    /// # Errors
    /// The flag, and what it is for.
    pub(super) fn expect_no_collection(&self, name: &str) -> Result<(), Diagnostic> {
        let flag = match (&self.data, self.environments.as_slice()) {
            (None, []) => return Ok(()),
            (Some(_), _) => "--data",
            (None, _) => "--environment",
        };
        let message = format!("'{flag}' belongs to a collection of Postman, and {name} is none");
        Err(Diagnostic::new(message).help(format!("leave '{flag}' out")))
    }
}

/// The requests that the plan sends.
#[derive(Debug)]
pub(super) struct SelectedExchanges {
    /// Any URL of the site.
    pub(super) site: Url,
    pub(super) exchanges: Vec<RecordedExchange>,
    /// What the texts of a script have in them that is not known.
    pub(super) variables: ScriptVariables,
}

impl SelectedExchanges {
    pub(super) fn is_site(&self, url: &Url) -> bool {
        url.origin() == self.site.origin()
    }
}

/// Chooses them; `None` if there are none. Hosts that are left out are noted.
pub(super) fn choose(
    mut exchanges: Vec<RecordedExchange>,
    choices: &Choices,
    notes: &mut Vec<String>,
) -> Option<SelectedExchanges> {
    let site = main_site(&exchanges)?;
    let is_retained = |url: &Url| {
        url.origin() == site.origin() || choices.hosts.iter().any(|host| is_host(url, host))
    };
    let gone = merge_redirects(&mut exchanges, &is_retained);
    let mut others: BTreeMap<String, usize> = BTreeMap::new();
    let mut retained = Vec::new();
    for (exchange, gone) in exchanges.into_iter().zip(gone) {
        if gone {
            continue;
        }
        if is_retained(&exchange.url) {
            retained.push(exchange);
        } else {
            let host = exchange.url.host_str().unwrap_or_default();
            let port = exchange
                .url
                .port()
                .map(|port| format!(":{port}"))
                .unwrap_or_default();
            *others.entry(format!("{host}{port}")).or_default() += 1;
        }
    }
    if !others.is_empty() {
        let total: usize = others.values().sum();
        let mut hosts: Vec<(String, usize)> = others.into_iter().collect();
        hosts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let shown: Vec<String> = hosts
            .iter()
            .take(8)
            .map(|(host, count)| format!("{host} ({count})"))
            .collect();
        let more = match hosts.len() {
            0..=8 => String::new(),
            length => format!(" and {} more hosts", length - 8),
        };
        let requests = if total == 1 {
            "1 request".to_owned()
        } else {
            format!("{total} requests")
        };
        notes.push(format!(
            "left out {requests} to other hosts: {}{more}; '--hosts {}' keeps those of one",
            shown.join(", "),
            hosts[0].0
        ));
    }
    if retained.is_empty() {
        None
    } else {
        Some(SelectedExchanges {
            site,
            exchanges: retained,
            variables: ScriptVariables::default(),
        })
    }
}

/// Returns a URL of the site that was visited: of its first page that came, else of the first request.
fn main_site(exchanges: &[RecordedExchange]) -> Option<Url> {
    let came = |exchange: &&RecordedExchange| {
        let status = exchange
            .response
            .as_ref()
            .map_or(200, |response| response.status);
        exchange.kind == ExchangeKind::Page && !(300..400).contains(&status)
    };
    let first = exchanges.iter().find(came);
    let first = first.or_else(|| {
        exchanges
            .iter()
            .find(|exchange| exchange.kind != ExchangeKind::Asset)
    });
    first
        .or(exchanges.first())
        .map(|exchange| exchange.url.clone())
}

fn is_host(url: &Url, named: &str) -> bool {
    let host = url.host_str().unwrap_or_default();
    let with_port = format!("{host}:{}", url.port_or_known_default().unwrap_or(0));
    named == "*" || named.eq_ignore_ascii_case(host) || named.eq_ignore_ascii_case(&with_port)
}

/// Returns whether an origin, such as `https://example.com`, is that of a host the author has named.
pub(super) fn is_host_named(origin: &str, named: &str) -> bool {
    Url::parse(origin).is_ok_and(|url| is_host(&url, named))
}

/// Gives each redirected request the answer that its chain ended with, and returns which requests those chains made.
fn merge_redirects(
    exchanges: &mut [RecordedExchange],
    is_retained: &dyn Fn(&Url) -> bool,
) -> Vec<bool> {
    let mut gone = vec![false; exchanges.len()];
    for first in 0..exchanges.len() {
        if gone[first] {
            continue;
        }
        let mut last = first;
        while let Some((target, retains_method)) = redirect(&exchanges[last]) {
            if is_retained(&exchanges[first].url) && !is_retained(&target) {
                // What another host says is not the site's answer.
                exchanges[first].follows = false;
                break;
            }
            let method = match retains_method {
                true => exchanges[last].method.clone(),
                false if exchanges[last].method == "HEAD" => "HEAD".to_owned(),
                false => "GET".to_owned(),
            };
            let until = exchanges.len().min(last + NEAR);
            let next = (last + 1..until).find(|at| {
                !gone[*at] && exchanges[*at].url == target && exchanges[*at].method == method
            });
            let Some(next) = next else { break };
            gone[next] = true;
            last = next;
        }
        if last == first {
            continue;
        }
        let mut response = exchanges[last].response.take();
        let (kind, end_ms, responded_ms, url) = (
            exchanges[last].kind,
            exchanges[last].end_ms,
            exchanges[last].responded_ms,
            exchanges[last].url.clone(),
        );
        let hop = &mut exchanges[first];
        if let (Some(response), Some(before)) = (&mut response, &hop.response) {
            let set = before
                .headers
                .iter()
                .filter(|(name, _)| name == "set-cookie");
            response.headers.extend(set.cloned());
        }
        hop.response = response;
        hop.end_ms = end_ms;
        hop.responded_ms = responded_ms;
        if kind == ExchangeKind::Page {
            hop.kind = kind;
        }
        // `http://example.com` that leads to `https://www.example.com`: the visit begins there.
        if !is_retained(&hop.url) && is_retained(&url) && hop.method == "GET" && hop.body.is_none()
        {
            hop.url = url;
        }
    }
    gone
}

/// Returns where an answer redirects to, and whether the method stays.
fn redirect(exchange: &RecordedExchange) -> Option<(Url, bool)> {
    let response = exchange.response.as_ref()?;
    let retains_method = match response.status {
        301..=303 => matches!(exchange.method.as_str(), "GET" | "HEAD"),
        307 | 308 => true,
        _ => return None,
    };
    let mut target = exchange.url.join(response.header("location")?).ok()?;
    target.set_fragment(None);
    Some((target, retains_method))
}
