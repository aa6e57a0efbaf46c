//! The assets that a browser loads with a page, and the page's links. Driven by `response:assets()` and
//! `response:links()`; a page is read once, and only the results are allocated.

use std::collections::HashMap;

use url::Url;

use super::address::{Host, Resolver, attribute_text};
use super::imports::imports;
use super::scan::{Element, Scanner};

/// Returns the URLs that a browser fetches for this page from the page's own host (scheme, host and port), in the
/// order of the page, absolute, without fragment, each once.
///
/// They are: `script src`; `img src` and every candidate of `srcset` (a browser picks one by its screen; so that a
/// run does not depend on a screen, all are listed); `source srcset`; `link href` whose `rel` is a stylesheet,
/// an icon, an apple-touch-icon or the preload of a style; and `@import` at the head of a `<style>`. `<base href>` is
/// honoured from where it stands. What stands in comments, `<noscript>`, `<template>` and scripts is not loaded. `None`
/// if the list would take more than `most_bytes`: a long base makes long URLs of short references.
pub(crate) fn assets_within(body: &[u8], page: &Url, most_bytes: usize) -> Option<Vec<String>> {
    let mut found = Listing::new(page, Some(Host::Own), most_bytes);
    let mut scanner = Scanner::new(body);
    while let Some(element) = scanner.next() {
        match element {
            Element::Img | Element::Script | Element::Source => {
                let [src, srcset] = read(&mut scanner, [b"src", b"srcset"]);
                if element != Element::Source {
                    found.add_attribute(src);
                }
                if let Some(srcset) = srcset
                    && element != Element::Script
                {
                    candidates(&attribute_text(srcset)).for_each(|address| found.add(address));
                }
            }
            Element::Link => {
                let [href, rel, kind] = read(&mut scanner, [b"href", b"rel", b"as"]);
                if loads(rel.unwrap_or_default(), kind.unwrap_or_default()) {
                    found.add_attribute(href);
                }
            }
            Element::Style => {
                for address in imports(scanner.text()) {
                    found.add(&String::from_utf8_lossy(address));
                }
            }
            Element::Base => found.set_base(&mut scanner),
            Element::A | Element::Title => {}
        }
    }
    found.into_urls()
}

/// Returns the targets of `<a href>`, in the order of the page: absolute, `http` and `https` only, any host,
/// without fragment, each once. Jumps within the page (`#top`) are left out. `None` as for [`assets_within`].
pub(crate) fn links_within(body: &[u8], page: &Url, most_bytes: usize) -> Option<Vec<String>> {
    let mut found = Listing::new(page, None, most_bytes);
    let mut scanner = Scanner::new(body);
    while let Some(element) = scanner.next() {
        match element {
            Element::A => {
                let [href] = read(&mut scanner, [b"href"]);
                found.add_attribute(href.filter(|href| !href.trim_ascii_start().starts_with(b"#")));
            }
            Element::Base => found.set_base(&mut scanner),
            _ => {}
        }
    }
    found.into_urls()
}

/// Returns the assets of a page, however many.
#[cfg(any(test, feature = "internals"))]
pub fn assets(body: &[u8], page: &Url) -> Vec<String> {
    assets_within(body, page, usize::MAX).unwrap_or_default()
}

/// Returns the links of a page, however many.
#[cfg(any(test, feature = "internals"))]
pub fn links(body: &[u8], page: &Url) -> Vec<String> {
    links_within(body, page, usize::MAX).unwrap_or_default()
}

/// Reads the current tag's attributes of these names; of two with the same name the first counts. All `None` if
/// the page ends inside the tag.
fn read<'a, const N: usize>(scanner: &mut Scanner<'a>, names: [&[u8]; N]) -> [Option<&'a [u8]>; N] {
    let mut values = [None; N];
    while let Some((name, value)) = scanner.attribute() {
        if let Some(at) = names
            .iter()
            .position(|wanted| name.eq_ignore_ascii_case(wanted))
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

/// URLs in the order they were found, each once.
struct Listing {
    resolver: Resolver,
    only: Option<Host>,
    urls: HashMap<String, usize>,
    /// The buffer in which the next URL is put together.
    url: String,
    /// The bytes that URLs may still take; `None` if they were too many.
    left: Option<usize>,
}

impl Listing {
    fn new(page: &Url, only: Option<Host>, most_bytes: usize) -> Self {
        Self {
            resolver: Resolver::new(page),
            only,
            urls: HashMap::new(),
            url: String::new(),
            left: Some(most_bytes),
        }
    }

    fn set_base(&mut self, scanner: &mut Scanner<'_>) {
        if let [Some(href)] = read(scanner, [b"href"]) {
            self.resolver.set_base(&attribute_text(href));
        }
    }

    fn add_attribute(&mut self, value: Option<&[u8]>) {
        if let Some(value) = value {
            self.add(&attribute_text(value));
        }
    }

    fn add(&mut self, address: &str) {
        if address.trim_ascii().is_empty() {
            return; // a browser does not load the page itself as an image
        }
        let Some(host) = self.resolver.resolve(address, &mut self.url) else {
            return;
        };
        if self.only.is_none_or(|only| only == host) && !self.urls.contains_key(&self.url) {
            const EACH: usize = 64;
            // Once here and once in the list.
            let bytes = 2 * (self.url.len() + EACH);
            self.left = self.left.and_then(|left| left.checked_sub(bytes));
            if self.left.is_some() {
                self.urls.insert(self.url.clone(), self.urls.len());
            }
        }
    }

    fn into_urls(self) -> Option<Vec<String>> {
        self.left?;
        let mut urls = vec![String::new(); self.urls.len()];
        for (url, at) in self.urls {
            urls[at] = url;
        }
        Some(urls)
    }
}

#[cfg(test)]
mod tests {
    use super::{assets, candidates, links};
    use crate::html::{fixture, title};

    fn of(page: &str) -> Vec<String> {
        assets(page.as_bytes(), &fixture::page_url())
    }

    #[test]
    fn a_drupal_7_page_loads_its_imported_styles_scripts_and_images() {
        let expected = [
            "http://site/misc/favicon.ico",
            "http://site/modules/system/system.base.css?s1a2b3",
            "http://site/modules/system/system.menus.css?s1a2b3",
            "http://site/themes/bartik/css/print.css?s1a2b3",
            "http://site/misc/jquery.js?v=1.4.4",
            "http://site/misc/jquery.once.js?v=1.2",
            "http://site/misc/drupal.js?s1a2b3",
            "http://site/themes/bartik/logo.png",
            "http://site/misc/feed.png",
        ];
        assert_eq!(assets(&fixture::drupal7(9), &fixture::page_url()), expected);
    }

    #[test]
    fn an_umami_page_loads_its_image_styles_but_no_fonts_of_another_host() {
        let expected = [
            "http://site/core/profiles/demo_umami/themes/umami/favicon.ico",
            "http://site/sites/default/files/css/css_Zd.css?0",
            "http://site/sites/default/files/js/js_jQ.js",
            "http://site/sites/default/files/styles/large/public/pie.jpg?itok=aB-1",
            "http://site/sites/default/files/styles/xl/public/pie.jpg?itok=cD_2",
            "http://site/sites/default/files/styles/large/public/pie.jpg?itok=aB-1&h=5",
        ];
        assert_eq!(of(fixture::UMAMI), expected);
    }

    #[test]
    fn only_links_that_a_browser_fetches_are_assets() {
        let page = "<link rel=canonical href=/no><link rel='preload' as=font href=/no>\
            <link rel=PRELOAD as=style href=/a><link rel='Alternate StyleSheet' href=/b>\
            <link href=/c rel=apple-touch-icon><link rel=stylesheet href=''><script>x</script>\
            <img src='data:image/png;base64,AA'><img alt=x><script src='//site/d'></script><source src=/no>";
        let expected = ["a", "b", "c", "d"].map(|path| format!("http://site/{path}"));
        assert_eq!(of(page), expected);
    }

    #[test]
    fn base_moves_what_comes_after_it() {
        let page = "<img src=a><base href=/x/><img src=a><base href=/y/><img src=b#f><img src=b>";
        assert_eq!(
            of(page),
            ["http://site/node/a", "http://site/x/a", "http://site/x/b"]
        );
    }

    #[test]
    fn srcset_candidates_end_at_commas_that_follow_a_space_or_an_address() {
        let of = |text| candidates(text).collect::<Vec<_>>();
        assert_eq!(
            of(" /a,b.jpg 1x,/c.jpg 2x , /d.jpg"),
            ["/a,b.jpg", "/c.jpg", "/d.jpg"]
        );
        assert_eq!(of("/a.jpg, /b.jpg 100w"), ["/a.jpg", "/b.jpg"]);
        assert_eq!(of(" , ,"), [""; 0]);
    }

    #[test]
    fn links_go_to_any_host_but_not_into_the_page() {
        let page = "<a href=#top>a</a><a href='/n?a=1&amp;b=2#c'>b</a><a href=\"/n?a=1&b=2\">c</a>\
            <a name=x>d</a><a href=https://other/>e</a><a href=mailto:a@b>f</a>\
            <a href='javascript:void(0)'>g</a><a href=next>h</a><!-- <a href=/no> -->";
        let expected = [
            "http://site/n?a=1&b=2",
            "https://other/",
            "http://site/node/next",
        ];
        assert_eq!(links(page.as_bytes(), &fixture::page_url()), expected);
        let umami = links(fixture::UMAMI.as_bytes(), &fixture::page_url());
        assert_eq!(umami, ["http://site/es/tags/cocci%C3%B3n"]);
    }

    #[test]
    fn any_bytes_are_read_without_harm() {
        let url = fixture::page_url();
        let page = [fixture::UMAMI.as_bytes(), &fixture::drupal7(1)].concat();
        let whole = assets(&page, &url);
        for end in 0..page.len() {
            // A page cut anywhere lists a part of what the whole page lists, or a cut '@import'.
            let cut = assets(&page[..end], &url);
            assert!(cut.iter().zip(&whole).all(|(a, b)| a == b), "cut at {end}");
            title(&page[..end]);
            links(&page[end..], &url);
        }
        let pieces = b"<<<//>>>!--\"'= \nabaseimgscriptstyletitlesvgtemplatehrefsrcset&#;@import url()\xff\xc3\0";
        let mut state = 11_u64;
        for _ in 0..20_000 {
            let mut noise = Vec::new();
            for _ in 0..64 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let at = (state >> 33) as usize % pieces.len();
                noise.extend(&pieces[at..pieces.len().min(at + 1 + (state >> 60) as usize)]);
            }
            assets(&noise, &url);
            links(&noise, &url);
            title(&noise);
        }
    }
}
