//! The assets that a browser loads with a page, and the links of the page. Driven by `response:assets()` and
//! `response:links()`; scans a page once, and allocates only the results.

mod types;

use foldhash::fast::RandomState;
use indexmap::IndexMap;
use indexmap::map::Entry;
use std::collections::HashSet;
use url::{Position, Url};

use crate::address::{AddressOwner, AddressResolver, PageAddress, attribute_text, text_of};
use crate::imports::imports;
use crate::referrer_policy::ReferrerPolicy;
use crate::scan::{ScannedElement, Scanner};
use types::ScriptKind;

/// The URLs of a page.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PageUrls {
    /// The links of a page; of its assets, those of its own site.
    pub urls: Vec<String>,
    /// The referrer policy that the page sets for each of them; `None` if it sets none.
    pub policies: Vec<Option<ReferrerPolicy>>,
    /// The assets of other sites.
    pub foreign: Vec<String>,
}

/// Returns the URLs that a browser fetches for this page from the page's own host (scheme, host and port), in the
/// order of the page, absolute, without fragment, each once; and those of other sites.
///
/// A site that is tested under another address than its own has its own name in absolute URLs. Where the page uses such a
/// name for itself, in `<link rel=canonical>` or `<base href>`, the URLs of that name are the page's own, and are returned
/// with the page's scheme, host and port.
///
/// They are: scripts that a browser runs, modules too, but none for browsers without modules; images, with every
/// candidate of `srcset` and of `<picture>` (a browser picks one by its screen; so that a run does not depend on a
/// screen, all are listed), the posters of videos, image buttons, `<image>` and `<use>` of drawings; stylesheets that
/// are not disabled, and `@import` at the head of a `<style>`; icons, manifests, and preloads or prefetches of
/// `<link>`. `<base href>` is honoured from where it stands. The contents of comments, `<noscript>`, `<template>` and
/// scripts are not loaded. Left out are films and sounds, pages in frames, and images that stylesheets name. `None` if
/// the list would take more than `most_bytes`: a long base makes long URLs of short references.
pub fn assets_within(body: &[u8], page: &PageAddress, most_bytes: usize) -> Option<PageUrls> {
    let mut found = AssetList::new(page, most_bytes);
    let mut names = OwnNames::default();
    let mut scanner = Scanner::new(body);
    while let Some(element) = scanner.next() {
        match element {
            ScannedElement::Img => {
                let [src, srcset, policy] = read(&mut scanner, [b"src", b"srcset", POLICY]);
                found.set_policy(policy);
                found.add_attribute(src);
                found.add_candidates(srcset);
            }
            ScannedElement::Source => {
                let [srcset, kind] = read(&mut scanner, [b"srcset", b"type"]);
                found.add_candidates(srcset.filter(|_| types::is_image(kind)));
            }
            ScannedElement::Script => {
                let is_drawing = scanner.is_drawing();
                let names: [&[u8]; 7] = [
                    b"src",
                    b"href",
                    b"xlink:href",
                    b"type",
                    b"language",
                    b"nomodule",
                    POLICY,
                ];
                let [src, href, xlink, kind, language, nomodule, policy] =
                    read(&mut scanner, names);
                let src = if is_drawing { href.or(xlink) } else { src };
                let runs = match types::script(kind, language) {
                    Some(ScriptKind::Module) => true,
                    Some(ScriptKind::Classic) => nomodule.is_none(),
                    None => false,
                };
                found.set_policy(policy);
                found.add_attribute(src.filter(|_| runs));
            }
            ScannedElement::Link => {
                let link = LinkElement::read(&mut scanner);
                if link.loads() {
                    found.set_policy(link.policy);
                    match link.imagesrcset.filter(|_| link.has_rel(b"preload")) {
                        Some(srcset) => found.add_candidates(Some(srcset)),
                        None => found.add_attribute(link.href),
                    }
                } else if link.rel.eq_ignore_ascii_case(b"canonical") {
                    names.add(&found, link.href);
                }
            }
            ScannedElement::Style => {
                for address in imports(scanner.text()) {
                    found.add(&text_of(address));
                }
            }
            ScannedElement::Input => {
                let [kind, src] = read(&mut scanner, [b"type", b"src"]);
                let is_image = kind.is_some_and(|kind| kind.eq_ignore_ascii_case(b"image"));
                found.add_attribute(src.filter(|_| is_image));
            }
            ScannedElement::Video => {
                let [poster] = read(&mut scanner, [b"poster"]);
                found.add_attribute(poster);
            }
            ScannedElement::Image | ScannedElement::Use => {
                let [href, xlink] = read(&mut scanner, [b"href", b"xlink:href"]);
                found.add_attribute(href.or(xlink).filter(|href| !is_jump(href)));
            }
            ScannedElement::Base => {
                let href = found.set_base(&mut scanner);
                names.add(&found, href);
            }
            ScannedElement::Meta => found.read_meta(&mut scanner),
            ScannedElement::A | ScannedElement::Title => {}
        }
        found.policy = None;
    }
    found.into_assets(page, &names)
}

/// Returns the targets of `<a href>`, in the order of the page: absolute, `http` and `https` only, any host,
/// without fragment, each once. Jumps within the page (`#top`) are left out. `None` as for [`assets_within`].
pub fn links_within(body: &[u8], page: &PageAddress, most_bytes: usize) -> Option<PageUrls> {
    let mut found = AssetList::new(page, most_bytes);
    let mut scanner = Scanner::new(body);
    while let Some(element) = scanner.next() {
        match element {
            ScannedElement::A => {
                let [href, rel, policy] = read(&mut scanner, [b"href", b"rel", POLICY]);
                let hides_page = rel.is_some_and(|rel| has_word(rel, b"noreferrer"));
                found.set_policy(policy);
                if hides_page {
                    found.policy = Some(ReferrerPolicy::NoReferrer);
                }
                // Its link is followed once the page is there, with the page's policy by then.
                let at_end = std::mem::take(&mut found.page_policy);
                found.add_attribute(href.filter(|href| !is_jump(href)));
                found.page_policy = at_end;
            }
            ScannedElement::Base => {
                found.set_base(&mut scanner);
            }
            ScannedElement::Meta => found.read_meta(&mut scanner),
            _ => {}
        }
        found.policy = None;
    }
    let of_page = found.page_policy;
    let mut urls = found.into_urls()?;
    for policy in &mut urls.policies {
        *policy = policy.or(of_page);
    }
    Some(urls)
}

/// Returns the assets of a page, however many.
pub fn assets(body: &[u8], page: &Url) -> Vec<String> {
    let assets = assets_within(body, &page.into(), usize::MAX);
    assets.unwrap_or_default().urls
}

/// Returns the links of a page, however many.
pub fn links(body: &[u8], page: &Url) -> Vec<String> {
    let links = links_within(body, &page.into(), usize::MAX);
    links.unwrap_or_default().urls
}

/// The attribute with the referrer policy of an element's request.
const POLICY: &[u8] = b"referrerpolicy";

/// Returns whether an address is a place on the page itself.
fn is_jump(address: &[u8]) -> bool {
    address.trim_ascii_start().starts_with(b"#")
}

/// Returns whether a list of words has this one, in any case of its letters.
fn has_word(list: &[u8], word: &[u8]) -> bool {
    list.split(u8::is_ascii_whitespace)
        .any(|listed| listed.eq_ignore_ascii_case(word))
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

/// A `<link>` as written.
struct LinkElement<'a> {
    rel: &'a [u8],
    href: Option<&'a [u8]>,
    /// The type of a preload: `as`.
    purpose: Option<&'a [u8]>,
    kind: Option<&'a [u8]>,
    media: Option<&'a [u8]>,
    imagesrcset: Option<&'a [u8]>,
    policy: Option<&'a [u8]>,
    is_disabled: bool,
}

impl<'a> LinkElement<'a> {
    fn read(scanner: &mut Scanner<'a>) -> LinkElement<'a> {
        let names: [&[u8]; 8] = [
            b"rel",
            b"href",
            b"as",
            b"type",
            b"media",
            b"imagesrcset",
            POLICY,
            b"disabled",
        ];
        let [
            rel,
            href,
            purpose,
            kind,
            media,
            imagesrcset,
            policy,
            disabled,
        ] = read(scanner, names);
        LinkElement {
            rel: rel.unwrap_or_default(),
            href,
            purpose,
            kind,
            media,
            imagesrcset,
            policy,
            is_disabled: disabled.is_some(),
        }
    }

    fn has_rel(&self, word: &[u8]) -> bool {
        has_word(self.rel, word)
    }

    /// Returns whether a browser fetches it.
    fn loads(&self) -> bool {
        let whatever_it_is = [&b"icon"[..], b"manifest", b"modulepreload", b"prefetch"];
        whatever_it_is.iter().any(|word| self.has_rel(word))
            || (self.has_rel(b"stylesheet") && !self.is_disabled && types::is_style(self.kind))
            || (self.has_rel(b"preload")
                && types::is_preloaded(self.purpose.unwrap_or_default(), self.kind)
                && !self.media.is_some_and(is_for_paper))
    }
}

/// Returns whether media queries exclude every screen.
fn is_for_paper(media: &[u8]) -> bool {
    let mut queries = media
        .split(|byte| *byte == b',')
        .map(<[u8]>::trim_ascii_start);
    queries.all(|query| {
        let end = query.iter().position(|byte| !byte.is_ascii_alphabetic());
        query[..end.unwrap_or(query.len())].eq_ignore_ascii_case(b"print")
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

/// The most addresses of a page that are looked at; a hundred times as many as large pages have.
const MOST_ADDRESSES: usize = 100_000;

/// The facts known about a URL.
#[derive(Clone, Copy)]
struct FoundUrl {
    owner: AddressOwner,
    policy: Option<ReferrerPolicy>,
}

/// URLs in the order they were found, each once.
struct AssetList<'p> {
    resolver: AddressResolver<'p>,
    urls: IndexMap<String, FoundUrl, RandomState>,
    /// The referrer policy of the current element.
    policy: Option<ReferrerPolicy>,
    /// The page's referrer policy for everything that follows.
    page_policy: Option<ReferrerPolicy>,
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
            policy: None,
            page_policy: None,
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

    /// Notes an element's own policy, which holds for the addresses that are added next.
    fn set_policy(&mut self, value: Option<&[u8]>) {
        self.policy = value.and_then(|value| ReferrerPolicy::of_page(&attribute_text(value)));
    }

    /// Reads a `<meta>`, which may have the policy of the page.
    fn read_meta(&mut self, scanner: &mut Scanner<'_>) {
        let [name, content] = read(scanner, [b"name", b"content"]);
        if name.is_some_and(|name| name.eq_ignore_ascii_case(b"referrer")) {
            let content = attribute_text(content.unwrap_or_default());
            self.page_policy = ReferrerPolicy::of_page(&content).or(self.page_policy);
        }
    }

    /// Adds the addresses of a `srcset`.
    fn add_candidates(&mut self, srcset: Option<&[u8]>) {
        if let Some(srcset) = srcset {
            candidates(&attribute_text(srcset)).for_each(|address| self.add(address));
        }
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
        let Some(owner) = self.resolver.resolve(address, &mut self.url) else {
            return;
        };
        const URL_BYTES: usize = 64;
        const USUAL: usize = 16;
        // Once here and once in the list.
        let bytes = 2 * (self.url.len() + URL_BYTES);
        if self.urls.is_empty() {
            self.urls.reserve(USUAL);
        }
        if let Entry::Vacant(place) = self.urls.entry(std::mem::take(&mut self.url)) {
            self.remaining = self
                .remaining
                .and_then(|remaining| remaining.checked_sub(bytes));
            if self.remaining.is_some() {
                let policy = self.policy.or(self.page_policy);
                place.insert(FoundUrl { owner, policy });
            }
        }
    }

    /// Returns the URLs in their order, whoever they belong to; `None` if they were too many.
    fn into_urls(self) -> Option<PageUrls> {
        self.remaining?;
        let policies = self.urls.values().map(|found| found.policy).collect();
        Some(PageUrls {
            policies,
            urls: self.urls.into_keys().collect(),
            foreign: Vec::new(),
        })
    }

    fn into_assets(self, page: &PageAddress, names: &OwnNames) -> Option<PageUrls> {
        self.remaining?;
        let mut assets = PageUrls::default();
        if names.0.is_empty() {
            assets.urls.reserve_exact(self.urls.len());
            assets.policies.reserve_exact(self.urls.len());
            for (url, found) in self.urls {
                match found.owner {
                    AddressOwner::Own => {
                        assets.urls.push(url);
                        assets.policies.push(found.policy);
                    }
                    AddressOwner::Foreign => assets.foreign.push(url),
                }
            }
            return Some(assets);
        }
        // One may be there under several names.
        let mut own: IndexMap<String, Option<ReferrerPolicy>, RandomState> = IndexMap::default();
        for (url, found) in self.urls {
            let renamed = match found.owner {
                AddressOwner::Own => None,
                AddressOwner::Foreign => names.at_page(page, &url),
            };
            match renamed {
                Some(renamed) => {
                    own.entry(renamed).or_insert(found.policy);
                }
                None if found.owner == AddressOwner::Own => {
                    own.entry(url).or_insert(found.policy);
                }
                None => assets.foreign.push(url),
            }
        }
        (assets.urls, assets.policies) = own.into_iter().unzip();
        Some(assets)
    }
}

#[cfg(test)]
mod tests;
