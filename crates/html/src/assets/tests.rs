//! Tests of the assets and links of a page.

use super::{MOST_ADDRESSES, assets, assets_within, candidates, links, links_within};
use crate::{ReferrerPolicy, fixture, title};
use url::Url;

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
    let page = "<link rel=canonical href=/no><link rel='preload' href=/no><link rel=apple-touch-icon href=/no>\
        <link rel=PRELOAD as=style href=/a><link rel='Alternate StyleSheet' href=/b>\
        <link href=/c as=font rel=preload><link rel=stylesheet href=''><script>x</script>\
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
        // A page cut anywhere lists a part of the whole page's list, or a cut '@import'.
        let cut = assets(&page[..end], &url);
        assert!(cut.iter().zip(&whole).all(|(a, b)| a == b), "cut at {end}");
        title(&page[..end]);
        links(&page[end..], &url);
    }
    let pieces = b"<<<//>>>!--\"'= \nabaseimgscriptstyletitlesvgtemplatehrefsrcset&#;@import url()\xff\xc3\0";
    let mut numbers = fixture::noise();
    for _ in 0..20_000 {
        let mut noise = Vec::new();
        for number in numbers.by_ref().take(64) {
            let (at, more) = (number as usize % pieces.len(), (number >> 27) as usize);
            noise.extend(&pieces[at..pieces.len().min(at + 1 + more)]);
        }
        assets(&noise, &url);
        links(&noise, &url);
        title(&noise);
    }
}

#[test]
fn a_page_may_have_another_name_for_its_own_site() {
    let page = Url::parse("http://me:pw@127.0.0.1:8080/shop/").expect("valid");
    let listed = |html: &str| {
        let found = assets_within(html.as_bytes(), &(&page).into(), usize::MAX).expect("few");
        (found.urls.join(" "), found.foreign.join(" "))
    };
    let assets = "<script src='https://www.shop.test/a.js?v=1'></script><img src='/b.png'>\
                  <img src='https://cdn.test/c.png'><img src='http://www.shop.test/b.png'>";
    let canonical = "<link rel=Canonical href='https://www.shop.test/shop/'>";
    let all = "https://www.shop.test/a.js?v=1 https://cdn.test/c.png http://www.shop.test/b.png";
    let own = |urls: &[&str]| {
        let urls = urls
            .iter()
            .map(|path| format!("http://127.0.0.1:8080{path}"));
        urls.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(listed(assets), (own(&["/b.png"]), all.to_owned()));
    let expected = (
        own(&["/a.js?v=1", "/b.png"]),
        "https://cdn.test/c.png".to_owned(),
    );
    // It may come after the addresses that it applies to.
    for html in [
        format!("{canonical}{assets}"),
        format!("{assets}{canonical}"),
    ] {
        assert_eq!(listed(&html), expected, "{html}");
    }
    let base = "<base href='https://www.shop.test/x/'><img src=d.png>";
    assert_eq!(listed(base), (own(&["/x/d.png"]), String::new()));
    let relative = "<link rel=canonical href='/shop'><img src='https://cdn.test/c.png'>";
    assert_eq!(
        listed(relative),
        (String::new(), "https://cdn.test/c.png".to_owned())
    );
}

#[test]
fn an_image_in_more_sizes_than_any_page_has_ends_the_list() {
    let sizes: String = (0..=MOST_ADDRESSES)
        .map(|n| format!("/{n} {n}w,"))
        .collect();
    let page = format!("<img src='/first'><img srcset='{sizes}'><img src='/last'>");
    let found = of(&page);
    assert_eq!(found.len(), MOST_ADDRESSES);
    assert!(found[0].ends_with("/first"), "{}", found[0]);
}

#[test]
fn addresses_are_looked_at_until_they_have_cost_too_much() {
    // Each is the same: a known address costs as much as a new one.
    let base = format!("<base href='/{}/'>", "b".repeat(1 << 20));
    let copied = format!("{base}{}<img src=/last>", "<img src=b>".repeat(300));
    assert_eq!(of(&copied).len(), 1);
}

#[test]
fn elements_and_pages_say_how_their_page_is_named() {
    let page = "<img src=a><meta name=Referrer content=origin><img src=b>\
        <script src=c referrerpolicy=No-Referrer></script><img src=d referrerpolicy=unknown>";
    let found = assets_within(page.as_bytes(), &(&fixture::page_url()).into(), usize::MAX);
    let (origin, nothing) = (ReferrerPolicy::Origin, ReferrerPolicy::NoReferrer);
    let policies = found.expect("few").policies;
    assert_eq!(policies, [None, Some(origin), Some(nothing), Some(origin)]);
    let page = "<a href=a>a</a><meta name=referrer content=origin><a href=b rel='noopener noreferrer'>b</a>";
    let found = links_within(page.as_bytes(), &(&fixture::page_url()).into(), usize::MAX);
    assert_eq!(found.expect("few").policies, [Some(origin), Some(nothing)]);
}
