//! Tests of the URLs that references resolve to.

use url::Url;

use crate::fixture;

use super::{AddressOwner, AddressResolver, HOST_WORK, PageAddress};

fn url(text: &str) -> Url {
    Url::parse(text).expect("a URL of the test")
}

fn resolve(resolver: &AddressResolver, raw: &str) -> Option<(String, AddressOwner)> {
    let mut out = String::new();
    let host = resolver.resolve(raw, &mut out)?;
    Some((out, host))
}

#[test]
fn string_work_and_url_join_return_the_same_address() {
    let pieces = [
        "/",
        "//",
        "a",
        "b.css",
        ".",
        "..",
        "./",
        "../",
        "?v=1",
        "&",
        "%20",
        "%2e",
        " ",
        "é",
        "#f",
        "[",
        "]",
        "\\",
        ":",
        "http:",
        "HTTP://",
        "http://site",
        "http://site:8080",
        "other",
        "@",
        "|",
        "^",
        "'",
        "\"",
        "\t",
        "~",
        "_",
        "+",
    ];
    for page in [
        "http://site:8080/d/page?x=/y/#f",
        "http://site/",
        "https://[::1]/a/b/c",
    ] {
        let page = url(page);
        let address = PageAddress::from(&page);
        let resolver = AddressResolver::new(&address);
        let mut numbers = fixture::noise().map(|number| number as usize);
        for count in (1..=5).cycle().take(20_000) {
            let drawn = numbers.by_ref().take(count);
            let raw: String = drawn.map(|number| pieces[number % pieces.len()]).collect();
            let mut joined = page
                .join(&raw)
                .ok()
                .filter(|url| url.scheme().starts_with("http"));
            if let Some(joined) = &mut joined {
                joined.set_fragment(None);
            }
            let joined = joined.map(String::from);
            assert_eq!(
                resolve(&resolver, &raw).map(|(url, _)| url),
                joined,
                "{raw:?} on {page}"
            );
        }
    }
}

#[test]
fn the_first_base_moves_relative_addresses_only() {
    let page = PageAddress::from(&url("http://site/a/b"));
    let mut resolver = AddressResolver::new(&page);
    resolver.set_base("/deep/er/page");
    resolver.set_base("/ignored/");
    let own = |text: &str| Some((text.to_owned(), AddressOwner::Own));
    assert_eq!(resolve(&resolver, "x.js"), own("http://site/deep/er/x.js"));
    assert_eq!(
        resolve(&resolver, "../x.js?v=1#f"),
        own("http://site/deep/x.js?v=1")
    );
    assert_eq!(resolve(&resolver, "/x.js"), own("http://site/x.js"));
    let mut resolver = AddressResolver::new(&page);
    resolver.set_base("//cdn/");
    assert_eq!(
        resolve(&resolver, "/x.js"),
        Some(("http://cdn/x.js".to_owned(), AddressOwner::Foreign))
    );
    assert_eq!(
        resolve(&resolver, "http://site/x.js"),
        own("http://site/x.js")
    );
    // Credentials that a page itself writes for another site are passed on.
    let mut resolver = AddressResolver::new(&page);
    resolver.set_base("http://ada:pw@cdn/a/");
    for (raw, found) in [
        ("/x.js", "http://ada:pw@cdn/x.js"),
        ("./x", "http://ada:pw@cdn/a/x"),
    ] {
        let found = Some((found.to_owned(), AddressOwner::Foreign));
        assert_eq!(resolve(&resolver, raw), found);
    }
}

#[test]
fn scheme_host_and_port_make_a_site() {
    let page = PageAddress::from(&url("http://user:secret@site/"));
    let resolver = AddressResolver::new(&page);
    let own = |text: &str| Some((text.to_owned(), AddressOwner::Own));
    assert_eq!(resolve(&resolver, "HTTP://SITE:80/x"), own("http://site/x"));
    assert_eq!(resolve(&resolver, " /x "), own("http://site/x"));
    for foreign in [
        "https://site/x",
        "http://site:81/x",
        "http://site.evil/x",
        "//other/x",
    ] {
        assert_eq!(
            resolve(&resolver, foreign).map(|(_, host)| host),
            Some(AddressOwner::Foreign)
        );
    }
    for none in [
        "data:image/png;base64,AA",
        "javascript:void(0)",
        "mailto:a@b",
        "http://",
        "ftp://site/x",
    ] {
        assert_eq!(resolve(&resolver, none), None, "{none}");
    }
}

#[test]
fn a_host_costs_what_it_takes_to_read() {
    let page = PageAddress::from(&url("http://site/"));
    let resolver = AddressResolver::new(&page);
    let name = "é".repeat(100);
    for _ in 0..2 {
        let before = resolver.work.get();
        assert!(resolve(&resolver, &format!("//{name}.ex/")).is_some());
        assert!(before - resolver.work.get() >= 200 * HOST_WORK);
    }
    resolver.work.set(200 * HOST_WORK);
    assert_eq!(resolve(&resolver, &format!("//{name}.ex/")), None);
    assert_eq!(resolve(&resolver, "/cheap"), None);
}
