//! Tests of where cookies are sent, and of the limits of a jar.

use super::*;
use url::Url;

fn target(url: &str) -> Target {
    Target::of(&Url::parse(url).expect("valid")).expect("valid")
}

/// The names of the cookies that are sent to `to`, sorted, after `from` has set them.
fn sent(cookies: &[&str], from: &str, to: &str) -> Vec<String> {
    let mut jar = CookieJar::default();
    jar.store(&target(from), cookies.iter().map(|line| line.as_bytes()));
    names(&mut jar, to)
}

fn names(jar: &mut CookieJar, to: &str) -> Vec<String> {
    let header = jar.header(&target(to));
    let text = header.map_or(String::new(), |header| {
        header.to_str().expect("text").to_owned()
    });
    let pairs = text.split("; ").filter(|pair| !pair.is_empty());
    let mut names: Vec<String> = pairs
        .map(|pair| pair.split('=').next().unwrap_or_default().to_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_cookie_goes_to_the_hosts_that_its_site_may_speak_for() {
    let site = "http://www.shop.co.uk/";
    for (cookie, to, goes) in [
        ("a=1", "http://www.shop.co.uk/x", true),
        ("a=1", "http://shop.co.uk/", false),
        ("a=1; Domain=shop.co.uk", "http://img.shop.co.uk/", true),
        ("a=1; Domain=.Shop.Co.UK", "http://img.shop.co.uk/", true),
        ("a=1; Domain=co.uk", "http://www.shop.co.uk/", false),
        ("a=1; Domain=.co.uk", "http://other.co.uk/", false),
        ("a=1; Domain=uk", "http://www.shop.co.uk/", false),
        ("a=1; Domain=other.co.uk", "http://other.co.uk/", false),
        (
            "a=1; Domain=www.shop.co.uk.",
            "http://www.shop.co.uk/",
            false,
        ),
        ("a=1; Secure", "http://www.shop.co.uk/", false),
        ("a=1; Max-Age=0", "http://www.shop.co.uk/", false),
        ("a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT", site, false),
        ("=1", site, false),
        ("no equals sign", site, false),
    ] {
        let found = !sent(&[cookie], site, to).is_empty();
        assert_eq!(found, goes, "{cookie} to {to}");
    }
}

#[test]
fn a_public_suffix_that_is_the_host_itself_shares_its_cookie_with_nobody() {
    let cookie = ["a=1; Domain=github.io"];
    let site = "http://github.io/";
    assert_eq!(sent(&cookie, site, site), ["a"]);
    assert!(sent(&cookie, site, "http://someone.github.io/").is_empty());
    assert_eq!(
        sent(
            &["a=1; Domain=localhost"],
            "http://localhost/",
            "http://localhost/"
        ),
        ["a"]
    );
    assert_eq!(
        sent(
            &["a=1; Domain=127.0.0.1"],
            "http://127.0.0.1/",
            "http://127.0.0.1/"
        ),
        ["a"]
    );
}

#[test]
fn a_cookie_without_a_path_belongs_to_the_folder_it_was_set_from() {
    let mut jar = CookieJar::default();
    let lines = [&b"a=1"[..], b"b=2; Path=/"];
    jar.store(&target("http://shop.test/admin/login"), lines.into_iter());
    assert_eq!(names(&mut jar, "http://shop.test/admin/users"), ["a", "b"]);
    assert_eq!(names(&mut jar, "http://shop.test/"), ["b"]);
    assert_eq!(names(&mut jar, "http://shop.test/admin"), ["a", "b"]);
}

#[test]
fn the_longest_path_comes_first() {
    let mut jar = CookieJar::default();
    let lines = [
        "b=1; Path=/",
        "a=2; Path=/",
        "z=3; Path=/x/y",
        "a=4; Path=/x",
    ];
    jar.store(
        &target("http://shop.test/x/y"),
        lines.iter().map(|line| line.as_bytes()),
    );
    let header = jar.header(&target("http://shop.test/x/y"));
    assert_eq!(header.expect("cookies"), "z=3; a=4; a=2; b=1");
}

#[test]
fn a_jar_is_bounded() {
    let mut jar = CookieJar::default();
    let site = target("http://shop.test/");
    for nth in 0..1000 {
        let line = format!("c{nth}={}", "x".repeat(100));
        jar.store(&site, std::iter::once(line.as_bytes()));
    }
    assert_eq!(names(&mut jar, "http://shop.test/").len(), MAX_COOKIES);
    for nth in 0..MAX_COOKIES {
        let line = format!("c{nth}=; Max-Age=0");
        jar.store(&site, std::iter::once(line.as_bytes()));
    }
    jar.store(&site, std::iter::once(&b"new=1"[..]));
    assert_eq!(names(&mut jar, "http://shop.test/"), ["new"]);
    let long = format!("long={}", "x".repeat(MAX_BYTES));
    assert!(sent(&[&long], "http://shop.test/", "http://shop.test/").is_empty());
}

#[test]
fn nothing_of_a_line_stays_but_a_cookie_of_limited_size() {
    let site = target("http://shop.test/x/y");
    let long = "p".repeat(MAX_ATTRIBUTE);
    let stored = |line: &str| {
        let mut jar = CookieJar::default();
        jar.store(&site, std::iter::once(line.as_bytes()));
        jar.list()
    };
    // As if it had no path: it belongs to the folder.
    assert_eq!(stored(&format!("a=1; Path=/{long}"))[0].path, "/x");
    assert_eq!(
        stored(&format!("a=1; Path=/{}", &long[1..]))[0].path.len(),
        1024
    );
    assert_eq!(
        stored(&format!("a=1; Domain={long}t"))[0].domain,
        "shop.test"
    );
    assert!(stored(&format!("a=1; X={long}{long}; Secure; httponly"))[0].secure);

    let unknown = format!(
        "a=1; X={}; Y={long}; Max-Age=9; Secure; HttpOnly; Path=/q",
        "p".repeat(1 << 20)
    );
    let cookie = received(&unknown, "shop.test").expect("a cookie");
    assert_eq!(
        cookie.to_string(),
        "a=1; HttpOnly; Secure; Path=/q; Max-Age=9"
    );

    let mut jar = CookieJar::default();
    let deep = target(&format!("http://shop.test/{long}/page"));
    jar.store(&deep, [&b"a=1"[..], b"b=1; Path=/"].into_iter());
    assert_eq!(names(&mut jar, &deep.text()), ["b"]);
}

#[test]
fn a_plan_sets_no_cookie_with_a_long_path_or_domain() {
    let mut jar = CookieJar::default();
    let site = target("http://shop.test/");
    let mut set = |path: &str, domain: Option<&str>| {
        let scope = CookieScope {
            path: Some(path.to_owned()),
            domain: domain.map(str::to_owned),
            secure: false,
        };
        jar.set(&site, "a", "1", &scope)
    };
    let long = "p".repeat(MAX_ATTRIBUTE);
    assert!(set(&format!("/{}", &long[1..]), None));
    assert!(!set(&format!("/{long}"), None));
    assert!(!set("/", Some(&format!("{long}.test"))));
}

#[test]
fn a_cookie_has_what_the_prefix_of_its_name_promises() {
    let site = "https://www.shop.test/";
    for (cookie, is_stored) in [
        ("__Secure-a=1; Secure", true),
        ("__Secure-a=1; Secure; Domain=shop.test", true),
        ("__Secure-a=1", false),
        ("__sEcUrE-a=1", false),
        ("__Host-a=1; Secure; Path=/", true),
        ("__Host-a=1; Secure", false),
        ("__Host-a=1; Secure; Path=/x", false),
        ("__Host-a=1; Path=/", false),
        ("__Host-a=1; Secure; Path=/; Domain=www.shop.test", false),
        ("__host-a=1; Domain=shop.test", false),
        ("__Secure=1", true),
        ("a__Host-=1", true),
    ] {
        assert_eq!(
            !sent(&[cookie], site, site).is_empty(),
            is_stored,
            "{cookie}"
        );
    }
}
