//! The assets that a browser loads with a page, and the links of the page. Driven by `response:assets()` and
//! `response:links()`; scans a page once, and allocates only the results.

use foldhash::fast::RandomState;
use indexmap::map::Entry;
use indexmap::{IndexMap, IndexSet};
use std::collections::HashSet;
use url::{Position, Url};

use crate::address::{AddressOwner, AddressResolver, PageAddress, attribute_text, text_of};
use crate::imports::imports;
use crate::scan::{ScannedElement, Scanner};

/// The assets of a page.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PageAssets {
    /// Those of its own site.
    pub urls: Vec<String>,
    /// Those of others.
    pub foreign: Vec<String>,
}

/// Returns the URLs that a browser fetches for this page from the page's own host (scheme, host and port), in the
/// order of the page, absolute, without fragment, each once; and those of other sites.
///
/// A site that is tested under another address than its own has its own name in absolute URLs. Where the page uses such a
/// name for itself, in `<link rel=canonical>` or `<base href>`, the URLs of that name are the page's own, and are returned
/// with the page's scheme, host and port.
///
/// They are: `script src`; `img src` and every candidate of `srcset` (a browser picks one by its screen; so that a
/// run does not depend on a screen, all are listed); `source srcset`; `link href` whose `rel` is a stylesheet,
/// an icon, an apple-touch-icon or the preload of a style; and `@import` at the head of a `<style>`. `<base href>` is
/// honoured from where it stands. What stands in comments, `<noscript>`, `<template>` and scripts is not loaded. `None`
/// if the list would take more than `most_bytes`: a long base makes long URLs of short references.
pub fn assets_within(body: &[u8], page: &PageAddress, most_bytes: usize) -> Option<PageAssets> {
    let mut found = AssetList::new(page, most_bytes);
    let mut names = OwnNames::default();
    let mut scanner = Scanner::new(body);
    while let Some(element) = scanner.next() {
        match element {
            ScannedElement::Img | ScannedElement::Script | ScannedElement::Source => {
                let [src, srcset] = read(&mut scanner, [b"src", b"srcset"]);
                if element != ScannedElement::Source {
                    found.add_attribute(src);
                }
                if let Some(srcset) = srcset
                    && element != ScannedElement::Script
                {
                    candidates(&attribute_text(srcset)).for_each(|address| found.add(address));
                }
            }
            ScannedElement::Link => {
                let [href, rel, kind] = read(&mut scanner, [b"href", b"rel", b"as"]);
                let rel = rel.unwrap_or_default();
                if loads(rel, kind.unwrap_or_default()) {
                    found.add_attribute(href);
                } else if rel.eq_ignore_ascii_case(b"canonical") {
                    names.add(&found, href);
                }
            }
            ScannedElement::Style => {
                for address in imports(scanner.text()) {
                    found.add(&text_of(address));
                }
            }
            ScannedElement::Base => {
                let href = found.set_base(&mut scanner);
                names.add(&found, href);
            }
            ScannedElement::A | ScannedElement::Title => {}
        }
    }
    found.into_assets(page, &names)
}

/// Returns the targets of `<a href>`, in the order of the page: absolute, `http` and `https` only, any host,
/// without fragment, each once. Jumps within the page (`#top`) are left out. `None` as for [`assets_within`].
pub fn links_within(body: &[u8], page: &PageAddress, most_bytes: usize) -> Option<Vec<String>> {
    let mut found = AssetList::new(page, most_bytes);
    let mut scanner = Scanner::new(body);
    while let Some(element) = scanner.next() {
        match element {
            ScannedElement::A => {
                let [href] = read(&mut scanner, [b"href"]);
                found.add_attribute(href.filter(|href| !href.trim_ascii_start().starts_with(b"#")));
            }
            ScannedElement::Base => {
                found.set_base(&mut scanner);
            }
            _ => {}
        }
    }
    Some(found.into_urls()?.map(|(url, _)| url).collect())
}

/// Returns the assets of a page, however many.
pub fn assets(body: &[u8], page: &Url) -> Vec<String> {
    let assets = assets_within(body, &page.into(), usize::MAX);
    assets.unwrap_or_default().urls
}

/// Returns the links of a page, however many.
pub fn links(body: &[u8], page: &Url) -> Vec<String> {
    links_within(body, &page.into(), usize::MAX).unwrap_or_default()
}

/// Reads the current tag's attributes of these names; of two with the same name the first counts. All `None` if
/// the page ends inside the tag.
fn read<'a, const N: usize>(scanner: &mut Scanner<'a>, names: [&[u8]; N]) -> [Option<&'a [u8]>; N] {
    let mut values = [None; N];
    while let Some((name, value)) = scanner.attribute() {
        if let Some(at) = names
            .iter()
            .position(|attribute| name.eq_ignore_ascii_case(attribute))
        {
            values[at].get_or_insert(value);
        }
    }
    if scanner.is_whole() {
        values
    } else {
        [None; N]
    }
}

/// Returns whether a browser fetches a `<link>` of this `rel` and `as`.
fn loads(rel: &[u8], kind: &[u8]) -> bool {
    rel.split(u8::is_ascii_whitespace).any(|word| {
        [
            &b"stylesheet"[..],
            b"icon",
            b"apple-touch-icon",
            b"apple-touch-icon-precomposed",
        ]
        .iter()
        .any(|loaded| word.eq_ignore_ascii_case(loaded))
            || (word.eq_ignore_ascii_case(b"preload") && kind.eq_ignore_ascii_case(b"style"))
    })
}

/// Returns the addresses in a `srcset`: `/a.jpg 1x, /b.jpg 2x`. An address may hold commas, but not end in one.
fn candidates(srcset: &str) -> impl Iterator<Item = &str> {
    let mut rest = srcset;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == ',');
        let end = rest
            .find(|c: char| c.is_ascii_whitespace())
            .unwrap_or(rest.len());
        let (address, descriptors) = rest.split_at(end);
        let bare = address.trim_end_matches(',');
        rest = if bare.len() < address.len() {
            descriptors
        } else {
            descriptors.split_once(',').map_or("", |(_, after)| after)
        };
        (!bare.is_empty()).then_some(bare)
    })
}

/// The names that a page has for its own site beside its address.
#[derive(Default)]
struct OwnNames(HashSet<String, RandomState>);

impl OwnNames {
    /// Adds the host of an address that the page gives itself, if it is absolute.
    fn add(&mut self, found: &AssetList<'_>, address: Option<&[u8]>) {
        let url = address.and_then(|address| found.resolver.on_page(&attribute_text(address)));
        if let Some(host) = url.as_ref().and_then(Url::host_str) {
            self.0.insert(host.to_owned());
        }
    }

    /// Returns the URL as one of the page's site, if it has one of the names.
    fn at_page(&self, page: &PageAddress, url: &str) -> Option<String> {
        let url = Url::parse(url).ok()?;
        let own = self.0.contains(url.host_str()?);
        own.then(|| {
            let path = &url[Position::BeforePath..Position::AfterQuery];
            [page.origin(), path].concat()
        })
    }
}

/// The most addresses of a page that are looked at; a hundred times what large pages have.
const MOST_ADDRESSES: usize = 100_000;

/// URLs in the order they were found, each once.
struct AssetList<'p> {
    resolver: AddressResolver<'p>,
    urls: IndexMap<String, AddressOwner, RandomState>,
    /// The number of addresses that were looked at.
    seen: usize,
    /// The buffer in which the next URL is put together.
    url: String,
    /// The bytes that URLs may still take; `None` if they were too many.
    remaining: Option<usize>,
}

impl<'p> AssetList<'p> {
    fn new(page: &'p PageAddress, most_bytes: usize) -> Self {
        Self {
            resolver: AddressResolver::new(page),
            urls: IndexMap::default(),
            seen: 0,
            url: String::new(),
            remaining: Some(most_bytes),
        }
    }

    /// Applies the page's `<base href>`, and returns it.
    fn set_base<'a>(&mut self, scanner: &mut Scanner<'a>) -> Option<&'a [u8]> {
        let [href] = read(scanner, [b"href"]);
        if let Some(href) = href {
            self.resolver.set_base(&attribute_text(href));
        }
        href
    }

    fn add_attribute(&mut self, value: Option<&[u8]>) {
        if let Some(value) = value {
            self.add(&attribute_text(value));
        }
    }

    fn add(&mut self, address: &str) {
        self.seen += 1;
        if self.seen > MOST_ADDRESSES {
            return;
        }
        if address.trim_ascii().is_empty() {
            return; // a browser does not load the page itself as an image
        }
        let Some(host) = self.resolver.resolve(address, &mut self.url) else {
            return;
        };
        const EACH: usize = 64;
        const USUAL: usize = 16;
        // Once here and once in the list.
        let bytes = 2 * (self.url.len() + EACH);
        if self.urls.is_empty() {
            self.urls.reserve(USUAL);
        }
        if let Entry::Vacant(place) = self.urls.entry(std::mem::take(&mut self.url)) {
            self.remaining = self
                .remaining
                .and_then(|remaining| remaining.checked_sub(bytes));
            if self.remaining.is_some() {
                place.insert(host);
            }
        }
    }

    /// Returns the URLs in their order; `None` if they were too many.
    fn into_urls(self) -> Option<impl Iterator<Item = (String, AddressOwner)>> {
        self.remaining.map(|_| self.urls.into_iter())
    }

    fn into_assets(self, page: &PageAddress, names: &OwnNames) -> Option<PageAssets> {
        let mut foreign = Vec::new();
        if names.0.is_empty() {
            let mut own = Vec::with_capacity(self.urls.len());
            for (url, host) in self.into_urls()? {
                match host {
                    AddressOwner::Own => own.push(url),
                    _ => foreign.push(url),
                }
            }
            return Some(PageAssets { urls: own, foreign });
        }
        // One may be there under several names.
        let mut own: IndexSet<String, RandomState> = IndexSet::default();
        for (url, host) in self.into_urls()? {
            let renamed = match host {
                AddressOwner::Own => None,
                _ => names.at_page(page, &url),
            };
            match renamed {
                Some(renamed) => own.extend([renamed]),
                None if host == AddressOwner::Own => own.extend([url]),
                None => foreign.push(url),
            }
        }
        let urls = own.into_iter().collect();
        Some(PageAssets { urls, foreign })
    }
}

#[cfg(test)]
mod tests;
