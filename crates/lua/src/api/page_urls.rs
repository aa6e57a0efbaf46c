//! The URLs of a page, as `response:links()` and `response:assets()` list them.

use super::log;
use crate::diagnostics::plan_line;
use crate::limits::list_of_texts;
use crate::sandbox::VmHost;
use crate::values::{describe_mismatch, shorten};
use indexmap::IndexMap;
use lgoose_html::{PageAddress, PageUrls, ReferrerPolicy};
use mlua::{Function, Lua, Table, Value};
use url::Url;

/// Finds the URLs of a body within that many bytes of memory.
pub(super) type UrlFinder = fn(&[u8], &PageAddress, usize) -> Option<PageUrls>;

/// Returns the URLs of a page that contain the filter or one of its strings, or for which it returns true. `policy` is
/// the referrer policy of the page's headers.
pub(super) fn list(
    lua: &Lua,
    page: &PageAddress,
    policy: ReferrerPolicy,
    body: &[u8],
    filter: Value,
    find: UrlFinder,
) -> mlua::Result<Table> {
    let mut budget = VmHost::of(lua).budget(lua);
    let found = budget.make(|most| find(body, page, most));
    let found = found.map_err(mlua::Error::runtime)?;
    VmHost::of(lua).remember(page.as_str(), policy, &found);
    let PageUrls {
        urls: found,
        foreign: excluded,
        ..
    } = found;
    let accepting = UrlFilter::read(filter)?;
    let vm = VmHost::of(lua);
    if !excluded.is_empty() {
        let mut accepted = Vec::new();
        for url in &excluded {
            vm.limits.spend(lua, accepting.work())?;
            accepted.extend(accepting.accepts(url).then_some(url));
        }
        warn_of_excluded(lua, page, accepted);
    }
    let mut list = Vec::with_capacity(found.len());
    for url in found {
        vm.limits.spend(lua, accepting.work())?;
        if accepting.passes(&url)? {
            list.push(url);
        }
    }
    list_of_texts(lua, &list)
}

/// Warns once about each host whose assets are left out, with the number of them on the page.
fn warn_of_excluded(lua: &Lua, page: &PageAddress, urls: Vec<&String>) {
    const MAX_HOSTS: usize = 8;
    let mut hosts: IndexMap<String, usize> = IndexMap::new();
    for url in urls.into_iter().filter_map(|url| Url::parse(url).ok()) {
        let host = url[url::Position::BeforeHost..url::Position::AfterHost].to_owned();
        // If the page's own host has another scheme or port there, show the whole origin, which makes the difference.
        let origin = match Url::parse(page.as_str()) {
            Ok(page) if page.host_str() == url.host_str() => {
                let port = url.port_or_known_default().unwrap_or_default();
                format!("{}://{host}:{port}", url.scheme())
            }
            _ => url[url::Position::BeforeHost..url::Position::AfterPort].to_owned(),
        };
        *hosts.entry(origin).or_default() += 1;
    }
    let vm = VmHost::of(lua);
    hosts.retain(|host, _| vm.program.claim_warning(&format!("assets of {host}")));
    if hosts.is_empty() {
        return;
    }
    let listed = hosts.iter().take(MAX_HOSTS);
    let listed: Vec<String> = listed
        .map(|(host, count)| format!("{count} of '{}'", shorten(host)))
        .collect();
    let more = match hosts.len().saturating_sub(MAX_HOSTS) {
        0 => String::new(),
        more => format!(" and those of {more} more hosts"),
    };
    let line = plan_line(lua).map_or_else(String::new, |(file, line)| format!("{file}:{line}: "));
    log::warn_in_report(
        lua,
        format!(
            "{line}assets of other hosts than the page's are left out: {}{more} on {}; where a host is the site itself, \
             its pages say so by <link rel=\"canonical\">",
            listed.join(", "),
            shorten(page.path())
        ),
    );
}

enum UrlFilter {
    All,
    Containing(Vec<String>),
    Function(Function),
}

impl UrlFilter {
    fn read(value: Value) -> mlua::Result<UrlFilter> {
        match value {
            Value::Nil => Ok(UrlFilter::All),
            Value::String(text) => Ok(UrlFilter::Containing(vec![text.to_str()?.to_owned()])),
            Value::Table(list) => list
                .sequence_values()
                .collect::<mlua::Result<_>>()
                .map(UrlFilter::Containing),
            Value::Function(function) => Ok(UrlFilter::Function(function)),
            other => Err(mlua::Error::runtime(describe_mismatch(
                "a filter",
                "a string, a list of strings or a function",
                &other,
            ))),
        }
    }

    /// Returns the cost of looking at one URL, in bytes.
    fn work(&self) -> u64 {
        const URL_COST: u64 = 64;
        match self {
            UrlFilter::Containing(parts) => URL_COST * parts.len() as u64,
            UrlFilter::All | UrlFilter::Function(_) => URL_COST,
        }
    }

    /// Returns whether a URL passes, as far as that is known without calling the plan.
    fn accepts(&self, url: &str) -> bool {
        !matches!(self, UrlFilter::Function(_)) && self.passes(url).unwrap_or(false)
    }

    fn passes(&self, url: &str) -> mlua::Result<bool> {
        match self {
            UrlFilter::All => Ok(true),
            UrlFilter::Containing(parts) => {
                Ok(parts.iter().any(|part| url.contains(part.as_str())))
            }
            UrlFilter::Function(function) => function.call(url),
        }
    }
}
