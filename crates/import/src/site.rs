//! The requests of the site among those that were recorded, and those that a redirect made: lgoose follows redirects
//! itself.

use super::exchange::{ExchangeKind, RecordedExchange};
use super::script_variables::ScriptVariables;
use lgoose_base::error::Diagnostic;
use std::collections::BTreeMap;
use std::path::PathBuf;
use url::Url;

/// The number of requests after a redirect among which the one that it led to is searched for.
const NEAR: usize = 60;

/// Options of an import.
#[derive(Debug, Default)]
pub struct ImportOptions {
    /// Hosts whose requests are kept beside those of the site: a name, with a port if it has one; `*` for all.
    pub hosts: Vec<String>,
    /// The host of the site, if it is not the one of the first page.
    pub site: Option<String>,
    /// Whether files can be written beside the plan.
    pub files: bool,
    /// Environments and globals of Postman, and the rows of its runner.
    pub environments: Vec<PathBuf>,
    /// The file with the rows of a runner.
    pub data: Option<PathBuf>,
    /// The path of the imported file, if it has one: the files that it refers to are read beside it.
    pub path: Option<PathBuf>,
}

/// Kinds of inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InputKind {
    /// A recording of a browser, or command lines.
    Recording,
    /// A collection of Postman.
    Collection,
    /// A document of OpenAPI.
    Document,
    /// A test of another load tester.
    TestPlan,
}

impl ImportOptions {
    /// Refuses a choice that has no effect on this kind of input.
    ///
    /// # Errors
    /// The flag, its purpose, and a remedy.
    pub(super) fn check(&self, kind: InputKind, name: &str) -> Result<(), Diagnostic> {
        if self.site.is_some() && kind != InputKind::Recording {
            let message =
                format!("'--site' chooses one of the sites of a recording, and {name} is none");
            let help = "leave it out; '-H' says to which host a plan goes";
            return Err(Diagnostic::new(message).help(help));
        }
        let flag = match (&self.data, self.environments.as_slice()) {
            _ if kind == InputKind::Collection => return Ok(()),
            (None, []) => return Ok(()),
            (Some(_), _) => "--data",
            (None, _) => "--environment",
        };
        let message = format!("'{flag}' is for collections of Postman, and {name} is none");
        Err(Diagnostic::new(message).help("leave it out"))
    }
}

/// The requests that the plan sends.
#[derive(Debug)]
pub(super) struct SelectedExchanges {
    /// Any URL of the site.
    pub(super) site: Url,
    pub(super) exchanges: Vec<RecordedExchange>,
    /// The unknown variables in the texts of a script.
    pub(super) variables: ScriptVariables,
}

impl SelectedExchanges {
    pub(super) fn is_site(&self, url: &Url) -> bool {
        url.origin() == self.site.origin()
    }
}

/// Chooses them; `None` if there are none. `referring_site` is the origin of the pages that most requests came from, where that
/// is known. Hosts that are left out are noted.
pub(super) fn choose(
    mut exchanges: Vec<RecordedExchange>,
    referring_site: Option<&Url>,
    choices: &ImportOptions,
    notes: &mut Vec<String>,
) -> Option<SelectedExchanges> {
    let site = match &choices.site {
        Some(host) => named_site(&exchanges, host)?,
        None => main_site(&exchanges, referring_site)?,
    };
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
            *others.entry(host_of(&exchange.url)).or_default() += 1;
        }
    }
    if !others.is_empty() {
        let total: usize = others.values().sum();
        let (shown, most) = listed(others);
        let requests = if total == 1 {
            "1 request".to_owned()
        } else {
            format!("{total} requests")
        };
        notes.push(format!(
            "left out {requests} to other hosts: {shown}; '--hosts {most}' keeps those of one"
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

/// Returns the hosts of requests, for a message.
pub(super) fn hosts(exchanges: &[RecordedExchange]) -> String {
    let mut hosts: BTreeMap<String, usize> = BTreeMap::new();
    for exchange in exchanges {
        *hosts.entry(host_of(&exchange.url)).or_default() += 1;
    }
    listed(hosts).0
}

/// Returns hosts with how many requests they have, those with most first, and the very first.
fn listed(hosts: BTreeMap<String, usize>) -> (String, String) {
    let mut hosts: Vec<(String, usize)> = hosts.into_iter().collect();
    hosts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let shown = hosts.iter().take(8);
    let shown: Vec<String> = shown
        .map(|(host, count)| format!("{host} ({count})"))
        .collect();
    let more = match hosts.len() {
        0..=8 => String::new(),
        length => format!(" and {} more hosts", length - 8),
    };
    let most = hosts.first().map(|(host, _)| host.clone());
    (
        format!("{}{more}", shown.join(", ")),
        most.unwrap_or_default(),
    )
}

/// Returns a host with its port, if it has one.
fn host_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

/// Returns a URL of the site that was visited: of its first page that came. Without pages, it is the site that most requests
/// came from, or one of its neighbours (`api.example.com` of `www.example.com`), else the first that was called.
fn main_site(exchanges: &[RecordedExchange], referring_site: Option<&Url>) -> Option<Url> {
    let mut calls = exchanges
        .iter()
        .filter(|exchange| exchange.kind != ExchangeKind::Asset);
    let page = exchanges
        .iter()
        .find(|exchange| is_page_that_came(exchange));
    let of = |is_it: &dyn Fn(&Url) -> bool| calls.clone().find(|call| is_it(&call.url));
    let first = page
        .or_else(|| of(&|url| referring_site.is_some_and(|from| from.origin() == url.origin())))
        .or_else(|| of(&|url| referring_site.is_some_and(|from| are_neighbours(from, url))))
        .or_else(|| calls.next())
        .or(exchanges.first());
    first.map(|exchange| exchange.url.clone())
}

/// Returns a URL of the site that the author has named: of a page, if it has one.
fn named_site(exchanges: &[RecordedExchange], host: &str) -> Option<Url> {
    let mut of_it = exchanges
        .iter()
        .filter(|exchange| host != "*" && is_host(&exchange.url, host));
    let page = of_it.clone().find(|exchange| is_page_that_came(exchange));
    let call = || {
        of_it
            .clone()
            .find(|exchange| exchange.kind != ExchangeKind::Asset)
    };
    let first = page.or_else(call).or_else(|| of_it.next());
    first.map(|exchange| exchange.url.clone())
}

fn is_page_that_came(exchange: &RecordedExchange) -> bool {
    let response = exchange.response.as_ref();
    let status = response.map_or(200, |response| response.status);
    exchange.kind == ExchangeKind::Page && !(300..400).contains(&status)
}

/// Returns whether two hosts have one owner, by the browsers' list of public suffixes: `a.example.co.uk` and
/// `b.example.co.uk`.
fn are_neighbours(one: &Url, other: &Url) -> bool {
    fn domain(url: &Url) -> Option<&str> {
        psl2::lookup(url.domain()?)?.registrable_domain()
    }
    domain(one).is_some_and(|one| Some(one) == domain(other))
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

/// Gives each redirected request the response at the end of its chain, and returns the requests of those chains.
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
                // The response of another host is not the site's.
                exchanges[first].follows = false;
                break;
            }
            let method = match exchanges[last].method.as_str() {
                method if retains_method || method == "HEAD" => method.to_owned(),
                _ => "GET".to_owned(),
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

/// Returns the target of a redirect, and whether the method stays.
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

/// Returns the first hosts, each with its number of requests, for a note.
pub(super) fn counted_hosts(hosts: &BTreeMap<String, usize>) -> String {
    let shown = hosts.iter().take(8);
    let shown: Vec<String> = shown
        .map(|(host, count)| format!("{host} ({count})"))
        .collect();
    shown.join(", ")
}
