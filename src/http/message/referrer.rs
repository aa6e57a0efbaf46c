//! The page that contains the link to a request, and what the request tells the server about it: `Referer` and
//! `Origin` as browsers send them by default (the policy `strict-origin-when-cross-origin` of the W3C's Referrer
//! Policy, and "append a request `Origin` header" of the Fetch standard).

use crate::http::target::Target;
use http::{HeaderValue, Method};

/// The URL of a page.
#[derive(Debug, Clone)]
pub struct Referrer {
    url: HeaderValue,
    /// The length of its scheme, host and port.
    origin_length: usize,
}

impl Referrer {
    /// The page at an absolute URL without credentials; `None` if it cannot be sent in a header.
    pub(crate) fn of(url: &str) -> Option<Referrer> {
        let url = url.split('#').next().unwrap_or_default();
        let host = url.find("://")? + 3;
        let length = url[host..].find(['/', '?']);
        Some(Referrer {
            origin_length: length.map_or(url.len(), |length| host + length),
            url: HeaderValue::try_from(url).ok()?,
        })
    }

    /// The length of its URL, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.url.len()
    }

    fn text(&self) -> &str {
        self.url.to_str().unwrap_or_default()
    }

    fn origin(&self) -> &str {
        &self.text()[..self.origin_length]
    }

    /// Whether the page is on the site of `target`.
    pub(in crate::http) fn is_of(&self, target: &Target) -> bool {
        self.url.as_bytes()[..self.origin_length] == *target.origin.text.as_bytes()
    }

    /// Whether the page is on https and `target` is not.
    fn is_downgrade(&self, target: &Target) -> bool {
        self.text().starts_with("https:") && !target.origin.secure
    }

    /// The `Referer` of a request: the page for its own site, the page's origin for others, `None` from https to
    /// http.
    pub(in crate::http) fn referer(&self, target: &Target) -> Option<HeaderValue> {
        match self.is_of(target) {
            true => Some(self.url.clone()),
            false if self.is_downgrade(target) => None,
            false => HeaderValue::try_from(format!("{}/", self.origin())).ok(),
        }
    }

    /// The `Origin` of a request other than GET and HEAD; `null` if `tainted`, since another site has redirected the
    /// request.
    pub(in crate::http) fn origin_of(
        &self,
        method: &Method,
        target: &Target,
        tainted: bool,
    ) -> Option<HeaderValue> {
        if matches!(*method, Method::GET | Method::HEAD) {
            return None;
        }
        if tainted || self.is_downgrade(target) {
            Some(HeaderValue::from_static("null"))
        } else {
            HeaderValue::try_from(self.origin()).ok()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use url::Url;

    #[test]
    fn a_page_is_reported_as_browsers_report_it() {
        let page = "https://shop.test/cart?id=1#top";
        for (method, to, tainted, referer, origin) in [
            (
                "GET",
                "https://shop.test/x",
                false,
                "https://shop.test/cart?id=1",
                "",
            ),
            (
                "POST",
                "https://shop.test/x",
                false,
                "https://shop.test/cart?id=1",
                "https://shop.test",
            ),
            ("GET", "https://pay.test/x", false, "https://shop.test/", ""),
            (
                "PUT",
                "https://pay.test/x",
                false,
                "https://shop.test/",
                "https://shop.test",
            ),
            (
                "POST",
                "https://pay.test/x",
                true,
                "https://shop.test/",
                "null",
            ),
            (
                "POST",
                "https://shop.test:8443/",
                false,
                "https://shop.test/",
                "https://shop.test",
            ),
            ("POST", "http://shop.test/x", false, "", "null"),
            ("GET", "http://shop.test/x", false, "", ""),
        ] {
            let target = Target::of(&Url::parse(to).expect("valid")).expect("valid");
            let method = Method::try_from(method).expect("a method");
            let page = Referrer::of(page).expect("a page");
            let text = |value: Option<HeaderValue>| {
                let value = value.unwrap_or(HeaderValue::from_static(""));
                value.to_str().expect("text").to_owned()
            };
            assert_eq!(text(page.referer(&target)), referer, "{method} {to}");
            let actual = text(page.origin_of(&method, &target, tainted));
            assert_eq!(actual, origin, "{method} {to}");
        }
        assert!(Referrer::of("/path").is_none() && Referrer::of("http://a/\n").is_none());
    }
}
