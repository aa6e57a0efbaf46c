//! The page that contains the link to a request, and the headers of the request that name it: `Referer` and `Origin`,
//! by the policy of the page (the W3C's Referrer Policy, and "append a request `Origin` header" of the Fetch standard).

use crate::target::Target;
use http::{HeaderValue, Method};
use lgoose_html::ReferrerPolicy;

/// The URL of a page, with its policy for requests.
#[derive(Debug, Clone)]
pub struct Referrer {
    url: HeaderValue,
    /// The length of its scheme, host and port.
    origin_length: usize,
    policy: ReferrerPolicy,
}

/// The part of a page's URL that a request sends. A redirect never makes it more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NamedPage {
    /// Nothing.
    Nothing,
    /// Its origin.
    Origin,
    /// Its URL.
    Whole,
}

impl Referrer {
    /// The page at an absolute URL without credentials; `None` if it cannot be sent in a header.
    pub fn of(url: &str, policy: ReferrerPolicy) -> Option<Referrer> {
        let url = url.split('#').next().unwrap_or_default();
        let host = url.find("://")? + 3;
        let length = url[host..].find(['/', '?']);
        Some(Referrer {
            origin_length: length.map_or(url.len(), |length| host + length),
            url: HeaderValue::try_from(url).ok()?,
            policy,
        })
    }

    /// The length of its URL, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.url.len()
    }

    /// The same page with another policy.
    pub fn with(&self, policy: ReferrerPolicy) -> Referrer {
        Referrer {
            policy,
            ..self.clone()
        }
    }

    fn text(&self) -> &str {
        self.url.to_str().unwrap_or_default()
    }

    fn origin(&self) -> &str {
        &self.text()[..self.origin_length]
    }

    /// Whether the page is on the site of `target`.
    pub(crate) fn is_of(&self, target: &Target) -> bool {
        self.url.as_bytes()[..self.origin_length] == *target.origin.text.as_bytes()
    }

    /// Whether the page is on https and `target` is not.
    fn is_downgrade(&self, target: &Target) -> bool {
        self.text().starts_with("https:") && !target.origin.secure
    }

    /// The part of the page's URL that a request to `target` sends. `policy` is that of a redirect on the way, which
    /// replaces the page's own.
    pub(crate) fn named_to(&self, target: &Target, policy: Option<ReferrerPolicy>) -> NamedPage {
        use NamedPage::{Nothing, Origin, Whole};
        let (own, down) = (self.is_of(target), self.is_downgrade(target));
        let named = match policy.unwrap_or(self.policy) {
            ReferrerPolicy::NoReferrer => Nothing,
            ReferrerPolicy::NoReferrerWhenDowngrade if down => Nothing,
            ReferrerPolicy::NoReferrerWhenDowngrade | ReferrerPolicy::UnsafeUrl => Whole,
            ReferrerPolicy::SameOrigin if own => Whole,
            ReferrerPolicy::SameOrigin => Nothing,
            ReferrerPolicy::StrictOrigin if down => Nothing,
            ReferrerPolicy::Origin | ReferrerPolicy::StrictOrigin => Origin,
            ReferrerPolicy::OriginWhenCrossOrigin | ReferrerPolicy::StrictOriginWhenCrossOrigin
                if own =>
            {
                Whole
            }
            ReferrerPolicy::StrictOriginWhenCrossOrigin if down => Nothing,
            ReferrerPolicy::OriginWhenCrossOrigin | ReferrerPolicy::StrictOriginWhenCrossOrigin => {
                Origin
            }
        };
        /// A longer URL is cut to its origin, as the Fetch standard has it.
        const MAX_URL: usize = 4096;
        match self.url.len() {
            ..=MAX_URL => named,
            _ => named.min(Origin),
        }
    }

    /// The `Referer` of a request that names so much of the page.
    pub(crate) fn referer(&self, named: NamedPage) -> Option<HeaderValue> {
        match named {
            NamedPage::Whole => Some(self.url.clone()),
            NamedPage::Origin => HeaderValue::try_from(format!("{}/", self.origin())).ok(),
            NamedPage::Nothing => None,
        }
    }

    /// The `Origin` of a request other than GET and HEAD; `null` if `tainted`, since another site has redirected the
    /// request, or if the policy hides the page.
    pub(crate) fn origin_of(
        &self,
        method: &Method,
        target: &Target,
        policy: Option<ReferrerPolicy>,
        tainted: bool,
    ) -> Option<HeaderValue> {
        if matches!(*method, Method::GET | Method::HEAD) {
            return None;
        }
        let is_hidden = match policy.unwrap_or(self.policy) {
            ReferrerPolicy::NoReferrer => true,
            ReferrerPolicy::SameOrigin => !self.is_of(target),
            ReferrerPolicy::NoReferrerWhenDowngrade
            | ReferrerPolicy::StrictOrigin
            | ReferrerPolicy::StrictOriginWhenCrossOrigin => self.is_downgrade(target),
            ReferrerPolicy::Origin
            | ReferrerPolicy::OriginWhenCrossOrigin
            | ReferrerPolicy::UnsafeUrl => false,
        };
        if tainted || is_hidden {
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
            let page = Referrer::of(page, ReferrerPolicy::default()).expect("a page");
            let text = |value: Option<HeaderValue>| {
                let value = value.unwrap_or(HeaderValue::from_static(""));
                value.to_str().expect("text").to_owned()
            };
            assert_eq!(
                text(page.referer(page.named_to(&target, None))),
                referer,
                "{method} {to}"
            );
            let actual = text(page.origin_of(&method, &target, None, tainted));
            assert_eq!(actual, origin, "{method} {to}");
        }
        for no_page in ["/path", "http://a/\n"] {
            assert!(Referrer::of(no_page, ReferrerPolicy::default()).is_none());
        }
    }

    #[test]
    fn a_long_url_is_cut_to_its_origin() {
        let target = Target::of(&Url::parse("http://shop.test/x").expect("valid")).expect("valid");
        for (length, named) in [(4000, NamedPage::Whole), (5000, NamedPage::Origin)] {
            let url = format!("http://shop.test/?{}", "a".repeat(length));
            let page = Referrer::of(&url, ReferrerPolicy::UnsafeUrl).expect("a page");
            assert_eq!(page.named_to(&target, None), named, "{length}");
        }
    }
}
