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
        ("=1", site, true),
        ("no equals sign", site, true),
        ("=", site, false),
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
    assert_eq!(header.expect("cookies"), "z=3; a=4; b=1; a=2");
}

#[test]
fn where_a_site_sets_too_many_cookies_the_oldest_go() {
    let mut jar = CookieJar::default();
    let site = target("http://shop.test/");
    let mut set = |line: &str| {
        jar.store(&site, std::iter::once(line.as_bytes()));
        jar.cookies.len()
    };
    set("expired=1; Max-Age=-1");
    for nth in 0..MAX_OF_SITE {
        assert_eq!(set(&format!("c{nth}=1")), nth + 1);
    }
    assert_eq!(set("c0=1; HttpOnly"), MAX_OF_SITE, "it replaces its own");
    assert_eq!(set("session=1"), LEFT_OF_SITE);
    let left = names(&mut jar, "http://shop.test/");
    assert!(left.contains(&"session".to_owned()));
    assert!(left.contains(&format!("c{}", MAX_OF_SITE - 1)));
    assert!(!left.contains(&"c0".to_owned()));

    for nth in 0..2 * MAX_IN_ALL {
        let other = target(&format!("http://www.s{nth}.test/"));
        jar.store(&other, std::iter::once(&b"a=1"[..]));
        assert!(jar.cookies.len() <= MAX_IN_ALL);
    }
    assert!(jar.cookies.len() >= LEFT_IN_ALL);
    let long = format!("long={}", "x".repeat(MAX_BYTES));
    assert!(sent(&[&long], "http://shop.test/", "http://shop.test/").is_empty());
}

#[test]
fn nothing_of_a_line_stays_but_a_cookie_of_limited_size() {
    let site = target("https://shop.test/x/y");
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

#[test]
fn a_date_is_read_in_whatever_form_sites_write_it() {
    let read = |text: &str| date::parse_date(text.as_bytes()).map(Timestamp::as_second);
    for text in [
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        "Sun Nov 06 1994 08:49:37 GMT+0000 (UTC)",
        "sun, 6 november 1994 8:49:37 utc",
        "\"Sun, 06 Nov 1994 08:49:37\"",
        "1994 8:49:37 6 Nov",
    ] {
        assert_eq!(read(text), Some(784_111_777), "{text}");
    }
    assert_eq!(read("Thu, 01 Jan 70 00:00:00 GMT"), Some(0));
    assert_eq!(read("Tue, 19 Jan 38 03:14:07 GMT"), Some(2_147_483_647));
    for text in [
        "",
        "soon",
        "Sun, 06 Nov 1994",
        "30 Feb 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37:00 GMT",
        "Sun, 6th Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:49:37 GMT",
        "Sun, 06 Nov 1994 08:60:37 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT",
        "Sun, 32 Nov 1994 08:49:37 GMT",
    ] {
        assert_eq!(read(text), None, "{text}");
    }
}

#[test]
fn cookies_of_headers_are_joined_to_those_of_the_jar() {
    let jar = HeaderValue::from_static("a=1; b=2; c");
    let join = |own: &str| joined_cookies(Some(&jar), own.as_bytes());
    assert_eq!(join("run=1").expect("cookies"), "a=1; b=2; c; run=1");
    assert_eq!(join("b=3;a=4; ").expect("cookies"), "c; b=3; a=4");
    assert_eq!(join("").expect("cookies"), "a=1; b=2; c");
    assert_eq!(joined_cookies(None, b" ; "), None);
}
